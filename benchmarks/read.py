"""Answers read from the recalled text by a chat model, and judged by it: of a question's own data set.

    python -m benchmarks.read locomo PATH [--systems hybrid,zibaldone,full] [--questions 100] [--record DIR]

Reader and judge are the ZIBALDONE_CHAT_MODEL: an endpoint, or whoever sits behind `benchmarks.hand_model`.
With `--record` answers are kept in a folder and not asked for again. Recall is offline. An answer scores 0 to
1: by its rubric's nuggets, by the reference, or by whether it says that nobody knows. The system `ask` lets
the model look into memory again by itself, `--rounds` times (`Memory.ask`). With `--consolidate` the model
has written what a system's views hold, too.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import blake2b
from pathlib import Path
from statistics import fmean
from typing import ClassVar, TypeVar

from pydantic import BaseModel

from benchmarks import results
from benchmarks.chat import chat_model
from benchmarks.data import LOADERS, Conversation, Question, load
from zibaldone import Message
from zibaldone.api import settings
from zibaldone.cli.compare.evidence import Mean
from zibaldone.cli.compare.systems import (
    DEFAULT,
    USER,
    VIEWS,
    Engine,
    Equipment,
    Recalled,
    System,
    check_systems,
    make_system,
)
from zibaldone.core.threads import side_by_side
from zibaldone.errors import InvalidInput, ModelFailed
from zibaldone.models.asker import Asker
from zibaldone.models.base import ChatRequest, Turn
from zibaldone.models.meter import Meter
from zibaldone.models.static import shared_static_embedder
from zibaldone.models.task import Task, TaskResult
from zibaldone.text.rendering import header

VIEW, ASK = "bench", "ask"
PUBLISHED = results.RESULTS / "read.json"
_A_DAY = timedelta(days=1)  # a question is asked on a day: what was said on it is known
ANSWER_TOKENS = 2048  # a model that thinks aloud before it answers needs most of them
_PROMPT_TOKENS = 8_000  # of instructions, question and answer, beside the recalled text
_INSTRUCTIONS = (Path(__file__).parent / "prompts" / "read.md").read_text(encoding="utf-8").strip()
R = TypeVar("R", bound=BaseModel)


class Correctness(TaskResult):
    """True if an answer says what the reference says."""

    reason: str = ""
    correct: bool


class NuggetScores(TaskResult):
    """One of 0, 0.5 and 1 per nugget, in their order."""

    scores: list[float]


class Abstention(TaskResult):
    """True if an answer says that it does not know."""

    abstains: bool


@dataclass(frozen=True)
class _Judging(Task[R]):
    """A question to the judge, who sees question, what is wanted, and answer; nothing else."""

    view: ClassVar[str] = VIEW
    max_tokens: ClassVar[int | None] = ANSWER_TOKENS

    question: str
    answer: str

    def offline(self) -> R:
        """There is no verdict without a model."""
        raise ModelFailed("nobody judges", requests=0)


@dataclass(frozen=True)
class JudgeAnswer(_Judging[Correctness]):
    """Does the answer say what the reference says?"""

    prompt = "judge_answer"
    result = Correctness

    reference: str


@dataclass(frozen=True)
class JudgeNuggets(_Judging[NuggetScores]):
    """Which nuggets of the rubric has the answer?"""

    prompt = "judge_nuggets"
    result = NuggetScores

    nuggets: tuple[str, ...]

    def check(self, result: NuggetScores) -> None:
        """One allowed score for each."""
        if len(result.scores) != len(self.nuggets):
            raise ValueError(f"{len(result.scores)} scores for {len(self.nuggets)} nuggets")
        if wrong := [score for score in result.scores if score not in (0.0, 0.5, 1.0)]:
            raise ValueError(f"scores are 0, 0.5 or 1, not {wrong[:5]}")


@dataclass(frozen=True)
class JudgeUnknown(_Judging[Abstention]):
    """Does the answer say that it does not know?"""

    prompt = "judge_unknown"
    result = Abstention


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """One question, answered from one system's recall."""

    id: str
    conversation: str
    category: str
    faulted: bool
    question: str
    system: str
    budget_tokens: int | None
    tokens: int = 0  # of the recalled text; of `ask`, of all evidence at the end
    requests: int = 1  # to the reader
    answer: str | None = None  # None: the model gave none, and the question scores 0
    score: float | None = None  # None: it could not be judged
    why: str = ""  # there is no answer or no score


def read(question: Question, context: str, asker: Asker) -> str:
    """The answer from the context alone. Raises ModelFailed."""
    day = f"Asked on {header(question.asked_at.date(), None)}.\n" if question.asked_at else ""
    recalled = context or "(nothing was recalled)"
    prompt = f"Recalled from memory:\n\n{recalled}\n\n{day}Question: {question.text}"
    turns = (Turn("system", _INSTRUCTIONS), Turn("user", prompt))
    assert asker.model is not None
    reply = asker.model.chat(ChatRequest(f"{VIEW}.read", turns, max_tokens=ANSWER_TOKENS), question.id)
    if reply.finish == "refusal":
        raise ModelFailed(f"the model refused: {reply.text}")
    return reply.text.rpartition("</think>")[2].strip()


def score(question: Question, answer: str, asker: Asker) -> float:
    """From 0 to 1, by what the question has. Raises ModelFailed."""
    if not question.known:
        unknown = JudgeUnknown(question.text, answer)
        return float(asker.ask(unknown, user=question.id).result.abstains)
    if question.nuggets:
        rubric = JudgeNuggets(question.text, answer, nuggets=question.nuggets)
        return fmean(asker.ask(rubric, user=question.id).result.scores)
    reference = JudgeAnswer(question.text, answer, reference=question.answers[0])
    return float(asker.ask(reference, user=question.id).result.correct)


def sample(conversations: Sequence[Conversation], count: int | None) -> list[Conversation]:
    """The conversations with so many of the questions that can be judged; the same ones every time."""

    def place(conversation: Conversation, question: Question) -> bytes:
        return blake2b(f"{conversation.name}\n{question.id}".encode(), digest_size=8).digest()

    judged = [
        (place(conversation, q), q)
        for conversation in conversations
        for q in conversation.questions
        if q.answers or q.nuggets or not q.known
    ]
    chosen = {own for own, _ in sorted(judged, key=lambda pair: pair[0])[:count]}
    return [
        replace(c, questions=tuple(q for q in c.questions if place(c, q) in chosen)) for c in conversations
    ]


def answer_all(
    conversations: Sequence[Conversation],
    systems: Sequence[str],
    budgets_tokens: Sequence[int],
    tools: Equipment,
    asker: Asker,
    workers: int,
    rounds: int = 3,
    *,
    consolidate: bool = False,
) -> list[ReadAnswer]:
    """Recall everything, then read and judge, so many questions at a time."""
    recalled: list[tuple[Callable[[], tuple[str, int, int]], Question, ReadAnswer]] = []
    opened: list[System] = []

    def reading(question: Question, given: Recalled) -> Callable[[], tuple[str, int, int]]:
        return lambda: (read(question, given.text, asker), given.tokens, 1)

    def asking(question: Question, system: Engine, budget: int) -> Callable[[], tuple[str, int, int]]:
        def asked() -> tuple[str, int, int]:
            answer = system.memory.ask(
                question.text,
                user=USER,
                rounds=rounds,
                budget_tokens=budget,
                now=question.asked_at and question.asked_at + _A_DAY,
                timeout_s=None,
            )
            if answer.degraded:
                raise ModelFailed("; ".join(answer.marks))
            return answer.text or "Memory does not hold this.", answer.evidence.tokens, answer.calls

        return asked

    for conversation in conversations:
        for name in systems if conversation.questions else ():
            system, taken = _opened(name, tools, opened, consolidate=consolidate), 0
            for question in sorted(conversation.questions, key=lambda question: question.visible):
                if question.visible > taken:
                    # Questions are asked side by side, and a consolidated memory has no model any more: each
                    # has a system that holds what it may see.
                    if taken and (name == ASK or isinstance(system, Consolidated)):
                        system, taken = _opened(name, tools, opened, consolidate=consolidate), 0
                    system.take(conversation.messages[taken : question.visible])
                    taken = question.visible
                for budget in budgets_tokens if system.budgeted else (None,):
                    asked_of = (question.id, conversation.name, question.category, question.faulted)
                    blank = ReadAnswer(*asked_of, question.text, name, budget)
                    if name == ASK:
                        assert isinstance(system, Engine)
                        work = asking(question, system, budget or 0)
                    else:
                        work = reading(question, system.recall(question.text, budget or 0, question.asked_at))
                    recalled.append((work, question, blank))

    def answered(given: tuple[Callable[[], tuple[str, int, int]], Question, ReadAnswer]) -> ReadAnswer:
        work, question, blank = given
        answer = None
        try:
            answer, tokens, requests = work()
            blank = replace(blank, answer=answer, tokens=tokens, requests=requests)
            return replace(blank, score=score(question, answer, asker))
        except ModelFailed as failure:
            refused = answer is None and failure.requests > 0
            return replace(blank, score=0.0 if refused else None, why=str(failure))

    try:
        return side_by_side(answered, recalled, workers, "read")
    finally:
        for system in opened:
            system.close()


class Consolidated(Engine):
    """An engine whose views are written by the chat model; its recall asks nobody."""

    def take(self, messages: Sequence[Message]) -> None:
        """Take in the next messages with the chat model, and open the memory without it."""
        super().take(messages)
        self.memory.close()
        self.memory = self.open(None)


def _opened(name: str, tools: Equipment, opened: list[System], *, consolidate: bool) -> System:
    """A fresh system, which is closed with the others."""
    if name == ASK:
        opened.append(make_system("messages", tools))
    elif consolidate and set(name.split("+")) & {DEFAULT, *VIEWS} - {"messages"}:
        opened.append(Consolidated(name, tools))
    else:
        opened.append(make_system(name, replace(tools, chat=None)))  # recall is offline
    return opened[-1]


@dataclass(frozen=True, slots=True)
class ReadRow:
    """One system at one budget, over the answers that have a score."""

    system: str
    budget_tokens: int | None
    score: Mean | None
    sound: Mean | None  # without the questions that an audit faults
    by_category: dict[str, Mean | None]
    tokens_mean: float
    requests_mean: float
    not_scored: int


def make_rows(answers: Iterable[ReadAnswer]) -> list[ReadRow]:
    """One per (system, budget)."""
    groups = results.grouped(answers, lambda each: (each.system, each.budget_tokens))
    return [
        ReadRow(
            *key,
            score=Mean.of(each.score for each in group),
            sound=Mean.of(each.score for each in group if not each.faulted),
            by_category={
                kind: Mean.of(each.score for each in group if each.category == kind)
                for kind in sorted({each.category for each in group})
            },
            tokens_mean=fmean(each.tokens for each in group),
            requests_mean=fmean(each.requests for each in group),
            not_scored=sum(each.score is None for each in group),
        )
        for key, group in groups.items()
    ]


def publish(data: str, rows: Sequence[ReadRow]) -> None:
    """Put a run's figures among those of the results page."""
    new = [
        {
            "data": data,
            "system": row.system,
            "tokens": row.budget_tokens or "all",
            "questions": row.score.questions,
            "score": f"{row.score.value:.3f} ± {row.score.error:.3f}",
            "tokens used": round(row.tokens_mean),
            "requests": f"{row.requests_mean:.2f}",
            "commit": results.COMMIT,
        }
        for row in rows
        if row.score
    ]
    kinds = ("data", "system", "tokens")
    every = results.beside_earlier(PUBLISHED, new, kinds)
    every.sort(key=lambda row: str([row[kind] for kind in kinds]))
    made = {"command": "python -m benchmarks.read", "commit": "of each line"}
    results.write(PUBLISHED, made | {"title": "Answers, read and judged", "rows": every})


def main() -> None:
    """Recall, read, judge."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.read", description=__doc__)
    parser.add_argument("data", choices=LOADERS)
    parser.add_argument("path", type=Path)
    parser.add_argument("--systems", default="hybrid,zibaldone")
    parser.add_argument("--budgets", default="2000")
    parser.add_argument("--questions", type=int, help="a sample of so many, always the same; else all")
    parser.add_argument("--only", help="the conversation of this name")
    parser.add_argument("--consolidate", action="store_true", help="views are written by the model")
    parser.add_argument("--rounds", type=int, default=3, help="of `ask`")
    parser.add_argument("--record", type=Path, help="keep answers here, and do not ask again")
    parser.add_argument("--workers", type=int, default=8, help="questions at a time")
    parser.add_argument("--output", type=Path, default=Path("read.json"), help="with all answers")
    given = parser.parse_args()
    chat = chat_model(given.record)
    if chat is None:
        raise InvalidInput(
            "nobody reads: set ZIBALDONE_CHAT_MODEL, or start benchmarks.hand_model and set it"
        )
    budgets = [int(budget) for budget in given.budgets.split(",")]
    systems = given.systems.split(",")
    check_systems([name for name in systems if name != ASK])
    most = max(1_000_000 if "full" in systems else 0, *budgets) + _PROMPT_TOKENS
    tokenizer = shared_static_embedder()
    asker = Asker(chat, Meter(None, replace(settings.ceilings(), tokens_per_call=most)), tokenizer)
    loaded = [one for one in load(given.data, given.path) if given.only in (None, one.name)]
    conversations = sample(loaded, given.questions)
    with tempfile.TemporaryDirectory(prefix="zibaldone-bench-") as folder:
        tools = Equipment(tokenizer, Path(folder), chat=chat)
        answers = answer_all(
            conversations,
            systems,
            budgets,
            tools,
            asker,
            given.workers,
            given.rounds,
            consolidate=given.consolidate,
        )
    rows = make_rows(answers)
    results.show(f"{given.data}: answers read and judged by {chat.name}", rows)
    results.write(
        given.output, {"data": given.path.name, "model": chat.name, "rows": rows, "answers": answers}
    )
    publish(f"{given.data} {given.path.name.removesuffix('.json')}", rows)


if __name__ == "__main__":
    main()
