"""Apply a person's edits to the library, as their messages are read.

An edit is never refused: what it is about is looked for by its words and sources in every document, since a
rebuild may have filed it elsewhere, and new words whose place is gone are noted in CURRENT like any others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime

from zibaldone.core import Message
from zibaldone.views.topics.consolidate.consolidation import append
from zibaldone.views.topics.consolidate.summaries import logged, summed_up, title
from zibaldone.views.topics.consolidate.workbench import Work, Workbench
from zibaldone.views.topics.edit_messages import RequestedEdit, mark_of, read, words_of
from zibaldone.views.topics.library import CURRENT, Library, key_of
from zibaldone.views.topics.markdown.document import Block, Document, Heading, one_line
from zibaldone.views.topics.markdown.entry import Entry, When

_BY_EDITOR = "summary_by_editor"  # in aux: the fingerprint of a summary that a person wrote

Place = tuple[Document, int]  # a document, and a place in its body


def apply(library: Library, messages: Sequence[Message], workbench: Workbench) -> Library:
    """The library after the edits that these messages ask for, in their order; other messages are ignored.

    A change puts an entry with the new words in the old one's place, with its message as its only source. No
    model is asked, and CURRENT is not flushed: a full one is by the next message that is no edit. Summaries
    and token counts are made once, after the last edit. Raises ModelFailed when the embedder does not answer.
    """
    changed: dict[str, bool] = {}  # by document: True if its summary is to be made anew
    for message in messages:
        if (request := read(message)) is None:
            continue
        steps = {"entry": _entry, "heading": _heading, "summary": _summary}
        after = steps[request.part](library, request, message, workbench)
        for document in after.everything():
            before = library.document(document.id)
            if before is None or (before.body, before.summary) != (document.body, document.summary):
                changed[document.id] = changed.get(document.id, False) or request.part == "entry"
        library = after
    return _summed_up(
        library,
        changed.keys(),
        Work(workbench, library),
        keep=lambda one: not changed[one.id] or one.aux.get(_BY_EDITOR) == mark_of(one.summary),
    )


def withdraw(library: Library, messages: Iterable[Message], workbench: Workbench) -> Library:
    """Remove the headings and summaries that these edits brought, since the edits are forgotten.

    Their entries go with `forgetting.forget`, which knows them by their sources.
    """
    work = Work(workbench, library)
    now = dict(library.documents)
    for request in filter(None, map(read, messages)):
        words = one_line(request.words)
        for document in list(now.values()):
            if request.part == "summary" and document.summary and document.summary == words:
                now[document.id] = replace(document, summary="")
            if request.part == "heading" and any(one.title == words for one in document.headings):
                new = title(document.entries, work)
                now[document.id] = document.with_body(
                    replace(block, title=new)
                    if isinstance(block, Heading) and block.title == words
                    else block
                    for block in document.body
                )
    changed = [one for doc_id, one in now.items() if one is not library.documents[doc_id]]
    for document in changed:
        library = _filed(library, document, "forgotten", None)
    ids = {one.id for one in changed}
    return _summed_up(library, ids, work, keep=lambda one: bool(one.summary))


def _entry(library: Library, request: RequestedEdit, message: Message, workbench: Workbench) -> Library:
    seq, time = message.seq, message.time
    assert time is not None  # what is stored has one
    if any(entry.last == seq and entry.text == request.words for entry in library.entries()):
        return library  # it was done before
    place = _entry_place(library, request) if request.kind != "added" else None
    old = place[0].body[place[1]] if place else None
    assert old is None or isinstance(old, Entry)
    if old is None and not request.words:
        return library
    new = _made(request, message, old)
    if place is None:
        place = _section_end(library, request)
        if place is None:
            noted = replace(new, label=new.label or request.label)
            return append(library, [noted], time, Work(workbench, library))
    library = _put(library, place, [new] if request.words else [], time, instead=int(old is not None))
    if old is not None:
        if not any(key_of(one) == key_of(old) for one in library.entries()):
            parts = {key: parts for key, parts in library.parts.items() if key != key_of(old)}
            library = replace(library, parts=parts)
        if request.words and old.last and not any(one.last == old.last for one in library.entries()):
            library = _pointed(library, old.last, seq)
    return library


def _heading(library: Library, request: RequestedEdit, message: Message, _: Workbench) -> Library:
    time = message.time
    assert time is not None  # what is stored has one
    places = _places(library, request, Heading) if request.kind != "added" else ()
    # Of those with the old title, the one below the same headings, or else the first.
    place = next(iter(sorted(places, key=lambda one: _marks(one[1])[:-1] != request.path[:-1])), None)
    if place is not None:
        (document, at), _path = place
        old = document.body[at]
        assert isinstance(old, Heading)
        new = [Heading(request.words, request.level or old.level)] if request.kind == "changed" else []
        return _put(library, (document, at), new, time, instead=1)
    target = library.documents.get(request.document)
    if request.kind == "removed" or target is None or not request.path:
        return library
    above, at = request.path[:-1], 0
    end = len(target.body)
    for section in target.partitions():
        at += len(section.body)
        if above and _marks(section.path[: len(above)]) == above:
            end = at
    return _put(library, (target, end), [Heading(request.words, request.level or len(request.path))], time)


def _summary(library: Library, request: RequestedEdit, message: Message, _: Workbench) -> Library:
    """Set a summary; does nothing if no document has the summary that was edited any more."""
    assert message.time is not None  # what is stored has one
    words = one_line(request.words)
    for document in _named_first(library, request):
        before = mark_of(document.summary) if document.summary else None
        named = request.before is not None or document.id == request.document
        if document.id != CURRENT and before == request.before and named:
            aux = {**document.aux, _BY_EDITOR: mark_of(words)}
            new = replace(document, summary=words, aux=aux)
            return _filed(library, new, "edited", When.of(message.time))
    return library


def _named_first(library: Library, request: RequestedEdit) -> list[Document]:
    return sorted(library.everything(), key=lambda document: document.id != request.document)


def _places(
    library: Library, request: RequestedEdit, kind: type[Heading | Entry]
) -> Iterator[tuple[Place, tuple[str, ...]]]:
    """Places of blocks with the old words, with the titles above; the named document first."""
    for document in _named_first(library, request):
        for at, (path, block) in enumerate(document.placed()):
            if isinstance(block, kind) and mark_of(words_of(block)) == request.before:
                yield (document, at), path


def _entry_place(library: Library, request: RequestedEdit) -> Place | None:
    """Place of the entry with the same words and sources; else some of the sources; else merged from it."""
    fitting: list[Place] = []
    for (document, at), _ in _places(library, request, Entry):
        sources = getattr(document.body[at], "sources", ())
        if sources == request.sources:
            return document, at
        if not request.sources or not sources or not set(request.sources).isdisjoint(sources):
            fitting.append((document, at))
    if fitting:
        return fitting[0]
    for document in _named_first(library, request):
        for at, block in enumerate(document.body):
            parts = library.parts.get(key_of(block), ()) if isinstance(block, Entry) else ()
            if any(
                mark_of(o.text) == request.before and set(o.sources) & set(request.sources) for o in parts
            ):
                return document, at
    return None


def _section_end(library: Library, request: RequestedEdit) -> Place | None:
    """End of the section with the edit's path: in its document, else in the only document that has one."""
    target, path = library.documents.get(request.document), request.path
    if target is not None:
        whole = _ends(target, lambda marks: marks == path)
        if ends := whole or (_ends(target, lambda marks: marks[-1:] == path[-1:]) if path else [0]):
            return target, ends[0]
    if not path:
        return None
    places = [
        (document, ends[0])
        for document in library.documents.values()
        if (ends := _ends(document, lambda marks: marks == path))
    ]
    return places[0] if len(places) == 1 else None


def _ends(document: Document, wanted: Callable[[tuple[str, ...]], bool]) -> list[int]:
    ends, at = [], 0
    for section in document.partitions():
        at += len(section.body)
        if wanted(_marks(section.path)):
            ends.append(at)
    return ends


def _made(request: RequestedEdit, message: Message, old: Entry | None) -> Entry:
    """The new entry, with the signature as edited; bare words keep the old entry's signature."""
    assert message.time is not None  # what is stored has one
    known = request.signed or old or Entry("")
    return Entry(
        request.words,
        first=message.seq,
        time=known.time or (old and old.time) or When.of(message.time.date()),
        source=known.source,
        label=known.label,
        supersedes=known.supersedes,
        superseded_by=known.superseded_by,
    )


def _put(
    library: Library, place: Place, blocks: Iterable[Block], time: datetime, instead: int = 0
) -> Library:
    """Insert blocks at a place, replacing `instead` blocks there; noted in the update log."""
    document, at = place
    body = (*document.body[:at], *blocks, *document.body[at + instead :])
    return _filed(library, document.with_body(body), "edited", When.of(time))


def _filed(library: Library, document: Document, event: str, time: When | None) -> Library:
    """The library with this document, or without it if it has no entries left."""
    if document.id == CURRENT and not document.body:
        return replace(library, current=Document(CURRENT), opened=None)
    if document.id != CURRENT and not document.entries:
        return library.with_documents((), [document.id])
    return _shelved(library, document if document.id == CURRENT else logged(document, event, time))


def _shelved(library: Library, document: Document) -> Library:
    if document.id == CURRENT:
        return replace(library, current=document)
    return library.with_documents([document])


def _summed_up(
    library: Library, changed: AbstractSet[str], work: Work, keep: Callable[[Document], bool]
) -> Library:
    """Renew summaries and token counts of these documents; `keep` tells whose summary stays."""
    documents = [one for doc_id, one in library.documents.items() if doc_id in changed]
    if documents:
        work.survey(library.documents.values(), [])
        written = [
            replace(summed_up(document, work, "-"), summary=document.summary)
            if keep(document)
            else summed_up(document, work)
            for document in documents
        ]
        library = library.with_documents(written)
    if CURRENT in changed:
        tokens = work.tokens(library.current.entries)
        library = replace(library, current=replace(library.current, token_count=tokens))
    return library


def _pointed(library: Library, old: int, new: int) -> Library:
    """Replace `old` by `new` wherever an entry is marked as superseded by it."""

    def pointed(entry: Entry) -> tuple[Entry]:
        by = tuple(new if seq == old else seq for seq in entry.superseded_by)
        return (replace(entry, superseded_by=by) if by != entry.superseded_by else entry,)

    pointing = [one for one in library.everything() if any(old in e.superseded_by for e in one.entries)]
    for document in pointing:
        library = _shelved(library, document.map_entries(pointed))
    return library


def _marks(path: Iterable[str]) -> tuple[str, ...]:
    return tuple(mark_of(title) for title in path)
