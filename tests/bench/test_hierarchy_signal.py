"""How offline signals and policies of admission are judged."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone import Message
from zibaldone.bench.base import Example
from zibaldone.bench.hierarchy.reading import Node, ask, stand_in, talk
from zibaldone.bench.hierarchy.signal import SIGNALS, auc, fixed, judge, policies
from zibaldone.models import StaticEmbedder

STATIC = StaticEmbedder()
SUBJECTS = ("bassoon concert", "garden tomatoes", "marathon training", "violin lessons", "chess club")


def conversation():
    """One subject a session, twelve messages each; seqs from 1."""
    start = datetime(2024, 1, 1, tzinfo=UTC)
    said = [(subject, turn) for subject in SUBJECTS for turn in range(12)]
    return [
        Message(
            f"I remember number {place} of the {subject} with friend {turn}.",
            name="Ann",
            session=subject,
            time=start + timedelta(hours=place),
            seq=place + 1,
        )
        for place, (subject, turn) in enumerate(said)
    ]


@pytest.fixture(scope="module")
def question():
    """Asks for one message of the third session."""
    messages = conversation()
    evidence = messages[27].content
    example = Example("1", "ann", "Which number of the marathon training?", "27", "x", (evidence,))
    return ask(example, talk(messages, *stand_in(messages), STATIC, STATIC), STATIC)


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=12))
def test_the_area_is_the_share_of_pairs_in_order(cases):
    """Every pair of an episode with evidence and one without, ties half."""
    pairs = [
        1.0 if a > b else 0.5 if a == b else 0.0
        for a, good in cases
        if good
        for b, other in cases
        if not other
    ]
    found = auc(np.array([c[0] for c in cases], dtype=float), np.array([c[1] for c in cases], dtype=bool))
    assert found == (pytest.approx(sum(pairs) / len(pairs)) if pairs else None)


def test_stand_ins_stay_inside_sessions():
    """Blocks of about ten, every message in exactly one, semantics beside their block."""
    messages = conversation()
    episodes, semantics = stand_in(messages)
    assert [seq for node in episodes for seq in node.seqs] == [one.seq for one in messages]
    sessions = [{messages[seq - 1].session for seq in node.seqs} for node in episodes]
    assert all(len(one) == 1 for one in sessions)
    assert all(node.seqs[0] in episodes[node.episode].seqs for node in semantics)


def test_the_episode_with_the_evidence(question):
    """It is found by the message's text, and signals that look at the words put it first."""
    assert question.holds.tolist() == [False, False, True, False, False]
    rows = {row.signal: row for row in judge([question])}
    assert rows.keys() == SIGNALS.keys()
    assert rows["own BM25"].mean == rows["own BM25"].top == 1.0
    assert all(0 <= row.overall <= 1 for row in rows.values())


def test_policies_are_priced(question):
    """More episodes find no less and cost more; a semantic is not paid beside its own episode."""
    none, one, all_ = policies([question], {f"{n}": fixed(n) for n in (0, 1, 5)})
    assert (none.episodes, one.episodes, all_.episodes) == (0, 1, 5)
    assert none.tokens < one.tokens < all_.tokens == sum(question.talk.episodes.tokens)
    assert one.recall == all_.recall == 1.0


def test_a_question_without_evidence():
    """What no episode holds is left out."""
    messages = conversation()
    example = Example("1", "ann", "Who?", "x", "x", ("never said",))
    nodes = [Node("I remember", (1,), 0)]
    assert ask(example, talk(messages, nodes, nodes, STATIC, STATIC), STATIC) is None
