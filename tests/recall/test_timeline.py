"""A line per session, and what a model noted, by day."""

from datetime import UTC, datetime, timedelta

from zibaldone import Message
from zibaldone.recall.timeline import text_of
from zibaldone.testing import ScriptedModel

DAY = datetime(2024, 1, 8, 9, tzinfo=UTC)
NOTED = {"notes": [{"kind": "decision", "text": "We chose blue tiles.", "sources": [3]}], "ended": []}


def fill(memory):
    """Two sessions, one with a title."""
    memory.add(
        [
            Message("Hi!", session="1", time=DAY, metadata={"title": "Boat"}),
            Message("How much is paint? I bought a red boat in Faro.", session="1", time=DAY),
            Message("We chose blue tiles. I like them.", session="2", time=DAY + timedelta(days=3)),
            Message("Always answer in metric units.", role="assistant", session="3", time=DAY),
        ],
        user="ann",
    )


def test_each_session_has_a_line(memory):
    """Its day, its title and its first statement; none where no person says anything."""
    fill(memory)
    assert text_of(memory.user("ann").timeline()).splitlines() == [
        "2024-01-08  Boat: I bought a red boat in Faro.",
        "2024-01-11  We chose blue tiles.",
    ]
    (line,) = memory.user("ann").timeline("tiles")
    assert (line.session, line.sources, line.kind) == ("2", (3,), "session")


def test_it_is_narrowed(memory):
    """By session, by time, by number of lines; and to one user."""
    fill(memory)
    assert [line.session for line in memory.user("ann").timeline(since="2024-01-10")] == ["2"]
    assert [line.session for line in memory.user("ann").timeline(until="2024-01-10")] == ["1"]
    assert [line.session for line in memory.user("ann").timeline(session="1")] == ["1"]
    assert [line.session for line in memory.user("ann").timeline(limit=1)] == ["2"]
    assert memory.user("bea").timeline() == []


def test_what_a_model_noted_has_lines(opened):
    """With its kind, and whether it holds."""
    memory = opened(chat=ScriptedModel(lambda _: NOTED))
    fill(memory)
    memory.maintain()
    lines = memory.user("ann").timeline()
    assert [(line.kind, line.text, line.holds) for line in lines if line.kind != "session"] == [
        ("decision", "We chose blue tiles.", True)
    ]
