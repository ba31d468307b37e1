"""A request to an operation: who asks, the parameters, the call, the reply."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from zibaldone.api.aio import AsyncMemory
from zibaldone.api.operations import Operation
from zibaldone.server.access import Principal, acting_in, named_in
from zibaldone.server.border import read_apart, unless_gone
from zibaldone.server.inputs import InputShape, body_shape, query_shape
from zibaldone.server.metrics import Metrics
from zibaldone.server.problems import Problem
from zibaldone.server.rest.shapes import RESULTS
from zibaldone.views.topics.read.agent_tools import Arguments

ROOT = "/v1/memory"


@dataclass(frozen=True, slots=True)
class RestCall:
    """One request, checked."""

    operation: Operation
    memory: AsyncMemory
    metrics: Metrics
    principal: Principal
    given: Mapping[str, Any]  # parameters by name
    path: Mapping[str, str]  # the values of the path's braces

    @property
    def user(self) -> str:
        """The user of the request. Raises a Problem where it names nobody, or another than the key's user."""
        return self.principal.whose(self.given.get("user"))

    def options(self) -> dict[str, Any]:
        """The method's options; those of a key of one agent are narrowed to its messages."""
        given = dict(self.given)
        if self.principal.by is not None and "shared" in given:
            given["shared"] = []  # a grant does not pass on what is shared with the shared memory
        if self.operation.agents == "narrows" and "agent" in given:
            given["agent"] = self.principal.which_agent(given["agent"])
        return self.operation.options(given)

    async def run(self, **changed: Any) -> Any:
        """Call the operation's method with the request's parameters and these."""
        options = {**self.options(), **changed}
        if self.operation.whose == "none":
            return await self.operation.bound(self.memory, None)(**options)
        of_all = self.operation.whose == "all" and self.principal.user is None and self.given["user"] is None
        user = None if of_all else self.user
        return await self.operation.bound(self.memory, user)(**options)

    async def page(self, things: str, place: Callable[[Any], object]) -> Mapping[str, object]:
        """A page of a list, and the `place` behind which the next one begins; None: there is none."""
        limit = self.given["limit"]
        listed = await self.run(limit=limit + 1)
        page = listed[:limit]
        return {things: page, "next": place(page[-1]) if len(listed) > limit else None}


Handle = Callable[[RestCall], Coroutine[Any, Any, object]]
H = TypeVar("H", bound=Handle)
HANDLERS: dict[str, Handle] = {}  # by the operation's name, of those that do more than call their method


def handles(name: str) -> Callable[[H], H]:
    """Register the function that handles an operation; it gives the result, or a Response."""

    def register(handle: H) -> H:
        HANDLERS[name] = handle
        return handle

    return register


async def answer(operation: Operation, memory: AsyncMemory, metrics: Metrics, request: Request) -> Response:
    """Answer a request, or raise what `problem_of` knows."""
    principal: Principal = request.state.principal
    _check_header(principal, request)
    if operation.right in ("write", "forget"):
        principal.must_write()
    if operation.right == "admin":
        principal.must_be_admin()
    query = _checked_query(query_shape(operation), request.query_params)
    principal = await acting_in(principal, memory, getattr(query, "user", None))
    if principal.by is not None:
        _check_shared(operation, principal)
    body = await _checked_body(operation, request)
    if operation.agents == "refused" and principal.agent is not None:
        raise Problem(403, "other-agent", "this key is for one agent's messages, and this is made of all")
    given = {**dict(query), **dict(body or {})}
    call = RestCall(operation, memory, metrics, principal, given, request.path_params)
    assert operation.rest is not None
    with metrics.stage(operation.name):
        handle = HANDLERS.get(operation.name)
        answering = call.run() if handle is None else handle(call)
        if operation.rest.asks:
            await request.body()  # what comes after it is the client's going
            answering = unless_gone(request, answering)
        answered = await answering
    if isinstance(answered, Response):
        return answered
    result = {operation.rest.key: answered} if operation.rest.key else answered
    content = RESULTS[operation.rest.result].model_validate(result).model_dump_json()
    return Response(content, status_code=operation.rest.status, media_type="application/json")


def _check_shared(operation: Operation, principal: Principal) -> None:
    """Raise a 403 Problem for what no grant allows, or only one to write."""
    reads = operation.right == "read" and operation.whose == "user"
    if not reads and operation.name not in ("addMessages", "forget"):
        raise Problem(403, "shared-memory", "in a shared memory a user reads and adds; this is an admin's")
    if not reads:
        principal.must_write()


def _check_header(principal: Principal, request: Request) -> None:
    """A key's user cannot be changed by the header that the gateway reads: better refused than ignored."""
    named = named_in(request.headers, "x-memory-user")
    if named is not None and principal.user is not None:
        principal.whose(named)
    agent = named_in(request.headers, "x-memory-agent")
    if agent is not None and principal.agent is not None:
        principal.which_agent(agent)


def _checked_query(shape: type[Arguments], given: QueryParams) -> Arguments:
    values: dict[str, Any] = {}
    for name in given:
        several = given.getlist(name)
        values[name] = several if _is_list(shape, name) or len(several) > 1 else several[0]
    try:
        return shape.model_validate(values)
    except ValidationError as error:
        raise _invalid("query", error) from error


def _is_list(shape: type[Arguments], name: str) -> bool:
    known = shape.model_fields.get(name)
    return known is not None and "list[" in str(known.annotation)


async def _checked_body(operation: Operation, request: Request) -> InputShape | None:
    shape = body_shape(operation)
    if shape is None:
        return None
    raw = await request.body()
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise Problem(415, "unsupported-media-type", "send JSON, with Content-Type: application/json")
    try:
        return await read_apart(len(raw), shape.model_validate_json, raw)
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
