"""Items: a user's JSON documents by name, to be put, read, searched and deleted.

    items = memory.user("ann").items
    items.put(("prefs",), "theme", {"colours": "dark"})
    items.get(("prefs",), "theme").value

Every put is a message of the log, in a session of the item's own. The last one is what the item says now; no
recall brings the earlier ones. Deleting an item forgets them all, like any message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.api.wiring import Wiring
from zibaldone.core import Message
from zibaldone.core.threads import Awaited, awaited
from zibaldone.core.validation import count, members, shown, whole_text, words
from zibaldone.engine import forgetting
from zibaldone.engine.forgetting import Receipt
from zibaldone.errors import InvalidInput
from zibaldone.log import ITEM_SESSIONS
from zibaldone.log.audit import audited
from zibaldone.log.filters import Narrowing
from zibaldone.views.toolkit import PASSAGE_TOKENS

_ROLE = "tool"  # of items: no person said them
_PART = "item"
_MOST_SEQ = 2**63 - 1
_PASSAGES = 4  # asked for at first for each item that is wanted, since a long one has several

Namespace = Sequence[str]
Place = tuple[Namespace, str]  # a namespace, and the item's key in it


@dataclass(frozen=True, slots=True)
class ItemPut:
    """One item, to be put."""

    namespace: Namespace
    key: str
    value: Mapping[str, Any]  # JSON
    text: str | None = None  # what search and recall read of it; None: all of the value, "": nothing
    after: int | None = None  # seq of the put that it follows, 0: it is the first; None: whatever came before


@dataclass(frozen=True, slots=True)
class StoredItem:
    """An item as it was put."""

    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]
    created: datetime  # of the first put
    updated: datetime  # of this one
    seq: int  # of its message
    text: str  # what search and recall read of it
    score: float | None = None  # of a search with a query; comparable inside one search only


class Items:
    """One user's items."""

    def __init__(self, wiring: Wiring, user: str) -> None:
        """Use `memory.user(name).items`."""
        self._wiring, self._database, self._user = wiring, wiring.database, user

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        *,
        text: str | None = None,
        after: int | None = None,
    ) -> None:
        """Store an item, in the place of what it said before. Raises InvalidInput for what is not JSON.

        `text` is what search and recall read of it: all of the value unless it is given, nothing when empty.
        `after` is the seq of the put that this one goes on from, 0 when there is none: raises IdConflict
        when somebody else's, which says so too, came first.
        """
        self.put_all([ItemPut(namespace, key, value, text, after)])

    @audited("write", "add")
    def put_all(self, puts: Iterable[ItemPut]) -> None:
        """Store several, all of them or none."""
        self._wiring.ingest.add(self._user, [_to_message(put) for put in members("puts", puts)])

    def get(self, namespace: Namespace, key: str) -> StoredItem | None:
        """The item as it is now; None when there is none."""
        session = _session(namespace, key)
        with self._database.read(self._user) as connection:
            last = log.last(connection, self._user, session, before=_MOST_SEQ, most=1)
            first = log.read(connection, self._user, session=session, limit=1)
        return _to_item(last[0], first[0]) if last else None

    def search(
        self,
        prefix: Namespace = (),
        *,
        query: str | None = None,
        where: Callable[[StoredItem], bool] | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> list[StoredItem]:
        """Items of the namespaces that begin so, and of which `where` is true, by falling score.

        Without a query those put last come first, and none has a score; with one, those that have no text
        come last and without a score.
        """
        count("limit", limit, least=0)
        count("offset", offset, least=0)
        with self._database.read(self._user) as connection:
            first = self._index(connection, prefix)
            seqs = sorted(first, reverse=True)
            known = self._fetched(connection, first, seqs) if where else {}
        if where:
            seqs = [seq for seq in seqs if seq in known and where(known[seq])]
        scores: dict[int, float] = {}
        if query is not None and words("query", query).strip() and seqs:
            scores = self._scores(query, frozenset(seqs), offset + limit)
            seqs = [*scores, *(seq for seq in seqs if seq not in scores)]
        page = seqs[offset : offset + limit]
        if not where:
            with self._database.read(self._user) as connection:
                known = self._fetched(connection, first, page)
        return [replace(known[seq], score=scores.get(seq)) for seq in page if seq in known]

    def namespaces(self) -> list[tuple[str, ...]]:
        """List the namespaces that have items, sorted."""
        with self._database.read(self._user) as connection:
            sessions = log.sessions(connection, self._user, prefix=ITEM_SESSIONS)
        return sorted({_place(session.session)[0] for session in sessions})

    def delete(self, places: Iterable[Place]) -> Receipt:
        """Forget items, with all that they ever said; one that is not there is no error."""
        sessions = [_session(namespace, key) for namespace, key in members("places", places)]
        with self._database.read(self._user) as connection:
            seqs = [seq for name in sessions for seq in log.seqs_where(connection, self._user, session=name)]
        return self._wiring.forget(self._user, forgetting.selector(seqs, None, None, everything=False))

    def _index(self, connection: Connection, prefix: Namespace) -> dict[int, log.Session]:
        """The sessions of the items below a namespace, by the seqs of their last messages."""
        named = log.sessions(connection, self._user, prefix=ITEM_SESSIONS + _path(prefix))
        return {session.last_seq: session for session in named}

    def _fetched(
        self, connection: Connection, index: Mapping[int, log.Session], seqs: Sequence[int]
    ) -> dict[int, StoredItem]:
        last = log.fetch(connection, self._user, seqs)
        first = log.fetch(connection, self._user, [index[seq].first_seq for seq in seqs])
        items = {seq: _to_item(message, first[index[seq].first_seq]) for seq, message in last.items()}
        return {seq: item for seq, item in items.items() if item is not None}

    def _scores(self, query: str, seqs: frozenset[int], wanted: int) -> dict[int, float]:
        """Score the `wanted` best of these messages, or all that can be ranked; the best first."""
        passages, wiring = _PASSAGES * max(wanted, 1), self._wiring
        while True:
            question = wiring.unread_question(query, self._user, None, passages * PASSAGE_TOKENS, None)
            within = replace(question, within=seqs)
            ranked = wiring.passages(within, Narrowing(), limit=passages)
            scores: dict[int, float] = {}
            for unit in ranked:
                scores.setdefault(unit.sources[0], unit.score)
            if len(scores) >= wanted or len(ranked) < passages:
                return scores
            passages *= 2


class AsyncItems(Awaited[Items]):
    """See Items; every method is awaited."""

    put = awaited(Items.put)
    put_all = awaited(Items.put_all)
    get = awaited(Items.get)
    search = awaited(Items.search)
    namespaces = awaited(Items.namespaces)
    delete = awaited(Items.delete)


def is_put(message: Message) -> bool:
    """True if a message is a version of an item."""
    return message.session.startswith(ITEM_SESSIONS) and message.metadata.get("part") == _PART


def lines_of(value: object, name: str = "") -> list[str]:
    """Write a JSON value as text: a line for each string, number and flag, with its name."""
    if isinstance(value, Mapping):
        return [line for key, inner in value.items() for line in lines_of(inner, str(key))]
    if isinstance(value, list | tuple):
        return [line for inner in value for line in lines_of(inner, name)]
    if value is None:
        return []
    text = value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return [f"{name}: {text}" if name else text]


def _to_message(put: ItemPut) -> Message:
    if not isinstance(put.value, Mapping):
        raise InvalidInput(f"an item's value must be a JSON object, not {shown(put.value)}")
    try:
        whole = "\n".join(lines_of(put.value))
    except RecursionError as error:
        raise InvalidInput("an item's value is nested too deeply") from error
    text = whole if put.text is None else whole_text("an item's text", put.text)
    session = _session(put.namespace, put.key)
    return Message(
        text,
        role=_ROLE,
        session=session,
        metadata={"part": _PART, "value": dict(put.value)},
        id=None if put.after is None else f"{session}#{count('after', put.after, least=0)}",
    )


def _to_item(message: Message, first: Message) -> StoredItem | None:
    """Read an item; None where the message is no put, but somebody's words in a session of that name."""
    value = message.metadata.get("value")
    if message.metadata.get("part") != _PART or not isinstance(value, dict):
        return None
    assert message.time is not None
    assert first.time is not None
    namespace, key = _place(message.session)
    return StoredItem(namespace, key, value, first.time, message.time, message.seq, message.content)


def _session(namespace: Namespace, key: str) -> str:
    return f"{ITEM_SESSIONS}{_path(namespace)}{_escaped('a key', key)}"


def _path(namespace: Namespace) -> str:
    if isinstance(namespace, str) or not isinstance(namespace, Sequence):
        raise InvalidInput(
            f"a namespace must be a tuple of names, such as ('prefs',), not {shown(namespace)}"
        )
    return "".join(
        f"{_escaped('a name in a namespace', label)}/" for label in members("namespace", namespace)
    )


def _place(session: str) -> tuple[tuple[str, ...], str]:
    *labels, key = session.removeprefix(ITEM_SESSIONS).split("/")
    return tuple(_plain(label) for label in labels), _plain(key)


def _escaped(what: str, name: object) -> str:
    return whole_text(what, name).replace("%", "%25").replace("/", "%2F")


def _plain(name: str) -> str:
    return name.replace("%2F", "/").replace("%25", "%")
