"""Topic documents: to be read, edited, and looked back on; edits that came in between as a diff."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from starlette.responses import Response

from zibaldone.core import EDITOR
from zibaldone.errors import InvalidImport, InvalidInput
from zibaldone.log.filters import Filter
from zibaldone.server.page.page_auth import PageAction, PageCall, field
from zibaldone.server.problems import Problem
from zibaldone.views.topics import Document, Entry, Heading

_SHOWN = 100  # documents on a page
_EDITS = 200  # looked through for those of a document
_EDITS_SESSION = "topics"


@dataclass(frozen=True, slots=True)
class ShownBlock:
    """A block of a document as a template needs it."""

    kind: str  # "heading" or "entry"
    text: str
    level: int = 0
    entry: Entry | None = None


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff."""

    kind: str  # "added", "removed", "file", "place" or "same"
    text: str


async def topics(call: PageCall) -> Response:
    """The catalogue."""
    skip = call.number("skip", 0, most=10**9)
    lines = await call.memory.user(call.user).topics.catalogue()
    return call.page(
        "topics.html",
        lines=lines[skip : skip + _SHOWN],
        total=len(lines),
        skip=skip,
        step=_SHOWN,
        job=call.jobs.running(call.user, "/topics"),
    )


async def topic(call: PageCall) -> Response:
    """One document, every entry with its messages."""
    document = await _document(call)
    return call.page("topic.html", document=document, blocks=list(_blocks(document)))


async def topic_form(call: PageCall) -> Response:
    """The document as Markdown, to be edited."""
    call.principal.must_write()
    document = await _document(call)
    text = await call.memory.user(call.user).topics.text(document.id)
    return call.page("topic_edit.html", document=document, text=text, before=text, conflicts=[])


async def edit(call: PageCall) -> Response:
    """Take over what was edited; where memory says something else by now, show both and take nothing."""
    form = await call.form()
    document = await _document(call)
    opened = call.memory.user(call.user).topics
    text, before = field(form, "text"), field(form, "before")
    try:
        edited = await opened.edit(document.id, text, before=before or None)
    except InvalidImport as error:
        raise InvalidInput(str(error)) from error
    if edited.conflicts:
        return call.page(
            "topic_edit.html",
            status=409,
            document=document,
            text=text,
            before=await opened.text(document.id),
            conflicts=[list(_diff_lines(conflict.diff)) for conflict in edited.conflicts],
        )
    return call.see(f"/topics/{document.id}")


async def history(call: PageCall) -> Response:
    """What was done to a document, by memory and by hand."""
    document = await _document(call)
    edits = await call.memory.messages(
        user=call.user, filter=Filter(session=_EDITS_SESSION, roles=[EDITOR]), last=_EDITS
    )
    own = [message for message in edits if message.metadata.get("document") == document.id]
    return call.page("topic_history.html", document=document, edits=own[::-1])


async def _document(call: PageCall) -> Document:
    try:
        return await call.memory.user(call.user).topics.document(call.request.path_params["id"])
    except InvalidInput as error:
        raise Problem(404, "no-topic", "there is no topic document of this id") from error


def _blocks(document: Document) -> Iterator[ShownBlock]:
    for block in document.body:
        if isinstance(block, Heading):
            yield ShownBlock("heading", block.title, min(block.level + 1, 6))
        else:
            yield ShownBlock("entry", block.text, entry=block)


def _diff_lines(diff: str) -> Iterator[DiffLine]:
    kinds = {"+++": "file", "---": "file", "@@ ": "place"}
    for line in diff.splitlines():
        kind = kinds.get(line[:3]) or {"+": "added", "-": "removed"}.get(line[:1], "same")
        yield DiffLine(kind, line)


ACTIONS = (
    PageAction("/topics", topics),
    PageAction("/topics/{id}", topic),
    PageAction("/topics/{id}", edit, posts=True),
    PageAction("/topics/{id}/edit", topic_form),
    PageAction("/topics/{id}/history", history),
)
