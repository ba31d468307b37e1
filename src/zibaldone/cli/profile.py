"""`zibaldone profile`: what holds of a user, to be read and changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from zibaldone.cli import output as out
from zibaldone.cli.input import MYSELF, AsJson, Folder, User, memory_of

if TYPE_CHECKING:
    from zibaldone.views.notes import Kind, UserNote

_NOTHING = "nothing yet: no message states a rule, an allergy, a preference or a fact as such"

app = typer.Typer(help="Show what holds of a user; change it.", no_args_is_help=False, add_completion=False)

Id = Annotated[str, typer.Argument(metavar="ID", help="Of the entry, as 'profile' lists it.")]


@app.callback(invoke_without_command=True)
def show(
    context: typer.Context,
    *,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind", help="Only instruction, constraint, preference, fact, person, plan or decision."
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also what has ended.")] = False,
    budget: Annotated[
        int | None,
        typer.Option("--budget", "-b", min=1, help="Write it as a text of so many tokens."),
    ] = None,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """List the entries, or write them as a text for a prompt."""
    if context.invoked_subcommand is not None:
        return
    with memory_of(memory, user) as opened:
        profile = opened.user(user).profile
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
    if not as_json and not any("/" in entry.made_by for entry in entries):
        out.note(needs_a_model())


def needs_a_model() -> str:
    """The sentence that says what a profile without a model lacks."""
    from zibaldone.api.profile import NEEDS_A_MODEL

    return NEEDS_A_MODEL


@app.command()
def add(
    kind: Annotated[str, typer.Argument(help="instruction, constraint, fact ...")],
    text: Annotated[str, typer.Argument(help="What holds.")],
    *,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Note something that no message says."""
    with memory_of(memory, user) as opened:
        done = opened.user(user).profile.add(cast("Kind", kind), text)
    _tell(done, as_json=as_json)


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
        profile = opened.user(user).profile
        done = profile.unpin(entry) if undo else profile.pin(entry)
    _tell(done, as_json=as_json)


@app.command()
def edit(
    entry: Id,
    text: Annotated[str, typer.Argument(help="The new words.")],
    *,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Put other words in an entry's place."""
    with memory_of(memory, user) as opened:
        done = opened.user(user).profile.edit(entry, text)
    _tell(done, as_json=as_json)


@app.command()
def retire(entry: Id, *, user: User = MYSELF, memory: Folder, as_json: AsJson = False) -> None:
    """Leave an entry out from now on; its message stays."""
    with memory_of(memory, user) as opened:
        done = opened.user(user).profile.retire(entry)
    _tell(done, as_json=as_json)


def _tell(entry: UserNote, *, as_json: bool) -> None:
    if as_json:
        out.write_json(entry)
    else:
        out.table("id", "kind", "date", "", "entry", rows=[_row(entry)])


def _row(entry: UserNote) -> list[object]:
    state = [name for name in ("pinned", "edited", "retired") if getattr(entry, name)]
    if entry.superseded_by is not None:
        state.append(f"superseded by {entry.superseded_by}")
    if entry.ended_by is not None:
        state.append(f"ended by message {entry.ended_by}")
    said_by = "" if entry.about == "user" else f"{entry.about}: "
    day = entry.time.date().isoformat() if entry.is_dated else ""
    return [entry.id, entry.kind, day, ", ".join(state), said_by + entry.text]
