"""Operations on messages: add, list, get, correct, forget, export; sessions and users."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from pydantic import JsonValue
from starlette.responses import Response, StreamingResponse

from zibaldone.core import AGENT, EDITOR, Message
from zibaldone.engine.forgetting import Receipt
from zibaldone.importers.export import to_line
from zibaldone.log.filters import Filter
from zibaldone.server.problems import Problem
from zibaldone.server.rest.operation import Reply, RestCall, operation
from zibaldone.server.rest.shapes import (
    AddedJson,
    AddMessagesJson,
    AgentQuery,
    CorrectionJson,
    ForgetJson,
    MessageJson,
    MessagePageJson,
    MessagesQuery,
    PagedQuery,
    PagedUsersQuery,
    ReceiptJson,
    SessionJson,
    SessionPageJson,
    UserPageJson,
    UserQuery,
    VerificationJson,
    VerifyJson,
)

_EXPORT_PAGE = 500  # messages that are in memory at once
JSON_LINES = "application/jsonl"

_TALK = [
    {"id": "chat-7/1", "content": "I moved to Lisbon in May.", "time": "2024-06-01T09:00:00Z"},
    {"id": "chat-7/2", "role": "assistant", "content": "How do you like Lisbon?"},
]


@operation(
    "addMessages",
    "POST",
    "/v1/memory/messages",
    replies={201: AddedJson, 200: AddedJson},
    problems=(409,),
    writes=True,
    example={"query": {"user": "ann"}, "body": {"session": "chat-7", "messages": _TALK}},
)
async def add(call: RestCall[UserQuery, AddMessagesJson]) -> Reply:
    """Keep messages, all of them or none; a message whose id is known adds nothing."""
    body, user = call.body, call.user
    for message in body.messages:
        call.agent(_agent_in(message.metadata))
        if call.principal.agent is not None and message.role == EDITOR:  # it could correct another agent's
            raise Problem(403, "other-agent", "this key is for one agent's messages: correct them with PATCH")
    given = [message.given() for message in body.messages]
    newest = await call.memory.messages(user=user, last=1, include_tool_traffic=True)
    stored = await call.memory.add(given, user=user, session=body.session, agent=call.agent(body.agent))
    last_seq = newest[-1].seq if newest else 0
    new = len({message.seq for message in stored if message.seq > last_seq})
    shown = AddedJson(messages=[MessageJson.model_validate(message) for message in stored], new=new)
    return Reply(shown, 201 if new else 200)


@operation(
    "listMessages",
    "GET",
    "/v1/memory/messages",
    replies={200: MessagePageJson},
    example={"query": {"user": "ann", "session": "chat-7", "limit": 50}},
)
async def list_messages(call: RestCall[MessagesQuery, None]) -> Reply:
    """List messages in the order in which they were stored, page by page."""
    query = call.query
    page = await call.memory.messages(
        user=call.user,
        filter=Filter(
            session=query.session,
            roles=query.roles,
            since=query.since,
            until=query.until,
            metadata=query.metadata,
            agent=call.agent(query.agent),
        ),
        after=query.after,
        limit=query.limit if query.last is None else None,
        last=query.last,
    )
    more = query.last is None and len(page) == query.limit
    return Reply(
        MessagePageJson(
            messages=[MessageJson.model_validate(message) for message in page],
            next=page[-1].seq if more else None,
        )
    )


@operation(
    "getMessage",
    "GET",
    "/v1/memory/messages/{id:path}",
    replies={200: MessageJson},
    problems=(404,),
    example={"query": {"user": "ann"}, "path": {"id": "chat-7/1"}},
)
async def get(call: RestCall[AgentQuery, None]) -> Reply:
    """Get one message by its id."""
    return Reply(MessageJson.model_validate(await _message(call)))


@operation(
    "correctMessage",
    "PATCH",
    "/v1/memory/messages/{id:path}",
    replies={201: MessageJson},
    problems=(404,),
    writes=True,
    example={
        "query": {"user": "ann"},
        "path": {"id": "chat-7/1"},
        "body": {"content": "I moved to Lisbon in April."},
    },
)
async def correct(call: RestCall[AgentQuery, CorrectionJson]) -> Reply:
    """Correct a message: a new one of the role editor takes its place, and the log keeps both."""
    message = await _message(call)
    body = call.body
    call.agent(_agent_in(body.metadata))
    corrected = await call.memory.update(message.seq, body.content, user=call.user, metadata=body.metadata)
    return Reply(MessageJson.model_validate(corrected), 201)


def _agent_in(metadata: Mapping[str, JsonValue] | None) -> str | None:
    """Whom metadata names as the agent: nobody, or a name that a key of another agent may not give."""
    named = None if metadata is None else metadata.get(AGENT)
    return None if named is None else str(named)


async def _message(call: RestCall[AgentQuery, CorrectionJson] | RestCall[AgentQuery, None]) -> Message:
    message = await call.memory.get(call.path["id"], user=call.user)
    agent = call.agent(call.query.agent)
    if message is None or (agent is not None and message.metadata.get(AGENT) != agent):
        raise Problem(404, "no-message", "there is no message of this id")
    return message


@operation("listSessions", "GET", "/v1/memory/sessions", replies={200: SessionPageJson})
async def list_sessions(call: RestCall[PagedQuery, None]) -> Reply:
    """List sessions in the order of their first messages."""
    call.must_be_for_all_agents()
    query = call.query
    after = await call.memory.user(call.user).sessions(after=query.after, limit=query.limit + 1)
    page = after[: query.limit]
    return Reply(
        SessionPageJson(
            sessions=[SessionJson.model_validate(held) for held in page],
            next=page[-1].first_seq if len(after) > len(page) else None,
        )
    )


@operation(
    "listUsers",
    "GET",
    "/v1/memory/users",
    replies={200: UserPageJson},
    for_admins=True,
    example={"query": {"limit": 10}},
)
async def list_users(call: RestCall[PagedUsersQuery, None]) -> Reply:
    """List users that have, or had, messages."""
    query = call.query
    after = await call.memory.users(after=query.after, limit=query.limit + 1)
    page = after[: query.limit]
    return Reply(UserPageJson(users=page, next=page[-1] if len(after) > len(page) else None))


@operation("exportMessages", "GET", "/v1/memory/export", streams=JSON_LINES)
async def export(call: RestCall[AgentQuery, None]) -> Response:
    """Stream all messages as JSON Lines, which 'zibaldone import' reads back exactly."""
    user, agent = call.user, call.agent(call.query.agent)
    first = await call.memory.messages(
        user=user, filter=Filter(agent=agent), limit=_EXPORT_PAGE, include_tool_traffic=True
    )

    async def lines() -> AsyncIterator[str]:
        page = first
        while page:
            yield "".join(f"{to_line(message)}\n" for message in page)
            page = await call.memory.messages(
                user=user,
                filter=Filter(agent=agent),
                after=page[-1].seq,
                limit=_EXPORT_PAGE,
                include_tool_traffic=True,
            )

    return StreamingResponse(lines(), media_type=JSON_LINES)


@operation(
    "forget",
    "POST",
    "/v1/memory/forget",
    replies={200: ReceiptJson},
    writes=True,
    example={"query": {"user": "ann"}, "body": {"session": "chat-7", "dry_run": True}},
)
async def forget(call: RestCall[UserQuery, ForgetJson]) -> Reply:
    """Delete messages and all that was made from them, for good; a dry run only counts."""
    body, user = call.body, call.user
    if call.principal.agent is not None:
        await _must_be_own(call, user)
    receipt = await call.memory.forget(user=user, **body.model_dump())
    return Reply(ReceiptJson.model_validate(receipt))


@operation(
    "verifyForgotten",
    "POST",
    "/v1/memory/verify",
    replies={200: VerificationJson},
    for_admins=True,
    example={"query": {"user": "ann"}, "body": {"seqs": [1], "texts": ["I moved to Lisbon in May."]}},
)
async def verify(call: RestCall[UserQuery, VerifyJson]) -> Reply:
    """Look whether anything is left of forgotten messages, in any table or file."""
    body = call.body
    receipt = Receipt(call.user, False, tuple(body.seqs), (), purged=True, texts=tuple(body.texts))
    return Reply(VerificationJson.model_validate(await call.memory.admin.verify(receipt)))


async def _must_be_own(call: RestCall[UserQuery, ForgetJson], user: str) -> None:
    """A key of one agent may forget what that agent said and heard, message by message, and nothing else.

    What is edited of it goes with it, whoever wrote the edit: the receipt counts that, and has no word of it.
    """
    if call.body.keep_texts:
        raise Problem(403, "other-agent", "this key is for one agent's messages: no texts of others")
    if call.body.seqs is None:
        raise Problem(403, "other-agent", "this key is for one agent's messages: forget by seqs")
    for seq in call.body.seqs:
        message = await call.memory.get(seq, user=user)
        if message is not None and message.metadata.get(AGENT) != call.principal.agent:
            raise Problem(403, "other-agent", "this key is for one agent's messages, not for all of these")
