"""The tool loop: offers the model a search tool that the client does not know of, and runs its calls here.

    request + tool ──> upstream ──> calls of the tool alone: search, and ask again with the results
                                ──> anything else: the answer

Each request of the loop only appends to the one before, byte for byte, for the upstream's prefix cache. An
answer with calls of the client's own tools ends the loop: the hidden part is kept and inserted again when the
client continues. If it was lost (a restart, another server), the model may search again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from zibaldone.errors import InvalidInput
from zibaldone.log.filters import Filter
from zibaldone.recall.lookup import NOTHING, shown_whole, to_found, to_lookup
from zibaldone.server.border import read_apart
from zibaldone.server.gateway.events import DONE, event_body, event_data, with_data
from zibaldone.server.gateway.exchange import GatewayExchange
from zibaldone.server.gateway.json_body import NotAnObject, encoded, mapping, read_object, sequence, text
from zibaldone.server.gateway.loops import Quoted, id_key, may_read
from zibaldone.server.gateway.turns import WireTurn
from zibaldone.server.gateway.upstream import UpstreamAnswer, media_type, relayed, split, whole
from zibaldone.server.gateway.wire import TOOL, HiddenTurn, ToolCall
from zibaldone.server.problems import Problem
from zibaldone.server.settings import MemoryMode
from zibaldone.text.purgeable_cache import sweeping
from zibaldone.text.rendering import quotation

_MOST_ROUNDS = 3  # with searches, of one answer
_MOST_CALLS = 4  # of one round
_NO_MORE = "No more searches for this answer: give it with what you have."
_TOO_MANY = f"At most {_MOST_CALLS} searches at once: this one was left out."
_NOT_SHARED = "a memory that was shared with the user is shared no more, and the answer quotes it: ask again"
_FAILED = "Memory could not be searched just now."
Ask = Callable[[bytes], Awaitable[UpstreamAnswer]]


class ToolLoop:
    """The tool loop of one exchange."""

    def __init__(
        self, exchange: GatewayExchange, body: Mapping[str, Any], hidden: Mapping[int, HiddenTurn]
    ) -> None:
        """`body` is the request without the tool, and without what is `hidden` in its list."""
        self._exchange, self._wire, self._body = exchange, exchange.wire, body
        self._wire.is_offered = True
        self._elements = list(sequence(body.get(self._wire.list_name)) or self._wire.given)
        for place in sorted(hidden, reverse=True):
            self._wire.put_back(self._elements, place, hidden[place])
        quoted = frozenset[Quoted]().union(*(turn.quoted for turn in hidden.values()))
        recalled = exchange.report.recalled
        self._scopes = {scope for scope, _ in quoted}  # that it quotes
        self._shown = frozenset(seq for scope, seq in quoted if not scope)
        if recalled is not None:
            self._scopes |= {citation.scope for citation in recalled.citations}
            self._shown |= shown_whole(recalled.evidence)
        self._found: frozenset[Quoted] = frozenset()  # found by searches of this answer
        self._unseen: list[Mapping[str, Any]] = []  # elements of the rounds that the client does not get
        self._rounds_searched = 0

    async def content(self) -> bytes:
        """Return the request of the next round. Raises NotAnObject."""
        tools = self._body.get("tools")
        changed: dict[str, Any] = {self._wire.list_name: self._elements}
        if not (tools and self._wire.is_last):
            changed["tools"] = [*(tools or ()), self._wire.offer]
        if self._wire.is_last and not tools:
            changed["tool_choice"] = self._wire.no_calls
        return await read_apart(self._exchange.size, encoded, {**self._body, **changed})

    async def settled(self, answer: UpstreamAnswer, ask: Ask) -> UpstreamAnswer:
        """Run the loop on whole answers; returns the client's. Raises a Problem if one breaks off."""
        with sweeping():
            while True:
                data = await whole(answer)
                try:
                    body = read_object(data)
                except NotAnObject:
                    return _with_content(answer, data)
                shown = self._wire.whole(body)
                await self._end_round()
                if not self._wire.goes_on:
                    return _with_content(answer, encoded(shown))
                answer = await ask(await self._next())
                if not (answer.is_success and media_type(answer) == "application/json"):
                    return answer

    async def events(self, answer: UpstreamAnswer, ask: Ask) -> AsyncIterator[list[bytes]]:
        """Run the loop on streams; yields the client's events, the last of them an error if a round fails."""
        with sweeping():
            while True:
                try:
                    async for events in split(answer):
                        yield [each for event in events for each in await self._event(event)]
                finally:
                    await answer.aclose()
                if not self._wire.goes_on:
                    break
                try:
                    answer = await ask(await self._next())
                    if not (answer.is_success and media_type(answer) == "text/event-stream"):
                        raise await _refused(answer)
                except Problem as problem:
                    refusal = {**problem.body(self._wire.path), "type": "error"}
                    yield [with_data(b"event: error", encoded(refusal))]
                    return
            yield self._wire.show()

    async def _event(self, event: bytes) -> list[bytes]:
        data = event_data(event)
        if data == DONE:
            return [] if self._wire.goes_on else [*self._wire.show(), event]
        body = event_body(data)
        if body is None:
            return [event]
        was_over = self._wire.is_over
        shown = self._wire.event(event, body)
        if self._wire.is_over and not was_over:
            await self._end_round()
        return shown

    async def _next(self) -> bytes:
        """Begin a round; returns its request. Raises a Problem if the user may not read all of it now."""
        exchange = self._exchange
        if not await may_read(exchange.services.memory, exchange.scope.user, self._scopes):
            raise Problem(409, "not-shared", _NOT_SHARED)
        self._rounds_searched += 1
        is_last = self._rounds_searched == _MOST_ROUNDS
        self._wire.next(is_last=is_last)
        return await self.content()

    async def _end_round(self) -> None:
        """Run the searches of a round, and keep the elements that the client does not get."""
        wire, services, scope = self._wire, self._exchange.services, self._exchange.scope
        if wire.renamed is not None:
            shown, real = wire.renamed
            services.renamed.put(id_key(scope, shown), scope.user, frozenset(), real)
        is_mixed = wire.ended_well and bool(wire.client_calls) and bool(wire.calls or self._unseen)
        if not (wire.goes_on or is_mixed):
            return
        texts = [await self._search(call, number) for number, call in enumerate(wire.calls)]
        results = [wire.result(call.id, words) for call, words in zip(wire.calls, texts, strict=True)]
        if wire.goes_on:
            self._elements += wire.elements() + wire.as_elements(results)
            self._unseen += wire.unseen() + wire.as_elements(results)
            return
        call_id = wire.client_calls[0]
        calling = (turn for turn in wire.so_far() if call_id in _call_ids(turn, results=False))
        turn = HiddenTurn(
            earlier=tuple(self._unseen),
            last=tuple(wire.unseen()),
            results=tuple(results),
            lead=wire.lead,
            words=next((_words(turn) for turn in calling), ""),
            quoted=self._found,
        )
        key = id_key(scope, self._exchange.admitted.session, call_id)
        services.hidden.put(key, scope.user, turn.quoted, turn)

    async def _search(self, call: ToolCall, number: int) -> str:
        """Return the result of a call, for the model."""
        if self._wire.is_last:
            return _NO_MORE
        if number >= _MOST_CALLS:
            return _TOO_MANY
        exchange = self._exchange
        try:
            given = _arguments(call.arguments)
            lookup = to_lookup(given.pop("query", None), **given)
            narrowed = lookup.within(Filter(roles=exchange.options.roles, agent=exchange.scope.agent))
        except InvalidInput as error:
            return str(error)
        if narrowed is None:
            return NOTHING
        recalled = await exchange.look_up(lookup, narrowed, self._shown)
        if recalled is None:
            return _FAILED
        passages = to_found(recalled, shown_before=bool(self._shown))
        self._shown |= shown_whole(passages.evidence)
        self._found |= passages.quoted
        self._scopes |= {scope for scope, _ in passages.quoted}
        exchange.report.searched.append(passages)
        exchange.live.searched.extend(sorted(seq for scope, seq in passages.quoted if not scope))
        return quotation(passages.text) if passages.evidence else passages.text


async def tool_loop(exchange: GatewayExchange, body: Mapping[str, Any]) -> ToolLoop | None:
    """Return the loop for a request that is to have the tool; None if it is not, or cannot.

    `body` is the request without the tool.
    """
    if exchange.options.mode is MemoryMode.CONTEXT or not exchange.options.enable_retrieval:
        return None
    services, wire = exchange.services, exchange.wire
    if not (wire.can_go_on() and _takes_ours(body.get("tools"))):
        exchange.report.reasons.append(f"the model is not offered {TOOL}: this request cannot have it")
        return None
    looking = services.background.start(_hidden(exchange))
    done, _ = await asyncio.wait([looking], timeout=services.recall_timeout_s)
    hidden = looking.result() if done and looking.exception() is None else {}
    real = await services.renamed.find(id_key(exchange.scope, wire.continues))
    return ToolLoop(exchange, body if real is None else {**body, "previous_response_id": real}, hidden)


def _takes_ours(tools: object) -> bool:
    """True if our tool can be added to a list of tools."""
    given = [mapping(tool) for tool in sequence(tools)]
    names = [tool.get("name") or mapping(tool.get("function")).get("name") for tool in given]
    return isinstance(tools, list | None) and TOOL not in names


async def _hidden(exchange: GatewayExchange) -> dict[int, HiddenTurn]:
    """Find the hidden turns of a request's answers, by their indexes in its list."""
    hidden: dict[int, HiddenTurn] = {}
    continues = bool(exchange.wire.continues)
    for turn in exchange.admitted.turns:
        for call_id in _call_ids(turn, results=continues):
            key = id_key(exchange.scope, exchange.admitted.session, call_id)
            kept = await exchange.services.hidden.find(key)
            if kept is not None and kept.words in ("", _words(turn)):
                hidden[turn.place] = kept
    return hidden


def _call_ids(turn: WireTurn, *, results: bool) -> list[str]:
    """Return the ids of a turn's calls; with `results` also of the call that it answers."""
    metadata = turn.message.metadata
    ids = [mapping(call).get("id") for call in sequence(metadata.get("tool_calls"))]
    if results:
        ids.append(metadata.get("tool_call_id"))
    return [call_id for call_id in ids if isinstance(call_id, str) and call_id]


def _arguments(given: str) -> dict[str, Any]:
    """Parse a call's arguments. Raises InvalidInput, which the model reads."""
    try:
        read = json.loads(given or "{}")
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{TOOL} takes a JSON object, and this was none: {error}") from error
    if not isinstance(read, dict):
        raise InvalidInput(f"{TOOL} takes a JSON object with a query")
    known = ("query", "since", "until", "session", "role", "order")
    return {name: value for name, value in read.items() if name in known}


def _words(turn: WireTurn) -> str:
    return "".join(turn.message.content.split())


def _with_content(answer: UpstreamAnswer, data: bytes) -> UpstreamAnswer:
    headers = relayed(answer.headers.multi_items(), changed=True)
    return UpstreamAnswer(answer.status_code, headers=headers, content=data)


async def _refused(answer: UpstreamAnswer) -> Problem:
    """Return the refusal of a later round as a Problem."""
    error = mapping((event_body(await whole(answer)) or {}).get("error"))
    status = answer.status_code if answer.is_error else 502
    detail = text(error.get("message")) or f"the upstream answered a later round with {answer.status_code}"
    headers = {name: answer.headers[name] for name in ("retry-after",) if name in answer.headers}
    return Problem(status, "upstream-refused", detail, headers=headers)
