"""Questions about many things: halves where an answer is bad, and an end of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from zibaldone import StaticEmbedder
from zibaldone.models.asker import Asker
from zibaldone.models.dividing import TaskAboutMany, ask_in_parts
from zibaldone.models.meter import Meter
from zibaldone.models.task import NOT_SENT, TaskResult
from zibaldone.testing import ScriptedModel

STATIC = StaticEmbedder()


class Doubled(TaskResult):
    """Twice each number."""

    numbers: list[int]


@dataclass(frozen=True)
class Double(TaskAboutMany[Doubled]):
    """Numbers to double."""

    view = "tests"
    prompt = "name_colours"
    result = Doubled

    numbers: tuple[int, ...]
    failed: int = field(metadata=NOT_SENT)

    @property
    def parts(self) -> int:
        """How many numbers."""
        return len(self.numbers)

    def offline(self) -> Doubled:
        """None."""
        return Doubled(numbers=[])


class Doubling:
    """An asker of a model that cannot answer some questions, and what it was asked."""

    def __init__(self, bad: Callable[[Sequence[int]], bool]) -> None:
        self.bad, self.asked, self.now = bad, list[list[int]](), 0.0
        self.asker = Asker(ScriptedModel(self.answer), Meter(None), STATIC, lambda: self.now)

    def answer(self, request):
        """No JSON, or twice each number."""
        numbers = json.loads(request.turns[1].content)["numbers"]
        if len(request.turns) == 2:
            self.asked.append(numbers)
        return "no" if self.bad(numbers) else {"numbers": [2 * number for number in numbers]}

    def doubled(self, count: int) -> list[int]:
        """What is made of so many numbers."""
        answers = ask_in_parts(
            lambda task: self.asker.ask(task, user="ann"),
            range(count),
            lambda part, failed: Double(tuple(part), failed),
        )
        return sorted(number for _, answer in answers for number in answer.numbers)


def test_a_good_answer_is_asked_for_once():
    """Nothing is divided that need not be."""
    asking = Doubling(lambda _: False)
    assert asking.doubled(8) == [2 * n for n in range(8)]
    assert asking.doubled(0) == []
    assert len(asking.asked) == 1


@pytest.mark.parametrize("bad", [0, 5, 63])
def test_one_bad_thing_is_found_and_breaks_nothing(bad):
    """All others are answered, in this batch and in those after it."""
    asking = Doubling(lambda numbers: bad in numbers)
    for _ in range(3):
        assert asking.doubled(64) == [2 * n for n in range(64) if n != bad]


def test_a_hopeless_model_is_left_alone_after_one_batch():
    """It is asked of the whole, of halves and quarters; of the next batch after a rest, and once."""
    asking = Doubling(lambda _: True)
    assert asking.doubled(64) == []
    assert [len(numbers) for numbers in asking.asked] == [64, 32, 32, 16, 16, 16, 16]
    assert asking.doubled(64) == []
    assert len(asking.asked) == 7
    asking.now += 30
    for _ in range(3):
        assert asking.doubled(64) == []
    assert len(asking.asked) == 8


def test_a_model_of_short_answers_reads_quarters():
    """What is too big for it does not leave it alone, however often."""
    asking = Doubling(lambda numbers: len(numbers) > 16)
    for _ in range(4):
        assert len(asking.doubled(64)) == 64
