"""A person's edits of a document: found by a diff, stored as messages of the log, and read from them again.

A message has the new words alone. Old words, and headings above them, are marked by a hash, so that no
message keeps what another said. New headings and summaries may keep some old words: `sources` has the
messages that these may come from, and the edit is forgotten with them.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from zibaldone.core import Message
from zibaldone.text.words import pieces
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.markdown.document import Block, Document, Heading, one_line
from zibaldone.views.topics.markdown.entry import Entry, read_entry
from zibaldone.views.topics.markdown.text_format import render_body

Kind = Literal["added", "changed", "removed"]
Part = Literal["summary", "heading", "entry"]


@dataclass(frozen=True, slots=True)
class Edit:
    """One addition, change or removal; moving a block is no edit."""

    kind: Kind
    part: Part
    path: tuple[str, ...]  # titles above it; of a heading also its own
    before: Block | None = None  # an Entry for a summary; None when it was added
    after: Block | None = None  # None when it was removed


Placed = tuple[tuple[str, ...], Block]


def diff(before: Document, after: Document) -> tuple[Edit, ...]:
    """The edits that turn `before` into `after`, part by part, removals last.

    An entry is the same if its seq and part are, a heading if its title or else its level is. Order makes no
    edits, nor does an entry's signature that was taken off.
    """
    edits = [*_summary(before.summary, after.summary)]
    edits += _edits("heading", before, after, Heading)
    edits += _edits("entry", before, after, Entry)
    return tuple(edits)


def fingerprint(document: Document) -> str:
    """Digest of a document's summary and body, whatever its other fields."""
    content = f"{document.summary}\n\n{render_body(document.body)}"
    return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()


def conflict_diff(stored: str, edited: str, exported: str | None = None, name: str = "the document") -> str:
    """Show a person how a stored document differs from the edited file of an older state of it.

    With the text as it was exported, what happened to either since then; without, the one against the other.
    """
    memory, file, origin = (f"{name} {what}" for what in ("in memory now", "as edited", "as exported"))
    if exported is None:
        return _unified(stored, edited, (memory, file))
    sides = _unified(exported, stored, (origin, memory)), _unified(exported, edited, (origin, file))
    return "\n\n".join(filter(None, sides))


def words_of(block: Block) -> str:
    return block.title if isinstance(block, Heading) else block.text


def _unified(before: str, after: str, names: tuple[str, str]) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm="")
    return "\n".join(lines)


def _summary(before: str, after: str) -> Iterator[Edit]:
    if before != after:
        kind: Kind = "added" if not before else "changed" if after else "removed"
        yield Edit(kind, "summary", (), Entry(before) if before else None, Entry(after) if after else None)


def _edits(part: Part, before: Document, after: Document, kind: type[Heading | Entry]) -> Iterator[Edit]:
    """Edits between blocks of one kind: unequal blocks are paired; unpaired ones came or went."""
    had = [placed for placed in before.placed() if isinstance(placed[1], kind)]
    has = [placed for placed in after.placed() if isinstance(placed[1], kind)]
    shared = Counter(block for _, block in had) & Counter(block for _, block in has)
    gone, come = _without(had, shared.copy()), _without(has, shared)
    pairs: dict[int, int] = {}  # of places in `come` and `gone`
    for alike in (words_of, _same_place):
        free: dict[object, list[int]] = {}
        for at, (_, block) in enumerate(gone):
            if at not in pairs.values() and (key := alike(block)):
                free.setdefault(key, []).append(at)
        for at, (_, block) in enumerate(come):
            if at not in pairs and (places := free.get(alike(block))):
                pairs[at] = places.pop(0)
    for at, (path, block) in enumerate(come):
        old = gone[pairs[at]][1] if at in pairs else None
        if not (isinstance(block, Entry) and old and block == Entry(words_of(old))):
            yield Edit("changed" if old else "added", part, path, old, block)
    lost = [placed for at, placed in enumerate(gone) if at not in pairs.values()]
    yield from (Edit("removed", part, path, block, None) for path, block in lost)


def _same_place(block: Block) -> object:
    if isinstance(block, Heading):
        return block.level
    return (block.first, block.last, block.part) if block.first else None


def _without(placed: Sequence[Placed], shared: Counter[Block]) -> list[Placed]:
    """Blocks that are not shared, each as often as it occurs."""
    rest = []
    for path, block in placed:
        if shared[block] > 0:
            shared[block] -= 1
        else:
            rest.append((path, block))
    return rest


ROLE = "editor"
SESSION = "topics"
_KINDS: tuple[Kind, ...] = get_args(Kind)
_PARTS: tuple[Part, ...] = get_args(Part)


@dataclass(frozen=True, slots=True)
class RequestedEdit:
    """An edit as a message asks for it."""

    kind: Kind
    part: Part
    document: str  # an id, which may be another document's after a rebuild; empty for a new document
    path: tuple[str, ...]  # marks of the titles above it; of a heading also its own
    words: str  # the new ones; empty when something is removed
    before: str | None  # mark of the old ones, by which it is found
    sources: tuple[int, ...]  # of the entry that is meant, or that a title may have its words from
    level: int  # of a heading; 0 where the message does not say it
    label: str | None  # for an entry that finds no section: the heading that the person wrote above it
    signed: Entry | None  # an entry's attributes as the person left them; None: bare words


def to_messages(edits: Iterable[tuple[str, Edit]], library: Library) -> list[Message]:
    """Make a message for each (document id, edit), in their order; `library` is the state that was edited."""
    return [
        Message(
            _content(edit),
            role=ROLE,
            session=SESSION,
            metadata=_metadata(document, edit) | _sources(document, edit, library),
        )
        for document, edit in edits
    ]


def with_ids(messages: Sequence[Message]) -> list[Message]:
    """Give messages of new files ids that are the same when the file is imported again."""
    named: list[Message] = []
    seen: Counter[str] = Counter()
    for message in messages:
        edit = json.dumps([message.content, message.metadata], ensure_ascii=True, sort_keys=True)
        seen[edit] += 1
        mark = hashlib.blake2b(f"{seen[edit]} {edit}".encode(), digest_size=16).hexdigest()
        named.append(message if message.metadata["document"] else replace(message, id=f"edit-{mark}"))
    return named


def read(message: Message) -> RequestedEdit | None:
    """The edit that a message asks for; None if it is none. Malformed fields are ignored."""
    metadata = message.metadata
    kind = next((one for one in _KINDS if one == metadata.get("edit")), None)
    part = next((one for one in _PARTS if one == metadata.get("part")), None)
    if metadata.get("part") == "text":  # as paragraphs were called once
        part = "entry"
    if message.role != ROLE or kind is None or part is None:
        return None
    before, document, level = metadata.get("before"), metadata.get("document"), metadata.get("level")
    label, signature = metadata.get("label"), metadata.get("entry")
    return RequestedEdit(
        kind=kind,
        part=part,
        document=document if isinstance(document, str) else "",
        path=tuple(one for one in _listed(metadata.get("path")) if isinstance(one, str)),
        words="" if kind == "removed" else message.content,
        before=before if isinstance(before, str) else None,
        sources=tuple(one for one in _listed(metadata.get("sources")) if type(one) is int and one > 0),
        level=level if type(level) is int else 0,
        label=label if isinstance(label, str) else None,
        signed=read_entry(signature) if isinstance(signature, str) else None,
    )


def written_words(messages: Iterable[Message]) -> set[str]:
    request = (read(message) for message in messages)
    return {one_line(one.words) for one in request if one is not None and one.part in {"heading", "summary"}}


def mark_of(text: str) -> str:
    """Digest by which a text is found again without keeping its words."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _content(edit: Edit) -> str:
    """The new words, or a sentence that something was removed: removed words are not repeated."""
    if edit.after is not None:
        return words_of(edit.after)
    of = f" of message {edit.before.seq}" if isinstance(edit.before, Entry) and edit.before.first else ""
    return f"An editor removed the {edit.part}{of} from memory."


def _metadata(document: str, edit: Edit) -> dict[str, Any]:
    """JSON by which `apply_edits` finds the edited block again."""
    metadata: dict[str, Any] = {
        "edit": edit.kind,
        "part": edit.part,
        "document": document,
        "path": [mark_of(title) for title in edit.path],
    }
    if edit.before is not None:
        metadata["before"] = mark_of(words_of(edit.before))
    if isinstance(edit.before, Entry):
        metadata["sources"] = list(edit.before.sources)
    if not document and edit.path and not isinstance(edit.after, Heading):
        metadata["label"] = edit.path[-1]
    if isinstance(edit.after, Heading):
        metadata["level"] = edit.after.level
    if isinstance(edit.after, Entry) and (signature := replace(edit.after, text="").line):
        metadata["entry"] = signature
    return metadata


def _sources(document: str, edit: Edit, library: Library) -> dict[str, Any]:
    """Sources of the document's entries that share a word with the heading or summary, old or new.

    For a word that was there and stays, and that no entry of the document has, of all entries that have it: a
    heading may be older than a split.
    """
    if edit.part not in {"heading", "summary"}:
        return {}
    before, after = (pieces(words_of(one)) if one else set() for one in (edit.before, edit.after))
    about = library.document(document)
    here, covered = _saying(before | after, about.entries if about else (), library)
    elsewhere, _ = _saying((before & after) - covered, library.entries(), library)
    sources = sorted(here | elsewhere)
    return {"sources": sources} if sources else {}


def _saying(wanted: set[str], entries: Iterable[Entry], library: Library) -> tuple[set[int], set[str]]:
    """Sources of the entries that have any of these words, and which of the words they have."""
    sources: set[int] = set()
    covered: set[str] = set()
    for entry in entries:
        for part in (entry, *library.parts_of(entry)):
            if shared := wanted & pieces(part.text):
                sources.update(entry.sources)
                covered |= shared
    return sources, covered


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []
