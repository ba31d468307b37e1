"""Operations that ask memory: recall, ask, search, timeline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from starlette.responses import Response, StreamingResponse

from zibaldone.asking.ask import Answer, Step
from zibaldone.asking.lookup import Filter
from zibaldone.core import Evidence
from zibaldone.recalled import Recall
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
from zibaldone.timeline import text_of

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
        agent=call.agent(body.agent),
        budget_tokens=body.budget_tokens,
        views=body.views,
        floor=body.floor,
        **body.narrowing(),
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
    body, loop = call.body, asyncio.get_running_loop()
    steps: asyncio.Queue[Step | None] = asyncio.Queue()
    narrowing = body.narrowing()
    now = narrowing.pop("now")

    def tell(step: Step) -> None:
        loop.call_soon_threadsafe(steps.put_nowait, step)

    async def answer() -> AnswerJson:
        try:
            answered = await call.memory.ask(
                body.question,
                user=call.user,
                rounds=body.rounds,
                budget_tokens=body.budget_tokens,
                filter=Filter(**narrowing, agent=call.agent(body.agent)),
                now=now,
                timeout_s=body.timeout_s,
                on_step=tell,
            )
        finally:
            steps.put_nowait(None)
        call.metrics.recalled(answered.evidence.tokens)
        return _answered(answered)

    if not body.stream:
        return Reply(await answer())
    answering = asyncio.ensure_future(answer())
    try:
        first = await steps.get()
    except asyncio.CancelledError:
        answering.cancel()
        raise
    if first is None:
        await answering  # what is wrong with the question is a problem, not an event

    async def events() -> AsyncIterator[str]:
        try:
            step = first
            while step is not None:
                yield f"event: step\ndata: {StepJson.model_validate(step).model_dump_json()}\n\n"
                step = await steps.get()
            yield f"event: answer\ndata: {(await answering).model_dump_json()}\n\n"
        finally:
            answering.cancel()  # of a client that is gone

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
        body.query, user=call.user, agent=call.agent(body.agent), limit=body.limit, **body.narrowing()
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
    lines = await call.memory.timeline(query.query, user=call.user, **chosen)
    shown = [TimelineLineJson.model_validate(line) for line in lines]
    return Reply(TimelineJson(text=text_of(lines), lines=shown))


def _answered(answer: Answer) -> AnswerJson:
    return AnswerJson(
        question=answer.question,
        text=answer.text,
        known=answer.known,
        confidence=answer.confidence,
        citations=[CitationJson.model_validate(citation) for citation in answer.citations],
        evidence=_shown(answer.evidence),
        steps=[StepJson.model_validate(step) for step in answer.steps],
        marks=list(answer.marks),
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
