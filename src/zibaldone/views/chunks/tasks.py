"""What the chunks view asks a model. Each task can be answered without one: `offline` is that answer."""

from __future__ import annotations

from collections.abc import Callable
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
    """`(m', U, D)` and `K_m'`: Algorithm 1, lines 8 and 10, in one call."""

    items: list[Note]
    updates: list[NoteUpdate]
    deletions: list[NoteDeletion]
    keywords: Words
    entities: Words
    summary: str


class ColocationGroups(TaskResult):
    """Chunks to put together: Algorithm 2, lines 3 and 15."""

    groups: list[list[int]]


@dataclass(frozen=True)
class ItemShown:
    """An item as a model sees it."""

    id: int
    time: str
    text: str


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
class RelatedShown:
    """An earlier chunk that is read for joint compaction."""

    chunk: int
    items: tuple[ItemShown, ...]


@dataclass(frozen=True)
class Compress(Task[Compressed]):
    """COMPRESS and BUILDMETA of one bounded chunk."""

    view = "chunks"
    prompt = "compress"
    result = Compressed
    max_tokens = 2048

    messages: tuple[ShownMessage, ...]
    offline: Callable[[], Compressed] = field(metadata=NOT_SENT, compare=False)

    def check(self, result: Compressed) -> None:
        """Every note stands on messages of this chunk."""
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
    max_tokens = 3072

    new_items: tuple[ItemShown, ...]
    related: tuple[RelatedShown, ...]
    offline: Callable[[], Compacted] = field(metadata=NOT_SENT, compare=False)

    def check(self, result: Compacted) -> None:
        """Every id that the answer names is one that was shown, and no new note is lost."""
        new = {item.id for item in self.new_items}
        _check_notes(result.items, new, "new_items")
        lost = new - {source for note in result.items for source in note.sources}
        repeated = {source for one in result.deletions for source in one.because}
        if lost - repeated:
            raise ValueError(f"new notes {sorted(lost)} are in no item: nothing new may be lost")
        known = {(chunk.chunk, item.id) for chunk in self.related for item in chunk.items}
        changes: list[NoteUpdate | NoteDeletion] = [*result.updates, *result.deletions]
        touched = [(one.chunk, one.item) for one in changes]
        for chunk, item in touched:
            if (chunk, item) not in known:
                raise ValueError(f"there is no item {item} in a related chunk {chunk}")
        if len(set(touched)) < len(touched):
            raise ValueError("an earlier note may be updated or deleted once, not twice")
        for change in changes:
            check_ids(change.because, new, "because")
            if not change.because:
                raise ValueError("because must name the new notes that say so")
        if any(not one.text.strip() for one in result.updates):
            raise ValueError("the text of an update must not be empty: delete the note instead")


@dataclass(frozen=True)
class ReadTogether:
    """How often two chunks were read in one go."""

    first: int
    second: int
    times: int


@dataclass(frozen=True)
class Colocate(Task[ColocationGroups]):
    """LLMCOLOCATE and LLMGROUP: which chunks to put into one block."""

    view = "chunks"
    prompt = "colocate"
    result = ColocationGroups
    max_tokens = 512

    chunks: tuple[ChunkShown, ...]
    read_together: tuple[ReadTogether, ...]
    offline: Callable[[], ColocationGroups] = field(metadata=NOT_SENT, compare=False)

    def check(self, result: ColocationGroups) -> None:
        """Only chunks that were shown, each in one group at most."""
        check_ids([one for group in result.groups for one in group], {c.chunk for c in self.chunks}, "groups")


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


def shown_item(item: Item) -> ItemShown:
    """An item, with its speaker in front where it has one."""
    text = f"{item.speaker}: {item.text}" if item.speaker else item.text
    return ItemShown(item.id, item.time.isoformat(timespec="minutes"), text)


def shown_messages(gate: Gate) -> tuple[ShownMessage, ...]:
    """The messages of a full active chunk."""
    return tuple(shown_message(piece.message, piece.text) for piece in gate.pieces)


def _check_notes(notes: list[Note], known: set[int], what: str) -> None:
    for note in notes:
        if not note.text.strip():
            raise ValueError("an item has no text")
        check_sources(note.text, note.sources, known, what)
