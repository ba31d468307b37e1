"""Memory: the object a user holds. Wiring only, no algorithm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from types import TracebackType

from commonplace import forgetting, log, maintenance
from commonplace.core import Message, Recall, Scope
from commonplace.errors import InvalidInput, UnknownName
from commonplace.forgetting import Receipt
from commonplace.incoming import (
    MessageLike,
    TimeLike,
    count,
    file_path,
    key,
    shown,
    to_messages,
    to_time,
)
from commonplace.ingest import Progress, ingest
from commonplace.log import Appended, Session
from commonplace.models.base import Embedder
from commonplace.models.static import shared_static_embedder
from commonplace.recall import DEFAULT_FLOOR, recall
from commonplace.storage.database import Database
from commonplace.transfer import Imported, export_messages, import_file
from commonplace.views.base import Counted, Query, View
from commonplace.views.messages import MessagesView


@dataclass(frozen=True, slots=True)
class ViewStats:
    """What one view holds."""

    view: str
    counts: tuple[Counted, ...]
    lag: int  # messages that it has not read yet


@dataclass(frozen=True, slots=True)
class Stats:
    """What a memory holds, of one user or of all."""

    user: str | None
    users: int
    messages: int
    sessions: int
    views: tuple[ViewStats, ...]
    bytes_on_disk: int  # of the whole folder


@dataclass(frozen=True, slots=True)
class Integrity:
    """What check_integrity found."""

    users: int
    messages: int
    faults: tuple[str, ...]  # in words; empty when all agrees

    @property
    def ok(self) -> bool:
        """True when nothing is wrong."""
        return not self.faults


_LONGEST_S = 86_400  # a day
_SHORT = 40  # characters of a text whose token count is worth keeping


def now_utc() -> datetime:
    """The clock of the machine."""
    return datetime.now(UTC)


class Memory:
    """Everything that users said, kept once, word for word, in one folder.

    Opening a folder creates it if it is missing and never changes what is in it. Safe to share among
    threads; several processes may open one folder. Times without a zone mean UTC.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        embedder: Embedder | None = None,
        clock: Callable[[], datetime] = now_utc,
        busy_timeout_s: float = 30.0,
    ) -> None:
        """`embedder` makes the vectors; the default is embedded and needs no download.

        Raises StorageUnusable, StorageCorrupt, NewerSchema or StorageBusy.
        """
        folder = file_path("path", path)
        if isinstance(busy_timeout_s, bool) or not isinstance(busy_timeout_s, int | float):
            raise InvalidInput(f"busy_timeout_s must be a number of seconds, not {shown(busy_timeout_s)}")
        if not 0 <= busy_timeout_s <= _LONGEST_S:
            raise InvalidInput(f"busy_timeout_s must be from 0 to {_LONGEST_S}, not {shown(busy_timeout_s)}")
        static = shared_static_embedder()
        self._clock = clock
        self._count_short = lru_cache(maxsize=4096)(self.count_tokens)  # headers come again and again
        self._tokenizer = static
        self._messages = MessagesView(embedder or static, static, static)
        self._views: dict[str, View] = {self._messages.name: self._messages}
        self._database = Database(folder, busy_timeout_s=busy_timeout_s)

    @property
    def path(self) -> Path:
        """The folder."""
        return self._database.folder

    def close(self) -> None:
        """Close the files; idempotent. Every other method raises ClosedMemory afterwards."""
        self._database.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def add(
        self, messages: MessageLike | Iterable[MessageLike], *, user: str, session: str | None = None
    ) -> list[Message]:
        """Store messages; returns them as stored, with their seqs, once they are durable.

        All of them or none. A message is a Message, a string or a mapping in the OpenAI chat shape with
        `time`, `session`, `metadata` and `id` beside it; its own session wins over `session`. A message
        whose `id` is known already adds nothing and comes back as it was first stored.

        Raises InvalidMessage, IdConflict, StorageBusy, StorageFull.
        """
        key("user", user)
        given = to_messages(messages, session=session)
        (appended,) = self._ingest([(user, given)])
        return appended.stored

    def recall(
        self,
        query: str,
        *,
        user: str,
        session: str | None = None,
        budget_tokens: int = 1000,
        views: Sequence[str] | None = None,
        floor: float | None = None,
        now: TimeLike | None = None,
    ) -> Recall:
        """The evidence for a query: cited, chronological, at most `budget_tokens` long.

        `session` narrows to one session; `views` names the views to ask (all of them by default); a query
        whose relevance is below `floor` (0 to 1; None: the default) gets an empty recall, with 0 never; `now`
        is what "last week" in the query is relative to.
        """
        key("user", user)
        if not isinstance(query, str):
            raise InvalidInput(f"query must be a string, not {shown(query)}")
        query = query.encode(errors="replace").decode()
        if session is not None:
            key("session", session)
        floor = DEFAULT_FLOOR if floor is None else floor
        if isinstance(floor, bool) or not isinstance(floor, int | float) or not 0 <= floor <= 1:
            raise InvalidInput(f"floor must be a number from 0 to 1, not {shown(floor)}")
        asked = Query(
            text=query,
            scope=Scope(user, session),
            budget_tokens=count("budget_tokens", budget_tokens, least=1),
            now=to_time(self._clock() if now is None else now, "now"),
        )
        chosen = self._chosen(views)
        with self._database.read() as connection:
            return recall(connection, chosen, asked, floor=floor, count=self._count)

    def messages(
        self, *, user: str, session: str | None = None, after: int = 0, limit: int | None = None
    ) -> list[Message]:
        """Messages in the order of their seqs, those above seq `after`."""
        key("user", user)
        if session is not None:
            key("session", session)
        count("after", after, least=0)
        if limit is not None:
            count("limit", limit, least=0)
        with self._database.read() as connection:
            return log.read(connection, user, session=session, after=after, limit=limit)

    def sessions(self, *, user: str) -> list[Session]:
        """The user's sessions in the order of their first messages."""
        key("user", user)
        with self._database.read() as connection:
            return log.sessions(connection, user)

    def users(self) -> list[str]:
        """Every user that has messages, or had."""
        with self._database.read() as connection:
            return log.all_users(connection)

    def forget(
        self,
        *,
        user: str,
        seqs: Iterable[int] | None = None,
        session: str | None = None,
        before: TimeLike | None = None,
        everything: bool = False,
        dry_run: bool = False,
    ) -> Receipt:
        """Delete messages and all that was made from them, so that no file of the folder has the text.

        Exactly one selector: `seqs`, a `session`, all that happened `before` a time, or `everything` of the
        user. A dry run changes nothing and counts the same.
        """
        key("user", user)
        if not isinstance(dry_run, bool):
            raise InvalidInput(f"dry_run must be True or False, not {shown(dry_run)}")
        self._count_short.cache_clear()
        selected = forgetting.selector(seqs, session, before, everything)
        return forgetting.forget(self._database, list(self._views.values()), user, selected, dry_run=dry_run)

    def export(self, *, user: str, path: str | Path) -> int:
        """Write the user's messages to a JSON Lines file that import_ reads; returns how many."""
        key("user", user)
        target = file_path("path", path)
        if not self.messages(user=user, limit=1):
            raise InvalidInput(f"user {user!r} has no messages: nothing to export")
        return export_messages(self._all_messages(user), target)

    def import_(
        self,
        path: str | Path,
        *,
        user: str | None = None,
        format: str | None = None,  # noqa: A002 - the word a caller expects
        progress: Progress | None = None,
    ) -> Imported:
        """Add the conversations of a file: an export of ours, of ChatGPT or Claude, or chat as JSON Lines ...

        The format is recognised by content. The whole file is read and checked before anything is stored.
        Importing twice adds nothing, and a message that has changed since stays as it was stored first; one
        that was forgotten comes back. `user` is needed where the file names none; `progress` is called with
        messages done and messages in all.
        """
        if user is not None:
            key("user", user)
        if format is not None:
            key("format", format)
        return import_file(self._ingest, file_path("path", path), user=user, format=format, progress=progress)

    def rebuild(self, *, user: str, view: str = "messages") -> None:
        """Make a view anew from the log; the old one serves until the new one is complete."""
        key("user", user)
        (chosen,) = self._chosen([view])
        maintenance.rebuild(self._database, user, chosen)

    def stats(self, *, user: str | None = None) -> Stats:
        """What is stored, of one user or of all."""
        if user is not None:
            key("user", user)
        with self._database.read() as connection:
            names = log.all_users(connection) if user is None else [user]
            views = []
            for view in self._views.values():
                totals: dict[str, int] = {}
                lag = 0
                for name in names:
                    for counted in view.stats(connection, name):
                        totals[counted.kind] = totals.get(counted.kind, 0) + counted.rows
                    generation = maintenance.serving(connection, name, view)
                    lag += log.count(connection, name, after=generation.cursor if generation else 0)
                counts = tuple(Counted(kind, rows) for kind, rows in totals.items())
                views.append(ViewStats(view.name, counts, lag))
            return Stats(
                user=user,
                users=len(names),
                messages=sum(log.count(connection, name) for name in names),
                sessions=sum(len(log.sessions(connection, name)) for name in names),
                views=tuple(views),
                bytes_on_disk=self._database.bytes_on_disk(),
            )

    def check_integrity(self) -> Integrity:
        """Compare the database file, the log and every view with each other; repairs nothing."""
        faults = self._database.faults()
        with self._database.read() as connection:
            names = log.all_users(connection)
            total = 0
            for name in names:
                total += log.count(connection, name)
                found = log.faults(connection, name)
                for view in self._views.values():
                    generation = maintenance.serving(connection, name, view)
                    if generation is not None:
                        found += [
                            f"view {view.name}: {fault}" for fault in view.faults(connection, generation)
                        ]
                faults += [f"user {name!r}: {fault}" for fault in found]
        return Integrity(len(names), total, tuple(faults))

    def _count(self, text: str) -> int:
        return self._count_short(text) if len(text) < _SHORT else self.count_tokens(text)

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, by the tokenizer that budgets are counted with."""
        if not isinstance(text, str):
            raise InvalidInput(f"text must be a string, not {shown(text)}")
        return self._tokenizer.count([text.encode(errors="replace").decode()])[0]

    def _ingest(
        self,
        parts: Sequence[tuple[str, Sequence[Message]]],
        progress: Progress | None = None,
        *,
        keep_first: bool = False,
    ) -> list[Appended]:
        now = to_time(self._clock())
        return ingest(self._database, self._messages, parts, now, progress, keep_first=keep_first)

    def _chosen(self, names: Sequence[str] | None) -> list[View]:
        if names is None:
            return list(self._views.values())
        if isinstance(names, str) or not isinstance(names, Sequence) or not names:
            raise InvalidInput(f"views must be a list of names, such as ['messages'], not {shown(names)}")
        for name in names:
            if not isinstance(name, str) or name not in self._views:
                raise UnknownName(f"no view {shown(name)}: there is {', '.join(sorted(self._views))}")
        return [self._views[name] for name in dict.fromkeys(names)]

    def _all_messages(self, user: str) -> Iterator[Message]:
        after = 0
        while batch := self.messages(user=user, after=after, limit=1000):
            yield from batch
            after = batch[-1].seq
