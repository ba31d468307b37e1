"""Alignment of a request with the log: which of its turns are stored already.

An agent sends its whole history with every request, or as much as fits. The session's messages form a tree:
each turn follows the one before it in its request, so an edited question or a regenerated answer is a branch.
A message's id is a hash of its predecessor's id and its content: the same turn at the same position has the
same id, however often a request is sent, and the log stores an id once.

A request is walked from its first turn. A turn is known if a stored turn with the same content

- follows the turn before it, or
- is anywhere in the session and the request continues after it: a client that dropped its oldest turns.

An unknown turn is new if no known turn comes after it, or if it replaces exactly as many other turns (an
edit). Otherwise it is a client's summary of dropped turns, or was forgotten, and is not stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from zibaldone.core import TIME_KNOWN, Message
from zibaldone.server.gateway.turns import PARTIAL, WireTurn, turn_key

_ID_CHARS = 40
# Prefixes of ids: hashed from the turn before, or from the latest turn, if the client keeps no history.
_FOLLOWING, _LATEST = "turn-", "latest-"


@dataclass(frozen=True, slots=True)
class LogNode:
    """A stored message of a session, by the hash of its content."""

    id: str
    key: bytes
    seq: int
    role: str
    is_partial: bool


@dataclass(slots=True)
class SessionLog:
    """The messages of one session in the order of their seqs.

    Forgotten ones stay, so that a client's history does not bring them back.
    """

    nodes: list[LogNode] = field(default_factory=list)
    keeps_history: bool = True  # the client sends its history
    _by_id: dict[str, int] = field(default_factory=dict)
    _by_key: dict[bytes, tuple[int, ...]] = field(default_factory=dict)

    def extend(self, messages: Sequence[Message]) -> None:
        """Add messages, except those already known."""
        for message in messages:
            assert message.id is not None
            if message.id in self._by_id:
                continue
            is_partial = message.metadata.get(PARTIAL) is True
            node = LogNode(message.id, turn_key(message), message.seq, message.role, is_partial)
            self.keeps_history = self.keeps_history and not node.id.startswith(_LATEST)
            self._by_id[node.id] = len(self.nodes)
            self._by_key[node.key] = (*self._by_key.get(node.key, ()), len(self.nodes))
            self.nodes.append(node)

    def place(self, node_id: str) -> int | None:
        """Return the index of the node with an id."""
        return self._by_id.get(node_id)

    def places(self, key: bytes) -> Sequence[int]:
        """Return the indexes of the nodes with a key, oldest first."""
        return self._by_key.get(key, ())


@dataclass(frozen=True, slots=True)
class Aligned:
    """A request compared with the log."""

    new: tuple[Message, ...]  # to be stored, with ids and the session
    unknown: tuple[Message, ...]  # not in the log, including summaries
    passed: frozenset[int]  # seqs of known turns, and of all later ones: those are on other branches
    leaf: str  # id of the last turn; "" if there is none


def align(
    log: SessionLog,
    turns: Sequence[WireTurn],
    *,
    session: str,
    agent: str | None = None,
    after: str | None = None,
) -> Aligned:
    """Compare a request's turns with the log.

    `after` is the id of the turn that the request continues. With an `agent` the log has that agent's
    messages only.
    """
    end = len(turns)
    while end and turns[end - 1].message.role == "assistant":  # a prefilled beginning of the answer
        end -= 1
    return _Walk(log, turns[:end], session, _conversation(session, agent)).aligned(after or "")


def answer_messages(
    leaf: str, answer: Sequence[WireTurn], *, session: str, agent: str | None = None
) -> list[Message]:
    """Return an answer's messages with the ids that follow the request's last turn."""
    messages, conversation = [], _conversation(session, agent)
    for turn in answer:
        leaf = _id(_FOLLOWING, conversation, leaf, turn.key.hex())
        messages.append(replace(turn.message, id=leaf, session=session))
    return messages


def _conversation(session: str, agent: str | None) -> str:
    """Return the key of an agent's part of a session; each agent's messages are stored separately."""
    return session if agent is None else f"{session}\0{agent}"


def _id(beginning: str, *parts: str) -> str:
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"{beginning}{digest[:_ID_CHARS]}"


@dataclass(slots=True)
class _Walk:
    log: SessionLog
    turns: Sequence[WireTurn]
    session: str
    conversation: str
    keys: list[bytes] = field(init=False)
    last: int = field(init=False)  # index of the first turn after the last answer

    def __post_init__(self) -> None:
        self.keys = [turn.key for turn in self.turns]
        self.last = len(self.turns)
        while self.last and self.turns[self.last - 1].message.role != "assistant":
            self.last -= 1

    def aligned(self, leaf: str) -> Aligned:
        places: list[int | None] = []  # in the log, of each turn
        ids: list[str] = []
        for k in range(len(self.turns)):
            place = self._known(k, leaf)
            places.append(place)
            if place is not None:
                leaf = self.log.nodes[place].id
            elif k == 0 and not leaf and self.log.nodes and k >= self.last:
                # A client without history: the turn follows the latest one.
                leaf = self._new_id(k, self.log.nodes[-1].id, _LATEST)
            else:
                leaf = self._new_id(k, leaf)
            ids.append(leaf)
        return Aligned(
            new=tuple(self._message(k, ids[k]) for k in self._to_store(places)),
            unknown=tuple(
                turn.message for turn, place in zip(self.turns, places, strict=True) if place is None
            ),
            passed=self._passed([place for place in places if place is not None]),
            leaf=leaf,
        )

    def _passed(self, known: Sequence[int]) -> frozenset[int]:
        nodes = self.log.nodes
        later = nodes[max(known) + 1 :] if known else ()
        return frozenset(node.seq for node in (*(nodes[place] for place in known), *later))

    def _new_id(self, k: int, parent: str, beginning: str = _FOLLOWING) -> str:
        return _id(beginning, self.conversation, parent, self.keys[k].hex())

    def _known(self, k: int, parent: str) -> int | None:
        """Return the index in the log of a turn, given the id of the turn before; None if unknown."""
        if not (parent or self.last or self.log.keeps_history):
            return self._again(k)
        place = self.log.place(self._new_id(k, parent))
        if place is not None:
            return place
        before = self.log.place(parent) if parent else -1
        if before is not None and before + 1 < len(self.log.nodes):
            then = self.log.nodes[before + 1]
            if then.key == self.keys[k] and not then.id.startswith(_FOLLOWING):
                return before + 1  # stored by another door than the gateway
        if k < self.last:
            return self._elsewhere(k) if (partial := self._broken_off(k, before)) is None else partial
        return self._again(k)

    def _elsewhere(self, k: int) -> int | None:
        """Find a turn anywhere in the session, preferably one that the next turn follows, else the latest."""
        places, key = self.log.places(self.keys[k]), self.keys[k + 1].hex()
        for place in reversed(places):
            following = _id(_FOLLOWING, self.conversation, self.log.nodes[place].id, key)
            if self.log.place(following) is not None:
                return place
        return places[-1] if places else None

    def _broken_off(self, k: int, before: int | None) -> int | None:
        """Find an answer that broke off, of which the client may have another part than the log."""
        if self.turns[k].message.role != "assistant" or before is None:
            return None
        then = before + 1
        return then if then < len(self.log.nodes) and self.log.nodes[then].is_partial else None

    def _again(self, k: int) -> int | None:
        """Find one of the turns of a request without history that was sent again before its answer."""
        if self.last:
            return None
        unanswered = len(self.log.nodes)
        while unanswered and self.log.nodes[unanswered - 1].role == "user":
            unanswered -= 1
        tail = [node.key for node in self.log.nodes[unanswered:]]
        start = len(tail) - len(self.turns)
        if start >= 0 and tail[start:] == self.keys:
            return unanswered + start + k
        return None

    def _to_store(self, places: Sequence[int | None]) -> list[int]:
        """Return the indexes of the turns to be stored."""
        stored: list[int] = []
        run: list[int] = []
        before = -1
        for k, place in enumerate(places):
            if place is None:
                run.append(k)
                continue
            if len(run) == place - before - 1:
                stored += [edit for edit in run if self.turns[edit].message.role != "tool"]
            run, before = [], place
        return stored + run

    def _message(self, k: int, message_id: str) -> Message:
        message = replace(self.turns[k].message, id=message_id, session=self.session)
        if k < self.last and not self.log.nodes:  # said before the gateway was there
            message = replace(message, metadata={**message.metadata, TIME_KNOWN: False})
        return message
