"""What a person's edit does to the library when the view reads its message.

An edit is never refused: what it is about is looked for by its words and sources in every document, since a
rebuild may have filed it elsewhere, and new words whose place is gone are noted in CURRENT like any others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from zibaldone.core import Message
from zibaldone.views.topics.consolidate.buffer import append
from zibaldone.views.topics.consolidate.contradictions import claiming, settle, slots_claimed
from zibaldone.views.topics.consolidate.summaries import logged, summed_up, title
from zibaldone.views.topics.consolidate.workbench import Work, Workbench
from zibaldone.views.topics.edit.edit_messages import RequestedEdit, mark_of, read
from zibaldone.views.topics.edit.locate_edits import Desk, entry_home, heading_home, rewritten, section_home
from zibaldone.views.topics.library import CURRENT, Key, Library, exchanged, key_of
from zibaldone.views.topics.markdown.document import Document, Heading, Text, one_line
from zibaldone.views.topics.markdown.entry import Entry, When

_EVENT = "edited"
_BY_EDITOR = "summary_by_editor"  # in aux: the fingerprint of a summary that a person wrote


def apply(library: Library, messages: Sequence[Message], workbench: Workbench) -> Library:
    """The library after the edits that these messages tell of, in their order; others are passed over.

    A change puts an entry with the new words in the old one's place, with its message as its only source. No
    model is asked, and CURRENT is not flushed: a full one is by the next message that is no edit. Summaries
    and token counts are made once, after the last edit. Raises ModelFailed when the embedder does not answer.
    """
    changed: dict[str, bool] = {}  # by document: whether its summary is to be made anew
    for message in messages:
        if (request := read(message)) is None:
            continue
        desk = Desk(library, message, request)
        {"entry": _entry, "text": _text, "heading": _heading, "summary": _summary}[request.part](desk)
        library = _closed(desk, workbench)
        for doc_id in desk.changed:
            changed[doc_id] = changed.get(doc_id, False) or request.part == "entry"
    return _summed_up(
        library,
        changed.keys(),
        Work(workbench, library),
        keep=lambda one: not changed[one.id] or one.aux.get(_BY_EDITOR) == mark_of(one.summary),
    )


def withdraw(library: Library, messages: Iterable[Message], workbench: Workbench) -> Library:
    """Without the headings, paragraphs and summaries that these edits brought, when they are forgotten.

    Their entries go with `forgetting.forget`, which knows them by their sources.
    """
    work = Work(workbench, library)
    now = {one.id: one for one in library.everything()}
    for request in filter(None, map(read, messages)):
        for document in list(now.values()):
            left = _withdrawn(document, request, work)
            if left is not document:
                now[document.id] = left
    changed = {doc_id: one for doc_id, one in now.items() if one is not library.document(doc_id)}
    withdrawn = _filed(library, changed, work, "forgotten", None)
    return _summed_up(withdrawn, changed.keys(), work, keep=lambda one: bool(one.summary))


def _entry(desk: Desk) -> None:
    request, seq = desk.request, desk.message.seq
    if any(entry.last == seq and entry.text == request.words for entry in desk.library.entries()):
        return  # it was done before
    home = entry_home(desk) if request.kind != "added" else None
    if home is not None:
        (doc_id, at), old = home
        desk.gone = old
        desk.put(doc_id, at, [_made(desk, old)] if request.words else [], instead=1)
    elif request.words:
        _add(desk, _made(desk, None))


def _text(desk: Desk) -> None:
    request = desk.request
    if request.kind != "added" and request.before is not None:
        for document in desk.documents():
            for at, block in enumerate(document.body):
                if isinstance(block, Text) and (new := rewritten(block, request.before, request.words)):
                    desk.put(document.id, at, [new], instead=1)
                    return
    if request.words:
        _add(desk, Text(request.words))


def _heading(desk: Desk) -> None:
    request = desk.request
    if request.kind != "added" and (home := heading_home(desk)) is not None:
        doc_id, at = home
        document = desk.library.document(doc_id)
        assert document
        old = document.body[at]
        assert isinstance(old, Heading)
        new = [Heading(request.words, request.level or old.level)] if request.kind == "changed" else []
        desk.put(doc_id, at, new, instead=1)
        return
    target = desk.library.documents.get(request.document)
    if request.kind != "removed" and target is not None and request.path:
        above = request.path[:-1]
        sections = target.partitions()
        inside = [tuple(map(mark_of, one.path[: len(above)])) == above for one in sections]
        last = max((number for number, is_in in enumerate(inside) if is_in), default=len(inside) - 1)
        at = sum(len(section.body) for section in sections[: last + 1])
        desk.put(target.id, at, [Heading(request.words, request.level or len(request.path))])


def _summary(desk: Desk) -> None:
    """Nothing when no document has the summary that was edited: another has been made since then."""
    before, words = desk.request.before, one_line(desk.request.words)
    for document in desk.documents():
        named = document.id == desk.request.document
        if document.id != CURRENT and _is_summary(document, before, named=named):
            aux = {**document.aux, _BY_EDITOR: mark_of(words)}
            desk.changed[document.id] = replace(document, summary=words, aux=aux)
            return


def _is_summary(document: Document, before: str | None, *, named: bool) -> bool:
    return mark_of(document.summary) == before if before else named and not document.summary


def _made(desk: Desk, old: Entry | None) -> Entry:
    """The new entry: with what its signature says now; bare words take the old entry's signature over."""
    request, message = desk.request, desk.message
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
        extra=known.extra,
        marker=old.marker if old else "-",
    )


def _add(desk: Desk, block: Entry | Text) -> None:
    """At the end of its section, else in CURRENT, where everything is an entry."""
    home = section_home(desk)
    if home is not None:
        desk.put(*home, [block])
        return
    entry = _made(desk, None) if isinstance(block, Text) else block
    desk.noted = replace(entry, label=entry.label or desk.request.label)


def _closed(desk: Desk, workbench: Workbench) -> Library:
    """With the marks that follow, and the edit in the update logs."""
    if not desk.changed and desk.noted is None:
        return desk.library
    time = desk.message.time
    assert time is not None  # what is stored has one
    work = Work(workbench, desk.library)
    _mark_anew(desk)
    if desk.gone is not None and not any(
        key_of(one) == key_of(desk.gone) for document in desk.documents() for one in document.entries
    ):
        work.parts.pop(key_of(desk.gone), None)
    filed = _filed(desk.library, desk.changed, work, _EVENT, When.of(time))
    if desk.noted is None:
        return filed
    return append(filed, [desk.noted], time, Work(workbench, filed))


def _filed(
    library: Library, changed: Mapping[str, Document], work: Work, event: str, time: When | None
) -> Library:
    """The library with these documents, less the empty ones; their summaries and tokens are as they were."""
    if not changed:
        return library
    current = changed.get(CURRENT, library.current)
    filed = {doc_id: document for doc_id, document in changed.items() if doc_id != CURRENT}
    removed = [doc_id for doc_id, one in filed.items() if not one.entries and not one.texts]
    written = [logged(document, event, time) for document in filed.values()]
    return replace(
        library.with_documents(written, removed),
        current=current if current.body else Document(CURRENT),
        opened=library.opened if current.body else None,
        parts=work.parts,
    )


def _summed_up(
    library: Library, changed: AbstractSet[str], work: Work, keep: Callable[[Document], bool]
) -> Library:
    """With the summaries and tokens of these documents; `keep` says whose summary stays as it is."""
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


def _mark_anew(desk: Desk) -> None:
    """The new entry supersedes what the old one did, and what it contradicts."""
    seq, old = desk.message.seq, desk.gone
    if old is not None and old.last and desk.request.words:
        now = list(desk.documents())
        if not any(one.last == old.last for document in now for one in document.entries):
            _change(desk, {key_of(one): _pointed(one, old.last, seq) for d in now for one in d.entries})
    if slots := slots_claimed(entry for entry in _new(desk) if entry.current):
        filed = [document for document in desk.documents() if document.id != CURRENT]
        rivals = [entry for document in filed for entry in claiming(document.entries, slots)]
        settled = settle(enumerate(sorted(rivals, key=lambda one: one.last)))
        _change(desk, {key_of(one): one for one in settled.values()})


def _new(desk: Desk) -> Iterator[Entry]:
    for doc_id, document in desk.changed.items():
        if doc_id != CURRENT:
            yield from (one for one in document.entries if one.sources == (desk.message.seq,))


def _change(desk: Desk, changed: Mapping[Key, Entry]) -> None:
    """These entries for those of the same words and sources, wherever they stand."""
    for document in list(desk.documents()):
        left = exchanged(document, changed)
        if left.body != document.body:
            desk.changed[document.id] = left


def _pointed(entry: Entry, old: int, new: int) -> Entry:
    if old not in entry.superseded_by:
        return entry
    return replace(entry, superseded_by=tuple(new if seq == old else seq for seq in entry.superseded_by))


def _withdrawn(document: Document, request: RequestedEdit, work: Work) -> Document:
    if request.part == "summary" and document.summary and document.summary == one_line(request.words):
        return replace(document, summary="")
    if request.part == "heading" and any(
        block.title == one_line(request.words) for block in document.headings
    ):
        wanted = Heading(request.words).title
        new = title(document.entries, work)
        return document.with_body(
            replace(block, title=new) if isinstance(block, Heading) and block.title == wanted else block
            for block in document.body
        )
    if request.part == "text" and request.words:
        mark = mark_of(Text(request.words).text)
        body = [
            (rewritten(block, mark, "") or block) if isinstance(block, Text) else block
            for block in document.body
        ]
        if tuple(body) != document.body:
            return document.with_body(body)
    return document
