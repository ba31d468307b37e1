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
from dataclasses import dataclass
from typing import Any

from zibaldone.errors import InvalidInput
from zibaldone.log.filters import Filter
from zibaldone.recall.lookup import NOTHING, shown_whole, to_found, to_lookup
from zibaldone.server.border import read_apart
from zibaldone.server.gateway.events import DONE, event_body, event_data, with_data
from zibaldone.server.gateway.exchange import GatewayExchange
from zibaldone.server.gateway.json_body import (
    JsonObject,
    NotAnObject,
    dumped,
    edited,
    encoded,
    mapping,
    read_object,
    sequence,
    text,
)
from zibaldone.server.gateway.loops import Quoted, id_key, may_read
from zibaldone.server.gateway.rounds import TOOL, HiddenTurn, Rounds, ToolCall
from zibaldone.server.gateway.turns import WireTurn
from zibaldone.server.gateway.upstream import UpstreamAnswer, media_type, relayed, split, whole
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


@dataclass(frozen=True, slots=True)
class _Request:
    """The parts of every round's request: members as JSON."""

    body: JsonObject  # without the tool
    offer: Mapping[str, str]  # the tools with ours
    no_more: Mapping[str, str]  # in place of `offer`, in the last round's request

    def content(self, appended: Mapping[str, str], *, is_last: bool) -> bytes:
        return encoded(self.body.rewritten({**(self.no_more if is_last else self.offer), **appended}))


class ToolLoop:
    """The tool loop of one exchange; `content` is the first request."""

    def __init__(self, exchange: GatewayExchange, request: _Request, hidden: frozenset[Quoted]) -> None:
        self._exchange, self._rounds, self._request = exchange, exchange.rounds, request
        self._rounds.is_offered = True
        recalled = exchange.report.recalled
        self._scopes = {scope for scope, _ in hidden}  # that it quotes
        self._shown = frozenset(seq for scope, seq in hidden if not scope)
        if recalled is not None:
            self._scopes |= {citation.scope for citation in recalled.citations}
            self._shown |= shown_whole(recalled.evidence)
        self._found: frozenset[Quoted] = frozenset()  # found by searches of this answer
        self._appended: list[str] = []  # elements that later requests have after the client's
        self._unseen: list[str] = []  # those of them that the client does not get
        self._rounds_searched = 0
        self.content = request.content({}, is_last=False)

    async def settled(self, answer: UpstreamAnswer, ask: Ask) -> UpstreamAnswer:
        """Run the loop on whole answers; returns the client's. Raises a Problem if one breaks off."""
        with sweeping():
            while True:
                data = await whole(answer)
                try:
                    body = read_object(data)
                except NotAnObject:
                    return _with_content(answer, data)
                shown = self._rounds.whole(body)
                await self._end_round()
                if not self._rounds.goes_on:
                    return _with_content(answer, encoded(shown))
                answer = await ask(await self._next())
                if not (answer.is_success and media_type(answer) == "application/json"):
                    return answer

    async def events(self, answer: UpstreamAnswer, ask: Ask) -> AsyncIterator[list[bytes]]:
        """Run the loop on streams; yields the client's events. May raise a Problem before the first."""
        has_begun = False
        with sweeping():
            while True:
                try:
                    async for events in split(answer):
                        if shown := [each for event in events for each in await self._event(event)]:
                            has_begun = True
                            yield shown
                finally:
                    await answer.aclose()
                if not self._rounds.goes_on:
                    break
                try:
                    answer = await ask(await self._next())
                    if not (answer.is_success and media_type(answer) == "text/event-stream"):
                        raise await _refused(answer)
                except Problem as problem:
                    if not has_begun:
                        raise
                    refusal = {**problem.body(self._exchange.wire.path), "type": "error"}
                    yield [with_data(b"event: error", encoded(dumped(refusal)))]
                    return
            if rest := self._rounds.show():
                yield rest

    async def _event(self, event: bytes) -> list[bytes]:
        data = event_data(event)
        if data == DONE:
            return [] if self._rounds.goes_on else self._rounds.show(event)
        body = event_body(data)
        if body is None:
            return [event]
        was_over = self._rounds.is_over
        shown = self._rounds.event(event, body)
        if self._rounds.is_over and not was_over:
            await self._end_round()
        return shown

    async def _next(self) -> bytes:
        """Begin a round; returns its request. Raises a Problem if the user may not read all of it now."""
        exchange = self._exchange
        if not await may_read(exchange.services.memory, exchange.scope.user, self._scopes):
            raise Problem(409, "not-shared", _NOT_SHARED)
        self._rounds_searched += 1
        is_last = self._rounds_searched == _MOST_ROUNDS
        appended = self._rounds.appended(self._request.body, self._appended)
        self._rounds.next(is_last=is_last)
        return self._request.content({self._rounds.list_name: appended}, is_last=is_last)

    async def _end_round(self) -> None:
        """Run the searches of a round, and keep the elements that the client does not get."""
        rounds, services, scope = self._rounds, self._exchange.services, self._exchange.scope
        if rounds.renamed is not None:
            shown, real = rounds.renamed
            services.renamed.put(id_key(scope, shown), scope.user, frozenset(), real)
        is_mixed = rounds.ended_well and bool(rounds.client_calls) and bool(rounds.calls or self._unseen)
        if not (rounds.goes_on or is_mixed):
            return
        texts = [await self._search(call, number) for number, call in enumerate(rounds.calls)]
        results = rounds.results(texts)
        if rounds.goes_on:
            self._appended += rounds.elements() + rounds.as_elements(results)
            self._unseen += rounds.unseen() + rounds.as_elements(results)
            return
        call_id = rounds.client_calls[0]
        answer = self._exchange.answer_so_far()
        calling = (turn for turn in answer if call_id in _call_ids(turn, results=False))
        turn = HiddenTurn(
            earlier=tuple(self._unseen),
            last=tuple(rounds.unseen()),
            results=tuple(results),
            lead=rounds.lead,
            words=next((_words(turn) for turn in calling), ""),
            quoted=self._found,
        )
        key = id_key(scope, self._exchange.admitted.session, call_id)
        services.hidden.put(key, scope.user, turn.quoted, turn)

    async def _search(self, call: ToolCall, number: int) -> str:
        """Return the result of a call, for the model."""
        if self._rounds.is_last:
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


async def tool_loop(exchange: GatewayExchange, content: str) -> ToolLoop | None:
    """Return the loop for a request that is to have the tool; None if it is not, or cannot.

    `content` is the request without the tool.
    """
    if exchange.options.mode is MemoryMode.CONTEXT or not exchange.options.enable_retrieval:
        return None
    body, services, rounds = exchange.body, exchange.services, exchange.rounds
    if not (rounds.can_go_on(body) and _takes_ours(body["tools"])):
        exchange.report.reasons.append(f"the model is not offered {TOOL}: this request cannot have it")
        return None
    looking = services.background.start(_hidden(exchange))
    done, _ = await asyncio.wait([looking], timeout=services.recall_timeout_s)
    hidden = looking.result() if done and looking.exception() is None else {}
    before = exchange.wire.continues(body) or ""
    if (real := await services.renamed.find(id_key(exchange.scope, before))) is not None:
        content = read_object(encoded(content)).rewritten({"previous_response_id": dumped(real)})
    request = await read_apart(len(content), _request, content, rounds, hidden)
    return ToolLoop(exchange, request, frozenset().union(*(turn.quoted for turn in hidden.values())))


def _takes_ours(tools: object) -> bool:
    """True if our tool can be added to a list of tools."""
    given = [mapping(tool) for tool in sequence(tools)]
    names = [tool.get("name") or mapping(tool.get("function")).get("name") for tool in given]
    return isinstance(tools, list | None) and TOOL not in names


async def _hidden(exchange: GatewayExchange) -> dict[int, HiddenTurn]:
    """Find the hidden turns of a request's answers, by their indexes in its list."""
    hidden: dict[int, HiddenTurn] = {}
    continues = exchange.wire.continues(exchange.body) is not None
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


def _request(content: str, rounds: Rounds, hidden: Mapping[int, HiddenTurn]) -> _Request:
    body = read_object(encoded(content))
    if hidden:
        body = read_object(encoded(edited(body.text, rounds.restored(body, hidden))))
    if body["tools"]:
        return _Request(body, {"tools": body.extended("tools", [rounds.offer])}, {})
    offer = {"tools": f"[{rounds.offer}]"}
    return _Request(body, offer, {**offer, "tool_choice": rounds.no_calls})


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
