"""The routes of the gateway: the paths of a model server, with memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope, Send

from zibaldone.api.aio import AsyncMemory
from zibaldone.errors import InvalidInput
from zibaldone.server.access import Principal
from zibaldone.server.border import read_apart, unless_gone
from zibaldone.server.gateway.anthropic import AnthropicMessages
from zibaldone.server.gateway.chat import ChatCompletions
from zibaldone.server.gateway.client_task import is_client_task, is_subagent
from zibaldone.server.gateway.events import DONE, event_body, event_data, with_data
from zibaldone.server.gateway.exchange import GatewayExchange, GatewayServices
from zibaldone.server.gateway.json_body import NotAnObject, encoded, mapping, read_object, text
from zibaldone.server.gateway.report import MemoryReport, MemoryStatus
from zibaldone.server.gateway.responses import Responses
from zibaldone.server.gateway.scope import MEMBER, memory_options, memory_scope
from zibaldone.server.gateway.tool_loop import ToolLoop, tool_loop
from zibaldone.server.gateway.upstream import (
    Content,
    UpstreamAnswer,
    UpstreamClient,
    media_type,
    relayed,
    split,
    whole,
)
from zibaldone.server.gateway.wire import Wire
from zibaldone.server.live import Live
from zibaldone.server.metrics import Metrics
from zibaldone.server.problems import Problem
from zibaldone.server.settings import ServerSettings

_PREFIX = "/v1"
_OWN = "/v1/memory/"
_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_LATER = ("queued", "in_progress")  # statuses of a response that is computed in the background
_DRAIN_S = 30.0
_KEYS_UNKNOWN = "nothing is recalled or stored: whether that needs a key could not be read"
Pairs = Sequence[tuple[str, str]]


class Gateway:
    """The part of the server that passes paths below /v1 on to the upstream, except our own."""

    def __init__(
        self, memory: AsyncMemory, settings: ServerSettings, metrics: Metrics, live: Live | None = None
    ) -> None:
        """Raises InvalidInput for settings without an upstream, or with an invalid address."""
        if settings.upstream is None:
            raise InvalidInput("a gateway needs an upstream: start the server with --upstream ADDRESS")
        self._upstream = UpstreamClient(settings.upstream, key=settings.upstream_key)
        self._metrics = metrics
        self._mode = settings.memory_mode
        timeout_s = settings.recall_timeout_ms / 1000
        self._services = GatewayServices(memory, metrics, recall_timeout_s=timeout_s, live=live)

    def routes(self) -> list[BaseRoute]:
        """Return the routes of the three formats, and one for everything else."""
        return [
            *(
                Route(_PREFIX + wire.path + end, partial(self._serve, wire), methods=["POST"])
                for wire in (ChatCompletions, Responses, AnthropicMessages)
                for end in ("", "/")
            ),
            _AllOthers(_PREFIX + "/{path:path}", self._pass_through, methods=_METHODS),
        ]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """At the end, wait for everything to be stored."""
        try:
            yield
        finally:
            await self._services.background.drain(_DRAIN_S)
            await self._upstream.close()

    async def _serve(self, format_: type[Wire], request: Request) -> Response:
        data = await request.body()
        headers = request.headers
        try:
            body = await read_apart(len(data), read_object, data)
            plain = data if MEMBER not in body else await read_apart(len(data), encoded, _without(body))
        except NotAnObject:
            return await self._relay(request, format_.path, data, _off("the body is no JSON object"))
        wire = format_(_without(body))
        principal: Principal = request.state.principal
        options = memory_options(headers, body, principal.memory_mode or self._mode)
        if is_subagent(headers):
            options = options.model_copy(update={"enable_writeback": False})
        scope = memory_scope(principal, headers, body, options)
        report = None
        if scope is None:
            report = _off("nobody says whose memory")
        elif not (options.enable_retrieval or options.enable_writeback):
            report = _off("the request wants none")
        elif is_client_task(wire):
            report = _off("a task of the client's own, no turn")
        elif principal.is_presumed:
            self._services.metrics.degraded("keys_unknown")
            report = MemoryReport(MemoryStatus.DEGRADED, [_KEYS_UNKNOWN])
        if scope is None or report is not None:
            return await self._relay(request, wire.path, plain, report)
        exchange = GatewayExchange(self._services, wire, len(data), scope, options, principal.read_only)
        changed = await exchange.admit()
        loop = await tool_loop(exchange, {**wire.body, **changed})
        try:
            if loop is not None:
                plain = await loop.content()
            elif changed:
                plain = await read_apart(len(data), encoded, {**wire.body, **changed})
        except NotAnObject:
            return await self._relay(request, wire.path, plain, _off("the body is nested too deeply"))
        exchange.begin_storing()
        try:
            return await self._answering(request, exchange, plain, loop)
        except Problem:
            await exchange.record()
            raise

    async def _answering(
        self, request: Request, exchange: GatewayExchange, content: bytes, loop: ToolLoop | None
    ) -> Response:
        """Answer the client; after an error or an unreadable answer, only the question is stored."""
        report = exchange.report
        send = partial(self._send, request, exchange.wire.path, plain=True)
        again = partial(send, is_again=True)
        response = await unless_gone(request, send(content))
        if loop is not None and response.is_success and media_type(response) == "application/json":
            response = await unless_gone(request, loop.settled(response, again))
        kind = media_type(response)
        if not (response.is_success and kind in ("application/json", "text/event-stream")):
            await exchange.record()
            if response.is_success:
                report.degrade("the upstream's answer is neither JSON nor a stream of events")
            return _passed(response, report)
        if kind == "application/json":
            return await _whole(response, exchange)
        events = split(response) if loop is None else loop.events(response, again)
        stream = _answered(response, events, exchange)
        return _Stream(stream, response.status_code, _pairs(response, report, changed=True))

    async def _pass_through(self, request: Request) -> Response:
        headers = request.headers
        has_body = "content-length" in headers or "transfer-encoding" in headers
        path = request.scope["raw_path"].decode("latin-1").removeprefix(_PREFIX)
        content: Content = request.stream() if has_body else b""
        return await self._relay(request, path, content, None)

    async def _relay(
        self, request: Request, below: str, content: Content, report: MemoryReport | None
    ) -> Response:
        return _passed(await self._send(request, below, content, plain=False), report)

    async def _send(
        self, request: Request, below: str, content: Content, *, plain: bool, is_again: bool = False
    ) -> UpstreamAnswer:
        """`is_again`: a further request of a tool loop, which must not have the same idempotency key."""
        query, headers = request.scope["query_string"].decode("latin-1"), request.headers
        if is_again:
            headers = Headers(raw=[pair for pair in headers.raw if pair[0] != b"idempotency-key"])
        with self._metrics.stage("upstream"):
            return await self._upstream.send(request.method, below, query, headers, content, plain=plain)


class _AllOthers(Route):
    """The route of every path that is not the server's own."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        is_own = (scope["path"] + "/").startswith(_OWN)
        return (Match.NONE, {}) if is_own else super().matches(scope)


def _without(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request's body without the member for memory."""
    return {name: value for name, value in body.items() if name != MEMBER}


async def _whole(response: UpstreamAnswer, exchange: GatewayExchange) -> Response:
    """Answer with a whole response, stored before the client gets it."""
    data = await whole(response)
    report = exchange.report
    try:
        answer = read_object(data)
        status = text(answer.get("status"))
        if status in _LATER:
            report.degrade("the answer comes later: it will not be stored")
        turns, answer_id = exchange.wire.turns_of(answer), text(answer.get("id")) or None
        await exchange.record(turns, answer_id, is_partial=status == "failed")
        if exchange.options.report:
            data = encoded({**answer, MEMBER: report.body()})
    except NotAnObject:
        report.degrade("the upstream's answer is no JSON object")
    headers = [*_pairs(response, report, changed=True), ("content-length", str(len(data)))]
    whole_answer = Response(data, response.status_code)
    whole_answer.raw_headers = _raw(headers)
    return whole_answer


async def _answered(
    response: UpstreamAnswer, source: AsyncIterator[list[bytes]], exchange: GatewayExchange
) -> AsyncIterator[bytes]:
    """Yield the events of an answer as they come; before the last one, the answer is stored."""
    is_over = is_broken = False
    wire = exchange.wire
    try:
        async for events in source:
            passed = b""
            for event in events:
                data = b"" if is_over else event_data(event)
                body = event_body(data)
                if body is not None:
                    if not wire.is_offered:  # else the tool loop has added it
                        wire.add(body)
                    failed = body.get("type") == "response.failed"
                    is_broken = is_broken or failed or body.get("error") is not None
                is_over = is_over or data == DONE or (body is not None and wire.is_end(body))
                if data and is_over:
                    if passed:
                        yield passed
                        passed = b""
                    await exchange.record(wire.so_far(), _answer_id(body), is_partial=is_broken)
                    yield _last_event(event, body, exchange)
                else:
                    passed += event
            if passed:
                yield passed
        await exchange.record(wire.so_far(), is_partial=True)  # there was no end event
    finally:
        exchange.begin_recording(wire.so_far(), is_partial=True)
        await source.aclose()  # type: ignore[attr-defined] # a generator
        await response.aclose()


def _answer_id(body: Mapping[str, Any] | None) -> str | None:
    """Return the upstream's id of the answer that ended with this event."""
    return None if body is None else text(mapping(body.get("response")).get("id")) or None


def _last_event(event: bytes, body: Mapping[str, Any] | None, exchange: GatewayExchange) -> bytes:
    report = exchange.report
    if not exchange.options.report or body is None:
        return event
    return with_data(event, encoded(exchange.wire.with_report(body, report.body())))


def _off(reason: str) -> MemoryReport:
    return MemoryReport(MemoryStatus.OFF, [reason])


def _pairs(response: UpstreamAnswer, report: MemoryReport | None, *, changed: bool) -> Pairs:
    ours = [] if report is None else report.headers
    theirs = relayed(response.headers.multi_items(), changed=changed)
    return [*(pair for pair in theirs if not pair[0].startswith("x-memory-")), *ours]


def _passed(response: UpstreamAnswer, report: MemoryReport | None) -> Response:
    """Answer with the upstream's response, byte for byte."""

    async def stream() -> AsyncIterator[bytes]:
        try:
            async for chunk in response.aiter_raw():
                yield chunk
        finally:
            await response.aclose()

    return _Stream(stream(), response.status_code, _pairs(response, report, changed=False))


def _raw(headers: Pairs) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers]


class _Stream(StreamingResponse):
    """A streaming answer that closes its source at once, however it ends."""

    def __init__(self, content: AsyncIterator[bytes], status: int, headers: Pairs) -> None:
        super().__init__(content, status)
        self.raw_headers = _raw(headers)

    async def stream_response(self, send: Send) -> None:
        """Send the stream, then close its source."""
        async with aclosing(self.body_iterator):  # type: ignore[type-var] # generators, all of them
            await super().stream_response(send)
