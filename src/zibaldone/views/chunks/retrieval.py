"""MemAttention's read side: Algorithm 1, lines 14 to 20.

The paper concatenates whole chunks under the budget B_mem (section 4.3): `recall_unit="chunk"`. By default
the items that answer fill it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from zibaldone.core import ChannelScore, Evidence
from zibaldone.models.base import Tokenizer, WordEmbedder
from zibaldone.search.question import Question
from zibaldone.search.ranker import Explanation, Scores, best_first, score
from zibaldone.search.unit import Unit
from zibaldone.search.unit_index import UnitIndex
from zibaldone.text.dates import find_days
from zibaldone.views.chunks import metadata
from zibaldone.views.chunks.chunk import Item
from zibaldone.views.chunks.select_related import Selected, Target
from zibaldone.views.toolkit import evidence_of, fill

NAME = "chunks"
RECALL_TIMEOUT_S = 10.0  # for a model's selection: an answer without it is better than none
_ROLES = ("user", "assistant", "system", "tool")


def target_of(question: Question, dimension: int) -> Target:
    """Lines 14 and 15, BUILDQUERY: words, vector and days of the question, or whom it asks about."""
    nothing = np.zeros((0, dimension), dtype=np.float32)
    return Target(
        tuple(form for form, _ in question.terms) or question.speakers,
        nothing if question.vector is None else question.vector[None],
        question.days,
    )


@dataclass(frozen=True, slots=True)
class RankedItems:
    """The items of the chosen chunks and of the tail, in the order of time, and how they were scored."""

    items: tuple[Item, ...]
    index: UnitIndex
    scores: Scores | None  # None: there are no items

    @property
    def relevance(self) -> float:
        return self.scores.confidence if self.scores else 0.0


def rank(
    question: Question, items: Sequence[Item], embedder: WordEmbedder, preferred: Sequence[Item] = ()
) -> RankedItems:
    """Score items; rows by time, `preferred` first. Line 19's order comes back in `text/rendering`."""
    ordered = tuple(sorted(items, key=lambda item: (item.time, item.sources, item.place, item.id)))
    index = UnitIndex(embedder.dimension, embedder)
    if not ordered:
        return RankedItems((), index, None)
    vectors = embedder.embed([" ".join(metadata.content_words(item.text)) for item in ordered])
    index.extend([_unit(item, with_days=bool(question.days)) for item in ordered], vectors)
    scores = score(index, question.embedded(embedder))
    place = {item: len(preferred) - at for at, item in enumerate(preferred)}
    first = np.array([place.get(item, 0) for item in ordered], dtype=np.float32)
    if preferred:
        scores = replace(scores, total=scores.total + first * (np.ptp(scores.total) + 1))
    return RankedItems(ordered, index, scores)


def evidence(ranked: RankedItems, room_tokens: int, tokenizer: Tokenizer) -> tuple[Evidence, ...]:
    """Line 20, CONCAT under B_mem: items as the view offers them, best first, until they fill the room."""
    scores = ranked.scores
    if scores is None:
        return ()
    channels = Explanation.of(ranked.index, scores).of_rows(range(len(ranked.items)))

    def best() -> Iterator[Evidence]:
        for row in best_first(scores.total, room_tokens, ranked.index):
            offered = evidence_of(
                ranked.index.units[row], NAME, round(float(scores.total[row]), 6), channels[row]
            )
            yield replace(offered, speaker=ranked.items[row].speaker)

    return fill(best(), room_tokens, tokenizer.count)


def explanation(
    ranked: RankedItems, selected: Selected, covered: Mapping[int, Sequence[int]]
) -> Callable[[int], tuple[ChannelScore, ...] | None]:
    """Explain a message: how its best item ranked, or where its chunk stood among the candidates."""
    of_items = Explanation.of(ranked.index, ranked.scores) if ranked.scores else Explanation.of_nothing()
    places = {number: (place, value) for place, (number, value) in enumerate(selected.ranked, 1)}

    def explain(seq: int) -> tuple[ChannelScore, ...] | None:
        channels = of_items(seq)
        if channels is not None or seq not in covered:
            return channels
        ranks = sorted(places[number] for number in covered[seq] if number in places)
        return tuple(ChannelScore("chunk", place, round(value, 6)) for place, value in ranks[:1])

    return explain


def _unit(item: Item, *, with_days: bool) -> Unit:
    """An item as it is ranked; it stands on its last message, whose time and session it has."""
    *others, last = item.sources
    said_by_role = item.speaker in _ROLES
    days = find_days(item.text, item.time.date()) if with_days else ()
    return Unit(
        sources=(last, *others),
        part=item.id,
        text=item.text,
        kind="item" if item.id else "message",
        tokens=0,  # counted when it is offered
        session=item.session,
        role=item.speaker if said_by_role and item.speaker else "user",
        name=None if said_by_role else item.speaker,
        time=item.time,
        days=tuple((d.first.toordinal(), d.last.toordinal()) for d in days),
        start=item.place,
    )
