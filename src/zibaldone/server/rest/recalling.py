"""Operations that ask memory: recall, ask, search, timeline."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from starlette.responses import Response, StreamingResponse

from zibaldone.core import Evidence
from zibaldone.errors import ZibaldoneError
from zibaldone.recall.ask import Answer, Step
from zibaldone.recall.result import Recall
from zibaldone.recall.timeline import text_of
from zibaldone.server.problems import problem_of
from zibaldone.server.rest.operation import Reply, RestCall, operation
from zibaldone.server.rest.shapes import (
    AnswerJson,
    AskJson,
    CitationJson,
    EvidenceJson,
    PassagesJson,
    RecalledJson,
    RecallJson,
    SearchJson,
    StepJson,
    TimelineJson,
    TimelineLineJson,
    TimelineQuery,
    UserQuery,
)
from zibaldone.server.stepwise import stepwise

EVENTS = "text/event-stream"


@operation(
    "recall",
    "POST",
    "/v1/memory/recall",
    asks=True,
    replies={200: RecalledJson},
    example={"query": {"user": "ann"}, "body": {"query": "Where does Ann live?", "budget_tokens": 500}},
)
async def recall(call: RestCall[UserQuery, RecallJson]) -> Reply:
    """Recall the evidence for a question: cited, in the order of time, within a budget of tokens."""
    body = call.body
    recalled = await call.memory.recall(
        body.query,
        messages=None if body.messages is None else [message.given() for message in body.messages],
        user=call.user,
        filter=body.filter(call.agent(body.agent)),
        budget_tokens=body.budget_tokens,
        views=body.views,
        min_confidence=body.min_confidence,
        now=body.now,
    )
    call.metrics.recalled(recalled.tokens)
    return Reply(_shown(recalled))


@operation(
    "ask",
    "POST",
    "/v1/memory/ask",
    asks=True,
    streams=EVENTS,
    replies={200: AnswerJson},
    example={"query": {"user": "ann"}, "body": {"question": "Where has Ann lived?", "rounds": 2}},
)
async def ask(call: RestCall[UserQuery, AskJson]) -> Reply | Response:
    """Let the server's chat model answer a question; it may look again, and cites what it was shown."""
    body = call.body
    steps = stepwise(
        call.memory,
        body.question,
        user=call.user,
        now=body.now,
        filter=body.filter(call.agent(body.agent)),
        rounds=body.rounds,
        budget_tokens=body.budget_tokens,
        timeout_s=body.timeout_s,
    )
    shown = (_step_or_answer(call, step) async for step in steps)
    if not body.stream:
        *_, answer = [step async for step in shown]
        return Reply(answer)
    first = await anext(shown)  # what is wrong with the question is a problem, and no event

    async def events() -> AsyncIterator[str]:
        try:
            yield _event(first)
            async for step in shown:
                yield _event(step)
        except ZibaldoneError as error:  # the stream has begun: its status is said
            problem = problem_of(error).body("/v1/memory/ask")
            yield f"event: error\ndata: {json.dumps(problem)}\n\n"
        finally:
            await steps.aclose()  # of a client that is gone

    return StreamingResponse(events(), media_type=EVENTS)


@operation(
    "search",
    "POST",
    "/v1/memory/search",
    asks=True,
    replies={200: PassagesJson},
    example={"query": {"user": "ann"}, "body": {"query": "Lisbon", "limit": 5}},
)
async def search(call: RestCall[UserQuery, SearchJson]) -> Reply:
    """List the passages that fit a query best, best first, without a budget."""
    body = call.body
    passages = await call.memory.search(
        body.query,
        user=call.user,
        filter=body.filter(call.agent(body.agent)),
        limit=body.limit,
        now=body.now,
    )
    return Reply(PassagesJson(passages=[_evidence(passage) for passage in passages]))


@operation(
    "timeline",
    "GET",
    "/v1/memory/timeline",
    asks=True,
    replies={200: TimelineJson},
    example={"query": {"user": "ann", "query": "moving to Lisbon"}},
)
async def timeline(call: RestCall[TimelineQuery, None]) -> Reply:
    """Dated lines: of each session its title and first statement, and what a model noted."""
    call.must_be_for_all_agents()
    query = call.query
    chosen = query.model_dump(exclude={"user", "query"})
    lines = await call.memory.user(call.user).timeline(query.query, **chosen)
    shown = [TimelineLineJson.model_validate(line) for line in lines]
    return Reply(TimelineJson(text=text_of(lines), lines=shown))


def _event(shown: StepJson | AnswerJson) -> str:
    return (
        f"event: {'step' if isinstance(shown, StepJson) else 'answer'}\ndata: {shown.model_dump_json()}\n\n"
    )


def _step_or_answer(call: RestCall[UserQuery, AskJson], given: Step | Answer) -> StepJson | AnswerJson:
    if isinstance(given, Step):
        return StepJson.model_validate(given)
    call.metrics.recalled(given.evidence.tokens)
    return AnswerJson(
        question=given.question,
        text=given.text,
        known=given.known,
        confidence=given.confidence,
        citations=[CitationJson.model_validate(citation) for citation in given.citations],
        evidence=_shown(given.evidence),
        steps=[StepJson.model_validate(step) for step in given.steps],
        marks=list(given.marks),
    )


def _shown(recalled: Recall) -> RecalledJson:
    return RecalledJson(
        query=recalled.query,
        text=recalled.text,
        quoted=recalled.quoted(),
        tokens=recalled.tokens,
        confidence=recalled.confidence,
        ms=recalled.trace.ms,
        evidence=[_evidence(evidence) for evidence in recalled.evidence],
        citations=[CitationJson.model_validate(citation) for citation in recalled.citations],
    )


def _evidence(evidence: Evidence) -> EvidenceJson:
    return EvidenceJson.model_validate(evidence)
