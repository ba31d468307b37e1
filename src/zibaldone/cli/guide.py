"""The guide that `zibaldone` without a command prints: what is stored where, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from zibaldone.cli import output as out
from zibaldone.cli.input import open_database

_EMPTY = (
    ("zibaldone import FILE", "your chats: an export of ChatGPT or Claude, JSON Lines, ..."),
    ('zibaldone add "My dentist is Dr. Moss."', "one message"),
    ("zibaldone demo", "ten questions to seven months of chat, in a folder of its own"),
)
_FILLED = (
    ('zibaldone recall "When do I see the dentist?"', "what a model would be given"),
    ("zibaldone search dentist", "ranked passages, to look around"),
    ("zibaldone sessions", "the conversations"),
    ("zibaldone notes", "what holds for you"),
    ("zibaldone forget --session NAME --dry-run", "what would go"),
)
_MAINTAIN = ("zibaldone maintain", "read what is new into the notes")


@dataclass(frozen=True, slots=True)
class _State:
    """Figures of a folder."""

    messages: int
    users: tuple[str, ...]
    newest: str
    unread: int  # messages that the notes have not read yet


def guide_lines(folder: Path) -> list[str]:
    """The guide, line by line. Raises a StorageError for a folder that cannot be used."""
    from zibaldone.storage.database import place_shown

    state = _read(folder)
    lines = [
        "Keeps what was said, word for word, and recalls what a question needs.",
        "",
        f"memory: {place_shown(folder)}",
    ]
    if state is None or not state.messages:
        return [*lines, "  nothing is stored yet", "", "next:", *_commands(_EMPTY), "", _MORE]
    held = f"{out.count(state.messages, 'message')} of {out.some(state.users, 5)}"
    lines.append(f"  {held}, the newest of {state.newest}")
    if state.unread:
        lines.append(f"  {out.count(state.unread, 'message')} not read into the notes yet")
    commands = ((_MAINTAIN,) if state.unread else ()) + _FILLED
    return [*lines, "", "next:", *_commands(commands), "", _MORE]


_MORE = "zibaldone --help lists every command and the exit codes; zibaldone COMMAND --help explains one."
_BUSY_S = 0.5


def _commands(commands: tuple[tuple[str, str], ...]) -> list[str]:
    return [line for command, what in commands for line in (f"  {command}", f"      {what}")]


def _read(folder: Path) -> _State | None:
    """Figures of the log, with no model loaded; None without a memory."""
    from sqlalchemy import func, select

    from zibaldone import log
    from zibaldone.storage.opening import is_there
    from zibaldone.storage.schema import messages, view_states

    if not is_there(folder):
        return None
    notes = select(view_states.c.user, view_states.c.cursor).where(
        view_states.c.view == "notes", view_states.c.serving == 1
    )
    with open_database(folder, _BUSY_S) as database, database.read() as connection:
        read = {row.user: row.cursor for row in connection.execute(notes)}
        users = log.all_users(connection)
        newest = connection.execute(select(func.max(messages.c.time_us))).scalar()
        return _State(
            messages=sum(log.count(connection, user) for user in users),
            users=tuple(users),
            newest="" if newest is None else log.from_us(newest).date().isoformat(),
            unread=sum(log.count(connection, user, after=read.get(user, 0)) for user in users),
        )
