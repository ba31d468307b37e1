"""Why a message is in a recall, and why it is not, in a sentence each."""

import re

import pytest

RANKS = r"(?:\w+ ranked it \d+ \(-?[\d.e+-]+\)(?:, )?)+"


@pytest.fixture
def asked(talk):
    """A recall that kept one message, dropped some and did not even consider most."""
    talk.fill()
    talk.say("[x] Bea: The bees swarmed over the roof of the mill.")
    return talk, talk.ask("Where did the bees swarm?", budget_tokens=30)


def test_why_a_message_is_in(asked):
    """A kept unit has its reason and the rank and score of each channel that found it."""
    _, found = asked
    assert re.fullmatch(rf"Message 31 is in: rank 1 of \d+, .* fitted the budget; {RANKS}\.", found.why(31))
    assert found.why_not(31) == "Message 31 is in this recall; why(31) says why."


def test_why_a_message_was_no_candidate(asked):
    """A unit that ranked too low is told so, with its ranks."""
    _, found = asked
    offered = {d.evidence.sources[0] for d in found.trace.decisions}
    seq = next(seq for seq in range(1, 32) if seq not in offered)
    said = found.why_not(seq)
    assert re.fullmatch(
        rf"Message {seq} is not among the {len(offered)} candidates .* 31 units; {RANKS}\.", said
    )


def test_there_is_no_such_message(asked):
    """A seq that nobody has, negative or too high, is answered in a sentence."""
    _, found = asked
    for seq in (0, -1, 32, 10**12):
        assert found.why_not(seq) == f"There was no message {seq} for this user when this was recalled."
        assert "is not in this recall" in found.why(seq)
