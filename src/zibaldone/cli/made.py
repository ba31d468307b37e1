"""Commands around what views made of the log: the profile, topic documents, chunks, themes, episodes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import typer

from zibaldone.cli import output as out
from zibaldone.cli import showing
from zibaldone.cli.frame import CliCall, runs, shows
from zibaldone.cli.input import open_memory
from zibaldone.errors import InvalidInput, ZibaldoneError

if TYPE_CHECKING:
    from zibaldone.api.documents import TopicsEdited

CONFLICT = 1  # exit code: something was not taken


@runs("getProfile")
def profile(call: CliCall) -> None:
    """List the entries, or write them as a text for a prompt."""
    budget = call.given["budget_tokens"]
    with call.opened() as memory:
        entries = call.run(memory)
        text = "" if budget is None else memory.user(call.whose).profile.text(budget)
    shown = [entry for entry in entries if call.given["every"] or entry.holds]
    if budget is None:
        call.show(shown)
    elif call.as_json:
        out.write_json({"entries": shown, "text": text})
    else:
        out.write(text)
    if not shown:
        out.note("nothing yet: no message states a rule, an allergy, a preference or a fact as such")
    if not call.as_json and not any("/" in entry.made_by for entry in entries):
        from zibaldone.api.profile import NEEDS_A_MODEL

        out.note(NEEDS_A_MODEL)


@runs("pinProfileEntry")
def pin(call: CliCall) -> None:
    with call.opened() as memory:
        opened = memory.user(call.whose).profile
        done = (opened.unpin if call.given["undo"] else opened.pin)(call.given["entry"])
    call.show(done)


@runs("grant")
@runs("revoke")
def grant(call: CliCall) -> None:
    with open_memory(call.folder) as memory:  # of users who have nothing yet, too
        done = call.run(memory)
    call.show(done)


@runs("listChunks")
def chunks(call: CliCall) -> None:
    number = call.given["number"]
    with call.opened() as memory:
        held = call.run(memory)
        past = memory.user(call.whose).superseded()
    if call.given["history"]:
        past = [entry for entry in past if number in (None, entry.chunk)]
        _numbered(call, held, "chunk")
        call.show(past)
    else:
        _show_numbered(call, held, "chunk", showing.chunk_lines)


@runs("listThemes")
def themes(call: CliCall) -> None:
    """Show the hierarchy view's themes, the fullest first."""
    with call.opened() as memory:
        held = sorted(call.run(memory), key=lambda theme: (-len(theme.semantics), theme.id))
    _show_numbered(call, held, "theme", showing.theme_lines)


@runs("listEpisodes")
def episodes(call: CliCall) -> None:
    with call.opened() as memory:
        held = call.run(memory)
    _show_numbered(call, held, "episode", showing.episode_lines)


def _show_numbered(call: CliCall, held: list[Any], kind: str, lines_of: Callable[[Any], list[str]]) -> None:
    """Show all of them as a table, or the one of the given number in full."""
    held = _numbered(call, held, kind)
    if call.given["number"] is None or call.as_json:
        call.show(held)
    else:
        out.write("\n".join(lines_of(held[0])))


def _numbered(call: CliCall, held: list[Any], kind: str) -> list[Any]:
    """Return the one of the given number, or all. Raises InvalidInput for an unknown number."""
    if (number := call.given["number"]) is None:
        return held
    if not (chosen := [thing for thing in held if thing.id == number]):
        raise InvalidInput(f"user {call.user!r} has no {kind} {number}: 'zibaldone {kind}s' lists them")
    return chosen


@runs("getTopic")
def topic(call: CliCall) -> None:
    """Show a document as Markdown."""
    with call.opened() as memory:
        document, text = memory.user(call.whose).topics.document(call.given["doc_id"]), call.run(memory)
    call.answer({**showing.document_object(document), "text": text}, text.rstrip("\n"))


@runs("editTopic")
def edit_topic(call: CliCall) -> None:
    """Correct a document in $VISUAL or $EDITOR. What is changed becomes a message of the log."""
    doc_id = call.given["doc_id"]
    with call.opened() as memory:
        before = memory.user(call.whose).topics.text(doc_id)
    draft = _draft(before)
    try:
        click.edit(filename=str(draft))
        text = draft.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        with call.opened() as memory:  # not held open while somebody writes
            done = call.run(memory, text=text, before=before)
    except click.ClickException as error:
        draft.unlink(missing_ok=True)
        raise InvalidInput(
            f"the editor did not do its work ({error.format_message()}): set $EDITOR to one that waits"
        ) from error
    except UnicodeDecodeError as error:
        _keep(draft)
        raise InvalidInput(
            f"what you wrote is not UTF-8 text ({error.reason} at byte {error.start}): save it as UTF-8"
        ) from error
    except ZibaldoneError:
        _keep(draft)
        raise
    if done.conflicts:
        _keep(draft)
    else:
        draft.unlink()
    _tell(call, done)


@shows("exportTopics")
def _exported(_: CliCall, done: Any) -> None:
    out.write(f"{out.count(len(done.files) - 1, 'document')} written to {done.folder}")


def _tell(call: CliCall, done: TopicsEdited) -> None:
    """Report the edits that were stored. Ends the command where there are conflicts."""
    if call.as_json:
        edits = showing.message_objects(done.edits)
        out.write_json({"edits": edits, "conflicts": done.conflicts, "behind": done.behind})
    else:
        out.write(f"{out.count(len(done.edits), 'edit')} taken over")
        showing.write_messages(call, done.edits)
        for conflict in done.conflicts:
            out.write(f"\n{conflict.diff}")
    for view in done.behind:
        out.note(f"the documents do not say it yet: {view.reason}", "yellow")
    if done.conflicts:
        names = ", ".join(conflict.document for conflict in done.conflicts)
        out.note(f"not taken over, since memory has changed too: {names}", "yellow")
        raise typer.Exit(CONFLICT)


def _draft(text: str) -> Path:
    """A file to be edited."""
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix="zibaldone-", suffix=".md", delete=False
    ) as file:
        file.write(text)
    return Path(file.name)


def _keep(draft: Path) -> None:
    """Say where somebody's work is found again."""
    if draft.read_bytes().strip():
        out.note(f"what you wrote is kept in {draft}", "yellow")
    else:
        draft.unlink()
