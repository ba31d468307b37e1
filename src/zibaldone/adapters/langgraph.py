"""LangGraph: a store over a memory's items, and nodes that recall and remember (extra `langgraph`).

builder.add_node("recall", recall_node(memory))
builder.add_node("remember", remember_node(memory))
graph = builder.compile(store=ZibaldoneStore(memory))
graph.invoke(state, {"configurable": {"user_id": "ann", "thread_id": "1"}})

The nodes work on the state's `messages`, as in LangGraph's own MessagesState.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from itertools import chain
from typing import Any, cast

from zibaldone.api.items import ItemPut, Items, StoredItem
from zibaldone.api.memory import Memory
from zibaldone.core import Message
from zibaldone.core.threads import in_thread
from zibaldone.core.validation import count, key, shown
from zibaldone.errors import InvalidInput, MissingExtra, ZibaldoneError
from zibaldone.log.filters import Filter
from zibaldone.log.message_input import to_messages
from zibaldone.recall.recall import RECALL_TOKENS

try:
    from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage
    from langchain_core.runnables import RunnableConfig
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        get_text_at_path,
        validate_op_namespace,
    )
    from langgraph.store.memory import InMemoryStore
except ImportError as error:
    raise MissingExtra(f"no module {error.name!r}: pip install 'zibaldone[langgraph]'") from error

_ROOT = "store"  # what the namespaces of a store begin with among a user's items
_ANY = "*"
_RECALLED = "zibaldone-recalled"  # the id of the message with what was recalled: a state has one at most
_ALL = "__remove_all__"  # LangGraph's word, which only its larger package exports
_logger = logging.getLogger(__name__)

Node = Callable[[Any, RunnableConfig], dict[str, list[BaseMessage]]]


def recall_node(
    memory: Memory, *, user: str | None = None, user_key: str = "user_id", budget_tokens: int = RECALL_TOKENS
) -> Node:
    """A node that puts what memory says of the user's last message right before it, as a quotation.

    Whose memory: the `user`, or whom the run's configurable names under `user_key`. What the state's messages
    or the thread say already is not recalled; what an earlier run recalled is taken out. A memory that fails
    is logged, and the graph goes on without. Raises InvalidInput for a run that names no user.
    """

    def recall(state: Any, config: RunnableConfig) -> dict[str, list[BaseMessage]]:
        whose, thread = _user_named(config, user, user_key), _thread(config)
        messages = [message for message in _messages(state) if message.id != _RECALLED]
        asked_at = max((i for i, turn in enumerate(messages) if turn.type == "human"), default=None)
        if asked_at is None:
            return {}
        try:
            recalled = memory.recall(
                messages=messages,
                user=whose,
                filter=Filter(exclude_session=thread),
                budget_tokens=budget_tokens,
            )
        except ZibaldoneError as error:
            _logger.warning("nothing was recalled, the graph goes on without: %s", error)
            return {}
        quoted: list[BaseMessage] = [HumanMessage(recalled.quoted(), id=_RECALLED)] if recalled else []
        return {"messages": [RemoveMessage(_ALL), *messages[:asked_at], *quoted, *messages[asked_at:]]}

    return recall


def remember_node(memory: Memory, *, user: str | None = None, user_key: str = "user_id") -> Node:
    """A node that stores the state's messages, those that are not stored yet, under the thread's id.

    System messages and what was recalled are left out. Raises InvalidInput for a run that names no user.
    """

    def remember(state: Any, config: RunnableConfig) -> dict[str, list[BaseMessage]]:
        whose, thread = _user_named(config, user, user_key), _thread(config)
        fresh: list[Message] = []
        for place, turn in enumerate(_messages(state)):
            if turn.type == "system" or turn.id == _RECALLED:
                continue
            for part, message in enumerate(to_messages(turn, session=thread)):
                digest = blake2b(message.content.encode(), digest_size=8).hexdigest()  # a turn may be edited
                fresh.append(replace(message, id=f"{message.session}/{turn.id or place}/{part}/{digest}"))
        if fresh:
            memory.add(fresh, user=whose)
        return {}

    return remember


class ZibaldoneStore(BaseStore):
    """A LangGraph store: every item belongs to a user of the memory, and is that user's alone.

    The user is named by an element of the namespace, the first unless `user_at` says which; or all items are
    of one `user`. What names no user is refused: nothing is searched across users. An item that is put again
    keeps `created_at`; one that is deleted is forgotten with all that it ever said. Without a query the
    items put last come first. Items do not expire: `supports_ttl` is False.
    """

    supports_ttl = False

    def __init__(self, memory: Memory, *, user: str | None = None, user_at: int = 0) -> None:
        """Raises InvalidInput."""
        self._memory = memory
        self._user = None if user is None else key("user", user)
        self._user_at = count("user_at", user_at, least=0)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Every read sees what was there before the batch; then the last put of each item is stored.

        The puts of one user are stored together or not at all. Raises InvalidInput for a namespace that
        names no user, InvalidNamespaceError, and NotImplementedError for an item that is to expire.
        """
        ops = list(ops)
        writes: dict[tuple[tuple[str, ...], str], PutOp] = {}
        for op in ops:
            validate_op_namespace(op)
            if isinstance(op, PutOp):
                if op.ttl is not None:
                    raise NotImplementedError("items do not expire: put them with ttl=None")
                self._user_of(op.namespace)
                writes[op.namespace, op.key] = op
        results = [self._read(op) for op in ops]
        self._write(writes.values())
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`, in a worker thread."""
        return await in_thread(self.batch, list(ops))

    def _read(self, op: Op) -> Result:
        if isinstance(op, PutOp):
            return None
        if isinstance(op, GetOp):
            stored = self._items(op.namespace).get((_ROOT, *op.namespace), op.key)
            return None if stored is None else Item(**_fields(stored))
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._list(op)
        raise InvalidInput(f"not an operation of a store: {shown(op)}")

    def _search(self, op: SearchOp) -> list[SearchItem]:
        items = self._items(op.namespace_prefix).search(
            (_ROOT, *op.namespace_prefix),
            query=op.query,
            where=partial(_passes, op.filter) if op.filter else None,
            limit=op.limit,
            offset=op.offset,
        )
        return [SearchItem(**_fields(item), score=item.score) for item in items]

    def _list(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        at = self._user_at
        named = (c.path for c in conditions if c.match_type == "prefix" and c.path[at : at + 1] != (_ANY,))
        prefix = max(named, key=len, default=())
        everybody = self._user is None and len(prefix) <= at  # names are listed, and nothing is read
        users = self._memory.users() if everybody else [self._user_of(prefix)]
        namespaces = chain.from_iterable(self._memory.user(user).items.namespaces() for user in users)
        known = InMemoryStore()
        known.batch(PutOp(names[1:], "", {}) for names in namespaces if names[0] == _ROOT)
        return cast("list[tuple[str, ...]]", known.batch([op])[0])

    def _write(self, puts: Iterable[PutOp]) -> None:
        by_user: dict[str, list[PutOp]] = {}
        for op in puts:
            by_user.setdefault(self._user_of(op.namespace), []).append(op)
        for user, ops in by_user.items():
            items = self._memory.user(user).items
            items.put_all(
                ItemPut((_ROOT, *op.namespace), op.key, op.value, _text(op.value, op.index))
                for op in ops
                if op.value is not None
            )
            if gone := [((_ROOT, *op.namespace), op.key) for op in ops if op.value is None]:
                items.delete(gone)

    def _items(self, namespace: tuple[str, ...]) -> Items:
        return self._memory.user(self._user_of(namespace)).items

    def _user_of(self, namespace: tuple[str, ...]) -> str:
        if self._user is not None:
            return self._user
        if len(namespace) <= self._user_at:
            raise InvalidInput(
                f"namespace {namespace!r} names no user: put the user's name at position {self._user_at}, or"
                " say ZibaldoneStore(memory, user_at=...) or user=...; nothing is searched across users"
            )
        return namespace[self._user_at]


def _messages(state: Any) -> list[BaseMessage]:
    messages = state["messages"] if isinstance(state, Mapping) else state.messages
    return list(messages)


def _user_named(config: RunnableConfig, user: str | None, user_key: str) -> str:
    named = user if user is not None else config.get("configurable", {}).get(user_key)
    if named is None:
        raise InvalidInput(
            f"the run names no user: invoke the graph with {{'configurable': {{{user_key!r}: ...}}}},"
            " or make the node with user=..."
        )
    return key("user", named)


def _thread(config: RunnableConfig) -> str | None:
    thread = config.get("configurable", {}).get("thread_id")
    return None if thread is None else str(thread)


def _fields(item: StoredItem) -> dict[str, Any]:
    return {
        "value": item.value,
        "key": item.key,
        "namespace": item.namespace[1:],
        "created_at": item.created,
        "updated_at": item.updated,
    }


def _text(value: Mapping[str, Any], index: object) -> str | None:
    """The parts of an item that search reads: all, none, or those at some paths."""
    if index is None or not isinstance(index, list):
        return None if index is not False else ""
    return "\n".join(text for path in index for text in get_text_at_path(value, path))


def _passes(wanted: dict[str, Any], item: StoredItem) -> bool:
    """True if LangGraph's own store finds an item by a filter; without a number to compare it does not."""
    store = InMemoryStore()
    store.put(("item",), "", item.value)
    try:
        return bool(store.search(("item",), filter=wanted))
    except (TypeError, ValueError) as error:
        if str(error).startswith("Unsupported operator"):
            raise InvalidInput(f"{error}; there is $eq, $ne, $gt, $gte, $lt, $lte") from error
        return False
