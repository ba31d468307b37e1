"""mem0's calls over a memory: change the import, keep the code.

    from zibaldone import Memory
    from zibaldone.adapters.mem0 import Mem0Memory

    m = Mem0Memory(Memory("folder"))
    m.add([{"role": "user", "content": "I'm allergic to nuts."}], user_id="ann")
    m.search("What can't she eat?", filters={"user_id": "ann"})

What differs from mem0: a memory is a message, word for word, not a sentence that a model made of it (`infer`
is taken, and changes nothing). Every call is of one user: `user_id`, or the `default_user`; `agent_id` and
`run_id` (the session) narrow. What is deleted is forgotten, its history too. An unknown keyword is an error.
"""

from __future__ import annotations

import hashlib
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any, Final
from urllib.parse import quote, unquote

from zibaldone.api.memory import Memory
from zibaldone.core import AGENT, CORRECTS, DEFAULT_SESSION, EDITOR, Evidence, Message
from zibaldone.core.validation import TimeLike, count, flag, key, number, shown, words
from zibaldone.errors import InvalidInput
from zibaldone.log import ITEM_SESSIONS
from zibaldone.log.filters import Filter
from zibaldone.log.message_input import MessageLike, to_messages

Filters = Mapping[str, Any]
MemoryRecord = dict[str, Any]  # a memory in mem0's words: id, memory, user_id, metadata ...
Results = dict[str, list[MemoryRecord]]

UNCHANGED: Final = object()
_EXPIRES = "expiration_date"  # in a message's metadata
_IDENTITIES = ("user_id", "agent_id", "run_id")
_OWN_METADATA = (AGENT, CORRECTS, _EXPIRES)
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Selection:
    """Whose memories a call is of, and what they must be like."""

    user: str
    agent: str | None
    run: str | None
    filters: Filters
    show_expired: bool

    def takes(self, record: MemoryRecord) -> bool:
        """True if a memory is among those."""
        return (self.show_expired or not _is_expired(record)) and _passes(self.filters, _flat(record))


class Mem0Memory:
    """The calls of `mem0.Memory`, with its results; bad input raises InvalidInput, which is a ValueError."""

    def __init__(self, memory: Memory, *, default_user: str | None = None) -> None:
        """`default_user` has the memories of calls that name no user_id, such as those of an agent alone."""
        self._memory = memory
        self._default_user = None if default_user is None else key("default_user", default_user)

    def __enter__(self) -> Mem0Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the memory."""
        self._memory.close()

    def add(
        self,
        messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        user_id: object = None,
        agent_id: object = None,
        run_id: object = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: TimeLike | None = None,
        expiration_date: date | str | None = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> Results:
        """Keep each message as a memory; system messages are left out.

        `timestamp` is when they were said. From the day after its `expiration_date` a memory is not shown,
        and stays until it is deleted.
        """
        flag("infer", infer)
        if memory_type is not None or prompt is not None:
            raise InvalidInput(
                "memory_type and prompt say how a model rewrites messages; here they are kept as they are"
            )
        user, run, agent = self._user(user_id), _entity("run_id", run_id), _entity("agent_id", agent_id)
        own = _without_identities(metadata or {})
        if (expires := _day(expiration_date)) is not None:
            own[_EXPIRES] = expires
        given: MessageLike | Iterable[MessageLike] = messages
        kept = [
            replace(message, metadata={**message.metadata, **own})
            for message in to_messages(given, session=run, agent=agent)
            if message.role != "system"
        ]
        if timestamp is not None:
            dated = to_messages([{"content": "", "time": timestamp}], session=run)[0].time
            kept = [replace(message, time=message.time or dated) for message in kept]
        stored = self._memory.add(kept, user=user) if kept else []
        return {
            "results": [
                {"id": _id(message, user), "memory": message.content, "event": "ADD", "role": message.role}
                for message in stored
            ]
        }

    def search(
        self,
        query: str,
        *,
        top_k: int | None = None,
        filters: Filters | None = None,
        threshold: float = 0.0,
        rerank: bool = False,
        explain: bool = False,
        reference_date: TimeLike | None = None,
        show_expired: bool = False,
        user_id: object = None,
        agent_id: object = None,
        run_id: object = None,
        limit: int | None = None,
    ) -> Results:
        """The memories that answer best, 20 at most unless `top_k` (or `limit`) says otherwise.

        A score lies between 0 and 1, and compares memories of this one search: so does a `threshold`. There
        is one ranking; `rerank` changes nothing. `reference_date` is what "last week" is relative to.
        """
        flag("rerank", rerank)
        number("threshold", threshold, least=0, most=1)
        if not words("query", query).strip():
            raise InvalidInput("query is empty")
        wanted = _most(top_k, limit)
        selection = self._selected(filters, user_id, agent_id, run_id, show_expired=show_expired)
        newest = self._corrections(selection.user)
        passages = 2 * wanted + 20
        while True:
            ranked = self._memory.search(
                query,
                user=selection.user,
                filter=Filter(session=selection.run, agent=selection.agent),
                limit=passages,
                now=reference_date,
            )
            records: dict[str, MemoryRecord] = {}
            for unit in ranked:
                record = self._record_of(unit, selection.user, newest)
                if record is None or not selection.takes(record) or record["id"] in records:
                    continue
                record["score"] = 1 / (1 + math.exp(-unit.score))
                if flag("explain", explain):
                    record["score_details"] = {channel.channel: channel.score for channel in unit.channels}
                if record["score"] >= threshold:
                    records[record["id"]] = record
            if len(records) >= wanted or len(ranked) < passages:
                return {"results": list(records.values())[:wanted]}
            passages *= 4

    def get_all(
        self,
        *,
        filters: Filters | None = None,
        top_k: int | None = None,
        show_expired: bool = False,
        user_id: object = None,
        agent_id: object = None,
        run_id: object = None,
        limit: int | None = None,
    ) -> Results:
        """The memories, the newest first; 20 at most unless `top_k` (or `limit`) says otherwise."""
        wanted = _most(top_k, limit)
        selection = self._selected(filters, user_id, agent_id, run_id, show_expired=show_expired)
        newest = self._corrections(selection.user)
        messages = self._memory.messages(
            user=selection.user, filter=Filter(session=selection.run, agent=selection.agent)
        )
        records = (
            _record(first, newest.get(first.seq, first), selection.user)
            for first in reversed(messages)
            if _is_memory(first)
        )
        return {"results": [record for record in records if selection.takes(record)][:wanted]}

    def get(self, memory_id: str) -> MemoryRecord | None:
        """The memory of that id; None when there is none."""
        versions, user = self._versions(memory_id)
        return _record(versions[0], versions[-1], user) if versions else None

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: Any = UNCHANGED,
        data: str | None = None,
    ) -> dict[str, str]:
        """Say it in other words (`data` is mem0's old name of `text`), or change what stands in its metadata.

        An `expiration_date` of None takes it back. The old wording stays in the history.
        """
        text = data if text is None else text
        if text is None and metadata is None and expiration_date is UNCHANGED:
            raise InvalidInput("give text=, metadata= or expiration_date=: nothing else can be updated")
        versions, user = self._versions(memory_id)
        if not versions:
            raise _no_memory(memory_id)
        own = _without_identities(metadata or {})
        if expiration_date is not UNCHANGED:
            own[_EXPIRES] = _day(expiration_date)
        now = versions[-1]
        self._memory.update(now.seq, now.content if text is None else text, user=user, metadata=own)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Forget a memory with its history. Raises InvalidInput when there is none."""
        versions, user = self._versions(memory_id)
        if not versions:
            raise _no_memory(memory_id)
        self._memory.forget(user=user, seqs=[version.seq for version in versions])
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, user_id: object = None, agent_id: object = None, run_id: object = None
    ) -> dict[str, str]:
        """Forget all of a user, or what is of an agent or a run of theirs."""
        if user_id is agent_id is run_id is None:
            raise InvalidInput("name user_id=, agent_id= or run_id=; reset() deletes everything")
        user, agent, run = self._user(user_id), _entity("agent_id", agent_id), _entity("run_id", run_id)
        if agent is run is None:
            self._memory.forget(user=user, everything=True)
        elif seqs := [
            m.seq for m in self._memory.messages(user=user, filter=Filter(session=run, agent=agent))
        ]:
            self._memory.forget(user=user, seqs=seqs)
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[MemoryRecord]:
        """The history of a memory: its ADD and each UPDATE. Of a deleted one nothing is left."""
        versions, _ = self._versions(memory_id)
        changes = []
        before: Message | None = None
        for version in versions:
            assert version.time is not None
            changes.append(
                {
                    "id": version.id,
                    "memory_id": memory_id,
                    "old_memory": before.content if before else None,
                    "new_memory": version.content,
                    "event": "UPDATE" if before else "ADD",
                    "created_at": _iso(versions[0].time),
                    "updated_at": _iso(version.time),
                    "is_deleted": False,
                    "actor_id": version.name,
                    "role": version.voice,
                }
            )
            before = version
        return changes

    def reset(self) -> None:
        """Forget everything of every user."""
        for user in self._memory.users():
            self._memory.forget(user=user, everything=True)

    def _user(self, user_id: object) -> str:
        user = _entity("user_id", user_id) or self._default_user
        if user is None:
            raise InvalidInput(
                "name user_id=: a memory is of one user, and nothing is looked up across users; or say"
                " Mem0Memory(memory, default_user=...) for what an agent keeps for itself"
            )
        return user

    def _selected(
        self,
        filters: Filters | None,
        user_id: object,
        agent_id: object,
        run_id: object,
        *,
        show_expired: bool,
    ) -> _Selection:
        if filters is not None and not isinstance(filters, Mapping):
            raise InvalidInput(f"filters must be a mapping, not {shown(filters)}")
        named = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        both = filters.get("AND") if filters else None
        for part in (filters or {}, *(both if isinstance(both, list) else ())):
            for name in _IDENTITIES:
                value = part.get(name) if isinstance(part, Mapping) else None
                if value is None or isinstance(value, Mapping) or value == "*":
                    continue
                if named[name] is not None and _entity(name, named[name]) != _entity(name, value):
                    raise InvalidInput(f"{name} is given twice: {shown(named[name])} and {shown(value)}")
                named[name] = value
        return _Selection(
            self._user(named["user_id"]),
            _entity("agent_id", named["agent_id"]),
            _entity("run_id", named["run_id"]),
            filters or {},
            flag("show_expired", show_expired),
        )

    def _versions(self, memory_id: str) -> tuple[list[Message], str]:
        """A memory as it was first stored and each update of it, and whose it is."""
        message_id, _, user = key("memory_id", memory_id).rpartition("@")
        if not message_id or not user:
            return [], ""
        versions = self._memory.user(unquote(user)).versions(message_id)
        known = bool(versions) and versions[0].id == message_id and _is_memory(versions[0])
        return (versions if known else []), unquote(user)

    def _corrections(self, user: str) -> dict[int, Message]:
        """By the seq of each message that was updated, the last update of it."""
        updates = self._memory.messages(user=user, filter=Filter(metadata={CORRECTS: {"$exists": True}}))
        return {update.corrects[0]: update for update in updates if update.corrects}

    def _record_of(self, unit: Evidence, user: str, newest: Mapping[int, Message]) -> MemoryRecord | None:
        message = self._memory.get(unit.sources[0], user=user)
        first = self._memory.get(message.corrects[0], user=user) if message and message.corrects else message
        if first is None or not _is_memory(first):
            return None
        return _record(first, newest.get(first.seq, first), user)


def _is_memory(message: Message) -> bool:
    """Not what corrects another, nor what is a version of an item."""
    return message.role != EDITOR and not message.session.startswith(ITEM_SESSIONS)


def _record(first: Message, now: Message, user: str) -> MemoryRecord:
    record: MemoryRecord = {
        "id": _id(first, user),
        "memory": now.content,
        "hash": hashlib.md5(now.content.encode(), usedforsecurity=False).hexdigest(),
        "created_at": _iso(first.time),
        "updated_at": _iso(now.time),
        "user_id": user,
        "role": first.role,
    }
    further = {
        "agent_id": first.metadata.get(AGENT),
        "run_id": None if first.session == DEFAULT_SESSION else first.session,
        "actor_id": first.name,
        "expiration_date": now.metadata.get(_EXPIRES),
        "metadata": {name: value for name, value in now.metadata.items() if name not in _OWN_METADATA},
    }
    return record | {name: value for name, value in further.items() if value}


def _id(message: Message, user: str) -> str:
    """A message's id is unique to its user only: both together are to the whole memory."""
    return f"{message.id}@{quote(user, safe='')}"


def _iso(time: datetime | None) -> str:
    assert time is not None  # what is stored has one
    return time.isoformat()


def _entity(name: str, value: object) -> str | None:
    """An id as mem0 takes it: any value, as a string without space around it, and none within."""
    if value is None:
        return None
    if isinstance(value, Mapping | list | tuple | set):
        raise InvalidInput(f"{name} must be one id, not {shown(value)}")
    trimmed = str(value).strip()
    if not trimmed or any(character.isspace() for character in trimmed):
        raise InvalidInput(f"{name} must be an id without spaces, not {shown(value)}")
    return trimmed


def _without_identities(metadata: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(metadata, Mapping):
        raise InvalidInput(f"metadata must be a mapping, not {shown(metadata)}")
    own = {name: value for name, value in metadata.items() if name not in (*_IDENTITIES, *_OWN_METADATA)}
    if left_out := sorted(set(map(str, metadata)) - set(map(str, own))):
        _logger.warning("metadata cannot say %s: give it as an argument", ", ".join(left_out))
    return own


def _most(top_k: int | None, limit: int | None) -> int:
    if top_k is not None and limit is not None:
        raise InvalidInput("give top_k= or limit=, not both: they say the same")
    return count("top_k", next((n for n in (top_k, limit) if n is not None), 20), least=0)


def _day(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, datetime):
        value = value.date()
    try:
        return (value if isinstance(value, date) else date.fromisoformat(str(value))).isoformat()
    except ValueError as error:
        raise InvalidInput(
            f"expiration_date must be a day such as '2030-12-31', not {shown(value)}"
        ) from error


def _is_expired(record: MemoryRecord) -> bool:
    expires = record.get("expiration_date")
    return expires is not None and date.fromisoformat(expires) < datetime.now(UTC).date()


def _no_memory(memory_id: str) -> InvalidInput:
    return InvalidInput(f"Memory with id {memory_id} not found: get_all() lists them")


def _flat(record: MemoryRecord) -> Mapping[str, Any]:
    """The fields that filters see: metadata and the memory's own fields side by side."""
    return {**record.get("metadata", {}), **record}


def _passes(filters: Filters, fields: Mapping[str, Any]) -> bool:
    return all(_holds(name, condition, fields) for name, condition in filters.items())


def _holds(name: str, condition: object, fields: Mapping[str, Any]) -> bool:
    if name in ("AND", "OR", "NOT"):
        if not isinstance(condition, list | tuple) or not all(isinstance(p, Mapping) for p in condition):
            raise InvalidInput(f"{name} needs a list of filters, not {shown(condition)}")
        passing = [_passes(part, fields) for part in condition]
        return all(passing) if name == "AND" else any(passing) if name == "OR" else not any(passing)
    value = fields.get(name)
    if condition == "*":
        return name in fields
    if name in _IDENTITIES and not isinstance(condition, Mapping):
        return value == _entity(name, condition)
    if not isinstance(condition, Mapping):
        return name in fields and value == condition
    for operator, operand in condition.items():
        if operator not in _OPERATORS:
            raise InvalidInput(f"no operator {shown(operator)} in a filter: there is {', '.join(_OPERATORS)}")
        try:
            if not _OPERATORS[operator](value, operand):
                return False
        except TypeError:  # of different types: neither is above the other, nor in it
            return False
    return True


_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": lambda value, other: bool(value == other),
    "ne": lambda value, other: bool(value != other),
    "in": lambda value, others: value in others,
    "nin": lambda value, others: value not in others,
    "gt": lambda value, other: bool(value > other),
    "gte": lambda value, other: bool(value >= other),
    "lt": lambda value, other: bool(value < other),
    "lte": lambda value, other: bool(value <= other),
    "contains": lambda value, other: other in value,
    "icontains": lambda value, other: other.casefold() in value.casefold(),
}
