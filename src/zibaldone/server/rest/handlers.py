"""Handlers of operations that do more than call their method: pages, streams, what an agent's key may."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from functools import partial
from operator import attrgetter

from pydantic import JsonValue
from starlette.responses import Response, StreamingResponse

from zibaldone.core import AGENT, EDITOR, WRITTEN_BY, Message
from zibaldone.errors import InvalidInput, ZibaldoneError
from zibaldone.importers.export import to_line
from zibaldone.log.filters import Filter
from zibaldone.recall.ask import Answer, Step
from zibaldone.recall.timeline import text_of
from zibaldone.server.problems import Problem, problem_of
from zibaldone.server.rest.operation import RestCall, handles
from zibaldone.server.rest.shapes import RESULTS, OutputShape
from zibaldone.server.stepwise import stepwise

_EXPORT_PAGE = 500  # messages that are in memory at once


@handles("addMessages")
async def add(call: RestCall) -> object:
    messages = call.given["messages"]
    for message in messages:
        call.principal.which_agent(_agent_in(message.metadata))
        if call.principal.agent is not None and message.role == EDITOR:  # it could correct another agent's
            raise Problem(403, "other-agent", "this key is for one agent's messages: correct them with PATCH")
    newest = await call.memory.messages(user=call.user, last=1, include_tool_traffic=True)
    stored = await call.run(messages=[message.given() for message in messages], by=call.principal.by)
    last_seq = newest[-1].seq if newest else 0
    new = len({message.seq for message in stored if message.seq > last_seq})
    return {"messages": stored, "new": new}


@handles("listMessages")
async def list_messages(call: RestCall) -> object:
    if call.given["last"] is None:
        return await call.page("messages", attrgetter("seq"))
    return {"messages": await call.run(limit=None), "next": None}


@handles("getMessage")
async def get_message(call: RestCall) -> Message:
    message = await call.memory.get(call.path["id"], user=call.user)
    agent = call.principal.which_agent(call.given["agent"])
    if message is None or (agent is not None and message.metadata.get(AGENT) != agent):
        raise Problem(404, "no-message", "there is no message of this id")
    return message


@handles("correctMessage")
async def correct(call: RestCall) -> Message:
    message = await get_message(call)
    metadata = call.given["metadata"]
    call.principal.which_agent(_agent_in(metadata))
    return await call.memory.update(message.seq, call.given["content"], user=call.user, metadata=metadata)


def _agent_in(metadata: Mapping[str, JsonValue] | None) -> str | None:
    """The agent that metadata names, if any; a key of another agent may not give that."""
    return str(metadata[AGENT]) if metadata and AGENT in metadata else None


@handles("listSessions")
async def list_sessions(call: RestCall) -> object:
    return await call.page("sessions", attrgetter("first_seq"))


@handles("listUsers")
async def list_users(call: RestCall) -> object:
    return await call.page("users", str)


@handles("exportMessages")
async def export(call: RestCall) -> Response:
    narrowed = Filter(agent=call.principal.which_agent(call.given["agent"]))
    listed = partial(call.memory.messages, user=call.user, filter=narrowed, include_tool_traffic=True)
    page_after = partial(listed, limit=_EXPORT_PAGE)
    first = await page_after(after=0)

    async def lines() -> AsyncIterator[str]:
        page = first
        while page:
            yield "".join(f"{to_line(message)}\n" for message in page)
            page = await page_after(after=page[-1].seq)

    return StreamingResponse(lines(), media_type="application/jsonl")


@handles("forget")
async def forget(call: RestCall) -> object:
    if call.principal.agent is not None or call.principal.by is not None:
        await _check_own(call, call.user)
    return await call.run()


async def _check_own(call: RestCall, user: str) -> None:
    """Let a key of one agent forget messages that it said and heard, one by one, and nothing else.

    And a user of a shared memory those that they wrote. An edit of such a message goes with it, whoever wrote
    it: the receipt counts it, and has no word of it.
    """
    who = call.principal
    own = {AGENT: who.agent, WRITTEN_BY: who.by}
    kind = "other-agent" if who.by is None else "shared-memory"
    only = "this key is for one agent's messages" if who.by is None else "here one forgets what one wrote"
    if call.given["keep_texts"] or call.given["seqs"] is None:
        raise Problem(403, kind, f"{only}: forget by seqs, and without texts")
    for seq in call.given["seqs"]:
        message = await call.memory.get(seq, user=user)
        if message and any(value not in (None, message.metadata.get(name)) for name, value in own.items()):
            raise Problem(403, kind, f"{only}, not all of these")


@handles("recall")
async def recall(call: RestCall) -> object:
    messages = call.given["messages"]
    recalled = await call.run(
        messages=None if messages is None else [message.given() for message in messages]
    )
    call.metrics.recalled(recalled.tokens)
    return recalled


@handles("search")
async def search(call: RestCall) -> object:
    passages = await call.run()
    return {"passages": passages, "confidence": passages.confidence}


@handles("ask")
async def ask(call: RestCall) -> object:
    options = call.options()
    steps = stepwise(call.memory, options.pop("question"), user=call.user, **options)
    shown = (_step_or_answer(call, step) async for step in steps)
    if not call.given["stream"]:
        *_, answer = [step async for step in shown]
        return answer
    first = await anext(shown)  # what is wrong with the question is a problem, and no event

    async def events() -> AsyncIterator[str]:
        try:
            yield _event(first)
            async for step in shown:
                yield _event(step)
        except ZibaldoneError as error:  # the stream has begun, and its status is sent
            problem = problem_of(error).body("/v1/memory/ask")
            yield f"event: error\ndata: {json.dumps(problem)}\n\n"
        finally:
            await steps.aclose()  # of a client that is gone

    return StreamingResponse(events(), media_type="text/event-stream")


def _event(shown: OutputShape) -> str:
    name = "step" if isinstance(shown, RESULTS["Step"]) else "answer"
    return f"event: {name}\ndata: {shown.model_dump_json()}\n\n"


def _step_or_answer(call: RestCall, given: Step | Answer) -> OutputShape:
    if isinstance(given, Step):
        return RESULTS["Step"].model_validate(given)
    call.metrics.recalled(given.evidence.tokens)
    return RESULTS["Answer"].model_validate(given)


@handles("timeline")
async def timeline(call: RestCall) -> object:
    lines = await call.run()
    return {"text": text_of(lines), "lines": lines}


@handles("getProfile")
async def profile(call: RestCall) -> object:
    opened = call.memory.user(call.user).profile  # once: each opening is a read in the audit
    return {"text": await opened.text(call.given["budget_tokens"]), "entries": await opened.entries()}


@handles("changeProfileEntry")
async def change_entry(call: RestCall) -> object:
    opened, given = call.memory.user(call.user).profile, call.given
    if [given["text"] is None, given["pinned"] is None, not given["retired"]].count(False) != 1:
        raise InvalidInput("give exactly one of text, pinned and retired")
    entry = call.path["id"]
    if given["text"] is not None:
        return await opened.edit(entry, given["text"])
    if given["retired"]:
        return await opened.retire(entry)
    return await (opened.pin(entry) if given["pinned"] else opened.unpin(entry))


@handles("getTopic")
async def topic(call: RestCall) -> dict[str, str]:
    return {"id": call.path["id"], "text": await call.run(doc_id=call.path["id"])}


@handles("getStats")
async def stats(call: RestCall) -> object:
    shown = RESULTS["Stats"].model_validate(await call.run())
    if call.principal.user is not None:  # the folder's size tells of others
        return shown.model_copy(update={"bytes_on_disk": None})
    return shown
