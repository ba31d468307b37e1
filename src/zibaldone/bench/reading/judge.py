"""Scores an answer with a chat model that sees the question, what is wanted, and the answer; nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from zibaldone.bench.base import Example
from zibaldone.bench.reading.reader import VIEW
from zibaldone.errors import QuestionOpen
from zibaldone.models.asker import Asker
from zibaldone.models.task import Task, TaskResult

NUGGET_SCORES = (0.0, 0.5, 1.0)
_VERDICT_TOKENS = 2048


class Correctness(TaskResult):
    """Whether an answer says what the reference says."""

    reason: str = ""
    correct: bool


class NuggetScores(TaskResult):
    """One of 0, 0.5 and 1 per nugget, in their order."""

    scores: list[float]


class Abstention(TaskResult):
    """Whether an answer says that it does not know."""

    abstains: bool


@dataclass(frozen=True)
class JudgeAnswer(Task[Correctness]):
    """Does the answer say what the reference says?"""

    view = VIEW
    prompt = "judge_answer"
    result = Correctness
    max_tokens = _VERDICT_TOKENS

    question: str
    reference: str
    answer: str

    def offline(self) -> Correctness:
        """Not used: without a model there is no verdict."""
        return Correctness(correct=False)


@dataclass(frozen=True)
class JudgeNuggets(Task[NuggetScores]):
    """Which nuggets of the rubric has the answer?"""

    view = VIEW
    prompt = "judge_nuggets"
    result = NuggetScores
    max_tokens = _VERDICT_TOKENS

    question: str
    nuggets: tuple[str, ...]
    answer: str

    def offline(self) -> NuggetScores:
        """Not used: without a model there is no verdict."""
        return NuggetScores(scores=[0.0] * len(self.nuggets))

    def check(self, result: NuggetScores) -> None:
        """One allowed score for each."""
        if len(result.scores) != len(self.nuggets):
            raise ValueError(
                f"'scores' has {len(result.scores)} numbers, and there are {len(self.nuggets)} nuggets"
            )
        if wrong := [score for score in result.scores if score not in NUGGET_SCORES]:
            raise ValueError(f"scores are 0, 0.5 or 1, not {wrong[:5]}")


@dataclass(frozen=True)
class JudgeUnknown(Task[Abstention]):
    """Does the answer say that it does not know?"""

    view = VIEW
    prompt = "judge_unknown"
    result = Abstention
    max_tokens = _VERDICT_TOKENS

    question: str
    answer: str

    def offline(self) -> Abstention:
        """Not used: without a model there is no verdict."""
        return Abstention(abstains=False)


JUDGE_TASKS = tuple(f"{VIEW}.{task.prompt}" for task in (JudgeAnswer, JudgeNuggets, JudgeUnknown))


@dataclass(frozen=True, slots=True)
class Verdict:
    """The score of one answer, from 0 to 1, or why there is none."""

    score: float | None
    by_nugget: tuple[float, ...] = ()
    waits: str = ""  # why there is no score yet


class AnswerJudge:
    """Safe to share among threads."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    def score(self, example: Example, answer: str) -> Verdict:
        """By what the example has: that nobody knows, nuggets (their mean), or a gold answer."""
        try:
            if example.unknown:
                return self._unknown(example, answer)
            if example.nuggets:
                return self._nuggets(example, answer)
            return self._gold(example, answer)
        except QuestionOpen as error:
            return Verdict(None, waits=str(error))

    def _unknown(self, example: Example, answer: str) -> Verdict:
        given = self._asker.ask(JudgeUnknown(example.question, answer), user=example.id)
        return (
            Verdict(None, waits=given.degraded) if given.degraded else Verdict(float(given.result.abstains))
        )

    def _nuggets(self, example: Example, answer: str) -> Verdict:
        given = self._asker.ask(JudgeNuggets(example.question, example.nuggets, answer), user=example.id)
        scores = tuple(given.result.scores)
        return Verdict(None, waits=given.degraded) if given.degraded else Verdict(_mean(scores), scores)

    def _gold(self, example: Example, answer: str) -> Verdict:
        assert example.answer is not None, "what has nothing to be judged by is not read"
        given = self._asker.ask(JudgeAnswer(example.question, example.answer, answer), user=example.id)
        return Verdict(None, waits=given.degraded) if given.degraded else Verdict(float(given.result.correct))


def can_be_judged(example: Example) -> bool:
    """Whether it says what a right answer is."""
    return example.unknown or bool(example.nuggets) or example.answer is not None


def _mean(scores: tuple[float, ...]) -> float:
    return sum(scores) / len(scores)
