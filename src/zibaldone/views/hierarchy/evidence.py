"""Evidence of one question's nodes, each with its value, as much as there is room for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from zibaldone.core import Evidence, Message
from zibaldone.models.base import Tokenizer
from zibaldone.search.unit import Unit
from zibaldone.text.dated_text import resolved
from zibaldone.views.hierarchy.retrieval import Descent
from zibaldone.views.hierarchy.stage_one import Pick
from zibaldone.views.hierarchy.stage_two import Inclusion, RankedEpisode
from zibaldone.views.hierarchy.table import NAME
from zibaldone.views.toolkit import OFFERED, cut, evidence_of, fill, to_units

EPISODE = 1.0  # in standard deviations: to be in the likeliest admitted episode
NOTHING = -1.0  # of a message that states no fact
_MOST_NEW = 200  # messages without an episode that are offered
Key = tuple[str, int, int]  # what is offered, its number, its part


@dataclass(frozen=True, slots=True)
class Offer:
    """Evidence that is not counted yet, and its value."""

    evidence: Evidence
    value: float
    row: int | None  # of the standing's units; None: it states no fact


@dataclass(frozen=True, slots=True)
class Gathering:
    """Evidence of one descent; `messages` has those of `Descent.seqs` that are still there."""

    descent: Descent
    messages: Mapping[int, Message]
    tokenizer: Tokenizer

    def offered(self, inclusion: Inclusion | None) -> tuple[Evidence, ...]:
        """Best first: facts and messages of admitted nodes by value, or sources behind all facts."""
        ranked, standing, levels = self.descent.ranked, self.descent.standing, self.descent.standing.levels
        if inclusion is not None:
            opened = dict(inclusion.expanded)
        else:
            opened = {one.episode: True for one in ranked if one.support > 0}
        room = int(OFFERED * self.descent.question.budget_tokens)
        if self.descent.config.guided:
            return fill(self._falling(self._as_in_the_paper(opened)), room, self.tokenizer.count)
        offers: dict[Key, Offer] = {}
        sources: list[int] = []
        for pick in self.descent.picks:
            semantic = levels.semantics[levels.row_of[pick.id]]
            if inclusion is not None and semantic.episode in opened:
                continue
            if semantic.episode in levels.by_model:
                offers["semantic", semantic.id, 0] = self._fact(pick)
            else:
                sources.append(standing.stated_in(pick.id)[0])
        offers |= self._sources(sources)
        offers |= self._newest()
        tiers = dict.fromkeys(offers, 0)
        best = max((one.score for one in ranked), default=0.0)
        for place, ranked_episode in enumerate(ranked):
            if ranked_episode.episode in opened:
                weight = ranked_episode.score / best if best > 0 else 1.0
                more = self._episode(ranked_episode, weight, expanded=opened[ranked_episode.episode])
                tiers |= dict.fromkeys(more.keys() - offers.keys(), 0 if inclusion else 1 + place)
                offers = more | offers
        order = sorted(offers, key=lambda key: (tiers[key], -round(offers[key].value, 4), key))
        return fill(self._falling([offers[key] for key in order]), room, self.tokenizer.count)

    def _as_in_the_paper(self, opened: Mapping[int, bool]) -> list[Offer]:
        """All semantics, the admitted episodes in their order, and messages that no episode has yet."""
        offers: dict[Key, Offer] = {}
        for pick in self.descent.picks:
            offers["semantic", pick.id, 0] = self._fact(pick)
        for ranked in self.descent.ranked:
            if ranked.episode in opened:
                offers |= self._episode(ranked, ranked.score, expanded=opened[ranked.episode])
        return [*offers.values(), *self._newest().values()]

    def _fact(self, pick: Pick) -> Offer:
        """A semantic in a model's words, citing its sources and the messages of its statements."""
        rows = self.descent.standing.stated_in(pick.id)
        units = [self.descent.standing.units[row] for row in rows]
        sources = tuple(sorted({*units[0].sources, *(unit.seq for unit in units)}))
        evidence = replace(
            evidence_of(units[0], NAME), speaker=None, sources=sources, kind="semantic", place=0
        )
        return Offer(evidence, self.descent.standing.value(pick.id), rows[0])

    def _sources(self, rows: Sequence[int]) -> dict[Key, Offer]:
        """The messages or passages that state these; each has the value of its best statement."""
        offers: dict[Key, Offer] = {}
        standing = self.descent.standing
        passages = self._passages({standing.units[row].seq for row in rows})
        for row in rows:
            unit = standing.units[row]
            if unit.seq in passages:
                passage = _passage_with(unit, passages[unit.seq])
                value = float(standing.total[standing.best_unit[standing.semantic_at[row]]])
                key = ("message", unit.seq, passage.part)
                if key not in offers or offers[key].value < value:
                    offers[key] = Offer(_told(passage), value, row)
        return offers

    def _newest(self) -> dict[Key, Offer]:
        """Messages without an episode whose value is at least the median of the facts'.

        Or as much as any that could be one, where Stage I chose fewer facts than it might have.
        """
        standing, most = self.descent.standing, self.descent.config.stage_one.semantics
        least = -np.inf
        if self.descent.picks:
            last = float(np.sort(standing.total[standing.inside])[-most:][0])
            middle = float(np.median([standing.value(pick.id) for pick in self.descent.picks]))
            least = max(min(middle, last), 0.0)
        rows = np.flatnonzero((standing.semantic_at < 0) & standing.inside & (standing.total >= least))
        best = sorted(rows.tolist(), key=lambda row: (-round(float(standing.total[row]), 4), row))
        return {
            ("message", unit.seq, unit.part): Offer(_told(unit), float(standing.total[row]), row)
            for row in best[:_MOST_NEW]
            for unit in [standing.units[row]]
        }

    def _episode(self, ranked: RankedEpisode, weight: float, *, expanded: bool) -> dict[Key, Offer]:
        """An episode's messages, or a model's narrative of them."""
        standing = self.descent.standing
        unit = next(unit for unit in standing.episodes if unit.part == ranked.episode)
        stated = np.flatnonzero((standing.semantic_at >= 0) & standing.inside)
        here = [row for row in stated.tolist() if standing.units[row].seq in unit.sources]
        if ranked.episode in standing.levels.by_model and not expanded:
            value = max((float(standing.total[row]) for row in here), default=NOTHING) + EPISODE * weight
            evidence = replace(evidence_of(unit, NAME), speaker=None, text=unit.text.partition("\n")[2])
            return {("episode", unit.part, 0): Offer(evidence, value, None)}
        passages = self._passages(unit.sources)
        best: dict[tuple[int, int], int] = {}  # what speaks most for a passage: the last one put stays
        for row in sorted(here, key=lambda row: (standing.total[row], -row)):
            if (seq := standing.units[row].seq) in passages:
                best[_passage_with(standing.units[row], passages[seq]).key] = row
        offers: dict[Key, Offer] = {}
        for passage in (one for some in passages.values() for one in some):
            stating = best.get(passage.key)
            own = NOTHING if stating is None else max(float(standing.total[stating]), NOTHING)
            offers["message", *passage.key] = Offer(_told(passage), own + EPISODE * weight, stating)
        return offers

    def _passages(self, seqs: set[int] | Sequence[int]) -> dict[int, list[Unit]]:
        messages = [self.messages[seq] for seq in sorted(seqs) if seq in self.messages]
        by_message: dict[int, list[Unit]] = {}
        for unit in to_units(messages, cut(messages, self.tokenizer)):
            by_message.setdefault(unit.seq, []).append(unit)
        return by_message

    def _falling(self, offers: Sequence[Offer]) -> Iterator[Evidence]:
        """Evidence with scores that never rise, and the channels of each."""
        least = np.inf
        rows = [offer.row for offer in offers if offer.row is not None]
        explain = self.descent.standing.statement_explanation
        channels = dict(zip(rows, explain.of_rows(rows) if rows else [], strict=True))
        for offer in offers:
            least = min(least, offer.value)
            unit_channels = () if offer.row is None else channels[offer.row]
            yield replace(offer.evidence, score=round(least, 6), channels=unit_channels)


def _told(passage: Unit) -> Evidence:
    return replace(evidence_of(passage, NAME), text=resolved(passage.text, passage.time.date()))


def _passage_with(statement: Unit, passages: Sequence[Unit]) -> Unit:
    """The passage in which a statement's words begin."""
    before = (one for one in passages if one.start <= statement.start)
    return max(before, key=lambda one: one.start, default=passages[0])
