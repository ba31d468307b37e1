"""The guide that `zibaldone` without a command prints: what is stored where, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from zibaldone.cli import output as out
from zibaldone.cli.input import holds_memory

_Commands = tuple[tuple[str, str], ...]  # a command, and what it is for
_EMPTY: _Commands = (
    ("zibaldone import FILE", "your chats: an export of ChatGPT or Claude, JSON Lines, ..."),
    ('zibaldone add "My dentist is Dr. Moss."', "one message"),
    ("zibaldone demo", "ten questions to seven months of chat, in a folder of its own"),
)
_FILLED = (
    ('zibaldone recall "When do I see the dentist?"', "what a model would be given"),
    ("zibaldone search dentist", "ranked passages, to look around"),
    ("zibaldone sessions", "the conversations"),
    ("zibaldone notes", "what holds for you, once 'zibaldone maintain' has read what is new"),
    ("zibaldone forget --session NAME --dry-run", "what would go"),
)


def guide_lines(folder: Path) -> Iterator[str]:
    """The guide, line by line. Raises a StorageError for a folder that cannot be used."""
    from zibaldone.api.memory import Memory
    from zibaldone.storage.database import place_shown

    yield "Keeps what was said, word for word, and recalls what a question needs."
    yield f"\nmemory: {place_shown(folder)}"
    commands = _EMPTY
    if holds_memory(folder):
        with Memory.from_env(folder) as memory:
            users, stats = memory.users(), memory.admin.stats()
        if stats.messages:
            commands = _FILLED
            yield f"  {out.count(stats.messages, 'message')} of {out.some(users, 5)}"
    if commands == _EMPTY:
        yield "  nothing is stored yet"
    yield "\nnext:"
    for command, what in commands:
        yield f"  {command}\n      {what}"
    yield "\nzibaldone --help lists every command and the exit codes; zibaldone COMMAND --help explains one."
