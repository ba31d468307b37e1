"""`zibaldone profile`: what should always be known of a user, to be read and corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from zibaldone.cli import output as out
from zibaldone.cli.input import MYSELF, AsJson, Folder, User, memory_of

if TYPE_CHECKING:
    from zibaldone.views.profile import Kind, ProfileEntry

_NOTHING = "nothing yet: no message states an instruction, a preference, a decision, a person or a fact"

app = typer.Typer(
    help="Show what is always known of a user; correct it.", no_args_is_help=False, add_completion=False
)

Id = Annotated[
    str, typer.Argument(metavar="ID", help="Of the entry, as 'profile' lists it.", show_default=False)
]


@app.callback(invoke_without_command=True)
def show(
    context: typer.Context,
    *,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind", help="Only instruction, preference, decision, relation or fact.", show_default=False
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also what was superseded or retired.")] = False,
    budget: Annotated[
        int | None,
        typer.Option(
            "--budget", "-b", min=1, help="Write it as a text of so many tokens.", show_default=False
        ),
    ] = None,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """List the entries, or write them as a text for a prompt."""
    if context.invoked_subcommand is not None:
        return
    with memory_of(memory, user) as opened:
        profile = opened.profile(user)
        entries = profile.entries(cast("Kind | None", kind))
        text = profile.text(budget) if budget is not None else ""
    shown = [entry for entry in entries if every or entry.holds]
    if as_json:
        out.write_json({"entries": shown, "text": text} if budget is not None else shown)
    elif budget is not None:
        out.write(text)
    elif shown:
        out.table("id", "kind", "date", "", "entry", rows=[_row(entry) for entry in shown])
    if not shown:
        out.note(_NOTHING)


@app.command()
def pin(
    entry: Id,
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Take the pin back.")] = False,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Put an entry first in the text."""
    with memory_of(memory, user) as opened:
        profile = opened.profile(user)
        done = profile.unpin(entry) if undo else profile.pin(entry)
    _tell(done, as_json=as_json)


@app.command()
def edit(
    entry: Id,
    text: Annotated[str, typer.Argument(help="The new words.", show_default=False)],
    *,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Put other words in an entry's place."""
    with memory_of(memory, user) as opened:
        done = opened.profile(user).edit(entry, text)
    _tell(done, as_json=as_json)


@app.command()
def retire(entry: Id, *, user: User = MYSELF, memory: Folder, as_json: AsJson = False) -> None:
    """Leave an entry out from now on; its message stays."""
    with memory_of(memory, user) as opened:
        done = opened.profile(user).retire(entry)
    _tell(done, as_json=as_json)


def _tell(entry: ProfileEntry, *, as_json: bool) -> None:
    if as_json:
        out.write_json(entry)
    else:
        out.table("id", "kind", "date", "", "entry", rows=[_row(entry)])


def _row(entry: ProfileEntry) -> list[object]:
    state = [name for name in ("pinned", "edited", "retired") if getattr(entry, name)]
    if entry.superseded_by is not None:
        state.append(f"superseded by {entry.superseded_by}")
    if entry.ended_by is not None:
        state.append(f"ended by message {entry.ended_by}")
    said_by = "" if entry.speaker == "user" else f"{entry.speaker}: "
    day = entry.time.date().isoformat() if entry.is_dated else ""
    return [entry.id, entry.kind, day, ", ".join(state), said_by + entry.text]
