"""Ask: a chat model looks into memory, again where it must, and answers from what it was shown.

    first look      what a recall brings; everything, while the whole history fits the budget
    a round         one request: the model asks further queries, or answers
    last request    it answers with what there is

Every step's evidence is united by rank in one context of the budget. What the model cites must be in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import ClassVar, Protocol

from pydantic import Field

from zibaldone.core import Citation, Evidence
from zibaldone.core.telemetry import operation
from zibaldone.errors import InvalidInput, RecallGivenUp
from zibaldone.log.filters import Filter
from zibaldone.models.asker import Asker, TaskAnswer
from zibaldone.models.task import NOT_SENT, Task, TaskResult
from zibaldone.recall.lookup import Lookup, shown_whole, to_lookup
from zibaldone.recall.recall import Order, unite
from zibaldone.recall.result import CLEAR, Recall
from zibaldone.search.question import Question
from zibaldone.search.unit import PASSAGE
from zibaldone.text.rendering import mark, weekday

MOST_ROUNDS, MOST_QUERIES = 10, 4
_ROUND_SHARE = 0.4  # of the budget: what the first look, and each round, may add
_LEAST_TOKENS = 100  # that a query has room for
_ANSWER_TOKENS = 2048
_APART = 10**9  # between the numbers of messages of one memory and the next
EMPTY = "memory holds nothing that may be recalled here"
TOO_LITTLE = "nothing of what there is fits the budget: give budget_tokens= more"
NEVER = "the model never came to an answer"
FORGOTTEN = "a message that the answer was made from has been forgotten meanwhile"


class AskedQuery(TaskResult):
    """A query of a model's; see `to_lookup`."""

    query: str
    since: str | None = None
    until: str | None = None
    session: str | None = None
    role: str | None = None
    order: str | None = None

    def lookup(self) -> Lookup:
        """Check the query. Raises InvalidInput."""
        return to_lookup(**self.model_dump())


class StepResult(TaskResult):
    """Queries, or an answer with its sources."""

    queries: list[AskedQuery] = Field(default_factory=list)
    answer: str | None = None
    sources: list[int] = Field(default_factory=list)
    known: bool = True

    @property
    def is_answer(self) -> bool:
        """True if the model has said what there is to say; where it still asks, nothing is unknown yet."""
        return bool(self.answer and self.answer.strip()) or not (self.known or self.queries)


@dataclass(frozen=True, slots=True)
class ShownEvidence:
    """A passage as the model reads it."""

    seq: int
    time: str
    speaker: str
    session: str
    text: str


@dataclass(frozen=True)
class AskStep(Task[StepResult]):
    """Judge what was found so far: enough, or what next?"""

    view: ClassVar = "ask"
    prompt: ClassVar = "step"
    result: ClassVar = StepResult
    max_tokens: ClassVar = _ANSWER_TOKENS

    question: str
    now: str
    rounds_left: int
    evidence: tuple[ShownEvidence, ...]
    asked: tuple[str, ...]
    gathers: bool = field(default=False, metadata=NOT_SENT)  # True: nobody wants the answer

    def check(self, result: StepResult) -> None:
        """Raises ValueError for no answer and nothing to look for, and for queries that cannot be made."""
        if result.is_answer:
            return
        if not self.rounds_left and not result.known:
            return
        if not self.rounds_left:
            raise ValueError("no round is left: give the answer that the evidence allows, or known: false")
        if not result.queries and not self.gathers:
            raise ValueError("it has neither queries nor an answer: give one of them")
        for query in result.queries[:MOST_QUERIES]:
            query.lookup()  # an InvalidInput is a ValueError, and says what a query needs

    def offline(self) -> StepResult:
        """Nothing: what was recalled has to do."""
        return StepResult()


@dataclass(frozen=True, slots=True)
class Step:
    """One look, or the answer."""

    number: int  # 0: the first look, before any model
    queries: tuple[Lookup, ...]  # that were made; none in the step that answers
    added: tuple[int, ...]  # seqs of what it brought
    tokens: int  # of the evidence after it
    answered: bool = False
    calls: int = 0  # requests to the model
    prompt_tokens: int = 0
    completion_tokens: int = 0
    ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer to a question, and the evidence that it was shown."""

    question: str
    text: str  # "" where the model gave none
    known: bool | None  # False: memory does not hold it, as far as the model saw; None: no model read it
    citations: tuple[Citation, ...]  # of the messages that the answer names, in `evidence.text`
    confidence: float  # of the evidence, 0 to 1
    evidence: Recall
    steps: tuple[Step, ...]
    marks: tuple[str, ...] = ()  # in sentences, what is wrong with it

    @property
    def degraded(self) -> bool:
        """True if no model answered: then `evidence` is what there is."""
        return self.known is None

    @property
    def calls(self) -> int:
        """Requests to the model."""
        return sum(step.calls for step in self.steps)


class RecallsMore(Protocol):
    """A recall inside of what its caller may see."""

    def __call__(
        self,
        query: str,
        narrowed: Filter,
        *,
        order: Order,
        exclude_seqs: Collection[int],
        budget_tokens: int,
        timeout_s: float | None,
    ) -> Recall: ...


@dataclass(slots=True)
class Asking:
    """One question on its way to an answer."""

    question: Question  # not read
    asker: Asker
    recall: RecallsMore
    count: Callable[[str], int]
    # None of these messages, of a shared memory or one's own (""), was forgotten, and they may still be read.
    still_there: Callable[[str, Collection[int]], bool]
    rounds: int
    narrowed: Filter
    scopes: Sequence[str] = ()  # shared memories that are recalled beside one's own
    on_step: Callable[[Step], None] | None = None
    gathers: bool = False  # True: only evidence is wanted
    order: Order = "best"  # of the first look
    _whole: list[Recall] = field(default_factory=list)  # the plain recall
    _parts: list[Recall] = field(default_factory=list)
    _steps: list[Step] = field(default_factory=list)
    _asked: list[str] = field(default_factory=list)

    def run(self) -> Answer:
        """The answer, or the plain recall, marked. Raises RecallGivenUp before the first look is there."""
        evidence = self._first_look()
        if not evidence:
            there_is = bool(evidence.trace.decisions)
            return self._ended(evidence, StepResult(known=False), TOO_LITTLE if there_is else EMPTY)
        calls, most_calls = 0, self.rounds + (not self.gathers)
        while calls < most_calls:
            rounds_left = self.rounds - calls
            began, reply = time.perf_counter(), None
            with operation("ask.round"):
                try:
                    self.question.deadline.check()
                    if not self._are_there(evidence.evidence):  # forgotten, or shared with the user no more
                        return self._ended(evidence, StepResult(), FORGOTTEN)
                    reply = self._say(evidence, rounds_left, repair=calls + 2 < most_calls)
                    calls += max(reply.calls, 1)
                    if reply.unusable and calls < most_calls:
                        continue
                    if reply.degraded:
                        return self._ended(evidence, StepResult(), reply.degraded, reply, began)
                    if reply.result.is_answer or not (rounds_left and reply.result.queries):
                        return self._ended(evidence, reply.result, "", reply, began)
                    evidence = self._look(evidence, reply, began)
                except (RecallGivenUp, InvalidInput) as error:
                    return self._ended(evidence, StepResult(), str(error), reply, began)
        return self._ended(evidence, StepResult(), "" if self.gathers else NEVER)

    def _first_look(self) -> Recall:
        """A recall of the question: all of it where that is all there is, else its share of the budget."""
        began = time.perf_counter()
        most = self.question.budget_tokens
        whole = self._recall(Lookup(self.question.text, order=self.order), most, ())
        self._whole.append(whole)
        self._parts.append(whole)
        elsewhere = (d for trace in whole.trace.shared.values() for d in trace.decisions if not d.kept)
        offered = (*whole.trace.decisions, *elsewhere)
        is_all = sum(decision.evidence.tokens for decision in offered) <= most
        evidence = whole if is_all or not self.rounds else self._united([whole], self._share())
        self._parts[0] = evidence
        self._step((), evidence.evidence, evidence.tokens, began)
        return evidence

    def _say(self, evidence: Recall, rounds_left: int, *, repair: bool) -> TaskAnswer[StepResult]:
        task = AskStep(
            question=self.question.text,
            now=_shown_time(self.question.now),
            rounds_left=rounds_left,
            evidence=tuple(self._shown(unit) for unit in evidence.evidence),
            asked=tuple(self._asked),
            gathers=self.gathers,
        )
        user = self.question.scope.user
        return self.asker.ask(task, user=user, timeout_s=self._left_s(), repair=repair)

    def _look(self, evidence: Recall, reply: TaskAnswer[StepResult], began: float) -> Recall:
        """The evidence with what the model's queries bring."""
        made: list[Lookup] = []
        new: list[Evidence] = []
        lookups = [query.lookup() for query in reply.result.queries[:MOST_QUERIES]]
        room = max(_LEAST_TOKENS, self._share() // len(lookups))
        shown = {(unit.scope, unit.sources, unit.place) for unit in evidence.evidence}
        seen = shown_whole(evidence.evidence)
        again = sum(unit.tokens for unit in evidence.evidence if unit.kind == PASSAGE or unit.scope)
        for lookup in lookups:
            more = self._recall(lookup, min(room + again, self.question.budget_tokens), seen)
            fresh = [
                unit
                for unit in more.evidence
                if not unit.standing and (unit.scope, unit.sources, unit.place) not in shown
            ]
            shown.update((unit.scope, unit.sources, unit.place) for unit in fresh)
            seen |= shown_whole(fresh)
            self._parts.append(more)
            self._asked.append(lookup.query + _said_of(more, fresh))
            made.append(lookup)
            new += fresh
        united = self._united(self._parts)
        self._step(made, new, united.tokens, began, reply)
        return united

    def _recall(self, lookup: Lookup, room: int, seen: Collection[int]) -> Recall:
        self.question.deadline.check()
        narrowed = lookup.within(self.narrowed)
        if narrowed is None:
            return unite([], lookup.query, room, self.count)
        return self.recall(
            lookup.query,
            narrowed,
            order=lookup.order,
            exclude_seqs=seen,
            budget_tokens=room,
            timeout_s=self._left_s(),
        )

    def _united(self, parts: Sequence[Recall], room: int | None = None) -> Recall:
        return unite(parts, self.question.text, room or self.question.budget_tokens, self.count)

    def _left_s(self) -> float | None:
        left_s = self.question.deadline.left_s()
        return None if left_s == float("inf") else left_s

    def _share(self) -> int:
        return max(1, int(_ROUND_SHARE * self.question.budget_tokens))

    def _step(
        self,
        queries: Sequence[Lookup],
        new: Sequence[Evidence],
        tokens: int,
        began: float,
        reply: TaskAnswer[StepResult] | None = None,
        *,
        answered: bool = False,
    ) -> None:
        step = Step(
            number=len(self._steps),
            queries=tuple(queries),
            added=tuple(sorted(self._numbers(new))),
            tokens=tokens,
            answered=answered,
            calls=reply.calls if reply else 0,
            prompt_tokens=reply.prompt_tokens if reply else 0,
            completion_tokens=reply.completion_tokens if reply else 0,
            ms=(time.perf_counter() - began) * 1000,
        )
        self._steps.append(step)
        if self.on_step is not None:
            self.on_step(step)

    def _ended(
        self,
        evidence: Recall,
        result: StepResult,
        fault: str,
        reply: TaskAnswer[StepResult] | None = None,
        began: float = 0.0,
    ) -> Answer:
        text = (result.answer or "").strip()
        marks = [fault] if fault else []
        if reply is not None:
            self._step((), (), evidence.tokens, began, reply, answered=bool(text))
        if not text and result.known:  # what a plain recall brings, behind what was asked for
            evidence = self._united([*self._parts, *self._whole])
        if not self._are_there(evidence.evidence):
            text, marks = "", [FORGOTTEN]
            there = [unit for unit in evidence.evidence if self._are_there([unit])]
            left = replace(evidence, evidence=tuple(there))
            evidence = self._united([left])
        shown = self._numbers(evidence.evidence)
        sources = set(result.sources)
        if unknown := sorted(sources - shown):
            marks.append(f"the answer cites messages that it was not shown: {unknown[:8]}")
        if text and result.known and not sources & shown:
            marks.append("the answer cites no message that it was shown")
        return Answer(
            question=self.question.text,
            text=text,
            known=result.known if text or not result.known else None,
            citations=tuple(c for c in evidence.citations if self._number(c.scope, c.seq) in sources),
            confidence=evidence.confidence,
            evidence=evidence,
            steps=tuple(self._steps),
            marks=tuple(marks),
        )

    def _number(self, scope: str, seq: int) -> int:
        """The number by which the model knows a message; of one's own, the seq."""
        return seq + _APART * (1 + self.scopes.index(scope)) if scope else seq

    def _are_there(self, units: Sequence[Evidence]) -> bool:
        seqs: dict[str, set[int]] = {}
        for unit in units:
            seqs.setdefault(unit.scope, set()).update(unit.sources)
        return all(self.still_there(scope, of_scope) for scope, of_scope in seqs.items())

    def _numbers(self, units: Iterable[Evidence]) -> set[int]:
        return {self._number(unit.scope, seq) for unit in units for seq in unit.sources}

    def _shown(self, unit: Evidence) -> ShownEvidence:
        shown = shown_evidence(unit)
        if not unit.scope:
            return shown
        said_by = f"{shown.speaker}, in {unit.scope}" if shown.speaker else f"in {unit.scope}"
        return replace(shown, seq=self._number(unit.scope, shown.seq), speaker=said_by)


def _said_of(recall: Recall, fresh: Sequence[Evidence]) -> str:
    """A word for the model on a query that brought little: else a miss looks like a hit."""
    if not fresh:
        return " (nothing new)"
    return "" if recall.confidence >= CLEAR else " (nothing further clearly about it)"


def shown_evidence(unit: Evidence) -> ShownEvidence:
    """A passage with its day, if that is known, and what is said of it."""
    cut = ("… " * unit.begins_inside, " …" * unit.ends_inside)
    return ShownEvidence(
        seq=unit.sources[0],
        time=_shown_time(unit.time) if unit.is_dated else "",
        speaker=unit.speaker or "",
        session=unit.session,
        text=f"{cut[0]}{unit.text}{cut[1]}{'' if unit.standing else mark(unit)}",
    )


def _shown_time(time: datetime) -> str:
    """Such as "Mon 2023-05-08T13:56": a day of the week is what a model works out least well."""
    return f"{weekday(time)} {time.isoformat(timespec='minutes').removesuffix('+00:00')}"


def no_model() -> InvalidInput:
    """The error of whoever asks without a chat model."""
    return InvalidInput(
        "ask needs a chat model: name one in ZIBALDONE_CHAT_MODEL, which the command line, the server and"
        " Memory.from_env() read, or give chat=; a recall needs none"
    )
