"""Overrides in people's own words: how they are laid out in a chat, and what counts as right."""

from dataclasses import replace
from datetime import UTC, datetime

from zibaldone.bench.consolidation.natural import (
    OF_A_STREAM,
    NaturalOverride,
    conversation,
    judge,
    overrides,
    streams,
)
from zibaldone.core import Outdated
from zibaldone.memory import Memory

PAIR = NaturalOverride(
    "x", "Who is my dentist?", "It is Dr. Patel.", "Dr. Patel", "It is Dr. Lee now.", "Dr. Lee"
)
SEQS = {"x-earlier": 1, "x-later": 2}


def test_every_override_quotes_its_messages():
    """Sixty, of which the first twenty are for development; `old` and `new` stand in their messages."""
    assert [(half, len(said)) for half, said in streams()] == [
        ("development", OF_A_STREAM),
        ("held out", OF_A_STREAM),
        ("held out", OF_A_STREAM),
    ]
    for override in overrides():
        assert override.old in override.earlier
        assert override.new in override.later


def test_what_takes_the_place_comes_later():
    """All are said once, in order of time; what follows at once follows in the same session."""
    said = overrides()[:OF_A_STREAM]
    messages = conversation(said)
    places = {message.id: place for place, message in enumerate(messages) if message.id}
    for override in said:
        first, then = places[f"{override.id}-earlier"], places[f"{override.id}-later"]
        assert first < then
        assert messages[first].content == override.earlier
        assert (then - first <= 2) == override.near
    times = [message.time for message in messages]
    assert times == sorted(times)


def test_right_is_the_current_value_and_no_unmarked_old_one(tmp_path):
    """A marked old value is right, an unmarked one is stale, and a marked current one is not there."""
    with Memory(tmp_path) as memory:
        time = datetime(2024, 1, 1, tzinfo=UTC)
        memory.add([PAIR.earlier, PAIR.later], user="ann")
        recall = memory.recall(PAIR.ask, user="ann", views=["messages"], floor=0)
    assert judge(PAIR, recall, SEQS) == (True, True, False)
    ended = Outdated(time, 2, "now")
    marked = [replace(unit, outdated=ended if unit.sources == (1,) else None) for unit in recall.evidence]
    assert judge(PAIR, replace(recall, evidence=tuple(marked)), SEQS) == (True, False, True)
    everything = tuple(replace(unit, outdated=ended) for unit in recall.evidence)
    assert judge(PAIR, replace(recall, evidence=everything), SEQS) == (False, False, True)
    assert judge(PAIR, replace(recall, evidence=()), SEQS) == (False, False, False)
