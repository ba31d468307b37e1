"""The units' table: from messages to rows, and from rows to units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from zibaldone import log
from zibaldone.core import Message
from zibaldone.errors import StorageCorrupt
from zibaldone.models.base import Tokenizer, Vectors
from zibaldone.rendering import line, line_tokens
from zibaldone.search import dense
from zibaldone.storage.schema import message_units as table
from zibaldone.text.dates import find_days
from zibaldone.text.sentences import Span, passages
from zibaldone.views.messages.index import Unit

PASSAGE_TOKENS = 128  # a longer message is cut into passages of at most this


@dataclass(frozen=True, slots=True)
class Cut:
    """One message, cut into units; lists aligned with `spans`."""

    spans: list[Span]
    tokens: list[int]  # of the rendered line and its line break
    days: list[tuple[tuple[int, int], ...]]

    def texts(self, message: Message) -> list[str]:
        """The units' texts."""
        return [message.content[start:end] for start, end in self.spans]


def cut(messages: Sequence[Message], tokenizer: Tokenizer) -> list[Cut]:
    """Cut messages into units of at most PASSAGE_TOKENS, count them and find the days that they name."""
    lines = line_tokens([line(m.speaker, m.content.strip()) for m in messages], tokenizer.count)
    cuts = []
    for message, tokens in zip(messages, lines, strict=True):
        content = message.content
        if tokens <= PASSAGE_TOKENS:
            stripped = content.strip()
            start = content.index(stripped) if stripped else 0
            spans = [(start, start + len(stripped))] if stripped else []
            counts = [tokens] if stripped else []
        else:
            spans = passages(content, PASSAGE_TOKENS, tokenizer.count)
            counts = line_tokens([line(message.speaker, content[a:b]) for a, b in spans], tokenizer.count)
        cuts.append(Cut(spans, counts, [_days(message, content[a:b]) for a, b in spans]))
    return cuts


def to_rows(
    user: str, generation: int, messages: Sequence[Message], cuts: Sequence[Cut], vectors: Sequence[Vectors]
) -> list[dict[str, Any]]:
    """Rows of the units' table; `vectors` has (units, d) per message."""
    return [
        {
            "user": user,
            "generation": generation,
            "seq": message.seq,
            "part": part,
            "start": start,
            "end": end,
            "tokens": one.tokens[part],
            "days": " ".join(f"{first}-{last}" for first, last in one.days[part]),
            "vector": dense.to_bytes(rows[part]),
        }
        for message, one, rows in zip(messages, cuts, vectors, strict=True)
        for part, (start, end) in enumerate(one.spans)
    ]


def to_units(messages: Sequence[Message], cuts: Sequence[Cut]) -> list[Unit]:
    """Units of messages that have no rows yet."""
    found = []
    for message, one in zip(messages, cuts, strict=True):
        assert message.time is not None
        for part, text in enumerate(one.texts(message)):
            found.append(
                Unit(
                    seq=message.seq,
                    part=part,
                    parts=len(one.spans),
                    start=one.spans[part][0],
                    text=text,
                    tokens=one.tokens[part],
                    session=message.session,
                    role=message.role,
                    name=message.name,
                    time=message.time,
                    days=one.days[part],
                )
            )
    return found


def load(
    connection: Connection, user: str, generation: int, after: int, dimension: int
) -> tuple[list[Unit], Vectors]:
    """Units of messages above seq `after`, in the order of (seq, part), and their vectors (n, d)."""
    u = table.c
    query = (
        select(u.seq, u.part, u.start, u.end, u.tokens, u.days, u.vector)
        .where(u.user == user, u.generation == generation, u.seq > after)
        .order_by(u.seq, u.part)
    )
    rows = connection.execute(query).all()
    if not rows:
        return [], np.zeros((0, dimension), dtype=np.float32)
    last = rows[-1].seq
    said = {message.seq: message for message in log.read(connection, user, after=after, to=last)}
    parts = {row.seq: row.part + 1 for row in rows}
    found = []
    for seq, part, start, end, tokens, days, vector in rows:
        message = said.get(seq)
        if message is None or message.time is None or len(vector) != dense.BYTES * dimension:
            raise StorageCorrupt(
                f"a unit of message {seq} of {user!r} is damaged: memory.rebuild(user=...) makes it anew"
            )
        found.append(
            Unit(
                seq=seq,
                part=part,
                parts=parts[seq],
                start=start,
                text=message.content[start:end],
                tokens=tokens,
                session=message.session,
                role=message.role,
                name=message.name,
                time=message.time,
                days=_parse_days(days),
            )
        )
    return found, dense.from_bytes([row.vector for row in rows], dimension)


def present(connection: Connection, user: str, generation: int) -> list[int]:
    """Seqs of the messages that have units."""
    u = table.c
    query = select(u.seq).where(u.user == user, u.generation == generation, u.part == 0)
    return list(connection.execute(query).scalars())


def _days(message: Message, text: str) -> tuple[tuple[int, int], ...]:
    assert message.time is not None
    found = find_days(text, message.time.date())
    return tuple((days.first.toordinal(), days.last.toordinal()) for days in found)


def _parse_days(stored: str) -> tuple[tuple[int, int], ...]:
    if not stored:
        return ()
    return tuple((int(first), int(last)) for first, last in (pair.split("-") for pair in stored.split(" ")))
