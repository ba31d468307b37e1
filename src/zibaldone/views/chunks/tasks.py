"""Tasks of the chunks view; `offline` is the answer without a model.

Docstrings of result classes are in the JSON schema that models are sent: another word is another prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from zibaldone.models.task import (
    NOT_SENT,
    ShownMessage,
    Task,
    TaskResult,
    check_ids,
    check_sources,
    shown_message,
)
from zibaldone.views.chunks.chunk import Chunk, Item, Metadata
from zibaldone.views.chunks.config import SHOWN_KEYWORDS
from zibaldone.views.chunks.gate import Gate

_MOST = 64  # of anything that a model may list
Words = Annotated[list[str], Field(max_length=_MOST)]


class Note(TaskResult):
    """One item that a model wrote."""

    text: str
    sources: list[int]


class Compressed(TaskResult):
    """`m` and `K_m`: Algorithm 1, lines 4 and 5, in one call."""

    items: list[Note]
    keywords: Words
    entities: Words
    summary: str


class Selection(TaskResult):
    """Ids of chunks, the most related first."""

    chunks: list[int]


class ColocationGroups(TaskResult):
    """Ids of chunks that will be needed together."""

    groups: list[list[int]]


class NoteUpdate(TaskResult):
    """An earlier item, rewritten."""

    chunk: int
    item: int
    text: str
    because: list[int]


class NoteDeletion(TaskResult):
    """An earlier item that goes."""

    chunk: int
    item: int
    because: list[int]
    reason: Literal["superseded", "duplicate"]


class Compacted(TaskResult):
    """`(m', U, D)`: Algorithm 1, line 8. A new item that no note names stays as it is."""

    items: list[Note] = Field(default=[])
    updates: list[NoteUpdate] = Field(default=[])
    deletions: list[NoteDeletion] = Field(default=[])


@dataclass(frozen=True)
class ChunkShown:
    """A chunk as a model sees it: metadata alone."""

    chunk: int
    keywords: tuple[str, ...]
    entities: tuple[str, ...]
    summary: str
    first: str
    last: str


@dataclass(frozen=True)
class ItemsShown:
    """A chunk's items as a model sees them, a line each: id, date where it changes, text."""

    chunk: int  # 0 for the new one
    items: tuple[str, ...]


@dataclass(frozen=True)
class Compress(Task[Compressed]):
    """COMPRESS and BUILDMETA of one chunk."""

    view = "chunks"
    prompt = "compress"
    result = Compressed
    max_tokens = 2048

    messages: tuple[ShownMessage, ...]

    def offline(self) -> Compressed:
        """Nothing: the fact-bearing sentences are kept as they are."""
        return Compressed(items=[], keywords=[], entities=[], summary="")

    def check(self, result: Compressed) -> None:
        """Raises ValueError if there are notes, and none has a source that was shown."""
        _check_notes(result.items, {message.seq for message in self.messages}, "messages")


@dataclass(frozen=True)
class SelectRelated(Task[Selection]):
    """LLMSELECT, for maintenance and retrieval alike."""

    view = "chunks"
    prompt = "select_related"
    result = Selection
    max_tokens = 256

    about: str | ChunkShown
    at_most: int
    candidates: tuple[ChunkShown, ...]
    offline: Callable[[], Selection] = field(metadata=NOT_SENT, compare=False)

    def check(self, result: Selection) -> None:
        """Raises ValueError unless the ids are candidates, distinct, and at most `at_most`."""
        known = {candidate.chunk for candidate in self.candidates}
        check_ids(result.chunks, known, "chunks")
        if len(result.chunks) > self.at_most:
            raise ValueError(f"chunks has {len(result.chunks)} ids; at most {self.at_most} are allowed")


@dataclass(frozen=True)
class Colocate(Task[ColocationGroups]):
    """LLMCOLOCATE and LLMGROUP: Algorithm 2, lines 3 and 15."""

    view = "chunks"
    prompt = "colocate"
    result = ColocationGroups
    max_tokens = 512

    chunks: tuple[ChunkShown, ...]

    def offline(self) -> ColocationGroups:
        """No groups: cosines of the metadata take their place."""
        return ColocationGroups(groups=[])

    def check(self, result: ColocationGroups) -> None:
        """Raises ValueError unless the ids were shown, each in one group at most."""
        check_ids([n for group in result.groups for n in group], {c.chunk for c in self.chunks}, "groups")


@dataclass(frozen=True)
class JointCompact(Task[Compacted]):
    """JOINTCOMPACT of a new chunk with related ones."""

    view = "chunks"
    prompt = "joint_compact"
    result = Compacted
    max_tokens = 2048

    new: ItemsShown
    related: tuple[ItemsShown, ...]
    new_ids: frozenset[int] = field(metadata=NOT_SENT, compare=False)

    def offline(self) -> Compacted:
        """No change of earlier items."""
        return Compacted()

    def check(self, result: Compacted) -> None:
        """Raises ValueError if there are notes, and none has a source that was shown."""
        _check_notes(result.items, self.new_ids, "notes of `new`")


def shown_chunk(chunk: Chunk) -> ChunkShown:
    """Metadata of a stored chunk, short."""
    return shown_metadata(chunk.id, chunk.metadata)


def shown_metadata(number: int, about: Metadata) -> ChunkShown:
    """Metadata in short; `number` is 0 for a chunk without an id yet."""
    return ChunkShown(
        chunk=number,
        keywords=about.keywords[:SHOWN_KEYWORDS],
        entities=about.entities,
        summary=about.summary,
        first=about.first.date().isoformat(),
        last=about.last.date().isoformat(),
    )


def shown_items(number: int, items: Sequence[Item]) -> ItemsShown:
    """Items in short, each with its speaker if it has one."""
    lines, day = [], None
    for item in items:
        date = "" if item.time.date() == day else f"({item.time.date().isoformat()}) "
        speaker = f"{item.speaker}: " if item.speaker else ""
        lines.append(" ".join(f"{item.id} {date}{speaker}{item.text}".split()))
        day = item.time.date()
    return ItemsShown(number, tuple(lines))


def shown_messages(gate: Gate) -> tuple[ShownMessage, ...]:
    """Messages of a full active chunk."""
    return tuple(shown_message(piece.message, piece.text) for piece in gate.pieces)


def _check_notes(notes: Sequence[Note], known: Collection[int], what: str) -> None:
    """Raises ValueError when notes were written, and none of them has a source that was given."""
    if notes and not any(note.text.strip() and not set(known).isdisjoint(note.sources) for note in notes):
        check_sources(notes[0].text, notes[0].sources, known, what)
        raise ValueError("no item has a text")
