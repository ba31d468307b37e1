"""Stage II (section 3.3): episodes, as intact units, where they leave less open than what is in already.

The paper's code tests every episode against the semantics alone; here the base grows with each admission, as
the paper's text has it, so that the second of two episodes that say the same is not admitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from zibaldone.errors import InvalidInput
from zibaldone.search.lexical import Doubles, Ints
from zibaldone.views.checked_settings import Count, Whole, settings
from zibaldone.views.hierarchy.stage_one import Pick, normalised
from zibaldone.views.hierarchy.uncertainty import Context, Gain, ShownEpisode, Signal


@settings
class StageTwo:
    """Settings of Stage II, with the values of the paper's code; thresholds are the signal's."""

    similar: Whole = 10  # candidates by their own similarity, beside the sources of the semantics
    probe: Whole = 10  # candidates that are looked at
    most: Whole = 10  # episodes admitted
    least: Whole = 1  # so many of the best are admitted whatever they gain
    lows: Count = 2  # low gains in a row that end the search


_DEFAULT = StageTwo()


@dataclass(frozen=True, slots=True)
class RankedEpisode:
    """A candidate episode and its scores."""

    episode: int
    score: float  # similarity + support
    similarity: float  # to the query, min-max over all episodes
    support: float  # relevance of the most relevant semantic that it is the source of; 0: none is selected


@dataclass(frozen=True, slots=True)
class EpisodeText:
    """Narrative and messages of an episode, with their tokens."""

    narrative: str
    narrative_tokens: int
    messages: str = ""  # word for word; empty when `narrative` is already that
    messages_tokens: int = 0


class Outcome(Enum):
    """Decision on a candidate."""

    ADMITTED = "it leaves less open"
    FIRST = "the best there is, whatever it gains"
    LOW = "it does not leave enough less open"
    NO_ROOM = "it does not fit what is left of the budget"
    STOPPED = "the search had ended before it"


@dataclass(frozen=True, slots=True)
class EpisodeDecision:
    """A candidate with the decision on it."""

    ranked: RankedEpisode
    outcome: Outcome
    expanded: bool = False  # its messages are in, in place of its narrative

    @property
    def admitted(self) -> bool:
        return self.outcome in (Outcome.ADMITTED, Outcome.FIRST)


@dataclass(frozen=True, slots=True)
class Inclusion:
    """Result of Stage II."""

    units: tuple[ShownEpisode, ...]  # in the order of admission
    decisions: tuple[EpisodeDecision, ...]  # one per candidate, in the order of rank
    probes: int  # how often a model was asked
    degraded: str  # why the offline signal took over; "" when it did not


def candidates(
    ids: Ints,
    similarity: Doubles,
    semantics: Sequence[Pick],
    episode_of: Mapping[int, int],
    config: StageTwo = _DEFAULT,
) -> tuple[RankedEpisode, ...]:
    """Candidate episodes, best first: min-max similarity plus semantic support, of equals the lowest id.

    `ids` and `similarity` are (n,), of all episodes; `episode_of` has the source of every selected semantic.
    """
    if not len(ids):
        return ()
    if not np.isfinite(similarity).all():
        raise InvalidInput("similarity must be finite: a score that is not a number has no place in an order")
    support: dict[int, float] = {}
    for pick in semantics:
        episode = episode_of[pick.id]
        support[episode] = max(support.get(episode, 0.0), pick.relevance)
    near = np.lexsort((ids, -similarity))[: config.similar]
    chosen = set(ids[near].tolist()) | support.keys()
    ranked = [
        RankedEpisode(number, own + support.get(number, 0.0), own, support.get(number, 0.0))
        for number, own in zip(ids.tolist(), normalised(similarity).tolist(), strict=True)
        if number in chosen
    ]
    ranked.sort(key=lambda one: (-one.score, one.episode))
    return tuple(ranked[: config.probe])


def include(
    question: str,
    opening: Sequence[str],
    ranked: Sequence[RankedEpisode],
    texts: Mapping[int, EpisodeText],
    signal: Signal,
    budget_tokens: int,
    config: StageTwo = _DEFAULT,
) -> Inclusion:
    """Admit candidates one after another, each against everything that is admitted already.

    `opening` is the coarse context (themes, then semantics), which is not paid from `budget_tokens`. One that
    does not fit is passed over, not cut, and says nothing about those behind it.
    """
    search = _Search(Context(question, tuple(opening)), signal, budget_tokens, config)
    best = ranked[0].score if ranked else 0.0
    decisions = tuple(
        search.decide(one, texts[one.episode], one.score / best if best > 0 else 1.0) for one in ranked
    )
    return Inclusion(search.context.units, decisions, signal.probes, search.degraded)


class _Search:
    """The growing context, and the conditions that end the search."""

    def __init__(self, context: Context, signal: Signal, room: int, config: StageTwo) -> None:
        self.context, self.room = context, room
        self._signal, self._config = signal, config
        self.degraded = ""
        self._lows = 0
        self._best: dict[str, float] = {}  # the largest gain so far, by signal: their units differ

    def decide(self, ranked: RankedEpisode, text: EpisodeText, weight: float) -> EpisodeDecision:
        """Decide on one candidate, and admit it to the context."""
        unit = ShownEpisode(ranked.episode, text.narrative, text.narrative_tokens, weight)
        if self._lows >= self._config.lows or len(self.context.units) >= self._config.most:
            return EpisodeDecision(ranked, Outcome.STOPPED)
        if unit.tokens > self.room:
            return EpisodeDecision(ranked, Outcome.NO_ROOM)
        outcome = self._judge(self._gain(self.context.with_unit(unit)))
        if outcome is Outcome.LOW:
            self._lows += 1
            return EpisodeDecision(ranked, outcome)
        self._lows = 0
        self.context, self.room = self.context.with_unit(unit), self.room - unit.tokens
        return EpisodeDecision(ranked, outcome, self._expand(unit, text))

    def _gain(self, after: Context) -> Gain:
        gain = self._signal.gain(self.context, after)
        self.degraded = self.degraded or gain.degraded
        return gain

    def _judge(self, gain: Gain) -> Outcome:
        limits = gain.thresholds
        best = max(gain.value, self._best.get(gain.signal, gain.value))
        self._best[gain.signal] = best
        if gain.value >= max(limits.admit, limits.of_best * best):
            return Outcome.ADMITTED
        return Outcome.FIRST if len(self.context.units) < self._config.least else Outcome.LOW

    def _expand(self, unit: ShownEpisode, text: EpisodeText) -> bool:
        """Replace an episode's narrative by its messages, if that gains enough more."""
        more = text.messages_tokens - text.narrative_tokens
        if not text.messages or more > self.room:
            return False
        whole = replace(unit, text=text.messages, tokens=text.messages_tokens)
        expanded = replace(self.context, units=(*self.context.units[:-1], whole))
        gain = self._gain(expanded)
        if gain.value < gain.thresholds.expand:
            return False
        self.context, self.room = expanded, self.room - more
        return True
