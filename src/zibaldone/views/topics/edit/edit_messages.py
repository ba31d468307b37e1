"""A person's edits as messages of the log, and back: what is written is what a rebuild reads again.

A message has the new words alone. The old ones, and the headings above them, which may be made of anybody's
words, are only marked (by a hash) so that they are found again: no message keeps what another said. New
headings and summaries may keep some of the old words: `sources` has the messages that these may come from,
and the edit is forgotten with them.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from zibaldone.core import Message
from zibaldone.text.words import pieces
from zibaldone.views.topics.edit.document_diff import Edit, Kind, Part, words_of
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.markdown.document import Heading, one_line
from zibaldone.views.topics.markdown.entry import Entry, read_entry

ROLE = "editor"
SESSION = "topics"
_KINDS: tuple[Kind, ...] = get_args(Kind)
_PARTS: tuple[Part, ...] = get_args(Part)


@dataclass(frozen=True, slots=True)
class RequestedEdit:
    """What a message asks of the documents."""

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
    """A message for each edit of a document (by its id), in their order; `library` is what was edited."""
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
    """What is of no document with ids that are the same when the same file is imported again."""
    named: list[Message] = []
    seen: Counter[str] = Counter()
    for message in messages:
        edit = json.dumps([message.content, message.metadata], ensure_ascii=True, sort_keys=True)
        seen[edit] += 1
        mark = hashlib.blake2b(f"{seen[edit]} {edit}".encode(), digest_size=16).hexdigest()
        named.append(message if message.metadata["document"] else replace(message, id=f"edit-{mark}"))
    return named


def read(message: Message) -> RequestedEdit | None:
    """What the message asks for; None when it is no edit. Whatever else is odd in it is passed over."""
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
    """By this a text is known again without its words."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _content(edit: Edit) -> str:
    """The new words, or that there are none: removed ones are not said, so that no recall finds them."""
    if edit.after is not None:
        return words_of(edit.after)
    of = f" of message {edit.before.seq}" if isinstance(edit.before, Entry) and edit.before.first else ""
    return f"An editor removed the {edit.part}{of} from memory."


def _metadata(document: str, edit: Edit) -> dict[str, Any]:
    """JSON by which the view finds again what the edit is about."""
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
    """Of the document's entries that have a word of the heading or summary, as it was or is now.

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
    """Sources of the entries with such words, and which of the words they have."""
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
