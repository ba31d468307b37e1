"""What a model may call superseded."""

from __future__ import annotations

from typing import Any

import pytest
from topic_talk import NOON, entries, said

from zibaldone import Message


@pytest.fixture
def superseded(filed):
    """The places of the messages that no longer hold, where a model says that one replaces another."""

    def superseded(messages: list[Message], older: int, newer: int) -> list[int]:
        def answers(task: str, inputs: dict[str, Any]) -> Any:
            if task != "topics.rewrite_current":
                return "none"
            numbers = [int(line.split(" ", 1)[0]) for line in inputs["entries"]]
            marks = [{"older": older, "newer": newer}]
            return {"sections": [{"heading": "All", "entries": numbers}], "superseded": marks}

        memory = filed(messages, answers=answers)
        return [entry.first for entry in entries(memory) if not entry.current]

    return superseded


@pytest.mark.parametrize(("older", "newer", "gone"), [(1, 2, [1]), (2, 1, []), (1, 1, []), (1, 77, [])])
def test_only_older_entries_are_superseded(superseded, older, newer, gone) -> None:
    """The newest holds, whatever a model thinks."""
    assert superseded(said("I live in Oslo with 2 cats.", "I live in Rome."), older, newer) == gone


@pytest.mark.parametrize(
    ("older", "newer", "fits"),
    [
        (("Ann lives in Rome.", "Ann"), ("Ann likes tea.", "Ann"), False),
        (("Ann lives in Rome.", None), ("Ann likes tea.", None), False),
        (("Ann lives in Rome.", "Bea"), ("Ann likes tea.", "Ann"), False),
        (("I live in Rome.", "Ann"), ("I live in Oslo.", "Bea"), False),
        (("I bought roses (2023-05-07).", "Ann"), ("I painted a boat (2023-06-07).", "Ann"), False),
        (("Ann lives in Rome.", None), ("Ann moved from Rome to Oslo.", None), True),
        (("I live in Rome.", "Ann"), ("I moved from Rome to Oslo.", "Ann"), True),
        (("I live in Rome.", "Ann"), ("Ann moved from Rome to Oslo.", "Bea"), True),
        (("I ordered chairs for the workshop, 20 of them.", "Ann"), ("Make that 30.", "Ann"), True),
        (("I ordered chairs for the workshop, 20 of them.", "Ann"), ("Make that 30.", "Bea"), False),
        (("The capital of Norland is Ulm.", "Ann"), ("The capital of Norland is Ash.", "Bea"), True),
    ],
)
def test_an_entry_is_superseded_by_one_about_the_same(superseded, older, newer, *, fits: bool) -> None:
    """Being older is not enough."""
    messages = [Message(text, name=name, time=NOON) for text, name in (older, newer)]
    assert superseded(messages, 1, 2) == ([1] if fits else [])
