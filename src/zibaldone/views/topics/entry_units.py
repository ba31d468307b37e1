"""Remarks: what one message says, entry by entry, is one unit of the table beside the documents.

Entries of one message are found by what they say together, and stand in one line. A message of many entries
is a list of facts, and each of those is a remark of its own; so is an entry that several messages made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from sqlalchemy import Connection, select

from zibaldone.core import Message
from zibaldone.models.base import Tokenizer, Vectors
from zibaldone.rendering import line, line_tokens
from zibaldone.search.unit import Days, Unit
from zibaldone.storage.schema import units as table
from zibaldone.text.dates import find_days
from zibaldone.views import units
from zibaldone.views.base import Generation
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.markdown.entry import AI, Entry

NAME = "topics"
_MOST_ENTRIES = 12  # of one remark
_WITHOUT_VECTOR = 1 << 30  # in a part: forgetting made the remark, and asks no embedder
_FLAGS = (0, _WITHOUT_VECTOR)
_PLACES = 1 << 10  # of remarks on a message, that a part tells apart


@dataclass(frozen=True, slots=True)
class Remark:
    """Entries that are one unit, in the order in which they were said; at least one, all with sources."""

    entries: tuple[Entry, ...]

    @property
    def text(self) -> str:
        return " ".join(entry.text for entry in self.entries)

    @property
    def sources(self) -> tuple[int, ...]:
        """The message that it stands on, and then the others, rising."""
        seqs = {seq for entry in self.entries for seq in entry.sources}
        stands_on = max(seqs)
        return (stands_on, *sorted(seqs - {stands_on}))

    @property
    def key(self) -> units.Key:
        """Its place in its message, and a hash of its words and sources: the same for the same remark.

        So no key is ever used for another text, whatever is made, merged and forgotten in between.
        """
        digest = blake2b(repr((self.sources, self.text)).encode(), digest_size=4).digest()
        place = min(self.entries[0].part, _PLACES - 1)
        return self.sources[0], place << 20 | int.from_bytes(digest) & 0xFFFFF


Remarks = Mapping[units.Key, Remark]


def said_together(entry: Entry) -> tuple[int, ...]:
    return (entry.last,) if entry.first == entry.last else entry.sources


def remarks_of(library: Library | None) -> Remarks:
    """What was said together stands in the order of its message, then of the library, CURRENT last."""
    return remarks(library.entries()) if library else {}


def remarks(entries: Iterable[Entry]) -> Remarks:
    """Of entries in their order."""
    together: dict[tuple[int, ...], list[Entry]] = {}
    for entry in entries:
        if entry.sources:
            together.setdefault(said_together(entry), []).append(entry)
    for group in together.values():
        group.sort(key=lambda entry: entry.part)
    return {remark.key: remark for group in together.values() for remark in _as_remarks(group)}


def _as_remarks(entries: Sequence[Entry]) -> list[Remark]:
    return [Remark(tuple(entries))] if len(entries) <= _MOST_ENTRIES else [Remark((one,)) for one in entries]


def rows_of(new: Remarks, vectors: Vectors | None, tokenizer: Tokenizer, dimension: int) -> list[units.Row]:
    """Rows; `vectors` (n, d) are those of all the entries in order, or None: the remarks wait for them."""
    counts = _tokens(new.values(), tokenizer)
    rows = []
    at = 0
    for (key, remark), tokens in zip(new.items(), counts, strict=True):
        vector = np.zeros(dimension, dtype=np.float32)
        if vectors is not None:
            vector = _mean(vectors[at : at + len(remark.entries)])
            at += len(remark.entries)
        part = key[1] if vectors is not None else key[1] | _WITHOUT_VECTOR
        days = tuple(dict.fromkeys(day for entry in remark.entries for day in _days(entry)))
        rows.append(units.Row(remark.sources, part, "entry", tokens, vector, days, text=remark.text))
    return rows


def _mean(vectors: Vectors) -> Vectors:
    total = vectors.sum(axis=0)
    norm = float(np.linalg.norm(total))
    return np.asarray(total / norm if norm else total, dtype=np.float32)


def replace(
    connection: Connection, generation: Generation, before: Remarks, after: Remarks, new: Sequence[units.Row]
) -> None:
    """Take out the units of remarks that are no more, and add the rows of those that are new."""
    gone = [key for key in before if key not in after]
    units.remove(connection, NAME, generation, [(seq, part | flag) for seq, part in gone for flag in _FLAGS])
    units.insert(connection, NAME, generation, new)


def waiting(connection: Connection, generation: Generation, dimension: int) -> list[Unit]:
    c = table.c
    query = select(c.seq, c.part).where(units.of(NAME, generation), c.part >= _WITHOUT_VECTOR)
    keys = [(row.seq, row.part) for row in connection.execute(query)]
    return units.load(connection, NAME, generation, dimension, only=keys)[0] if keys else []


def give_vectors(
    connection: Connection, generation: Generation, waited: Sequence[Unit], vectors: Vectors
) -> None:
    """Of those of the units that still wait."""
    here = set(units.made_from(connection, NAME, generation, [unit.seq for unit in waited]))
    ready = [(unit, vector) for unit, vector in zip(waited, vectors, strict=True) if unit.key in here]
    units.remove(connection, NAME, generation, [unit.key for unit, _ in ready])
    units.insert(
        connection,
        NAME,
        generation,
        (
            units.Row(
                unit.sources,
                unit.part & ~_WITHOUT_VECTOR,
                unit.kind,
                unit.tokens,
                vector,
                unit.days,
                text=unit.text,
            )
            for unit, vector in ready
        ),
    )


def missing(connection: Connection, generation: Generation, library: Library) -> list[str]:
    """Entries of the documents without units, and units of none of them."""
    stored = {(seq, part & ~_WITHOUT_VECTOR) for seq, part in units.keys(connection, NAME, generation)}
    wanted = set(remarks_of(library))
    return [f"no unit of an entry of message {seq}" for seq, _ in sorted(wanted - stored)] + [
        f"a unit of message {seq} that is no entry of a document" for seq, _ in sorted(stored - wanted)
    ]


def to_units(entries: Sequence[Entry], message: Message, tokenizer: Tokenizer) -> list[Unit]:
    """Of the entries of a message that the view has not read."""
    assert message.time is not None  # what is stored has one
    return [
        Unit(
            sources=remark.sources,
            part=key[1],
            text=remark.text,
            kind="entry",
            tokens=line_tokens([line(message.speaker, remark.text)], tokenizer.count)[0],
            session=message.session,
            role=message.voice,
            name=message.name,
            time=message.time,
            days=tuple(dict.fromkeys(day for entry in remark.entries for day in _days(entry))),
        )
        for key, remark in remarks(entries).items()
    ]


def _tokens(made: Iterable[Remark], tokenizer: Tokenizer) -> list[int]:
    pairs = ((remark.entries[0].source or "user", remark.text) for remark in made)
    lines = [line("assistant" if who == AI else who, text) for who, text in pairs]
    return line_tokens(lines, tokenizer.count)


def _days(entry: Entry) -> Days:
    """That the entry's time may mean, and that its text names."""
    start = entry.time.start if entry.time else None
    if entry.time is None or start is None:
        return ()
    first = start.toordinal()
    last = first + {4: 365, 7: 30}.get(len(entry.time.text), 0)
    named = [(d.first.toordinal(), d.last.toordinal()) for d in find_days(entry.text, start.date())]
    return tuple(dict.fromkeys([(first, last), *named]))
