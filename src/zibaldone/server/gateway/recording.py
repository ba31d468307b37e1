"""Storing of conversations: each new turn of a request, and each answer, once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from zibaldone.api.aio import AsyncMemory
from zibaldone.log.filters import Filter
from zibaldone.server.gateway.alignment import Aligned, SessionLog, align, answer_messages
from zibaldone.server.gateway.scope import MemoryScope
from zibaldone.server.gateway.turns import WireTurn

_MOST_SESSIONS, _MOST_TURNS = 1024, 200_000  # cached, as hashes
_READ_BACK = 4000  # turns read of a session that is not cached
_MOST_ANSWERS = 4096  # ids of answers


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request's turns, and the hints to find them in the log."""

    scope: MemoryScope
    session: str
    turns: tuple[WireTurn, ...]
    after: str | None  # id of the turn that the request continues, if it has no history itself
    stored: list[int] = field(default_factory=list, compare=False)  # seqs, as they are stored


@dataclass(slots=True)
class _Session:
    log: SessionLog = field(default_factory=SessionLog)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    read_to: int = 0  # last seq read from the log


class Recorder:
    """Writes conversations to memory. For one event loop."""

    def __init__(self, memory: AsyncMemory) -> None:
        self._memory = memory
        self._sessions: OrderedDict[tuple[str, str, str | None], _Session] = OrderedDict()
        self._answers: OrderedDict[tuple[str, str | None, str], tuple[str, str]] = OrderedDict()

    async def aligned(self, admitted: Admitted) -> Aligned:
        """Compare a request with the log."""
        session = self._session(admitted)
        async with session.lock:
            return await self._aligned(session, admitted)

    async def store(self, admitted: Admitted) -> str:
        """Store the new turns of a request; returns the id of its last turn once they are durable."""
        session = self._session(admitted)
        async with session.lock:
            aligned = await self._aligned(session, admitted)
            if aligned.new:
                scope = admitted.scope
                stored = await self._memory.add(aligned.new, user=scope.user, agent=scope.agent)
                session.log.extend(stored)
                admitted.stored.extend(message.seq for message in stored)
            return aligned.leaf

    async def store_answer(
        self, admitted: Admitted, leaf: str, answer: Sequence[WireTurn], answer_id: str | None
    ) -> None:
        """Store an answer to the turn `leaf`; it is durable when this returns.

        `answer_id` is the upstream's id, if requests may continue from it.
        """
        messages = answer_messages(leaf, answer, session=admitted.session, agent=admitted.scope.agent)
        if not messages:
            return
        session, scope = self._session(admitted), admitted.scope
        async with session.lock:
            stored = await self._memory.add(messages, user=scope.user, agent=scope.agent)
            session.log.extend(stored)
            admitted.stored.extend(message.seq for message in stored)
        if answer_id and messages[-1].id:
            self._answers[scope.user, scope.agent, answer_id] = (admitted.session, messages[-1].id)
            while len(self._answers) > _MOST_ANSWERS:
                self._answers.popitem(last=False)

    def answer(self, scope: MemoryScope, answer_id: str) -> tuple[str, str] | None:
        """Return the session and the last turn's id of an answer, by the upstream's id."""
        return self._answers.get((scope.user, scope.agent, answer_id))

    def _session(self, admitted: Admitted) -> _Session:
        key = (admitted.scope.user, admitted.session, admitted.scope.agent)
        if (known := self._sessions.get(key)) is not None:
            self._sessions.move_to_end(key)
            return known
        session = self._sessions[key] = _Session()
        turns = sum(len(kept.log.nodes) for kept in self._sessions.values())
        while len(self._sessions) > 1 and (len(self._sessions) > _MOST_SESSIONS or turns > _MOST_TURNS):
            _, oldest = self._sessions.popitem(last=False)
            turns -= len(oldest.log.nodes)
        return session

    async def _aligned(self, session: _Session, admitted: Admitted) -> Aligned:
        """Read messages added since, and align the request."""
        messages = await self._memory.messages(
            user=admitted.scope.user,
            filter=Filter(session=admitted.session, agent=admitted.scope.agent),
            after=session.read_to,
            last=None if session.read_to else _READ_BACK,
        )
        session.log.extend(messages)
        session.read_to = max((message.seq for message in messages), default=session.read_to)
        return align(
            session.log,
            admitted.turns,
            session=admitted.session,
            agent=admitted.scope.agent,
            after=admitted.after,
        )
