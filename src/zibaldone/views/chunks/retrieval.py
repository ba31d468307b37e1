"""MemAttention's read side: Algorithm 1, lines 14 to 20."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from zibaldone.core import ChannelScore, Evidence
from zibaldone.models.base import Embedder, Tokenizer
from zibaldone.rendering import line, line_tokens
from zibaldone.search.lexical import Doubles
from zibaldone.text.dates import find_days
from zibaldone.views.base import Query
from zibaldone.views.chunks.chunk import Chunk, Item
from zibaldone.views.chunks.ranking import Asked, Ranking, rank, take_apart

NAME = "chunks"
_AT_ONCE = 16  # lines counted at a time while the budget is filled


def asked(query: Query, chunks: Sequence[Chunk], tail: Sequence[Item]) -> Asked:
    """BUILDQUERY, line 15: content words, less the names of those who speak in the candidates."""
    speakers = {item.speaker for item in tail if item.speaker}
    first_of_all = {chunk.metadata.entities[0] for chunk in chunks if chunk.metadata.entities}
    seconds = {chunk.metadata.entities[1] for chunk in chunks if len(chunk.metadata.entities) > 1}
    today = query.now.date()
    return take_apart(query.text, sorted(speakers | first_of_all | seconds), _days(query.text, today, chunks))


def _days(text: str, today: date, chunks: Sequence[Chunk]) -> tuple[tuple[int, int], ...]:
    """Days that the query names; a date without a year is one that memory knows of."""
    found = [(d.first.toordinal(), d.last.toordinal()) for d in find_days(text, today)]
    spans = [(c.metadata.first.toordinal(), c.metadata.last.toordinal()) for c in chunks]
    if found and spans and not any(a <= last and first <= b for a, b in spans for first, last in found):
        newest = date.fromordinal(max(b for _, b in spans))
        found = [(d.first.toordinal(), d.last.toordinal()) for d in find_days(text, newest)]
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class Read:
    """The items of the chosen chunks and of the tail, in the order of time, with what they say to a query."""

    items: tuple[Item, ...]
    ranking: Ranking | None
    relevance: float


def read(query: Asked, items: Sequence[Item], embedder: Embedder) -> Read:
    """SORTBYTIME, line 19, and the scores by which a budget is filled."""
    ordered = tuple(sorted(items, key=lambda item: (item.time, item.sources, item.place, item.id)))
    if not ordered:
        return Read((), None, 0.0)
    vector = embedder.embed([query.subject])[0]
    ranking = rank(query, ordered, vector, embedder)
    return Read(ordered, ranking, _relevance(query, ordered, ranking))


def _relevance(query: Asked, items: Sequence[Item], ranking: Ranking) -> float:
    """As the messages view has it: the share of the query's words in the best item, plus its cosine."""
    spoken = {item.time.toordinal() for item in items}
    if any(last - first < 31 and any(first <= d <= last for d in spoken) for first, last in query.days):
        return 1.0
    if query.speakers and len(set(query.words) - query.speakers) < 2:
        return 1.0
    if not query.words:
        return 0.0
    return float(ranking.covered.max() + ranking.cosines.max() - ranking.cosines.mean())


def evidence(found: Read, budget_tokens: int, tokenizer: Tokenizer) -> tuple[Evidence, ...]:
    """Items as the view offers them, best first, until they fill the budget."""
    if found.ranking is None:
        return ()
    order = falling(found.ranking.total)
    channels = channels_of(found)
    offered: list[Evidence] = []
    room = budget_tokens
    for start in range(0, len(order), _AT_ONCE):
        some = [found.items[row] for row in order[start : start + _AT_ONCE]]
        counts = line_tokens([line(item.speaker, item.text) for item in some], tokenizer.count)
        for row, item, tokens in zip(order[start : start + _AT_ONCE], some, counts, strict=True):
            if tokens > room and offered:
                continue
            room -= tokens
            offered.append(
                Evidence(
                    text=item.text,
                    speaker=item.speaker,
                    sources=item.sources,
                    time=item.time,
                    session=item.session,
                    view=NAME,
                    kind="item" if item.id else "message",
                    score=round(float(found.ranking.total[row]), 6),
                    tokens=tokens,
                    place=item.place,
                    channels=channels[row],
                )
            )
        if room < _AT_ONCE:
            break
    return tuple(offered)


def channels_of(found: Read) -> list[tuple[ChannelScore, ...]]:
    """Per item, what words and cosine say of it."""
    if found.ranking is None:
        return []
    told: list[list[ChannelScore]] = [[] for _ in found.items]
    for name, values in (("bm25", found.ranking.lexical), ("dense", found.ranking.cosines)):
        for place, row in enumerate(falling(values), 1):
            value = float(values[row])
            told[row].append(ChannelScore(name, place if value > 0 else 0, round(value, 6)))
    return [tuple(channels) for channels in told]


def falling(values: Doubles) -> list[int]:
    """Rows by falling value, ties in their order."""
    return [int(row) for row in np.argsort(-np.round(values, 4), kind="stable")]
