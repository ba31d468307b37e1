"""Stage II: which episodes are admitted, what ends the search, and that units stay whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone.views.hierarchy.stage_one import Pick
from zibaldone.views.hierarchy.stage_two import (
    EpisodeText,
    RankedEpisode,
    StageTwo,
    candidates,
    include,
)
from zibaldone.views.hierarchy.uncertainty import Gain, GainThresholds, WordSignal

ANY = StageTwo(least=0)
LIMITS = GainThresholds(admit=0.1, expand=0.3)


def told(*rest):
    """An uncertainty that falls by so much with each text that is in."""
    worth = dict(zip(("e1", "e2", "e3", "e4", "e5"), rest, strict=False))
    return lambda texts: 1.0 - sum(worth[one] for one in texts)


class Scripted:
    """A signal whose uncertainty is a function of the texts that are in."""

    probes = 0

    def __init__(self, uncertainty, thresholds=LIMITS):
        self.uncertainty, self.thresholds = uncertainty, thresholds
        self.asked = []

    def gain(self, before, after):
        """As WordSignal has it."""
        self.asked.append((before, after))
        low, high = (self.uncertainty([u.text for u in c.units]) for c in (after, before))
        return Gain(high - low, self.thresholds)


def ranked(*episodes):
    """Candidates in this order."""
    return [RankedEpisode(one, 1.0, 0.0) for one in episodes]


def included(signal, tokens, budget=100, config=ANY):
    """The admitted of episodes with so many tokens, whose text is their name."""
    shown = {n: EpisodeText(f"e{n}", count) for n, count in enumerate(tokens, 1)}
    return list(include("q", ("facts",), ranked(*shown), shown, signal, budget, config).expanded)


def test_the_base_grows_with_each_admission():
    """The second of two that settle the same is not admitted: it is tested beside the first."""
    signal = Scripted(lambda told: 0.5 if told else 1.0)
    assert included(signal, [5, 5]) == [1]
    before, after = signal.asked[1]
    assert [u.text for u in before.units] == ["e1"]
    assert [u.text for u in after.units] == ["e1", "e2"]
    assert after.opening == ("facts",)


@pytest.mark.parametrize(
    ("gains", "tokens", "budget", "config", "thresholds", "admitted", "asked"),
    [
        ((0, 0.2, 0, 0, 0.2), [1] * 5, 100, ANY, LIMITS, [2], 4),
        ((0.2, 0.2, 0.2), [6, 5, 4], 10, StageTwo(least=0, lows=1), LIMITS, [1, 3], 2),
        ((0, 0), [5, 5], 100, StageTwo(), LIMITS, [1], 2),
        ((0,), [5], 4, StageTwo(), LIMITS, [], 0),
        ((0.6, 0.2, 0.4), [1] * 3, 9, ANY, GainThresholds(0.1, 1.0, of_best=0.5), [1, 3], 3),
    ],
    ids=["two low gains in a row", "no room", "one at least", "no room for one", "far below the best"],
)
def test_what_is_admitted(gains, tokens, budget, config, thresholds, admitted, asked):
    """Low gains in a row end the search; what does not fit is passed over whole, and is no low gain."""
    signal = Scripted(told(*gains), thresholds)
    assert included(signal, tokens, budget, config) == admitted
    assert len(signal.asked) == asked


@pytest.mark.parametrize(
    ("worth", "budget", "expanded"), [(0.4, 30, True), (0.2, 30, False), (0.4, 29, False)]
)
def test_messages_in_place_of_the_narrative(worth, budget, expanded):
    """They replace it on a larger gain, where the budget has room for the difference."""
    signal = Scripted(lambda told: {(): 1.0, ("told",): 0.8, ("said",): 0.8 - worth}[tuple(told)])
    found = include("q", (), ranked(1), {1: EpisodeText("told", 10, "said", 30)}, signal, budget, ANY)
    assert found.expanded == {1: expanded}


def test_gains_of_two_signals_are_not_compared():
    """When the offline signal takes over, the model's best gain, in nats, is no measure for it."""
    signal = Scripted(lambda told: -1.0 * len(told), GainThresholds(0.1, 9.0, of_best=0.5))
    offline = Scripted(lambda told: -0.2 * len(told), GainThresholds(0.1, 8.0, of_best=0.5))
    answers = iter([signal.gain, offline.gain])
    signal.gain = lambda before, after: next(answers)(before, after)
    assert included(signal, [1, 1], 9) == [1, 2]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=12), st.integers(0, 120))
def test_the_budget_holds(tokens, budget):
    """However large the units are, what is admitted fits and is whole."""
    shown = {i: EpisodeText(f"word{i}", count) for i, count in enumerate(tokens)}
    signal = WordSignal({f"word{i}": 1 / len(tokens) for i in shown})
    found = include("q", (), ranked(*shown), shown, signal, budget, StageTwo())
    assert sum(shown[number].narrative_tokens for number in found.expanded) <= budget


def test_candidates_are_sources_and_the_nearest():
    """Own similarity and the best semantic's relevance add up; an episode of neither is no candidate."""
    picks = [Pick(1, 0.3), Pick(2, 0.9), Pick(3, 0.5)]
    found = candidates(
        np.array([10, 11, 12, 13]),
        np.array([0.0, 0.2, 1.0, 0.5]),
        picks,
        {1: 10, 2: 10, 3: 11},
        StageTwo(similar=1),
    )
    assert [(one.episode, one.score) for one in found] == [(12, 1.0), (10, 0.9), (11, 0.7)]
    assert [one.support for one in found] == [0.0, 0.9, 0.5]
