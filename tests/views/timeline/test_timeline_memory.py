"""The timeline as a Memory drives it: questions, times, tenants, forgetting."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from zibaldone.core import Message
from zibaldone.memory import Memory
from zibaldone.recalled import Recall

START = datetime(2024, 1, 10, 9, tzinfo=UTC)
NOW = datetime(2024, 12, 20, tzinfo=UTC)
DONE = [
    "I began to learn the cello with a teacher called Ottoline.",  # January
    "I rented a cello from the shop in Graz for 40 euros.",
    "I played the cello at my sister's wedding in Linz.",  # March
    "I decided to buy my own cello, an old one from Cremona.",
    "I joined an amateur orchestra as a second cello.",  # May
    "I broke a string of the cello on stage in Salzburg.",
    "I taught my nephew Emil his first cello scales.",
    "I passed the cello exam of the conservatory in Vienna.",
]
HABITS = "I bought a blender for soup."


def conversation() -> list[Message]:
    """One thing a month, each followed by an assistant's answer."""
    turns = []
    for month, text in enumerate(DONE):
        time = START + timedelta(days=30 * month)
        turns.append(Message(text, session=f"s{month}", time=time))
        turns.append(Message("Wonderful! The cello suits you.", "assistant", session=f"s{month}", time=time))
    return [*turns, Message(HABITS, session="kitchen", time=START + timedelta(days=45))]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """With a timeline that has read everything."""
    with Memory(tmp_path, maintained=["messages", "timeline"], chat=None, clock=lambda: NOW) as opened:
        opened.add(conversation(), user="ann")
        opened.maintain()
        yield opened


def ask(memory: Memory, question: str, user: str = "ann", budget: int = 600) -> Recall:
    """The timeline alone."""
    return memory.recall(question, user=user, views=["timeline"], budget_tokens=budget)


def texts(recalled: Recall) -> list[str]:
    """Its lines, as they stand."""
    return [evidence.text for evidence in recalled.evidence]


def test_an_order_is_told_in_order(memory: Memory) -> None:
    """Every step of the subject, dated, in the order of time, without what the assistant said."""
    question = "Can you walk me through the order in which I brought up different aspects of the cello?"
    recalled = ask(memory, question)
    assert [text for text in texts(recalled) if "cello" in text] == DONE
    assert {evidence.kind for evidence in recalled.evidence} == {"line"}
    assert "Wed 10 Jan 2024" in recalled.text


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did I do with the cello between March and May?", DONE[2:5]),
        ("How did it go with the cello since June?", DONE[5:]),
        ("What did I do with the cello before March 2024?", DONE[:2]),
    ],
)
def test_a_time_that_is_asked_about_is_a_filter(memory: Memory, question: str, expected: list[str]) -> None:
    """Lines of that time alone."""
    assert [text for text in texts(ask(memory, question)) if "cello" in text] == expected


def test_a_time_of_which_nothing_is_known_is_no_filter(memory: Memory) -> None:
    """The way back, and the trace says so."""
    question = "How did the cello lessons develop between March and May 1998?"
    recalled = memory.recall(question, user="ann", views=["timeline"], floor=0.0)
    assert len(recalled.evidence) > 3
    assert "any time" in recalled.trace.views[0].note


def test_the_order_of_everything_is_an_answerable_question(memory: Memory) -> None:
    """Though no word of it is about anything."""
    recalled = ask(memory, "Can you list the order in which I brought things up?")
    assert len(recalled.evidence) >= len(DONE)


def test_a_small_share_of_a_budget_still_covers_the_year(memory: Memory) -> None:
    """Few lines come from several months rather than from one."""
    recalled = ask(memory, "Summarize my progress with the cello.", budget=90)
    assert recalled.tokens <= 90
    assert len({evidence.session for evidence in recalled.evidence}) >= 3


def test_lines_end_with_the_subject(memory: Memory) -> None:
    """However much room is left, and however the subject is put."""
    for subject in ("cello", "my cello lessons", "How did it go with the cello?"):
        assert HABITS not in texts(ask(memory, subject, budget=3000))
    assert texts(ask(memory, "blender", budget=3000)) == [HABITS]


def test_a_subject_of_which_nothing_was_said_has_no_line(memory: Memory) -> None:
    """And the trace says so."""
    recalled = memory.recall("xylophone", user="ann", views=["timeline"], floor=0.0)
    assert not recalled
    assert recalled.trace.views[0].note == "no line is about this"


def test_users_never_see_each_other(memory: Memory) -> None:
    """Lines of one user are no other's, and do not sway their choice."""
    before = texts(ask(memory, "Summarize my progress with the cello."))
    memory.add(Message("I sold my cello to Bruno in Trieste.", time=START), user="bea")
    memory.maintain()
    assert texts(ask(memory, "Summarize my progress with the cello.")) == before
    assert texts(ask(memory, "Summarize my progress with the cello.", user="bea")) == [
        "I sold my cello to Bruno in Trieste."
    ]


def test_what_is_forgotten_is_in_no_line(memory: Memory) -> None:
    """Not in the table, not in memory."""
    assert any("Cremona" in text for text in texts(ask(memory, "Tell me the history of the cello.")))
    (seq,) = [message.seq for message in memory.messages(user="ann") if "Cremona" in message.content]
    memory.forget(user="ann", seqs=[seq])
    assert not any("Cremona" in text for text in texts(ask(memory, "Tell me the history of the cello.")))
    assert memory.check_integrity().faults == ()


def test_what_is_not_read_yet_has_lines(memory: Memory) -> None:
    """The tail of the log is told of at once."""
    memory.add(Message("I lent my cello to a pupil in Bregenz.", time=NOW), user="ann")
    assert any("Bregenz" in text for text in texts(ask(memory, "Tell me the history of the cello.")))


@pytest.mark.parametrize(
    "question",
    ["Summarize everything so far", "List everything in order", "Give me an overview of everything"],
)
def test_everything_is_no_subject(memory: Memory, question: str) -> None:
    """What is asked for is all that was ever talked of."""
    recalled = ask(memory, question)
    assert recalled.confidence == 1
    assert len(recalled.evidence) >= len(DONE)
