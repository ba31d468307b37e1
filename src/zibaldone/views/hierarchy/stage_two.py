"""Stage II (section 3.3), uncertainty adaptive inclusion: episodes that reduce the reader's uncertainty.

The paper's code tests every episode against the semantics alone; here the base grows with each admission, as
the paper's text has it, so that the second of two episodes that say the same is not admitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from zibaldone.search.lexical import Doubles, Ints
from zibaldone.views.checked_settings import Count, Whole, settings
from zibaldone.views.hierarchy.stage_one import Pick, normalised
from zibaldone.views.hierarchy.uncertainty import Context, GainThresholds, ShownEpisode, Signal


@settings
class StageTwo:
    """Settings of Stage II, with the values of the paper's code; thresholds are the signal's."""

    similar: Whole = 10  # candidates by their own similarity, beside the sources of the semantics
    probe: Whole = 10  # candidates that are looked at
    most: Whole = 10  # episodes admitted
    least: Whole = 1  # so many of the best are admitted whatever they gain
    lows: Count = 2  # low gains in a row that end the search


@dataclass(frozen=True, slots=True)
class RankedEpisode:
    """A candidate episode and its scores."""

    episode: int
    score: float  # similarity to the query, min-max over all episodes, and support
    support: float  # relevance of the most relevant semantic that it is the source of; 0: none is selected


@dataclass(frozen=True, slots=True)
class EpisodeText:
    """Narrative and messages of an episode, with their tokens."""

    narrative: str
    narrative_tokens: int
    messages: str = ""  # word for word; empty when `narrative` is already that
    messages_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Inclusion:
    """Result of Stage II."""

    expanded: Mapping[int, bool]  # by admitted episode: True with its messages, in place of its narrative
    degraded: str  # why the offline signal took over; "" when it did not


def candidates(
    ids: Ints,
    similarity: Doubles,
    semantics: Sequence[Pick],
    episode_of: Mapping[int, int],
    config: StageTwo,
) -> tuple[RankedEpisode, ...]:
    """Candidate episodes, best first: min-max similarity plus semantic support, of equals the lowest id.

    `ids` and `similarity` are (n,), of all that may be recalled; `episode_of` has each semantic's source.
    """
    support: dict[int, float] = {}
    for pick in semantics:
        episode = episode_of[pick.id]
        support[episode] = max(support.get(episode, 0.0), pick.relevance)
    near = np.lexsort((ids, -similarity))[: config.similar]
    chosen = set(ids[near].tolist()) | support.keys()
    ranked = [
        RankedEpisode(number, own + support.get(number, 0.0), support.get(number, 0.0))
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
    config: StageTwo,
) -> Inclusion:
    """Admit candidates one after another, each against everything that is admitted already.

    `opening` is the coarse context (themes, then semantics), which is not paid from `budget_tokens`. One that
    does not fit is passed over, not cut, and says nothing about those behind it.
    """
    context, room = Context(question, tuple(opening)), budget_tokens
    expanded: dict[int, bool] = {}
    lows, degraded = 0, ""
    largest: dict[GainThresholds, float] = {}  # gain so far, by signal: their units differ
    best = ranked[0].score if ranked else 0.0
    for candidate in ranked:
        if lows >= config.lows or len(expanded) >= config.most:
            break
        text = texts[candidate.episode]
        weight = candidate.score / best if best > 0 else 1.0
        unit = ShownEpisode(text.narrative, weight)
        if text.narrative_tokens > room:
            continue
        gain = signal.gain(context, context.with_unit(unit))
        degraded = degraded or gain.degraded
        limits = gain.thresholds
        largest[limits] = max(gain.value, largest.get(limits, gain.value))
        enough = max(limits.admit, limits.of_best * largest[limits])
        if gain.value < enough and len(expanded) >= config.least:
            lows += 1
            continue
        lows, expanded[candidate.episode] = 0, False
        context, room = context.with_unit(unit), room - text.narrative_tokens
        more = text.messages_tokens - text.narrative_tokens
        if not text.messages or more > room:
            continue
        whole = replace(unit, text=text.messages)
        wider = replace(context, units=(*context.units[:-1], whole))
        gain = signal.gain(context, wider)
        degraded = degraded or gain.degraded
        if gain.value >= gain.thresholds.expand:
            context, room, expanded[candidate.episode] = wider, room - more, True
    return Inclusion(expanded, degraded)
