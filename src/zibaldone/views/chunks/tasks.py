"""What the chunks view asks a model. Without one `offline` is the answer."""

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
    """A chunk as a model sees it: its metadata alone."""

    chunk: int
    keywords: tuple[str, ...]
    entities: tuple[str, ...]
    summary: str
    first: str
    last: str


@dataclass(frozen=True)
class ItemsShown:
    """A chunk's items as a model sees them, a line each: id, text, and the day where it is a new one."""

    chunk: int  # 0 for the new one
    items: tuple[str, ...]


@dataclass(frozen=True)
class Compress(Task[Compressed]):
    """COMPRESS and BUILDMETA of one bounded chunk."""

    view = "chunks"
    prompt = "compress"
    result = Compressed
    max_tokens = 2048

    messages: tuple[ShownMessage, ...]

    def offline(self) -> Compressed:
        """Nothing: the sentences that carry facts stand as they are."""
        return Compressed(items=[], keywords=[], entities=[], summary="")

    def check(self, result: Compressed) -> None:
        """Some note stands on messages of this chunk, unless there is none."""
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
        """Only candidates, each once, and no more than asked for."""
        known = {candidate.chunk for candidate in self.candidates}
        check_ids(result.chunks, known, "chunks")
        if len(result.chunks) > self.at_most:
            raise ValueError(f"chunks has {len(result.chunks)} ids; at most {self.at_most} are allowed")


@dataclass(frozen=True)
class JointCompact(Task[Compacted]):
    """JOINTCOMPACT of a new chunk with the related ones."""

    view = "chunks"
    prompt = "joint_compact"
    result = Compacted
    max_tokens = 2048

    new: ItemsShown
    related: tuple[ItemsShown, ...]
    new_ids: frozenset[int] = field(metadata=NOT_SENT, compare=False)

    def offline(self) -> Compacted:
        """No change: what was said before stays as it is."""
        return Compacted()

    def check(self, result: Compacted) -> None:
        """Some note is made of new ones; what each says is compared when the answer is carried out."""
        _check_notes(result.items, self.new_ids, "notes of `new`")


def shown_chunk(chunk: Chunk) -> ChunkShown:
    """A stored chunk's metadata, short."""
    return shown_metadata(chunk.id, chunk.metadata)


def shown_metadata(number: int, about: Metadata) -> ChunkShown:
    """Metadata, short; `number` is 0 for a chunk that has no id yet."""
    return ChunkShown(
        chunk=number,
        keywords=about.keywords[:SHOWN_KEYWORDS],
        entities=about.entities,
        summary=about.summary,
        first=about.first.date().isoformat(),
        last=about.last.date().isoformat(),
    )


def shown_items(number: int, items: Sequence[Item]) -> ItemsShown:
    """Items, each with its speaker in front where it has one."""
    lines, day = [], None
    for item in items:
        date = "" if item.time.date() == day else f"({item.time.date().isoformat()}) "
        speaker = f"{item.speaker}: " if item.speaker else ""
        lines.append(" ".join(f"{item.id} {date}{speaker}{item.text}".split()))
        day = item.time.date()
    return ItemsShown(number, tuple(lines))


def shown_messages(gate: Gate) -> tuple[ShownMessage, ...]:
    """The messages of a full active chunk."""
    return tuple(shown_message(piece.message, piece.text) for piece in gate.pieces)


def _check_notes(notes: Sequence[Note], known: Collection[int], what: str) -> None:
    """Raises ValueError when notes were written, and none of them has a source that was given."""
    if notes and not any(note.text.strip() and not set(known).isdisjoint(note.sources) for note in notes):
        check_sources(notes[0].text, notes[0].sources, known, what)
        raise ValueError("no item has a text")
