"""A person's edits of a document's entries: found by a diff, kept as messages of the log, applied when read.

Entries are changed, added and removed; titles and summaries follow them, and moving an entry is no edit. A
message has the new words alone: old words, and the titles above them, are marked by a hash, so that no
message keeps what another said. An edit is never refused: a rebuild may have filed its entry elsewhere, so
that it is looked for in every document, and new words whose place is gone are noted in CURRENT like any
others.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, PositiveInt, ValidationError

from zibaldone.core import Message
from zibaldone.views.topics.consolidate.consolidation import append
from zibaldone.views.topics.consolidate.summaries import logged, summed_up
from zibaldone.views.topics.consolidate.workbench import Work, Workbench
from zibaldone.views.topics.library import CURRENT, Library
from zibaldone.views.topics.markdown.document import Document
from zibaldone.views.topics.markdown.entry import Entry, When, read_entry

ROLE = "editor"
SESSION = "topics"


@dataclass(frozen=True, slots=True)
class Edit:
    """One entry added, changed or removed."""

    path: tuple[str, ...]  # titles above it
    before: Entry | None  # None when it was added
    after: Entry | None  # None when it was removed

    @property
    def kind(self) -> str:
        return "added" if self.before is None else "changed" if self.after else "removed"


@dataclass(frozen=True, slots=True)
class Conflict:
    """A document that was edited both by a person and in memory: the person's edits are not taken over."""

    document: str  # id
    diff: str  # for a person


class RequestedEdit(BaseModel):
    """An edit as the metadata of its message asks for it."""

    model_config = ConfigDict(strict=True)

    edit: Literal["added", "changed", "removed"]
    part: Literal["entry"]
    document: str = ""  # an id, which may be another document's after a rebuild
    path: list[str] = []  # marks of the titles above it
    before: str | None = None  # mark of the old words; None when it is added
    sources: list[PositiveInt] = []  # of the old entry
    entry: str = ""  # its signature as the person left it; "" for bare words


# By what an entry is the same: all of it, or else its words, or else its seqs and part.
_IDENTITIES: tuple[Callable[[Entry], object], ...] = (
    lambda entry: entry,
    lambda entry: entry.text,
    lambda entry: entry.first and (entry.first, entry.last, entry.part),
)


def diff(before: Document, after: Document) -> tuple[Edit, ...]:
    """Edits that turn `before` into `after`, removals last.

    An entry is the same if its words are, or else its seq and part; a signature taken off is no edit.
    """
    gone, come = list(before.placed()), list(after.placed())
    edits: dict[int, Edit] = {}  # by place in `come`
    for same in _IDENTITIES:
        for at, (path, entry) in enumerate(come):
            for old in gone if at not in edits and same(entry) else ():
                if same(old[1]) == same(entry):
                    gone.remove(old)
                    edits[at] = Edit(path, old[1], entry)
                    break
    for at, (path, entry) in enumerate(come):
        edits.setdefault(at, Edit(path, None, entry))
    bare = {at for at, one in edits.items() if one.before and one.after == Entry(one.before.text)}
    made = [edits[at] for at in range(len(come)) if at not in bare and edits[at].before != edits[at].after]
    return (*made, *(Edit(path, entry, None) for path, entry in gone))


def mark_of(text: str) -> str:
    """Digest by which a text is found again without keeping its words."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def conflict_diff(stored: str, edited: str, before: str, name: str = "the document") -> str:
    """Show a person what happened to a document in memory, and in their text, since the edit began."""
    sides = ((stored, f"{name} in memory now"), (edited, f"{name} as edited"))
    shown = (
        difflib.unified_diff(before.splitlines(), text.splitlines(), f"{name} as exported", to, lineterm="")
        for text, to in sides
    )
    return "\n\n".join(filter(None, map("\n".join, shown)))


def to_messages(doc_id: str, edits: Iterable[Edit]) -> list[Message]:
    """Make a message for each edit of a document, in their order."""
    return [
        Message(_content(edit), role=ROLE, session=SESSION, metadata=_metadata(doc_id, edit))
        for edit in edits
    ]


def read(message: Message) -> RequestedEdit | None:
    """The edit that a message asks for; None for talk, from which entries are extracted."""
    try:
        return RequestedEdit.model_validate(message.metadata) if message.role == ROLE else None
    except ValidationError:
        return None


def apply(library: Library, messages: Sequence[Message], workbench: Workbench) -> Library:
    """The library after the edits that these messages ask for, in their order; other messages are ignored.

    A change puts an entry with the new words in the old one's place, with its message as its only source. No
    model is asked, and CURRENT is not flushed: a full one is by the next message that is no edit. Summaries
    and token counts are made once, after the last edit. Raises ModelFailed when the embedder does not answer.
    """
    changed: set[str] = set()
    for message in messages:
        if request := read(message):
            after = _edited(library, request, message, workbench)
            changed |= {one.id for one in after.everything() if library.document(one.id) is not one}
            library = after
    work = Work(workbench, library)
    if here := [library.documents[doc_id] for doc_id in changed if doc_id in library.documents]:
        work.survey(library.documents.values(), [])
        library = library.with_documents(summed_up(document, work) for document in here)
    if CURRENT in changed:
        tokens = work.tokens(library.current.entries)
        library = replace(library, current=replace(library.current, token_count=tokens))
    return library


def _edited(library: Library, request: RequestedEdit, message: Message, workbench: Workbench) -> Library:
    words = "" if request.edit == "removed" else message.content
    if any(one.last == message.seq and one.text == words for one in library.entries()):
        return library  # it was done before
    place = _found(library, request) if request.before else None
    if place is None:
        return _added(library, request, message, workbench) if words else library
    document, old = place
    new = (_made(request, message, old),) if words else ()
    body = [one for block in document.body for one in (new if block is old else (block,))]
    return _put(library, document.with_body(body), message)


def _added(library: Library, request: RequestedEdit, message: Message, workbench: Workbench) -> Library:
    """New words at the end of the section that has the most of the path's titles; else in CURRENT."""
    new = _made(request, message, Entry(""))
    for depth in range(len(request.path), 0, -1):
        for document in _named_first(library, request):
            at = 0
            for section in document.partitions():
                at += len(section.body)
                if tuple(map(mark_of, section.path[:depth])) == tuple(request.path[:depth]):
                    body = (*document.body[:at], new, *document.body[at:])
                    return _put(library, document.with_body(body), message)
    assert message.time is not None
    return append(library, [new], message.time, workbench)


def _found(library: Library, request: RequestedEdit) -> tuple[Document, Entry] | None:
    """The entry with the old words and the same sources; else with some of them."""
    sources = set(request.sources)
    near: list[tuple[bool, Document, Entry]] = []
    for document in _named_first(library, request):
        for entry in document.entries:
            own = set(entry.sources)
            shared = own == sources or not (own and sources) or own & sources
            if mark_of(entry.text) == request.before and shared:
                near.append((own == sources, document, entry))
    best = max(near, key=lambda one: one[0], default=None)
    return None if best is None else best[1:]


def _named_first(library: Library, request: RequestedEdit) -> list[Document]:
    return sorted(library.everything(), key=lambda document: document.id != request.document)


def _made(request: RequestedEdit, message: Message, old: Entry) -> Entry:
    """The new entry, with the signature as edited; bare words keep the old entry's signature."""
    assert message.time is not None
    known = read_entry(request.entry) if request.entry else old
    return Entry(
        message.content,
        first=message.seq,
        time=known.time or old.time or When.of(message.time.date()),
        source=known.source,
        supersedes=known.supersedes,
        superseded_by=known.superseded_by,
    )


def _put(library: Library, document: Document, message: Message) -> Library:
    """The library with an edited document, or without it if it has no entries left."""
    assert message.time is not None
    if document.id == CURRENT:
        left = document if document.entries else Document(CURRENT)
        return replace(library, current=left, opened=library.opened if document.entries else None)
    if not document.entries:
        return library.with_documents((), [document.id])
    return library.with_documents([logged(document, "edited", When.of(message.time))])


def _content(edit: Edit) -> str:
    """The new words, or a sentence that something was removed: removed words are not repeated."""
    if edit.after is not None:
        return edit.after.text
    of = f" of message {edit.before.seq}" if edit.before and edit.before.first else ""
    return f"An editor removed the entry{of} from memory."


def _metadata(doc_id: str, edit: Edit) -> dict[str, Any]:
    """JSON by which `apply` finds the edited entry again."""
    metadata: dict[str, Any] = {"edit": edit.kind, "part": "entry", "document": doc_id}
    metadata["path"] = [mark_of(title) for title in edit.path]
    if edit.before is not None:
        metadata |= {"before": mark_of(edit.before.text), "sources": list(edit.before.sources)}
    if edit.after is not None and (signature := replace(edit.after, text="").line):
        metadata["entry"] = signature
    return metadata
