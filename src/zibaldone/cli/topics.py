"""`zibaldone topics`: the topics view's documents, to be read and corrected."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import typer

from zibaldone.cli import output as out
from zibaldone.cli.input import MYSELF, AsJson, Folder, User, given_path, memory_of
from zibaldone.errors import InvalidInput, ZibaldoneError

if TYPE_CHECKING:
    from zibaldone.api.documents import TopicsEdited
    from zibaldone.views.topics import Document

CONFLICT = 1  # exit code: something was not taken
_NOTHING = "nothing yet: 'zibaldone maintain --view topics' makes topic documents"

app = typer.Typer(
    help="Show, correct, export and import topic documents.", no_args_is_help=True, add_completion=False
)

Id = Annotated[str, typer.Argument(metavar="ID", help="Of the document.")]


@app.command("list")
def list_(*, user: User = MYSELF, memory: Folder, as_json: AsJson = False) -> None:
    """List the documents; CURRENT, what is not filed yet, comes last."""
    with memory_of(memory, user) as opened:
        documents = opened.user(user).topics.documents()
    if as_json:
        out.write_json([document_line(document) for document in documents])
    elif documents:
        rows = [
            [document.id, len(document.entries), document.token_count, document.title, document.summary]
            for document in documents
        ]
        out.table("id", "entries", "tokens", "title", "summary", rows=rows)
    if not documents:
        out.note(_NOTHING)


@app.command()
def show(doc_id: Id, *, user: User = MYSELF, memory: Folder, as_json: AsJson = False) -> None:
    """Show a document as Markdown."""
    with memory_of(memory, user) as opened:
        topics = opened.user(user).topics
        document, text = topics.document(doc_id), topics.text(doc_id)
    if as_json:
        out.write_json({**document_line(document), "text": text})
    else:
        out.write(text.rstrip("\n"))


@app.command()
def edit(doc_id: Id, *, user: User = MYSELF, memory: Folder, as_json: AsJson = False) -> None:
    """Correct a document in $VISUAL or $EDITOR. What is changed becomes a message of the log."""
    with memory_of(memory, user) as opened:
        before = opened.user(user).topics.text(doc_id)
    draft = _draft(before)
    try:
        click.edit(filename=str(draft))
        text = draft.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        with memory_of(memory, user) as opened:  # not held open while somebody writes
            done = opened.user(user).topics.edit(doc_id, text, before=before)
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
    _tell(done, as_json=as_json)


@app.command()
def export(
    folder: Annotated[
        Path,
        typer.Argument(parser=given_path, metavar="DIR", help="New, empty, or an earlier export."),
    ],
    *,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Write the documents as a folder of Markdown files, with an index."""
    with memory_of(memory, user) as opened:
        done = opened.user(user).topics.export(folder)
    if as_json:
        out.write_json(done)
        return
    out.write(f"{out.count(len(done.files) - 1, 'document')} written to {done.folder}")
    out.note(f"edit them, then: zibaldone topics import {folder}")


@app.command("import")
def import_(
    folder: Annotated[
        Path,
        typer.Argument(parser=given_path, metavar="DIR", help="A folder that was exported."),
    ],
    *,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Take over what was edited in an exported folder; exit code 1 when something was not."""
    with memory_of(memory, user) as opened:
        done = opened.user(user).topics.import_(folder)
    _tell(done, as_json=as_json)
    if done.edits and not as_json:
        out.note(f"before you edit on: zibaldone topics export {folder}")


def document_line(document: Document) -> dict[str, object]:
    """A document as JSON, without its text."""
    return {
        "id": document.id,
        "title": document.title,
        "summary": document.summary,
        "entries": len(document.entries),
        "tokens": document.token_count,
        "created": str(document.created_time or "") or None,
    }


def _tell(done: TopicsEdited, *, as_json: bool) -> None:
    """What became of edits. Ends the command where there are conflicts."""
    if as_json:
        out.write_json(
            {
                "edits": [out.message_object(message) for message in done.edits],
                "conflicts": done.conflicts,
                "behind": done.behind,
            }
        )
    else:
        out.write(f"{out.count(len(done.edits), 'edit')} taken over")
        for message in done.edits:
            out.write(out.message_line(message))
        for conflict in done.conflicts:
            out.write(f"\n{conflict.diff}")
    for view in done.behind:
        out.note(f"the documents do not say it yet: {view.reason}", "yellow")
    if done.conflicts:
        names = ", ".join(conflict.file for conflict in done.conflicts)
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
