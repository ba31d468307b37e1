"""A compacted chunk: items, metadata, and the form in which its items are stored in a block."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from zibaldone.log import from_us, to_us
from zibaldone.models.base import Vectors
from zibaldone.text.words import term_of, words


@dataclass(frozen=True, slots=True)
class Item:
    """A remembered item: a message's words less filler, or a model's note of several messages."""

    id: int  # in its chunk; never given twice
    text: str
    speaker: str | None  # None for what a model wrote
    sources: tuple[int, ...]  # seqs, rising
    time: datetime  # of its last source
    session: str  # of its last source
    place: int = 0  # where in its message a verbatim item starts


@dataclass(frozen=True, slots=True)
class Metadata:
    """Metadata by which a chunk is found: `K` of Algorithm 1."""

    keywords: tuple[str, ...]  # weightiest first
    entities: tuple[str, ...]
    summary: str  # one line
    first: datetime  # time span of the items
    last: datetime
    vectors: Vectors  # (s, d) rows of unit length, one per quarter of the chunk; (0, d): not embedded yet
    terms: frozenset[str] = field(init=False, repr=False, compare=False)  # of keywords and entities

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", terms_of((*self.keywords, *self.entities)))

    @property
    def mean_vector(self) -> Vectors:
        """(d,) of unit length; zeros if nothing is embedded."""
        mean = self.vectors.sum(axis=0)
        return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9), dtype=np.float32)


def terms_of(forms: Iterable[str]) -> frozenset[str]:
    return frozenset(term for form in forms for word in words(form) for _, term in term_of(word))


@dataclass(frozen=True, slots=True)
class Chunk:
    """One row of the chunk table."""

    id: int
    namespace: str
    version: int
    last_seq: int  # of the message that closed the gate
    raw_tokens: int
    tokens: int
    items: int
    metadata: Metadata
    made_by: str
    degraded: str

    @property
    def retained_ratio(self) -> float:
        """Rho (Eq. 1): share of the raw tokens that compression kept."""
        return self.tokens / self.raw_tokens if self.raw_tokens else 1.0


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk with its items, as shown to people."""

    id: int
    version: int
    session: str | None  # None: it may span several of the user's
    summary: str
    keywords: tuple[str, ...]
    entities: tuple[str, ...]
    first: datetime
    last: datetime
    items: tuple[Item, ...]
    raw_tokens: int
    tokens: int
    retained_ratio: float
    made_by: str
    degraded: str


@dataclass(frozen=True, slots=True)
class Past:
    """An item that left its chunk, or changed."""

    chunk: int
    item: Item
    reason: str  # "superseded" or "duplicate"
    by_sources: tuple[int, ...]  # seqs of the messages that took its place


def stored(chunk: Chunk, items: Iterable[Item]) -> StoredChunk:
    """A chunk with its items, as shown to people."""
    about = chunk.metadata
    described = (about.summary, about.keywords, about.entities, about.first, about.last, tuple(items))
    cost = (chunk.raw_tokens, chunk.tokens, chunk.retained_ratio, chunk.made_by, chunk.degraded)
    return StoredChunk(chunk.id, chunk.version, chunk.namespace or None, *described, *cost)


def to_record(items: Sequence[Item]) -> bytes:
    """Items as UTF-8 JSON; the same items give the same bytes."""
    return json.dumps([item_to_json(item) for item in items], ensure_ascii=False).encode()


def from_record(data: bytes) -> list[Item]:
    return [item_from_json(fields) for fields in json.loads(data)]


def item_to_json(item: Item) -> list[object]:
    offset = item.time.utcoffset()
    zone_s = int(offset.total_seconds()) if offset else 0
    time_us = to_us(item.time)
    return [item.id, item.text, item.speaker, item.sources, time_us, zone_s, item.session, item.place]


def item_from_json(fields: Sequence[Any]) -> Item:
    """An item as `item_to_json` wrote it."""
    number, text, speaker, sources, time_us, zone_s, session, place = fields
    return Item(number, text, speaker, tuple(sources), from_us(time_us, zone_s), session, place)


def sources_of(items: Iterable[Item]) -> set[int]:
    return {seq for item in items for seq in item.sources}
