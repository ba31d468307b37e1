"""An operation: one method of one path, what it takes and gives, and who may use it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, get_args, get_type_hints

from pydantic import ValidationError
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from zibaldone.api.aio import AsyncMemory
from zibaldone.core.threads import in_thread
from zibaldone.server.access import Principal, named_in
from zibaldone.server.metrics import Metrics
from zibaldone.server.problems import Problem
from zibaldone.server.rest.shapes import InputShape, OutputShape, QueryShape, UserQuery

Q = TypeVar("Q", bound=QueryShape)
B = TypeVar("B", bound=InputShape | None)
A = TypeVar("A")
_CLIENT_GONE = 499  # a status for logs alone
_LONG_BYTES = 2**18  # a body from here on is read in a thread


@dataclass(frozen=True, slots=True)
class RestCall(Generic[Q, B]):
    """One request, checked."""

    memory: AsyncMemory
    metrics: Metrics
    principal: Principal
    query: Q
    body: B
    path: Mapping[str, str]  # what stands in the path's braces

    @property
    def user(self) -> str:
        """Whose memory. Raises a Problem where that is nobody, or somebody else than the key's user."""
        return self.principal.whose(self._named_user)

    @property
    def user_or_all(self) -> str | None:
        """The same; None is every user, for those who may name any."""
        return None if self.principal.user is None and self._named_user is None else self.user

    @property
    def _named_user(self) -> str | None:
        return self.query.user if isinstance(self.query, UserQuery) else None

    def agent(self, named: str | None) -> str | None:
        """Which agent's messages, of the one that the request names or of none. Raises a 403 Problem."""
        return self.principal.which_agent(named)

    def must_be_for_all_agents(self) -> None:
        """Raise a 403 Problem for a key of one agent, where what is given is made of all agents' messages."""
        if self.principal.agent is not None:
            raise Problem(403, "other-agent", "this key is for one agent's messages, and this is made of all")


@dataclass(frozen=True, slots=True)
class Reply:
    """What an operation gives."""

    content: OutputShape
    status: int = 200


Handle = Callable[[RestCall[Any, Any]], Coroutine[Any, Any, Reply | Response]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path."""

    name: str  # operationId
    method: str
    path: str  # as Starlette has it
    handle: Handle
    summary: str
    query: type[QueryShape] = UserQuery
    body: type[InputShape] | None = None
    body_may_be_missing: bool = False
    replies: Mapping[int, type[OutputShape]] = field(default_factory=dict)
    streams: str | None = None  # the media type of a 200 that is no JSON
    problems: Sequence[int] = ()  # that only this operation has
    writes: bool = False
    asks: bool = False  # it reads alone: given up when its client is gone
    for_admins: bool = False
    example: Mapping[str, Any] = field(default_factory=lambda: {"query": {"user": "ann"}})  # "path", "body"


def operation(name: str, method: str, path: str, **further: Any) -> Callable[[Handle], Operation]:
    """The operation that a function handles: its docstring is the summary, its call names query and body."""

    def made(handle: Handle) -> Operation:
        query, body = get_args(get_type_hints(handle)["call"])
        taken = {} if body is type(None) else {"body": body}
        return Operation(name, method, path, handle, handle.__doc__ or "", query=query, **taken, **further)

    return made


class Resource:
    """All operations of one path, as an ASGI app."""

    def __init__(self, operations: Sequence[Operation], memory: AsyncMemory, metrics: Metrics) -> None:
        self._operations = {operation.method: operation for operation in operations}
        if "GET" in self._operations:
            self._operations["HEAD"] = self._operations["GET"]
        self._memory, self._metrics = memory, metrics

    def route(self) -> Route:
        """Its route."""
        return Route(next(iter(self._operations.values())).path, self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or raise what `problem_of` knows."""
        request = Request(scope, receive)
        operation = self._operations.get(request.method)
        if operation is None:
            allowed = ", ".join(sorted(self._operations))
            raise Problem(
                405,
                "method-not-allowed",
                f"this path has {allowed}, not {request.method}",
                headers={"Allow": allowed},
            )
        response = await self._answer(operation, request)
        await response(scope, receive, send)

    async def _answer(self, operation: Operation, request: Request) -> Response:
        principal: Principal = request.state.principal
        _check_header(principal, request)
        if operation.writes:
            principal.must_write()
        if operation.for_admins:
            principal.must_be_admin()
        query = _checked_query(operation.query, request.query_params)
        body = await _checked_body(operation, request)
        call = RestCall(self._memory, self._metrics, principal, query, body, request.path_params)
        with self._metrics.stage(operation.name):
            if operation.asks:
                reply = await _while_there(request, operation.handle(call))
            else:
                reply = await operation.handle(call)
        if isinstance(reply, Response):
            return reply
        content = reply.content.model_dump_json()
        return Response(content, status_code=reply.status, media_type="application/json")


async def _while_there(request: Request, answering: Coroutine[Any, Any, A]) -> A | Response:
    """The answer; of a client that closes its connection meanwhile it is given up, and nobody gets any."""
    await request.body()  # what comes after it is the client's going
    work = asyncio.ensure_future(answering)
    going = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait({work, going}, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        work.cancel()
        await asyncio.wait({work})
        raise
    finally:
        going.cancel()
    if work.done():
        return work.result()
    work.cancel()
    await asyncio.wait({work})
    return Response(status_code=_CLIENT_GONE)


def _check_header(principal: Principal, request: Request) -> None:
    """A key's user cannot be changed by the header that the gateway reads: better refused than ignored."""
    named = named_in(request.headers, "x-memory-user")
    if named is not None and principal.user is not None:
        principal.whose(named)
    agent = named_in(request.headers, "x-memory-agent")
    if agent is not None and principal.agent is not None:
        principal.which_agent(agent)


def _checked_query(shape: type[QueryShape], given: QueryParams) -> QueryShape:
    values: dict[str, Any] = {}
    for name in given:
        several = given.getlist(name)
        values[name] = several if _is_list(shape, name) or len(several) > 1 else several[0]
    try:
        return shape.model_validate(values)
    except ValidationError as error:
        raise _invalid("query", error) from error


def _is_list(shape: type[QueryShape], name: str) -> bool:
    known = shape.model_fields.get(name)
    return known is not None and "list[" in str(known.annotation)


async def _checked_body(operation: Operation, request: Request) -> InputShape | None:
    if operation.body is None:
        return None
    raw = await request.body()
    if not raw and operation.body_may_be_missing:
        return operation.body()
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise Problem(415, "unsupported-media-type", "send JSON, with Content-Type: application/json")
    try:
        if len(raw) < _LONG_BYTES:
            return operation.body.model_validate_json(raw)
        return await in_thread(operation.body.model_validate_json, raw)
    except ValidationError as error:
        raise _invalid("body", error) from error


def _invalid(where: str, error: ValidationError) -> Problem:
    """Every fault with its place, and without the value, which may be long and is known to the client."""
    faults = error.errors(include_input=False, include_url=False)
    if any(fault["type"] == "json_invalid" for fault in faults) and where == "body":
        return Problem(400, "invalid-json", f"the body is not JSON: {faults[0]['msg']}")
    shown = [
        {"at": ".".join((where, *map(str, fault["loc"]))), "detail": fault["msg"]} for fault in faults[:100]
    ]
    return Problem(422, "invalid-input", f"{shown[0]['at']}: {shown[0]['detail']}", errors=shown)
