"""Wiring: the parts of an open memory, put together; what Memory, User, Builds and Admin share."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from zibaldone import log
from zibaldone.api.config import LONGEST_S, Config
from zibaldone.api.views_by_name import ViewsByName
from zibaldone.core import Scope
from zibaldone.core.deadline import Deadline
from zibaldone.core.validation import (
    Key,
    TimeLike,
    count,
    key,
    keys,
    members,
    number,
    option,
    shown,
    to_time,
    words,
)
from zibaldone.engine import forgetting, generations, inspection, maintenance, shredding
from zibaldone.engine.backlog import Backlog
from zibaldone.engine.forgetting import Receipt, Removed
from zibaldone.engine.ingest import Ingest, Progress, save_index
from zibaldone.engine.leases import LeaseLost, Leases
from zibaldone.engine.maintenance import Maintained, OwnModelFailed
from zibaldone.engine.rebuilding.rebuilder import Rebuilder
from zibaldone.engine.recall_priority import RecallPriority
from zibaldone.engine.worker import BackgroundWorker
from zibaldone.errors import InvalidInput, ModelFailed, StorageError, UnknownName
from zibaldone.log import grants
from zibaldone.log import retention as retaining
from zibaldone.log.audit import audited
from zibaldone.log.filters import Narrowing
from zibaldone.log.retention import Retention
from zibaldone.models.asker import Asker
from zibaldone.models.base import ChatModel, Embedder, Reranker, Tokenizer
from zibaldone.models.logprobs import Drafter
from zibaldone.models.meter import Ceilings, Meter
from zibaldone.models.named import embedder_called, reranker_called
from zibaldone.models.reranking import ChatReranker
from zibaldone.models.static import shared_static_embedder
from zibaldone.recall.recall import Order, recall, search
from zibaldone.recall.result import Passages, Recall
from zibaldone.search.question import Question
from zibaldone.storage.bucket_blocks import use_bucket
from zibaldone.storage.opening import open_database
from zibaldone.views.base import Counted, View, ViewStore
from zibaldone.views.chunks.storage.records import clean_all
from zibaldone.views.kvcache import FOLDER as KV_FOLDER
from zibaldone.views.kvcache import NAME as KV
from zibaldone.views.messages import MessagesView
from zibaldone.views.notes import NotesView
from zibaldone.views.toolkit import MOST_UNREAD
from zibaldone.views.unit_cache import index_bytes

if TYPE_CHECKING:
    from zibaldone.views.chunks.view import ChunksView
    from zibaldone.views.hierarchy.view import HierarchyView
    from zibaldone.views.kvcache.storage.store import KVStore
    from zibaldone.views.topics.view import TopicsView

_STOP_S = 5.0
_SAVE_S = 1.0  # after which no further index is saved by who closes
_OWN_LEASE_S = 10.0  # of what is done in the foreground: whoever comes after a crash waits for so long
_logger = logging.getLogger(__name__)
BY_CHAT = "chat"  # the reranker that is the chat model

R = TypeVar("R")


class Wiring:
    """The database, models, views and threads of one open memory.

    Its methods take checked values, but for `unread_question`. The audited ones bear the name of their verb.
    """

    def __init__(
        self,
        path: Path,
        embedder: Embedder | str | None,
        chat: ChatModel | None,
        reranker: Reranker | str | None,
        key: str | bytes | None,
        config: Config,
    ) -> None:
        """Open the database, wire the views, and finish what a crash left; see Memory."""
        static = shared_static_embedder()
        self.config = config
        self.default_retention = config.retention or Retention()
        self.own_models: list[object] = []
        if isinstance(embedder, str):
            embedder = embedder_called(embedder)
            self.own_models.append(embedder)
        self.embedder = option("embedder", embedder, Embedder) or static
        self.chat = option("chat", chat, ChatModel)
        self.embedder_called = embedder_called  # another one where keys are looked up elsewhere
        if not isinstance(reranker, str):
            option("reranker", reranker, Reranker)
            if reranker is not None:
                count("a reranker's batch", reranker.batch, least=1)
        elif reranker != BY_CHAT:
            reranker = reranker_called(reranker)
        elif chat is None:
            raise InvalidInput(
                "reranker 'chat' needs a chat model: give chat=, or set ZIBALDONE_CHAT_MODEL and open with"
                " Memory.from_env()"
            )
        self.tokenizer: Tokenizer = static
        self.worker: BackgroundWorker | None = None
        self.recall_priority = RecallPriority()  # of recalls, before the worker
        self.database = open_database(
            path,
            busy_timeout_s=config.busy_timeout_s,
            key=key,
            user_keys=config.user_keys,
            wall_key=config.wall_key,
        )
        try:
            use_bucket(self.database, config.blocks)
        except BaseException:
            self.database.close()
            raise
        self.database.audit_clock = self.now if config.audit else None
        self.meter = Meter(self.database, config.ceilings or Ceilings(), self.now)
        self.asker = Asker(self.chat, self.meter, static)
        self.reranker = ChatReranker(self.asker) if isinstance(reranker, str) else reranker
        self.views = self._wire(self.embedder, self.asker, self.chat)
        self.leases = Leases(self.database)  # of the worker
        self.backlog = Backlog(self.database, partial(self.chosen, None), self.default_retention, self.now)
        # Where many machines maintain, in turn with their workers; a folder's foreground waits for nobody.
        self._hold = Leases(self.database, lease_s=_OWN_LEASE_S).wait if self.database.shared else None
        self.rebuilder = Rebuilder(self.database, self.meter, static, self._wire, self.chat, self._hold)
        self.variants = self.rebuilder.variants
        self.ingest = Ingest(
            self.database,
            lambda user: self.variants.serving(user, self.messages),
            self.now,
            lambda: self.worker is not None and self.embedder is not static,
            self.notify,
        )
        self.maintained = {*self._names(config.maintained), self.messages.name}
        self._kv_folder = self.database.folder / KV_FOLDER
        self.database.finish_forgetting = partial(forgetting.finish, self.database, self.stores)
        try:
            forgetting.finish_all(self.database, self.stores)
            self.database.keep_reserve()
            if not self.database.shared and self.database.bucket is None:  # each user's maintenance does it
                clean_all(self.database)
                if not self.database.saved.is_clean():  # as after a forgetting that was killed
                    self.database.saved.sweep()
            if self._kv_folder.is_dir():
                self.kv.clean_all(self.database)
            shredding.finish(self.database, self.stores, self.now())
        except StorageError as error:  # others may be writing: the next to open tries again
            _logger.warning("what was forgotten was not deleted yet: %s", error)

    def _wire(self, embedder: Embedder, asker: Asker, chat: ChatModel | None) -> ViewsByName:
        """The views with these models, and with the settings of this memory."""
        static, config, database = shared_static_embedder(), self.config, self.database
        most = index_bytes(config.index_mb)

        def chunks() -> View:
            from zibaldone.views.chunks.view import ChunksView

            stored = database.blocks, config.chunks, config.placement
            return ChunksView(embedder, static, static, asker, *stored, workers=config.workers)

        def hierarchy() -> View:
            from zibaldone.views.hierarchy.view import HierarchyView

            drafter = Drafter(chat, self.meter, static) if chat else None
            return HierarchyView(embedder, static, static, asker, config.hierarchy, drafter, index_bytes=most)

        def topics() -> View:
            from zibaldone.views.topics.view import TopicsView

            return TopicsView(
                embedder, static, static, asker, config.topics, clock=self.now, index_bytes=most
            )

        return ViewsByName(
            {
                "messages": lambda: MessagesView(embedder, static, static, index_bytes=most),
                "chunks": chunks,
                "hierarchy": hierarchy,
                "topics": topics,
                "notes": lambda: NotesView(embedder, static, asker, clock=self.now),
            },
            config.batch_messages,
        )

    @cached_property
    def messages(self) -> MessagesView:
        """The view of raw messages."""
        return cast("MessagesView", self.views["messages"])

    @cached_property
    def kv(self) -> KVStore:
        """The store of a kv view, where none is attached."""
        from zibaldone.views.kvcache.storage.store import KVStore

        return KVStore(self._kv_folder)

    @cached_property
    def chunks(self) -> ChunksView:
        """The view of chunks."""
        return cast("ChunksView", self.views["chunks"])

    @cached_property
    def hierarchy(self) -> HierarchyView:
        """The view of themes."""
        return cast("HierarchyView", self.views["hierarchy"])

    @cached_property
    def topics(self) -> TopicsView:
        """The view of topic documents."""
        return cast("TopicsView", self.views["topics"])

    @cached_property
    def notes(self) -> NotesView:
        """The view of notes."""
        return cast("NotesView", self.views["notes"])

    def noise(self) -> MessagesView:
        """A view of noise alone: made for one recall, so that no live object holds it."""
        static = shared_static_embedder()
        return MessagesView(self.embedder, static, static, most_noise=MOST_UNREAD)

    def close(self) -> None:
        """Stop the worker, save indexes, and close files and the models that were made here; idempotent."""
        if self.worker is not None:
            self.worker.stop(_STOP_S)
        ends = time.monotonic() + _SAVE_S
        for user in self.messages.unsaved():
            if time.monotonic() < ends:
                save_index(self.database, user, self.messages, None)
        self.database.close()
        for model in self.own_models:
            if callable(close := getattr(model, "close", None)):
                close()

    def now(self) -> datetime:
        """The time by the memory's clock. Raises InvalidInput for a clock that gives none."""
        return to_time(self.config.clock(), "the clock's time")

    def count_tokens(self, text: str) -> int:
        """Tokens of a text."""
        return self.tokenizer.count([text])[0]

    def chosen(self, names: Sequence[str] | None) -> list[View]:
        """The views of these names, each once; None: those that are maintained.

        Raises InvalidInput, UnknownName.
        """
        if names is None:
            return [self.views[name] for name in self.views if name in self.maintained]
        if chosen := self._names(names):
            return [self.views[name] for name in chosen]
        raise InvalidInput(f"views must be a list of names, such as ['messages'], not {shown(names)}")

    def _names(self, names: Iterable[str]) -> list[str]:
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise InvalidInput(f"views must be a list of names, such as ['messages'], not {shown(names)}")
        taken = members("views", names)
        for name in taken:
            if not isinstance(name, str) or name not in self.views:
                raise UnknownName(f"no view {shown(name)}: there is {', '.join(sorted(self.views))}")
        return list(dict.fromkeys(taken))

    def stores(self) -> list[ViewStore]:
        """Stores of all views, that of a kv view which is not attached now too."""
        attached: list[ViewStore] = list(self.views.values())
        return attached if KV in self.views else [*attached, self.kv]

    def unread_question(
        self,
        text: str,
        user: Key,
        session: str | None,
        budget_tokens: int,
        now: TimeLike | None,
        timeout_s: float | None = None,
    ) -> Question:
        """Check a question, which recall reads; `session` is checked already. Raises InvalidInput."""
        given = None if now is None else to_time(now, "now")
        if timeout_s is not None:
            number("timeout_s", timeout_s, least=0, most=LONGEST_S)
        return Question(
            text=words("query", text),
            deadline=Deadline.after(timeout_s),
            scope=Scope(key("user", user), session),
            budget_tokens=budget_tokens,
            now=given or self.now(),
            before=given and given + timedelta(microseconds=1),
        )

    def shared_with(self, user: str, shared: Sequence[Key] | None, session: str | None) -> tuple[str, ...]:
        """The memories shared with a user that are to be recalled.

        None: all of them, or none where it is about a session of their own. Raises NotGranted.
        """
        named = None if shared is None else sorted(keys("shared", shared))
        if named == [] or (named is None and session is not None):
            return ()
        with self.database.read(user) as connection:
            granted = grants.granted(connection, user)
        for scope in named or ():
            grants.must_be_granted(granted, scope, user)
        return tuple(granted if named is None else named)

    def with_reason(self, nothing: Recall, user: str) -> Recall:
        """An empty recall that says where there is nothing of the user at all."""
        with self.database.read(user) as connection:
            if log.select_messages(connection, user, Narrowing(), limit=1):
                return nothing
        note = f"there are no messages of user {shown(user)}"
        return replace(nothing, trace=replace(nothing.trace, note=note))

    def recalled(
        self,
        question: Question,
        narrowing: Narrowing,
        *,
        sources: Sequence[View],
        with_notes: bool,
        floor: float,
        order: Order,
        rules_of: str,
    ) -> Recall:
        """The recall of one user's memory; only the user `rules_of` is told what always holds."""
        user = question.scope.user
        serving = partial(self.variants.serving, user)

        def work() -> Recall:
            return recall(
                self.database,
                [serving(view) for view in sources],
                question,
                narrowing,
                floor=floor,
                tokenizer=self.tokenizer,
                count=self.count_tokens,
                messages=serving(self.messages),
                notes=serving(self.notes) if with_notes else None,
                reranker=self.reranker,
                order=order,
                rules=user == rules_of,
            )

        # The question is read against messages.
        needed = [*sources, self.messages, *([self.notes] if with_notes else ())]
        return self._reading(user, list(dict.fromkeys(needed)), work)

    def passages(self, question: Question, narrowing: Narrowing, *, limit: int) -> Passages:
        """The best passages for a question, of the messages view and the notes of one user."""
        user = question.scope.user
        serving = partial(self.variants.serving, user)

        def work() -> Passages:
            messages, notes = serving(self.messages), serving(self.notes)
            return search(self.database, messages, notes, question, narrowing, limit, self.tokenizer)

        return self._reading(user, [self.messages, self.notes], work)

    def _reading(self, user: str, views: Sequence[View], work: Callable[[], R]) -> R:
        """Do what reads these views, before the worker goes on, and name the damage that it meets."""
        with self.recall_priority.held(), inspection.damage_is_named(self.database, user, views):
            return self.variants.steadily(user, views, work)

    def notify(self, *users: str) -> None:
        """Let the worker know that these users have something to be read."""
        if self.worker is not None:
            for user in users:
                self.worker.notify(user)

    @audited("forget")
    def forget(
        self,
        user: str,
        selected: forgetting.Selector,
        *,
        dry_run: bool = False,
        keep_texts: bool = False,
        shred: bool = False,
    ) -> Receipt:
        """Delete what is selected and all that was made from it; with `shred` the user's key first.

        Before everything, grants: whoever takes the name next is to have nothing of them.
        """
        dropped = 0
        if selected.everything:
            with self.database.read() as connection:
                dropped = grants.count(connection, user)
        if dropped and not dry_run:
            with self.database.unlocked() as connection:
                grants.drop(connection, user)
        remove: Callable[..., Receipt] = partial(forgetting.forget, selected=selected)
        receipt = (shredding.shred if shred else remove)(
            self.database,
            self.stores(),
            user,
            dry_run=dry_run,
            keep_texts=keep_texts,
            now=self.now(),
            also=list(self.variants.instances()),
        )
        gone = Removed("grants", (Counted("grants", dropped),))
        return replace(receipt, views=(*receipt.views, gone)) if dropped else receipt

    @audited("forget")
    def apply_retention(
        self, user: str | None, policy: Retention | None = None, *, dry_run: bool = False
    ) -> list[Receipt]:
        """Forget what is to go now by each user's policy, or by `policy`; of one user or of all."""
        now = self.now()
        with self.database.read(user) as connection:
            if policy is not None:
                policies = dict.fromkeys(log.all_users(connection) if user is None else [user], policy)
            else:
                users = None if user is None else [user]
                policies = retaining.due(connection, self.default_retention, now, users)
            seqs = retaining.going(connection, policies, now)
        return forgetting.forget_each(
            self.database,
            self.stores(),
            {user: forgetting.Selector(seqs=its) for user, its in seqs.items()},
            dry_run=dry_run,
            now=now,
            also=list(self.variants.instances()),
        )

    @audited("write")
    def maintain(
        self, user: str | None, chosen: Sequence[View], progress: Progress | None = None
    ) -> Maintained:
        """Let these views read what they have not read yet, of one user or of all; see Memory.maintain."""
        forgetting.finish_all(self.database, self.stores)
        self.database.keep_reserve()
        if not self.database.shared and self.database.bucket is None:
            self.database.saved.sweep(user)
        gone = self.apply_retention(user)
        with self.database.read(user) as connection:
            names = log.all_users(connection) if user is None else [user]
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

        before = self.meter.total(user)
        report = maintenance.maintain(
            self.database,
            chosen,
            names,
            workers=self.config.workers,
            on_step=step,
            built_as=self.variants.serving,
            hold=self._hold,
        )
        report = replace(report, behind=(*report.behind, *self.rebuilder.keep_in_step(names, chosen)))
        return replace(maintenance.with_usage(report, before, self.meter.total(user)), forgotten=tuple(gone))

    def maintain_in_background(self, user: str) -> None:
        """Maintain a user in a thread of the worker, unless another worker does. Raises ModelFailed."""
        assert self.worker is not None
        worker = self.worker

        with self.leases.hold(user) as check_lease:
            if check_lease is None:
                return

            def check() -> None:
                self.recall_priority.pause()
                worker.check()
                check_lease()

            try:
                self._maintain_one(user, check)
            except LeaseLost as error:
                _logger.warning("%s: another worker goes on", error)

    def _maintain_one(self, user: str, check: Callable[[], None]) -> None:
        assert self.worker is not None
        worker = self.worker

        def check_turn(*_: int) -> None:
            worker.check_turn(user)

        self.apply_retention(user)
        report = maintenance.maintain(
            self.database,
            self.chosen(None),
            [user],
            patient=True,
            on_step=check_turn,
            check=check,
            built_as=self.variants.serving,
        )
        beside = self.rebuilder.keep_in_step([user], self.chosen(None), check, check_turn)
        for lagging in report.behind:
            raise lagging.error or ModelFailed(lagging.reason)
        for lagging in beside:
            raise OwnModelFailed(lagging.reason)
