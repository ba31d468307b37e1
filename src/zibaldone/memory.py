"""Memory: the object a user holds. Wiring only, no algorithm."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from sqlalchemy import Connection

from zibaldone import forgetting, generations, inspection, log, maintenance, settings
from zibaldone.core import Evidence, Message, Recall, Scope
from zibaldone.documents import Topics
from zibaldone.errors import (
    InvalidInput,
    ModelFailed,
    StorageError,
    UnknownName,
)
from zibaldone.forgetting import Receipt
from zibaldone.importers.export import export_messages
from zibaldone.importers.importing import ReadFile, read_file
from zibaldone.ingest import Imported, Parts, Progress, import_file, ingest
from zibaldone.inspection import Integrity, Stats
from zibaldone.log import Appended, Session
from zibaldone.maintenance import Behind, Maintained
from zibaldone.message_input import MessageLike, to_messages
from zibaldone.models.asker import Asker
from zibaldone.models.base import ChatModel, Embedder, Tokenizer
from zibaldone.models.logprobs import ChatDrafter
from zibaldone.models.meter import Ceilings, Meter, Usage
from zibaldone.models.static import shared_static_embedder
from zibaldone.profile import Profile
from zibaldone.recall import DEFAULT_FLOOR, Overlays, recall, search
from zibaldone.settings import FROM_ENVIRONMENT, FromEnvironment
from zibaldone.storage.database import Database
from zibaldone.text.remembered import remembered
from zibaldone.validation import (
    TimeLike,
    count,
    file_path,
    flag,
    function,
    key,
    number,
    option,
    shown,
    to_narrowing,
    to_time,
    words,
)
from zibaldone.views.base import Generation, Query, View, ViewStore
from zibaldone.views.chunks import ChunksView, MemAttention, Past, Placement, StoredChunk
from zibaldone.views.hierarchy import Episode, HierarchyView, Theme, XMemory
from zibaldone.views.kvcache.storage.store import FOLDER as KV_FOLDER
from zibaldone.views.kvcache.storage.store import NAME as KV
from zibaldone.views.kvcache.storage.store import KVStore
from zibaldone.views.messages import MessagesView
from zibaldone.views.profile import ProfileView
from zibaldone.views.timeline import TimelineView
from zibaldone.views.toolkit import PASSAGE_TOKENS
from zibaldone.views.topics import Consolidation, TopicsView
from zibaldone.views.updates import UpdatesView
from zibaldone.worker import BackgroundWorker

# Asked by recall, and so maintained, unless a Memory or a recall is told which: see docs/leaderboard.md.
DEFAULT_VIEWS = ("messages", "timeline", "updates", "profile")
MAINTAINED = DEFAULT_VIEWS
BLOCKS = "blocks"  # the folder of the chunks' blocks, inside the memory's own
_STOP_S = 5.0
_LONGEST_S = 86_400  # a day
_logger = logging.getLogger(__name__)
V = TypeVar("V", bound=View)
R = TypeVar("R")
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
        embedder: Embedder | FromEnvironment | None = FROM_ENVIRONMENT,
        chat: ChatModel | FromEnvironment | None = FROM_ENVIRONMENT,
        ceilings: Ceilings | None = None,
        chunks: MemAttention | None = None,
        placement: Placement | None = None,
        hierarchy: XMemory | None = None,
        topics: Consolidation | None = None,
        maintained: Sequence[str] = MAINTAINED,
        background: bool = False,
        workers: int = 4,
        clock: Callable[[], datetime] = now_utc,
        busy_timeout_s: float = 30.0,
    ) -> None:
        """`embedder` makes the vectors; None is the embedded one, which needs no key and no download.

        `chat` answers what views ask; None: plain algorithms do. Both are taken from the ZIBALDONE_*
        variables unless given (see settings.py), and so are the `ceilings` of what a model may be used for.
        `chunks` and `placement` set the chunks view, `hierarchy` and `topics` theirs. `maintained` names the
        views that are kept in step with the log without being asked for; others can still be maintained and
        recalled by name. With `background`, threads maintain while the program does other things; `workers`
        is how many users, and how many model calls of one user, go side by side in a maintenance.

        Raises StorageUnusable, StorageCorrupt, NewerSchema, StorageBusy, or MissingExtra for a client that is
        not installed.
        """
        folder = file_path("path", path)
        number("busy_timeout_s", busy_timeout_s, least=0, most=_LONGEST_S)
        count("workers", workers, least=1)
        flag("background", background)
        option("ceilings", ceilings, Ceilings)
        option("chunks", chunks, MemAttention)
        option("placement", placement, Placement)
        option("hierarchy", hierarchy, XMemory)
        option("topics", topics, Consolidation)
        static = shared_static_embedder()
        chosen = _an_embedder(settings.embedder(embedder)) or static
        answering = _a_chat_model(settings.chat(chat))
        self._clock = function("clock", clock)
        self._count_short = remembered(4096)(self.count_tokens)  # headers come again and again
        self._tokenizer = static
        self._workers = workers
        self._worker: BackgroundWorker | None = None
        self._database = Database(folder, busy_timeout_s=busy_timeout_s)
        self._meter = Meter(self._database, ceilings or settings.ceilings(), self._now)
        self._asker = Asker(answering, self._meter, static)
        self._messages = MessagesView(chosen, static, static)
        self._chunks = ChunksView(
            chosen,
            static,
            static,
            self._asker,
            self._database.folder / BLOCKS,
            chunks,
            placement,
            workers=workers,
        )
        drafter = ChatDrafter(answering, self._meter, static) if answering else None
        self._hierarchy = HierarchyView(chosen, static, static, self._asker, hierarchy, drafter)
        self._topics = TopicsView(chosen, static, static, self._asker, topics, clock=self._now)
        self._timeline = TimelineView(chosen, static, static)
        self._updates = UpdatesView(self._asker)
        self._profile = ProfileView(chosen, static)
        built: tuple[View, ...] = (
            self._messages,
            self._chunks,
            self._hierarchy,
            self._topics,
            self._timeline,
            self._updates,
            self._profile,
        )
        self._views: dict[str, View] = {view.name: view for view in built}
        self._maintained = {view.name for view in self._named(maintained)} | {self._messages.name}
        self._kv = KVStore(self._database.folder / KV_FOLDER)
        try:
            self._chunks.clean_all(self._database)
            self._kv.clean_all(self._database)
        except StorageError as error:  # others may be writing: the next to open tries again
            _logger.warning("released blocks were not deleted yet: %s", error)
        if background:
            self._worker = BackgroundWorker(self._maintain_in_background, self._users_behind)
            self._worker.start()

    @property
    def path(self) -> Path:
        """The folder."""
        return self._database.folder

    def close(self) -> None:
        """Stop the background worker and close the files; idempotent.

        Every other method raises ClosedMemory afterwards. A step of a maintenance that waits for a model is
        given a few seconds to end; what it did not commit will be done again.
        """
        if self._worker is not None:
            self._worker.stop(_STOP_S)
        self._database.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def attach(self, make: Callable[[Database, Tokenizer], V]) -> V:
        """Let the memory drive one more view, such as a KVMemory's; returns what `make` makes.

        It is maintained, recalled by its name, forgotten and checked like the others. `make` gets the
        database, and the tokenizer that budgets are counted with. Raises InvalidInput for a name that is
        taken.
        """
        view = make(self._database, self._tokenizer)
        if view.name in self._views:
            raise InvalidInput(f"a view {view.name!r} is attached already: detach it first")
        self._views[view.name] = view
        self._maintained.add(view.name)
        return view

    def detach(self, view: View) -> None:
        """Drive it no longer; what it made stays, and is still forgotten with its messages."""
        if self._views.get(view.name) is view:
            del self._views[view.name]
            self._maintained.discard(view.name)

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
        exclude_session: str | None = None,
        roles: Sequence[str] | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        metadata: Mapping[str, Any] | None = None,
        budget_tokens: int = 1000,
        views: Sequence[str] | None = None,
        floor: float | None = None,
        now: TimeLike | None = None,
    ) -> Recall:
        """The evidence for a query: cited, chronological, at most `budget_tokens` long.

        What is put together follows from what the question asks for: see `planning`. Narrower with `session`
        (that one alone) or `exclude_session`, `roles`, a time (`since` is in it, `until` is not), and
        `metadata` (messages that have these keys with these values). `views` names the views to ask. Below
        the `floor` of confidence (0 to 1; None: the default) the recall is empty, with 0 never. `now` is what
        "last week" in the query is relative to.
        """
        least_confidence = DEFAULT_FLOOR if floor is None else number("floor", floor, least=0, most=1)
        narrowing = to_narrowing(exclude_session, roles, since, until, metadata)
        question = self._query(query, user, session, count("budget_tokens", budget_tokens, least=1), now)
        chosen = self._chosen(DEFAULT_VIEWS if views is None else views)
        over = [view for view in (self._profile, self._timeline, self._updates) if view in chosen]
        sources = [view for view in chosen if view not in over]
        if not sources:  # asked alone, an overlay is what is recalled
            sources, over = chosen, []
        overlays = Overlays(
            profile=self._profile if self._profile in over else None,
            timeline=self._timeline if self._timeline in over else None,
            updates=self._updates if self._updates in over else None,
        )
        with inspection.damage_is_named(self._database, user, chosen):
            return recall(
                self._database,
                sources,
                question,
                floor=least_confidence,
                tokenizer=self._tokenizer,
                count=self._count,
                overlays=overlays,
                narrowing=narrowing,
            )

    def search(
        self,
        query: str,
        *,
        user: str,
        limit: int = 20,
        session: str | None = None,
        exclude_session: str | None = None,
        roles: Sequence[str] | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        metadata: Mapping[str, Any] | None = None,
        now: TimeLike | None = None,
    ) -> tuple[Evidence, ...]:
        """The best passages for a query, best first, each word for word; for people and interfaces.

        No budget and no floor: `limit` passages, if there are so many. Narrowed as a recall is.
        """
        most = count("limit", limit, least=1)
        narrowing = to_narrowing(exclude_session, roles, since, until, metadata)
        question = self._query(query, user, session, most * PASSAGE_TOKENS, now)
        with inspection.damage_is_named(self._database, user, [self._messages]):
            return search(
                self._database, self._messages, self._updates, question, most, self._tokenizer, narrowing
            )

    def _query(
        self, text: str, user: str, session: str | None, budget_tokens: int, now: TimeLike | None
    ) -> Query:
        key("user", user)
        if session is not None:
            key("session", session)
        return Query(
            text=words("query", text),
            scope=Scope(user, session),
            budget_tokens=budget_tokens,
            now=self._now() if now is None else to_time(now, "now"),
        )

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
        flag("dry_run", dry_run)
        selected = forgetting.selector(seqs, session, before, everything)
        return forgetting.forget(self._database, self._stores(), user, selected, dry_run=dry_run)

    def export(self, *, user: str, path: str | Path) -> int:
        """Write the user's messages to a JSON Lines file that import_ reads; returns how many."""
        key("user", user)
        target = file_path("path", path)
        self._database.keep_out(target)
        if not self.messages(user=user, limit=1):
            raise InvalidInput(f"user {user!r} has no messages: nothing to export")
        return export_messages(self._all_messages(user), target)

    def import_(
        self,
        path: str | Path | ReadFile,
        *,
        user: str | None = None,
        format: str | None = None,  # noqa: A002 - the word a caller expects
        progress: Progress | None = None,
    ) -> Imported:
        """Add the conversations of a file: an export of ours, of ChatGPT or Claude, or chat as JSON Lines ...

        The format is recognised by content; a BEAM chat may be a folder. The whole file is read and checked
        before anything is stored. Importing twice adds nothing, and a message that has changed since stays
        as it was stored first; one that was forgotten comes back. `user` is needed where the file names
        none; `progress` is called with messages done and messages in all.
        """
        if user is not None:
            key("user", user)
        function("progress", progress, optional=True)
        file = path if isinstance(path, ReadFile) else read_file(file_path("path", path), format)

        def store(parts: Parts) -> list[Appended]:
            return self._ingest(parts, progress, keep_first=True)

        return import_file(store, file, user)

    def topics(self, user: str) -> Topics:
        """The user's topic documents: to be read, searched, taken out as a folder, and corrected by hand."""
        key("user", user)

        def add(edits: Sequence[Message]) -> tuple[list[Message], tuple[Behind, ...]]:
            stored = self.add(edits, user=user)
            return stored, self.maintain(user=user, views=[self._topics.name]).behind

        return Topics(self._database, self._topics, user, add=add, now=self._now)

    def profile(self, user: str) -> Profile:
        """What should always be known of the user: instructions, preferences, decisions, people and facts."""
        key("user", user)

        def add(correction: Message) -> None:
            self.add(correction, user=user)

        return Profile(self._database, self._profile, user, add=add, count=self._count)

    def chunks(self, *, user: str) -> list[StoredChunk]:
        """The chunks view's memory, chunk by chunk in the order in which they were made."""
        key("user", user)
        return self._chunks.chunks(generations.snapshots(self._database, user, self._chunks))

    def history(self, *, user: str) -> list[Past]:
        """What chunks no longer say, with what took its place, in the order in which it went."""
        key("user", user)
        return self._chunks.history(generations.snapshots(self._database, user, self._chunks))

    def themes(self, *, user: str) -> list[Theme]:
        """The hierarchy view's themes with their semantics, in the order in which they began."""
        return self._made_by(self._hierarchy, user, self._hierarchy.themes)

    def episodes(self, *, user: str) -> list[Episode]:
        """The hierarchy view's episodes, in the order in which they were told."""
        return self._made_by(self._hierarchy, user, self._hierarchy.episodes)

    def usage(self, *, user: str | None = None) -> list[Usage]:
        """What models were used for: calls, tokens and time per user, day, view and task."""
        if user is not None:
            key("user", user)
        return self._meter.usage(user)

    def stats(self, *, user: str | None = None) -> Stats:
        """What is stored, of one user or of all."""
        if user is not None:
            key("user", user)
        return inspection.stats(self._database, list(self._views.values()), self._meter, user)

    def check_integrity(self) -> Integrity:
        """Compare the database file, the log and every view with each other; repairs nothing."""
        return inspection.check_integrity(self._database, self._stores())

    def rebuild(self, *, user: str, view: str = "messages") -> None:
        """Make a view anew from the log; the old one serves until the new one is complete."""
        key("user", user)
        (chosen,) = self._chosen([view])
        with inspection.damage_is_named(self._database, user, [chosen]):
            maintenance.rebuild(self._database, user, chosen)

    def maintain(
        self,
        *,
        user: str | None = None,
        views: Sequence[str] | None = None,
        progress: Progress | None = None,
    ) -> Maintained:
        """Let the views read what they have not read yet, and put their storage in order.

        Of one user or of all. Models are asked where they are configured; where one fails or a ceiling is
        reached, offline answers stand in and the report counts them. `progress` is called with messages read
        and messages to be read.
        """
        if user is not None:
            key("user", user)
        function("progress", progress, optional=True)
        chosen = self._chosen(views)
        names = self.users() if user is None else [user]
        with self._database.read() as connection:
            total = sum(
                generations.lag(connection, name, view)
                for view in chosen
                for name in generations.users_behind(connection, view, user)
            )
        done = 0

        def step(messages: int) -> None:
            nonlocal done
            done += messages
            if progress:
                progress(min(done, total), total)

        before = self._meter.total(user)
        report = maintenance.maintain(self._database, chosen, names, workers=self._workers, on_step=step)
        return maintenance.with_usage(report, before, self._meter.total(user))

    def _count(self, text: str) -> int:
        return self._count_short(text) if len(text) < _SHORT else self.count_tokens(text)

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, by the tokenizer that budgets are counted with."""
        return self._tokenizer.count([words("text", text)])[0]

    def _now(self) -> datetime:
        now = self._clock()
        if not isinstance(now, datetime):
            raise InvalidInput(f"clock must give a datetime, not {shown(now)}")
        return to_time(now, "the clock's time")

    def _ingest(
        self, parts: Parts, progress: Progress | None = None, *, keep_first: bool = False
    ) -> list[Appended]:
        appended = ingest(self._database, self._messages, parts, self._now(), progress, keep_first=keep_first)
        if self._worker is not None:
            for user, _ in parts:
                self._worker.notify(user)
        return appended

    def _maintain_in_background(self, user: str) -> None:
        assert self._worker is not None
        worker = self._worker
        report = maintenance.maintain(
            self._database,
            self._chosen(None),
            [user],
            patient=True,
            check=worker.check,
        )
        for lagging in report.behind:
            raise lagging.error or ModelFailed(lagging.reason)

    def _users_behind(self) -> list[str]:
        with self._database.read() as connection:
            views = self._chosen(None)
            late = set().union(*(generations.users_behind(connection, view) for view in views))
            others = set(log.all_users(connection)) - late
            due = {name for name in others if any(view.is_due(connection, name) for view in views)}
            return sorted(late | due)

    def _chosen(self, names: Sequence[str] | None) -> list[View]:
        if names is None:
            return [view for name, view in self._views.items() if name in self._maintained]
        if isinstance(names, str) or not isinstance(names, Sequence) or not names:
            raise InvalidInput(f"views must be a list of names, such as ['messages'], not {shown(names)}")
        return self._named(names)

    def _named(self, names: Sequence[str]) -> list[View]:
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise InvalidInput(f"views are given by a list of names, not {shown(names)}")
        for name in names:
            if not isinstance(name, str) or name not in self._views:
                raise UnknownName(f"no view {shown(name)}: there is {', '.join(sorted(self._views))}")
        return [self._views[name] for name in dict.fromkeys(names)]

    def _stores(self) -> list[ViewStore]:
        """What the views keep, that of a kv view which is not attached now too."""
        attached: list[ViewStore] = list(self._views.values())
        return attached if KV in self._views else [*attached, self._kv]

    def _made_by(self, view: View, user: str, read: Callable[[Connection, Generation], list[R]]) -> list[R]:
        return inspection.read_view(self._database, key("user", user), view, read)

    def _all_messages(self, user: str) -> Iterator[Message]:
        after = 0
        while batch := self.messages(user=user, after=after, limit=1000):
            yield from batch
            after = batch[-1].seq


def _an_embedder(given: Embedder | None) -> Embedder | None:
    if given is not None and not (
        isinstance(getattr(given, "name", None), str)
        and isinstance(getattr(given, "dimension", None), int)
        and callable(getattr(given, "embed", None))
    ):
        raise InvalidInput(f"embedder must have a name, a dimension and embed(), not be {shown(given)}")
    return given


def _a_chat_model(given: ChatModel | None) -> ChatModel | None:
    if given is not None and not (
        isinstance(getattr(given, "name", None), str) and callable(getattr(given, "chat", None))
    ):
        raise InvalidInput(f"chat must have a name and chat(), not be {shown(given)}")
    return given
