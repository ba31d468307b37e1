"""From the views' candidates to one context: planned, fused, de-duplicated, budgeted, in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar, get_args

from zibaldone import log
from zibaldone.core import Decision, Evidence, Trace, ViewTrace
from zibaldone.core.validation import shown as shown_value
from zibaldone.engine.generations import snapshots
from zibaldone.errors import InvalidInput
from zibaldone.log.filters import Narrowing
from zibaldone.models.base import Reranker, Tokenizer
from zibaldone.models.reranking import MOST, reranked
from zibaldone.recall.packing import Chosen, Count, choose, standing_room
from zibaldone.recall.result import Passages, Recall
from zibaldone.recall.superseded import corrections_instead, current_first
from zibaldone.search.question import Question, parse_question
from zibaldone.storage.database import Database
from zibaldone.text.bounds import QUESTION_CHARS_READ
from zibaldone.text.purgeable_cache import sweeping
from zibaldone.text.rendering import render
from zibaldone.views.base import Retrieved, TakeSnapshot, View
from zibaldone.views.messages import MessagesView
from zibaldone.views.notes import NotesView
from zibaldone.views.toolkit import PASSAGE_TOKENS, described, recallable_seqs

_NOT_ALL_READ = "of the question's {} characters the first and the last were read, {} in all"
RECALL_TOKENS = 2000  # a context, unless somebody says otherwise; docs/results.md has what shorter ones hold
DEFAULT_FLOOR = 0.04  # docs/decisions.md has the trade-off curve
Order = Literal["best", "first", "last"]
ORDERS: tuple[Order, ...] = get_args(Order)
_RERANKED_ROOM = MOST * PASSAGE_TOKENS // 2  # views offer twice as much
LEADING = 2  # budgets of best candidates, of which the earliest or the latest come first
K = 60  # the constant of reciprocal rank fusion: Cormack, Clarke and Buettcher 2009, eq. 1
T = TypeVar("T", bound=Hashable)


def read_question(
    database: Database, messages: MessagesView, question: Question, narrowing: Narrowing
) -> Question:
    """The question as every view gets it: narrowed, read against the user's messages, and embedded.

    What an item said before is never recalled, whatever the narrowing says. The embedder is asked with no
    snapshot open and no lock held.
    """
    user, before, until = question.scope.user, question.before, narrowing.until
    if until is not None:
        before = until if before is None else min(until, before)
    with snapshots(database, user, messages, question.deadline)() as now:
        within, without = question.within, log.overwritten(now.connection, user)
        if narrowing:
            within = log.seqs_within(now.connection, user, narrowing)
            without |= log.seqs_without(now.connection, user, narrowing)
        question = replace(question, before=before, within=within, without=without)
        with messages.index(now, user) as index:
            question = parse_question(question, index)
    return question.embedded(messages.embedder)


@sweeping()
def recall(
    database: Database,
    views: Sequence[View],
    question: Question,
    narrowing: Narrowing,
    *,
    floor: float,
    tokenizer: Tokenizer,
    count: Count,
    messages: MessagesView,
    notes: NotesView | None,
    reranker: Reranker | None = None,
    order: Order = "best",
    rules: bool = True,
) -> Recall:
    """Ask the views and choose. What is forgotten while they work is left out at the end, by its sources.

    The question is read against `messages`. `notes` mark what no longer holds, and say what always does;
    None: nobody asks them; without `rules` they only mark. A `reranker` puts the best in order once more.
    Raises RecallGivenUp once the question's deadline has passed.
    """
    began = time.perf_counter()
    question = read_question(database, messages, question, narrowing)
    within = question.within
    if question.scope.session is not None:
        with database.read(question.scope.user) as connection:
            within = recallable_seqs(connection, question)
    answers = _Answers(database, question, tokenizer)
    room = question.budget_tokens if reranker is None else max(question.budget_tokens, _RERANKED_ROOM)
    retrieved = [answers.of(view, room) for view in views]
    candidates = answers.still_there(reciprocal_rank([found.evidence for found in retrieved]), corrected=True)
    confidence = max((found.confidence for found in retrieved), default=0.0)
    if reranker is not None and confidence >= floor:
        candidates = answers.reranked(reranker, candidates)
    if confidence < floor:
        reason = f"memory knows too little of this (confidence {confidence:.3f}, the floor is {floor:.3f})"
        chosen = Chosen([], [Decision(e, i, False, reason) for i, e in enumerate(candidates, 1)], 0, ())
    else:
        rules_room = standing_room(question.budget_tokens) if rules else 0
        standing: list[Evidence] = []
        if notes is not None:
            candidates = answers.current_first(notes, candidates)
            known = answers.standing(notes, rules_room).evidence
            standing = [replace(entry, standing=True) for entry in answers.still_there(known)]
        candidates = in_time(candidates, order, LEADING * question.budget_tokens)
        chosen = choose(
            candidates,
            question.budget_tokens,
            count,
            stems=question.stems,
            standing=standing,
            standing_tokens=rules_room,
            deadline=question.deadline,
        )
    question.deadline.check()
    whole = question.whole_text
    trace = Trace(
        views=tuple(answers.traces),
        decisions=(*chosen.decisions, *answers.replaced),
        confidence=confidence,
        floor=floor,
        ms=(time.perf_counter() - began) * 1000,
        aim=question.aim.value,
        note=_NOT_ALL_READ.format(len(whole), QUESTION_CHARS_READ) if whole else "",
        within=within,
        without=question.without,
        stems=question.stems,
    )
    return to_recall(whole or question.text, chosen, trace)


def unite(recalls: Sequence[Recall], query: str, budget_tokens: int, count: Count) -> Recall:
    """One recall of several: what they chose, by rank, without repeats, in the budget.

    The first is the query's own: its aim, its words and its rules that always hold are those of the whole.
    What is forgotten meanwhile is the caller's to look for.
    """
    began = time.perf_counter()
    kept = [{id(unit) for unit in recalled.evidence} for recalled in recalls]
    rankings = [
        [d.evidence for d in recalled.trace.decisions if id(d.evidence) in there and not d.evidence.standing]
        for recalled, there in zip(recalls, kept, strict=True)
    ]
    first = recalls[0].trace if recalls else Trace((), (), 0.0, 0.0, 0.0)
    chosen = choose(
        reciprocal_rank(rankings) if rankings else [],
        budget_tokens,
        count,
        stems=first.stems,
        standing=[unit for recalled in recalls[:1] for unit in recalled.evidence if unit.standing],
        standing_tokens=standing_room(budget_tokens),
    )
    trace = replace(
        first,
        views=tuple(view for recalled in recalls for view in recalled.trace.views),
        decisions=tuple(chosen.decisions),
        confidence=max((recalled.confidence for recalled in recalls), default=0.0),
        floor=0.0,
        ms=sum(recalled.trace.ms for recalled in recalls) + (time.perf_counter() - began) * 1000,
        note="; ".join(dict.fromkeys(recalled.trace.note for recalled in recalls if recalled.trace.note)),
        missing=tuple(sorted({scope for recalled in recalls for scope in recalled.trace.missing})),
    )
    return to_recall(query, chosen, trace)


def to_recall(query: str, chosen: Chosen, trace: Trace) -> Recall:
    """The chosen evidence as a recall, which this trace led to."""
    text, citations = render(chosen.evidence)
    trace = replace(trace, parts=chosen.parts)
    return Recall(query, text, chosen.tokens, tuple(chosen.evidence), citations, trace)


def reciprocal_rank(rankings: Sequence[Sequence[T]]) -> list[T]:
    """Items by the sum over rankings of 1 / (K + rank); ties in the order of first appearance.

    A single ranking comes back as it is.
    """
    if len(rankings) == 1:
        return list(rankings[0])
    scores: dict[T, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, 1):
            scores[item] = scores.get(item, 0.0) + 1 / (K + rank)
    return sorted(scores, key=lambda item: -scores[item])


@dataclass(slots=True)
class _Answers:
    """The views' answers to one question, and how long each took."""

    database: Database
    question: Question
    tokenizer: Tokenizer
    traces: list[ViewTrace] = field(default_factory=list)
    replaced: list[Decision] = field(default_factory=list)  # what somebody corrected
    corrections: tuple[int, dict[int, int]] = (-1, {})  # as of a version of the user

    def of(self, view: View, room_tokens: int) -> Retrieved:
        """The answer of a view for so much room."""
        return self._traced(view, room_tokens, view.retrieve)

    def standing(self, notes: NotesView, room_tokens: int) -> Retrieved:
        """Instructions and constraints that the question is to have, if there is any room for them."""
        if not room_tokens:
            return Retrieved((), 0, 0.0, lambda _: None)
        return self._traced(notes, room_tokens, notes.standing)

    def _traced(
        self, view: View, room_tokens: int, retrieve: Callable[[TakeSnapshot, Question], Retrieved]
    ) -> Retrieved:
        question = replace(self.question, budget_tokens=room_tokens)
        question.deadline.check()
        start = time.perf_counter()
        take_snapshot = snapshots(self.database, question.scope.user, view, question.deadline)
        retrieved = retrieve(take_snapshot, question)
        self.traces.append(
            ViewTrace(
                view=view.name,
                candidates=len(retrieved.evidence),
                considered=retrieved.considered,
                ms=(time.perf_counter() - start) * 1000,
                model_calls=retrieved.model_calls,
                note=retrieved.note,
                explain=retrieved.explain,
            )
        )
        return retrieved

    def still_there(self, candidates: Sequence[Evidence], *, corrected: bool = False) -> list[Evidence]:
        """Keep candidates whose messages are all in the log and may be recalled; add what the log says.

        What somebody corrected is left out, and with `corrected` the correction comes in its place.
        """
        if not candidates:
            return []
        self.question.deadline.check()
        user = self.question.scope.user
        with self.database.read(user) as connection:
            here = log.origins(connection, user, {seq for unit in candidates for seq in unit.sources})
            version = log.state(connection, user).version
            if version != self.corrections[0]:
                self.corrections = version, log.corrections(connection, user)
            newest = {
                old: new
                for old, new in self.corrections[1].items()
                if old in here and self.question.lets_in((new,))
            }
            corrections = log.fetch(connection, user, sorted(set(newest.values()))) if corrected else {}
        there = [
            described(unit, [here[seq] for seq in unit.sources])
            for unit in candidates
            if here.keys() >= set(unit.sources) and self.question.lets_in(unit.sources)
        ]
        if not newest:
            return there
        current, replaced = corrections_instead(
            there, newest, corrections, self.question.scope.session, self.tokenizer
        )
        self.replaced += replaced
        return current

    def reranked(self, reranker: Reranker, candidates: Sequence[Evidence]) -> list[Evidence]:
        """Rerank candidates; keep those that are still there when it is done."""
        start = time.perf_counter()
        ordered, note = reranked(
            candidates, self.question.text, self.question.scope.user, reranker, self.question.deadline
        )
        ms = (time.perf_counter() - start) * 1000
        read = min(MOST, len(candidates))
        self.traces.append(ViewTrace(f"reranker {reranker.name}", len(candidates), read, ms, note=note))
        return self.still_there(ordered, corrected=True)

    def current_first(self, notes: NotesView, candidates: Sequence[Evidence]) -> list[Evidence]:
        """The candidates, what no longer holds marked and behind what holds now: see `superseded`.

        The notes know it; of a narrowed recall, that counts of which it may know the newer message. What took
        another's place may have been corrected since.
        """
        question, user = self.question, self.question.scope.user
        seqs = {seq for unit in candidates for seq in unit.sources}
        if not seqs:
            return list(candidates)
        take_snapshot = snapshots(self.database, user, notes, question.deadline)
        known = notes.links(take_snapshot, question, seqs)
        links = [link for link in known if question.lets_in((link.new_seq,))]
        if not links:
            return list(candidates)
        with self.database.read(user) as connection:
            newer = log.fetch(connection, user, sorted({link.new_seq for link in links}))
        ranked = current_first(candidates, links, newer, question.scope.session, self.tokenizer)
        _, corrected = self.corrections  # all of the user's; what took a place was perhaps not looked up yet
        if all(corrected.keys().isdisjoint(unit.sources) for unit in ranked):
            return ranked
        return self.still_there(ranked, corrected=True)


@sweeping()
def search(
    database: Database,
    messages: MessagesView,
    notes: NotesView,
    question: Question,
    narrowing: Narrowing,
    limit: int,
    tokenizer: Tokenizer,
) -> Passages:
    """The best messages and passages, best first, `limit` at most; what no longer holds is marked."""
    question = read_question(database, messages, question, narrowing)
    answers = _Answers(database, question, tokenizer)
    retrieved = answers.of(messages, question.budget_tokens)
    candidates = answers.still_there(retrieved.evidence, corrected=True)
    return Passages(answers.current_first(notes, candidates[:limit])[:limit], retrieved.confidence)


def to_order(given: object) -> Order:
    """Check the order in which candidates are taken. Raises InvalidInput."""
    for order in ORDERS:
        if given == order:
            return order
    raise InvalidInput(f"order must be one of {', '.join(map(repr, ORDERS))}, not {shown_value(given)}")


def in_time(candidates: list[Evidence], order: Order, room_tokens: int) -> list[Evidence]:
    """The best candidates, as many as the room holds, the earliest or the latest first; then the others."""
    if order == "best":
        return candidates
    leading = 0
    for unit in candidates:
        room_tokens -= unit.tokens
        if room_tokens < 0:
            break
        leading += 1
    dated = sorted(
        candidates[:leading], key=lambda unit: (unit.time, unit.sources, unit.place), reverse=order == "last"
    )
    return dated + candidates[leading:]
