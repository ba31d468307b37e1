"""Which lines are chosen: relevant, each once, spread over time and sessions, within the room."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from zibaldone.search.unit import Unit
from zibaldone.views.timeline import choose_lines

START = datetime(2024, 1, 1, tzinfo=UTC)


def units_of(texts: list[str], sessions: list[str] | None = None, tokens: int = 10) -> list[Unit]:
    """A line a day."""
    return [
        Unit(
            sources=(seq,),
            part=0,
            text=text,
            kind="line",
            tokens=tokens,
            session=sessions[seq - 1] if sessions else "1",
            role="user",
            name=None,
            time=START + timedelta(days=seq),
        )
        for seq, text in enumerate(texts, 1)
    ]


def floats(*values: float) -> np.ndarray:
    """Scores."""
    return np.array(values, dtype=np.float32)


THINGS = [f"thing{i} of place{i} with person{i}" for i in range(40)]


def test_the_room_is_never_exceeded() -> None:
    """But by the one line that is always there."""
    units = units_of(THINGS)
    scores = np.arange(40, dtype=np.float32)
    for room in (0, 5, 10, 25, 100, 399):
        chosen = choose_lines(units, scores, room)
        assert 1 <= len(chosen) <= max(1, room // 10)


def test_the_best_is_first_and_worth_falls() -> None:
    """So that any prefix is a choice, too."""
    chosen = choose_lines(units_of(THINGS), np.arange(40, dtype=np.float32), 200)
    worths = [line.worth for line in chosen]
    assert chosen[0].row == 39
    assert worths == sorted(worths, reverse=True)


def test_what_says_the_same_is_taken_once() -> None:
    """The better of two lines that share their words."""
    texts = ["I sold the red boat to Pavel", "the red boat I sold to Pavel", "I bought a canoe in Graz"]
    units = units_of(texts)
    chosen = choose_lines(units, floats(1.0, 2.0, 0.5), 100)
    assert [line.row for line in chosen] == [1, 2]


def test_the_whole_time_is_covered() -> None:
    """Though one stretch of it is a little better than all others."""
    scores = floats(*([1.0] * 10 + [0.9] * 30))
    rows = {line.row for line in choose_lines(units_of(THINGS), scores, 200)}
    assert all(rows & set(range(start, start + 10)) for start in (0, 10, 20, 30))


def test_sessions_come_before_depth() -> None:
    """Of as good lines, those of a session of which there is none yet."""
    sessions = ["1"] * 22 + ["2", "3", "4", "5"] + ["1"] * 14
    chosen = choose_lines(units_of(THINGS, sessions), np.ones(40, dtype=np.float32), 100)
    assert {sessions[line.row] for line in chosen} == {"1", "2", "3", "4", "5"}


def test_what_is_out_of_the_question_is_never_taken() -> None:
    """A score of -inf, whatever the room; nothing of nothing."""
    units = units_of(THINGS[:3])
    assert [line.row for line in choose_lines(units, floats(-np.inf, 1.0, -np.inf), 1000)] == [1]
    assert choose_lines(units, floats(*[-np.inf] * 3), 1000) == []
    assert choose_lines([], floats(), 1000) == []
