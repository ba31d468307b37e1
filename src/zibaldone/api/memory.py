"""Memory: the object a user holds. Wiring only, no algorithm."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from uuid import UUID

from sqlalchemy import Connection

from zibaldone import log, settings
from zibaldone.api.documents import Topics
from zibaldone.api.items import Items, is_put
from zibaldone.api.profile import Profile
from zibaldone.core import CORRECTS, EDITOR, TIME_KNOWN, Evidence, Message, Scope
from zibaldone.core.deadline import Deadline
from zibaldone.core.validation import (
    Key,
    TimeLike,
    count,
    file_path,
    flag,
    function,
    key,
    keys,
    members,
    number,
    option,
    shown,
    to_time,
    type_of,
    whole_text,
    words,
)
from zibaldone.engine import forgetting, generations, inspection, maintenance, shredding
from zibaldone.engine.backlog import Backlog
from zibaldone.engine.forgetting import Receipt
from zibaldone.engine.imports import Imported, import_source
from zibaldone.engine.ingest import Parts, Progress, ingest
from zibaldone.engine.inspection import Integrity, Stats
from zibaldone.engine.leases import LEASE_S, LeaseLost, Leases
from zibaldone.engine.maintenance import Behind, Maintained, OwnModelFailed
from zibaldone.engine.rebuilding.builds import BuildDiff, Builds
from zibaldone.engine.rebuilding.estimate import RebuildEstimate
from zibaldone.engine.rebuilding.rebuilder import OWN, Own, Rebuilder
from zibaldone.engine.recall_priority import RecallPriority
from zibaldone.engine.replicas import ReplicaReads
from zibaldone.engine.verification.receipts import Verification, read_receipt, write_receipt
from zibaldone.engine.verification.verifying import verify
from zibaldone.engine.worker import TURN_S, BackgroundWorker
from zibaldone.errors import (
    InvalidInput,
    ModelFailed,
    StorageError,
    TooMany,
    UnknownName,
)
from zibaldone.importers.base import Branches
from zibaldone.importers.export import export_archive, export_messages
from zibaldone.importers.importing import reading
from zibaldone.importers.source import OpenedSource
from zibaldone.log import Appended, Session
from zibaldone.log import retention as retaining
from zibaldone.log.audit import AuditEntry, audited, entries, note, note_read
from zibaldone.log.filters import Narrowing, to_narrowing
from zibaldone.log.message_input import MessageLike, to_messages, to_question
from zibaldone.log.message_objects import ATTACHMENTS, Attachment, attachments_of
from zibaldone.log.retention import Retention
from zibaldone.log.session_list import TitledSession, titled_sessions
from zibaldone.models.asker import Asker
from zibaldone.models.base import ChatModel, Embedder, Reranker, Tokenizer
from zibaldone.models.logprobs import ChatDrafter
from zibaldone.models.meter import Ceilings, Meter, Prices, Usage
from zibaldone.models.own_tokens import own_tokens
from zibaldone.models.reranking import ChatReranker
from zibaldone.models.static import shared_static_embedder
from zibaldone.recall.ask import MOST_ROUNDS, Answer, Asking, Step, no_model
from zibaldone.recall.lookup import Filter
from zibaldone.recall.recall import DEFAULT_FLOOR, RECALL_TOKENS, Order, recall, search, to_order
from zibaldone.recall.result import Recall
from zibaldone.recall.timeline import TimelineFilter, TimelineLine, note_lines, session_lines
from zibaldone.settings import FROM_ENVIRONMENT, FromEnvironment
from zibaldone.storage.bucket_blocks import use_bucket
from zibaldone.storage.database import Database, place_shown, url_in
from zibaldone.storage.opening import open_database
from zibaldone.text.bounds import question_as_read
from zibaldone.text.purgeable_cache import remembered, sweeping
from zibaldone.views.base import Generation, Query, View, ViewStore, WarmedView
from zibaldone.views.chunks import ChunksView, MemAttention, Past, Placement, StoredChunk
from zibaldone.views.hierarchy import Episode, HierarchyView, Theme, XMemory
from zibaldone.views.kvcache.storage.store import FOLDER as KV_FOLDER
from zibaldone.views.kvcache.storage.store import NAME as KV
from zibaldone.views.kvcache.storage.store import KVStore
from zibaldone.views.messages import MessagesView
from zibaldone.views.notes import NotesView
from zibaldone.views.toolkit import MOST_UNREAD, PASSAGE_TOKENS
from zibaldone.views.topics import Consolidation, TopicsView

# Asked by recall, and so maintained, unless a Memory or a recall is told which: see docs/results.md.
DEFAULT_VIEWS = ("messages", "notes")
MAINTAINED = DEFAULT_VIEWS
ASK_TOKENS = 2500  # of evidence that a model is shown; docs/results.md has what rounds of it answer
# How long a user is quiet before the background reads what they said, or has talked: until then a recall
# reads it, and a step that takes in ten turns costs as much as a step for one.
GATHER_S, _LONGEST_GATHER_S = 2.0, 20.0
_STOP_S = 5.0
_OWN_LEASE_S = 10.0  # of what is done in the foreground: whoever comes after a crash waits for so long
_LONGEST_S = 86_400  # a day
_logger = logging.getLogger(__name__)
V = TypeVar("V", bound=View)
R = TypeVar("R")
_Wired = tuple[MessagesView, ChunksView, HierarchyView, TopicsView, NotesView]
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
        embedder: Embedder | str | FromEnvironment | None = FROM_ENVIRONMENT,
        chat: ChatModel | FromEnvironment | None = FROM_ENVIRONMENT,
        reranker: Reranker | str | FromEnvironment | None = FROM_ENVIRONMENT,
        tokenizer: Tokenizer | None = None,
        ceilings: Ceilings | None = None,
        chunks: MemAttention | None = None,
        placement: Placement | None = None,
        hierarchy: XMemory | None = None,
        topics: Consolidation | None = None,
        maintained: Sequence[str] = MAINTAINED,
        retention: Retention | None = None,
        audit: bool | FromEnvironment = FROM_ENVIRONMENT,
        background: bool = False,
        workers: int = 4,
        clock: Callable[[], datetime] = now_utc,
        blocks: str | FromEnvironment | None = FROM_ENVIRONMENT,
        replica: str | FromEnvironment | None = FROM_ENVIRONMENT,
        busy_timeout_s: float = 30.0,
        key: str | bytes | FromEnvironment | None = FROM_ENVIRONMENT,
        user_keys: str | Path | FromEnvironment | None = FROM_ENVIRONMENT,
    ) -> None:
        """`embedder` makes the vectors; None is the embedded one, which needs no key and no download.

        One of another library goes by its name: "fastembed:BAAI/bge-small-en-v1.5" (extra `neural`),
        "openai:text-embedding-3-small". `chat` answers what views ask; None: plain algorithms do. `reranker`
        reads a recall's thirty best candidates with the question and puts them in order:
        "fastembed:Xenova/ms-marco-MiniLM-L-6-v2" (extra `neural`), "chat" (the chat model), "words", or one
        of your own; None: their order stays. All three are taken from the ZIBALDONE_* variables
        unless given (see settings.py), and so are the `ceilings` of what a model may be used for.
        `tokenizer` counts what budgets and recalled texts are in, such as that of the model which reads them;
        None: the embedded one. It may be another one each time: what is stored does not depend on it.
        `chunks` and `placement` set the chunks view, `hierarchy` and `topics` theirs. `maintained` names the
        views that are kept in step with the log without being asked for; others can still be maintained and
        recalled by name. `retention` is what goes by itself, and what fades, of users for whom `retain` said
        nothing else; by default everything stays. With `audit` it is noted who reads, writes and forgets;
        unless given, ZIBALDONE_AUDIT says whether. With `background`,
        threads maintain while the program does other things; `workers` is how many users, and how many model
        calls of one user, go side by side in a maintenance. `blocks` is a bucket for blocks of chunks and
        saved indexes, such as "s3://bucket/prefix" (extra `s3`): given once, the memory knows it. Without
        one they are beside the rows. `replica` is the URL of a hot standby of a memory in PostgreSQL, from
        which recalls are read as long as it keeps up. With a `key` the folder is encrypted (extra
        `encryption`): 32 random bytes, these in hexadecimal, or a passphrase; unless given it is taken from
        ZIBALDONE_KEY_COMMAND or ZIBALDONE_KEY. `encrypt_folder` converts one that is there. With `user_keys`,
        a folder apart from the memory or "s3://bucket/prefix", the words of each user are sealed by a key of
        their own that lies there, encrypted by `key`; then `forget(shred=True)` destroys it.

        Raises StorageUnusable (KeyMissing, WrongKey and NotEncrypted among them), StorageCorrupt,
        NewerSchema, StorageBusy, MissingExtra for what is not installed, and ModelFailed for an embedder or
        a reranker that cannot be loaded.
        """
        folder = file_path("path", path)
        number("busy_timeout_s", busy_timeout_s, least=0, most=_LONGEST_S)
        count("workers", workers, least=1)
        flag("background", background)
        is_audited = flag("audit", settings.audit(audit))
        option("ceilings", ceilings, Ceilings)
        option("chunks", chunks, MemAttention)
        option("placement", placement, Placement)
        option("hierarchy", hierarchy, XMemory)
        option("topics", topics, Consolidation)
        self._retention = option("retention", retention, Retention) or Retention()
        static = shared_static_embedder()
        chosen = _an_embedder(settings.embedder(embedder)) or static
        answering = _a_chat_model(settings.chat(chat))
        reranking = settings.reranker(reranker, answering)
        # Those that were made here, by a name or from variables, are closed with the memory.
        self._own_models = [model for model in (chosen, answering) if model not in (embedder, chat)]
        self._clock = function("clock", clock)
        self._count_short = remembered(4096)(self.count_tokens)  # headers come again and again
        self._tokenizer: Tokenizer = static
        self._counted = None if tokenizer is None else own_tokens(tokenizer, static)
        self._workers = workers
        self._worker: BackgroundWorker | None = None
        self._way = RecallPriority()  # of recalls, before the worker
        self._database = open_database(
            folder,
            busy_timeout_s=busy_timeout_s,
            key=settings.key(key),
            user_keys=settings.user_keys(user_keys),
            wall_key=settings.wall_key(),
        )
        self._replica: ReplicaReads | None = None
        try:
            use_bucket(self._database, settings.blocks(blocks))
            if self._database.shared or replica is not FROM_ENVIRONMENT:  # it is of no folder
                self._replica = _a_replica(self._database, settings.replica(replica))
        except BaseException:
            self._database.close()
            raise
        self._database.audit_clock = self._now if is_audited else None
        self._meter = Meter(self._database, ceilings or settings.ceilings(), self._now)
        self._asker = Asker(answering, self._meter, static)
        self._embedder, self._chat = chosen, answering
        self._reranker = ChatReranker(self._asker) if reranking == settings.BY_CHAT else reranking
        self._config = chunks, placement, hierarchy, topics
        wired = self._wire(chosen, self._asker, answering)
        self._messages, self._chunks, self._hierarchy, self._topics, self._notes = wired
        self._views: dict[str, View] = {view.name: view for view in wired}
        self._leases: Leases | None = None  # of the worker
        self._backlog = Backlog(self._database, partial(self._chosen, None), self._retention, self._now)
        # Where many machines maintain, in turn with their workers; a folder's foreground waits for nobody.
        self._hold = Leases(self._database, lease_s=_OWN_LEASE_S).wait if self._database.shared else None
        self._rebuilder = Rebuilder(self._database, self._meter, static, self._wire, answering, self._hold)
        self._variants = self._rebuilder.variants
        self._maintained = {view.name for view in self._named(maintained)} | {self._messages.name}
        self._kv = KVStore(self._database.folder / KV_FOLDER)
        self._database.finish_forgetting = partial(forgetting.finish, self._database, self._stores)
        try:
            forgetting.finish_all(self._database, self._stores())
            self._database.keep_reserve()
            if not self._database.shared and self._database.bucket is None:  # each user's maintenance does it
                self._chunks.clean_all(self._database)
            self._kv.clean_all(self._database)
            shredding.finish(self._database, self._stores(), self._now())
        except StorageError as error:  # others may be writing: the next to open tries again
            _logger.warning("what was forgotten was not deleted yet: %s", error)
        if background:
            self.start_worker()

    def start_worker(
        self,
        *,
        threads: int = 2,
        poll_s: float = 60.0,
        lease_s: float = LEASE_S,
        turn_s: float = TURN_S,
        leased: bool = True,
    ) -> None:
        """Maintain in threads from now on, as with `background`; `close` ends it.

        `leased`: beside workers of other processes and machines, each user by one of them; who was killed is
        taken over `lease_s` later. Every `poll_s` it is looked whose messages others have added. A user with
        much to be read has it read in turns of `turn_s`, and lets others go first after each. Raises
        InvalidInput where a worker runs already.
        """
        count("threads", threads, least=1)
        number("poll_s", poll_s, least=0.05, most=_LONGEST_S)
        number("lease_s", lease_s, least=0.2, most=_LONGEST_S)
        number("turn_s", turn_s, least=0, most=_LONGEST_S)
        if self._worker is not None:
            raise InvalidInput("this memory is maintained in the background already")
        self._leases = Leases(self._database, lease_s=lease_s) if flag("leased", leased) else None
        self._worker = BackgroundWorker(
            self._maintain_in_background,
            self._backlog.look,
            threads=threads,
            poll_s=poll_s,
            gather_s=GATHER_S,
            longest_s=_LONGEST_GATHER_S,
            turn_s=turn_s,
        )
        self._worker.start()
        try:
            self._database.saved.sweep()
        except StorageError as error:  # whoever starts next tries again
            _logger.warning("what a crash left of saved indexes was not deleted yet: %s", error)

    def _wire(self, embedder: Embedder, asker: Asker, chat: ChatModel | None) -> _Wired:
        """The views with these models, and with the settings of this memory."""
        static = shared_static_embedder()
        chunks, placement, hierarchy, topics = self._config
        blocks = self._database.blocks
        drafter = ChatDrafter(chat, self._meter, static) if chat else None
        return (
            MessagesView(embedder, static, static),
            ChunksView(embedder, static, static, asker, blocks, chunks, placement, workers=self._workers),
            HierarchyView(embedder, static, static, asker, hierarchy, drafter),
            TopicsView(embedder, static, static, asker, topics, clock=self._now),
            NotesView(embedder, static, asker, clock=self._now),
        )

    @property
    def path(self) -> Path:
        """The folder; of a memory in PostgreSQL one on this machine, where nothing lies as yet."""
        return self._database.folder

    @property
    def encrypted(self) -> bool:
        """True if all that it keeps in its folder is."""
        return self._database.encrypted

    @property
    def place(self) -> str:
        """Where it is, for people: the folder, or the URL without its password."""
        return self._database.name if self._database.shared else str(self.path)

    @property
    def is_embedded(self) -> bool:
        """True if a recall waits for nothing outside of the process: neither a server's rows nor a model."""
        own = self._embedder is shared_static_embedder() and self._reranker is None
        return own and not self._database.shared

    @property
    def can_ask(self) -> bool:
        """True if it has a chat model, which `ask` needs unless it is given one."""
        return self._asker.has_model

    def close(self) -> None:
        """Stop the background worker and close the files; idempotent.

        Every other method raises ClosedMemory afterwards. A step of a maintenance that waits for a model is
        given a few seconds to end; what it did not commit will be done again.
        """
        if self._worker is not None:
            self._worker.stop(_STOP_S)
        self._database.close()
        if self._replica is not None:
            self._replica.close()
        for model in self._own_models:
            if callable(close := getattr(model, "close", None)):
                close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def attach(self, make: Callable[[Database, Tokenizer], V]) -> V:
        """Let the memory drive one more view, such as a KVMemory's; returns what `make` makes.

        It is maintained, recalled by its name, forgotten and checked like the others. `make` gets the
        database, and the tokenizer that units are counted with. Raises InvalidInput for a name that is
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

    @audited("write")
    def add(
        self,
        messages: MessageLike | Iterable[MessageLike],
        *,
        user: Key,
        session: Key | None = None,
        agent: Key | None = None,
        keep_files: bool = False,
    ) -> list[Message]:
        """Store messages; returns them as stored, with their seqs, once they are durable.

        All of them or none. A message is a Message, a string, a mapping in the OpenAI chat shape with `time`,
        `session`, `metadata` and `id` beside it, or an object of OpenAI's, Anthropic's or LangChain's library
        (see `message_objects`), which may be several messages; its own session wins over `session`. A message
        whose `id` is known already adds nothing and comes back as it was first stored. `agent` is noted in
        the metadata of those that name none, under "agent"; recall can be narrowed to it. Of images and files
        name, type and hash are kept, and with `keep_files` their bytes: `attachments` has them.

        Raises InvalidMessage, IdConflict, StorageBusy, StorageFull.
        """
        user = key("user", user)
        given = to_messages(messages, session=session, agent=agent, keep_files=flag("keep_files", keep_files))
        (appended,) = self._ingest([(user, given)])
        return appended.stored

    @audited("read")
    def recall(
        self,
        query: str | None = None,
        *,
        messages: MessageLike | Iterable[MessageLike] | None = None,
        user: Key,
        session: Key | None = None,
        exclude_session: Key | None = None,
        exclude_seqs: Collection[int] = (),
        roles: Sequence[str] | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        metadata: Mapping[str, Any] | None = None,
        agent: Key | None = None,
        budget_tokens: int = RECALL_TOKENS,
        views: Sequence[str] | None = None,
        floor: float | None = None,
        noise: bool = False,
        order: Order = "best",
        chat: ChatModel | None = None,
        rounds: int = 0,
        now: TimeLike | None = None,
        timeout_s: float | None = None,
    ) -> Recall:
        """The evidence for a query: cited, chronological, at most `budget_tokens` long.

        With the `messages` of a chat, the question is the user's last one unless `query` says otherwise, and
        what stands in them is not recalled again. What is put together follows from what the question asks
        for: see `planning`. Narrower with `session` (that one alone), `exclude_session`, `exclude_seqs`,
        `roles`, a time (`since` is in it, `until` is not), `agent`, and `metadata`: keys with their values,
        or with operators such as {"n": {"$gte": 3}} (see `narrowing`). `views` names the views to ask. Below
        the `floor` of confidence (0 to 1; None: the default) the recall is empty, with 0 never. `now` is what
        "last week" in the query is relative to; given, the profile is as it was then. In the `order`
        "first" or "last", of what fits best the earliest or the latest comes first. With `noise` the newest
        thousand calls of tools, their results, thoughts and the like are looked through, too, by words.

        With `rounds`, a model looks so often whether something is missing, and asks for it: the memory's, or
        `chat`. What it asks is narrowed as the recall is, and without a floor; see `ask`, which answers, too.

        After `timeout_s` it stops at its next step and raises RecallGivenUp; None: it takes what it takes.
        """
        if count("rounds", rounds, least=0) or chat is not None:
            if not rounds or views is not None or floor is not None or noise or exclude_seqs:
                raise InvalidInput(
                    "chat= goes with rounds=, and rounds= without views, floor, noise and exclude_seqs"
                )
            narrowed = Filter(session, exclude_session, roles, since, until, metadata, agent)
            turns = list(messages) if isinstance(messages, Iterator) else messages
            asking = self._asking(
                to_question(query, turns)[0],
                user,
                chat,
                rounds,
                budget_tokens,
                narrowed,
                now,
                timeout_s,
                gathers=True,
                messages=turns,
                order=to_order(order),
            )
            return asking.run().evidence
        least_confidence = DEFAULT_FLOOR if floor is None else number("floor", floor, least=0, most=1)
        question_text, repeated = to_question(query, messages)
        narrowing = to_narrowing(
            exclude_session=exclude_session,
            exclude_seqs=exclude_seqs,
            roles=roles,
            since=since,
            until=until,
            metadata=metadata,
            agent=agent,
            repeated=repeated,
        )
        taken_by = to_order(order)
        room = count("budget_tokens", budget_tokens, least=1)
        question = self._query(question_text, user, session, room, now, timeout_s)
        chosen = self._chosen(DEFAULT_VIEWS if views is None else views)
        sources: list[View] = [view for view in chosen if view is not self._notes]
        if flag("noise", noise):
            sources.append(self._noise())
        with_notes = bool(sources) and self._notes in chosen
        sources = sources or chosen  # asked alone, notes are what is recalled
        whose, decay_days = question.scope.user, self.retention(user=user).decay_days

        def recalled(database: Database) -> Recall:
            serving = partial(self._variants.serving, whose)
            return recall(
                database,
                [serving(view) for view in sources],
                question,
                floor=least_confidence,
                tokenizer=self._tokenizer,
                own=self._counted,
                count=self._count,
                notes=serving(self._notes) if with_notes else None,
                narrowing=narrowing,
                decay_days=decay_days,
                reranker=self._reranker,
                order=taken_by,
            )

        with self._way.taken(), inspection.damage_is_named(self._database, whose, chosen):
            return self._variants.steadily(whose, chosen, partial(self._read, whose, recalled))

    @sweeping()
    @audited("read")
    def ask(
        self,
        question: str,
        *,
        user: Key,
        chat: ChatModel | None = None,
        rounds: int = 3,
        budget_tokens: int = ASK_TOKENS,
        filter: Filter | None = None,  # noqa: A002 - what it is called wherever one asks
        now: TimeLike | None = None,
        timeout_s: float | None = 120.0,
        on_step: Callable[[Step], None] | None = None,
    ) -> Answer:
        """An answer, cited, by a model that may look into memory again: the memory's, or `chat`.

        It sees what a recall brings, and may ask for more up to `rounds` times, four queries at a time,
        with a time, a session, a role, the earliest or the latest mention: `rounds` + 1 requests at most,
        repairs counted. All evidence together has at most `budget_tokens`; a history that fits is shown
        whole. A `filter` narrows all of it. `on_step` is called after the first look and after every request.

        A model that fails, talks nonsense or takes longer than `timeout_s` leaves the plain recall as
        `evidence`, and `marks` that say so. Raises InvalidInput where there is no model, and RecallGivenUp
        where `timeout_s` is over before there is a recall.
        """
        narrowed = option("filter", filter, Filter) or Filter()
        return self._asking(
            question,
            user,
            chat,
            count("rounds", rounds, least=0),
            budget_tokens,
            narrowed,
            now,
            timeout_s,
            on_step=function("on_step", on_step, optional=True),
        ).run()

    def _asking(
        self,
        question: str,
        user: Key,
        chat: ChatModel | None,
        rounds: int,
        budget_tokens: int,
        narrowed: Filter,
        now: TimeLike | None,
        timeout_s: float | None,
        *,
        on_step: Callable[[Step], None] | None = None,
        gathers: bool = False,
        messages: MessageLike | Iterable[MessageLike] | None = None,
        order: Order = "best",
    ) -> Asking:
        whose = key("user", user)
        asker = self._asker if chat is None else Asker(_a_chat_model(chat), self._meter, self._tokenizer)
        if not asker.has_model:
            raise no_model()
        to_narrowing(**{name: value for name, value in narrowed.options().items() if name != "session"})
        text = words("question", question)
        if not text.strip():
            raise InvalidInput("a question needs words")
        if rounds > MOST_ROUNDS:
            raise TooMany(f"rounds can be at most {MOST_ROUNDS}, not {rounds}")
        if timeout_s is not None:
            number("timeout_s", timeout_s, least=0, most=_LONGEST_S)

        def recalled(query: str, narrowed: Filter, **options: Any) -> Recall:
            return self.recall(
                query, messages=messages, user=whose, floor=0, now=now, **narrowed.options(), **options
            )

        def still_there(seqs: Collection[int]) -> bool:
            with self._database.read(whose) as connection:
                return log.present(connection, whose, seqs) >= set(seqs)

        return Asking(
            question=text,
            user=whose,
            asker=asker,
            recall=recalled,
            count=self._count,
            still_there=still_there,
            now=self._now() if now is None else to_time(now, "now"),
            rounds=rounds,
            budget_tokens=count("budget_tokens", budget_tokens, least=1),
            narrowed=narrowed,
            deadline=Deadline.after(timeout_s),
            on_step=on_step,
            gathers=gathers,
            order=order,
        )

    def warm(self, *, user: Key) -> None:
        """Have in memory what a recall of the user begins with, up to date: the recall does not wait for it.

        For a process that answers many, before a user's first question and after what they said last. It
        shows nothing to anybody, and is in no audit.
        """
        whose = key("user", user)
        views: list[WarmedView] = [self._messages, self._notes]

        def warmed(database: Database) -> None:
            for view in views:
                self._variants.serving(whose, view).warm(generations.snapshots(database, whose, view), whose)

        with inspection.damage_is_named(self._database, whose, views):
            self._read(whose, warmed)

    @audited("read")
    def search(
        self,
        query: str,
        *,
        user: Key,
        limit: int = 20,
        session: Key | None = None,
        exclude_session: Key | None = None,
        roles: Sequence[str] | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        metadata: Mapping[str, Any] | None = None,
        agent: Key | None = None,
        now: TimeLike | None = None,
        timeout_s: float | None = None,
    ) -> tuple[Evidence, ...]:
        """The best passages for a query, best first, each word for word; for people and interfaces.

        No budget and no floor: `limit` passages, if there are so many. Narrowed and given up as a recall is.
        """
        most = count("limit", limit, least=1)
        narrowing = to_narrowing(
            exclude_session=exclude_session,
            roles=roles,
            since=since,
            until=until,
            metadata=metadata,
            agent=agent,
        )
        question = self._query(query, user, session, most * PASSAGE_TOKENS, now, timeout_s)
        whose, decay_days = question.scope.user, self.retention(user=user).decay_days

        def passages(database: Database) -> tuple[Evidence, ...]:
            return self._passages(database, question, most, narrowing, decay_days)

        views: list[View] = [self._messages, self._notes]
        with self._way.taken(), inspection.damage_is_named(self._database, whose, views):
            return self._variants.steadily(whose, views, partial(self._read, whose, passages))

    def _passages(
        self,
        database: Database,
        question: Query,
        most: int,
        narrowing: Narrowing,
        decay_days: float | None = None,
    ) -> tuple[Evidence, ...]:
        return search(
            database,
            self._variants.serving(question.scope.user, self._messages),
            self._variants.serving(question.scope.user, self._notes),
            question,
            most,
            tokenizer=self._tokenizer,
            own=self._counted,
            narrowing=narrowing,
            decay_days=decay_days,
        )

    def _read(self, user: str, work: Callable[[Database], R]) -> R:
        """What `work` gives of the database, or of its replica."""
        return work(self._database) if self._replica is None else self._replica.read(user, work)

    def _query(
        self,
        text: str,
        user: Key,
        session: Key | None,
        budget_tokens: int,
        now: TimeLike | None,
        timeout_s: float | None = None,
    ) -> Query:
        given = None if now is None else to_time(now, "now")
        if timeout_s is not None:
            number("timeout_s", timeout_s, least=0, most=_LONGEST_S)
        question = words("query", text)
        as_read = question_as_read(question)
        return Query(
            text=as_read,
            whole_text=question if as_read != question else "",
            deadline=Deadline.after(timeout_s),
            scope=Scope(key("user", user), None if session is None else key("session", session)),
            budget_tokens=budget_tokens,
            now=given or self._now(),
            before=given and given + timedelta(microseconds=1),
        )

    @audited("read")
    def messages(
        self,
        *,
        user: Key,
        session: Key | None = None,
        after: int = 0,
        before: int | None = None,
        limit: int | None = None,
        last: int | None = None,
        roles: Sequence[str] | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        metadata: Mapping[str, Any] | None = None,
        agent: Key | None = None,
        noise: bool = False,
    ) -> list[Message]:
        """The first `limit` messages, or the `last`, above seq `after` and below `before`; in order of seqs.

        Narrowed as a recall is; calls of tools and other noise only with `noise`. The next page begins
        `after` the last seq of this one.
        """
        user = key("user", user)
        within = None if session is None else key("session", session)
        narrowing = to_narrowing(
            roles=roles,
            since=since,
            until=until,
            metadata=metadata,
            agent=agent,
            without_noise=not flag("noise", noise),
        )
        count("after", after, least=0)
        if before is not None:
            count("before", before, least=0)
        if limit is not None and last is not None:
            raise InvalidInput("give limit= or last=, not both: the first messages, or the newest")
        most = limit if last is None else last
        if most is not None:
            count("limit" if last is None else "last", most, least=0)
        with self._database.read(user) as connection:
            return log.select_messages(
                connection,
                user,
                narrowing,
                session=within,
                after=after,
                before=before,
                limit=most,
                newest=last is not None,
            )

    @audited("read")
    def get(self, which: int | str | UUID, *, user: Key) -> Message | None:
        """The message of a seq (a number) or of an id (a string or a UUID); None when there is none.

        As it was stored: `versions` has its corrections.
        """
        user, chosen = key("user", user), _seq_or_id(which)
        with self._database.read(user) as connection:
            return log.find(connection, user, chosen)

    @audited("write")
    def update(
        self, which: int | str | UUID, content: str, *, user: Key, metadata: Mapping[str, Any] | None = None
    ) -> Message:
        """Correct a message: what it says now, whole. Returns the correction, a message of the role `editor`.

        The log keeps both. From now on recall brings the new wording where it would have brought the old one,
        and what was read from the old one is left out. The correction is forgotten with what it corrects;
        correcting a message again, or its correction, goes on from the last one. It has the session, name and
        metadata of what it corrects, with `metadata` on top.

        Raises InvalidInput for a message that is not there, that is an edit of a topic or of the profile, or
        that is what an item says.
        """
        user, chosen = key("user", user), _seq_or_id(which)
        whole_text("content", content)
        if not isinstance(metadata, Mapping | None):
            raise InvalidInput(f"metadata must be a mapping, not {type_of(metadata)}")
        with self._database.read(user) as connection:
            first = log.find(connection, user, chosen)
            versions = log.versions_of(connection, user, first) if first else []
        if not versions:
            raise InvalidInput(f"user {shown(user)} has no message {shown(which)}: messages() lists them")
        old = versions[-1]
        if old.role == EDITOR and not old.corrects:
            raise InvalidInput(
                f"message {old.seq} is an edit itself: edit the topic document or the profile entry again"
            )
        own = (CORRECTS, TIME_KNOWN, ATTACHMENTS)
        kept = {name: value for name, value in old.metadata.items() if name not in own}
        if is_put(old):
            raise InvalidInput(
                f"message {old.seq} is what an item says: put the item again with items().put()"
            )
        of_versions = {
            "seqs": [version.seq for version in versions],
            "ids": [version.id for version in versions],
            "role": old.voice,
        }
        given = {**kept, **(metadata or {}), CORRECTS: of_versions}
        (corrected,) = self.add(
            Message(content, role=EDITOR, name=old.name, session=old.session, metadata=given), user=user
        )
        return corrected

    @audited("read")
    def versions(self, which: int | str | UUID, *, user: Key) -> list[Message]:
        """A message as it was first stored, and its corrections; the last one holds. Empty for no message."""
        user, chosen = key("user", user), _seq_or_id(which)
        with self._database.read(user) as connection:
            message = log.find(connection, user, chosen)
            return log.versions_of(connection, user, message) if message else []

    @audited("read")
    def attachments(self, which: int | str | UUID, *, user: Key) -> list[Attachment]:
        """The images and files that a message came with, with the bytes that were kept."""
        user, chosen = key("user", user), _seq_or_id(which)
        with self._database.read(user) as connection:
            message = log.find(connection, user, chosen)
            files = log.files(connection, user, message.seq) if message else {}
        return attachments_of(message.metadata, files) if message else []

    @audited("read")
    def sessions(self, *, user: Key, after: int = 0, limit: int | None = None) -> list[Session]:
        """The user's sessions in the order of their first messages.

        With `limit`, so many of those that begin above seq `after`: a page costs as much as the messages on
        it. The next one begins `after` the first seq of this one's last.
        """
        user = key("user", user)
        count("after", after, least=0)
        if limit is not None:
            count("limit", limit, least=0)
        with self._database.read(user) as connection:
            return log.sessions(connection, user, after=after, limit=limit)

    @audited("read")
    def titled_sessions(
        self,
        *,
        user: Key,
        limit: int = 50,
        skip: int = 0,
        words: str = "",
        among: Collection[Key] | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        agent: Key | None = None,
    ) -> tuple[list[TitledSession], int]:
        """`limit` sessions after the first `skip`, those that ended last first, and how many there are.

        Each with its title: that of the import, or else its first words. With `words`, those that have all of
        them in their title or name. Of those `among` some names, that were going on in a time; of an `agent`,
        with its own messages alone.
        """
        user = key("user", user)
        most, skipped = count("limit", limit, least=1), count("skip", skip, least=0)
        narrowing = to_narrowing(since=since, until=until)
        with self._database.read(user) as connection:
            return titled_sessions(
                connection,
                user,
                most=most,
                skip=skipped,
                words=whole_text("words", words),
                among=None if among is None else keys("among", among),
                since=narrowing.since,
                until=narrowing.until,
                within=log.seqs_within(connection, user, to_narrowing(agent=agent)),
            )

    def users(self) -> list[str]:
        """Every user that has messages, or had."""
        with self._database.read() as connection:
            return log.all_users(connection)

    @audited("forget")
    def forget(
        self,
        *,
        user: Key,
        seqs: Iterable[int] | None = None,
        session: Key | None = None,
        before: TimeLike | None = None,
        everything: bool = False,
        dry_run: bool = False,
        keep_texts: bool = False,
        shred: bool = False,
    ) -> Receipt:
        """Delete messages and all that was made from them, so that no file of the folder has the text.

        Exactly one selector: `seqs`, a `session`, all that happened `before` a time, or `everything` of the
        user. A dry run changes nothing and counts the same. With `keep_texts` the receipt, and it alone, has
        what the messages said, for `verify`: keep it no longer than that. `shred`, with `everything`, first
        destroys the user's key, in a memory with `user_keys`: what any log, replica or backup still has is
        unreadable at once.
        """
        user = key("user", user)
        flag("dry_run", dry_run)
        flag("keep_texts", keep_texts)
        selected = forgetting.selector(seqs, session, before, everything)
        remove: Callable[..., Receipt] = partial(forgetting.forget, selected=selected)
        if flag("shred", shred):
            if not everything:
                raise InvalidInput("a key is of all that a user said: shred=True needs everything=True")
            remove = shredding.shred
        return remove(
            self._database,
            self._stores(),
            user,
            dry_run=dry_run,
            keep_texts=keep_texts,
            now=self._now(),
            also=list(self._variants.instances()),
        )

    @audited("write")
    def verify(
        self,
        receipt: Receipt | str | Path,
        *,
        texts: Iterable[str] = (),
        also: Iterable[str | Path] = (),
    ) -> Verification:
        """Look whether anything is left of what a receipt, or its file, says was forgotten; changes nothing.

        Every table, every byte of every file of the folder, and the exports that this memory knows of are
        searched for the receipt's texts and for these `texts`, whatever their case, spaces, Unicode form or
        escapes; and the tables for rows that refer to the messages. Without any text only the latter. `also`
        are files and folders of yours to look through, such as backups. What anybody's messages still say is
        not looked for where it may stand.

        Raises InvalidInput for the receipt of a dry run or of another memory, and StorageUnusable for a file
        that cannot be read.
        """
        if not isinstance(receipt, Receipt):
            receipt = read_receipt(file_path("receipt", receipt))
        note_read(self._database, receipt.user, receipt.seqs)
        return verify(
            self._database,
            self._stores(),
            self._kv,
            receipt,
            [whole_text("a text", some) for some in members("texts", texts)],
            tokens_of=shared_static_embedder().count,
            now=self._now(),
            elsewhere=[
                *self._recordings(),
                *(file_path("also", path).absolute() for path in members("also", also)),
            ],
        )

    @audited("write")
    def retain(self, policy: Retention | None, *, user: Key) -> None:
        """Set what of the user's messages goes by itself, and how old ones fade; None: the memory's default.

        It holds from the next maintenance and the next recall on, in every process; `retention` shows it.
        """
        user = key("user", user)
        option("policy", policy, Retention)
        with self._database.write(user) as connection:
            retaining.set_for(connection, user, policy, self._now())
            note(connection, user, "write", 1)
        if self._worker is not None:
            self._worker.notify(user)

    def retention(self, *, user: Key) -> Retention:
        """What of the user's messages goes by itself, and how old ones fade."""
        with self._database.read(key("user", user)) as connection:
            return retaining.of_user(connection, key("user", user), self._retention)

    @audited("write")
    @audited("forget")
    def apply_retention(
        self, *, user: Key | None = None, policy: Retention | None = None, dry_run: bool = False
    ) -> list[Receipt]:
        """Forget what is to go now, of one user or of all; every maintenance does it first.

        A dry run says what would go; with a `policy`, what would go by that one.
        """
        user = None if user is None else key("user", user)
        flag("dry_run", dry_run)
        if option("policy", policy, Retention) is not None and not dry_run:
            raise InvalidInput("a policy can be tried with dry_run=True; retain(policy, user=...) sets it")
        now = self._now()
        with self._database.read(user) as connection:
            if policy is not None:
                names = self.users() if user is None else [user]
                policies = dict.fromkeys(names, policy)
            else:
                policies = retaining.due(connection, self._retention, now, None if user is None else [user])
            seqs = retaining.going(connection, policies, now)
        return forgetting.forget_each(
            self._database,
            self._stores(),
            seqs,
            dry_run=dry_run,
            now=now,
            also=list(self._variants.instances()),
        )

    def save_receipt(self, receipt: Receipt, path: str | Path, verified: Verification | None = None) -> None:
        """Write a receipt to a file, which only its owner may read, and not inside the memory's folder.

        With what verifying it gave: then the figures are beside it, as evidence.
        """
        if not isinstance(receipt, Receipt):
            raise InvalidInput(f"receipt must be a Receipt, not {type_of(receipt)}")
        option("verified", verified, Verification)
        target = file_path("path", path)
        self._database.keep_out(target)
        write_receipt(target, receipt, verified)

    @audited("read")
    def export(self, *, user: Key, path: str | Path, attachments: bool = False) -> int:
        """Write the user's messages to a JSON Lines file that import_ reads; returns how many.

        With `attachments` it is a ZIP archive of that file and of the bytes that were kept: import_ reads
        these with `attachments`, too.
        """
        user = key("user", user)
        flag("attachments", attachments)
        target = file_path("path", path)
        self._database.keep_out(target)
        if not self.messages(user=user, limit=1, noise=True):
            raise InvalidInput(f"user {user!r} has no messages: nothing to export")
        with self._database.write(user) as connection:  # before: what a crash leaves is known, too
            log.note_export(connection, user, str(target.absolute()), self._now())
        if not attachments:
            return export_messages(self._all_messages(user), target)
        return export_archive(lambda: self._all_messages(user), lambda seq: self._files(user, seq), target)

    def _files(self, user: str, seq: int) -> dict[int, bytes]:
        with self._database.read(user) as connection:
            return log.files(connection, user, seq)

    @audited("write")
    def import_(
        self,
        path: str | Path | BinaryIO,
        *,
        user: Key | None = None,
        format: str | None = None,  # noqa: A002 - the word a caller expects
        branches: Branches = "current",
        strict: bool = False,
        again: bool = False,
        attachments: bool = False,
        progress: Progress | None = None,
    ) -> Imported:
        """Add the conversations of an export: a file, a folder, the archive as downloaded, or a stream.

        The format is recognised by content. What cannot be read is in the report, with where and why, and
        holds nothing else up; with `strict` all of it is stored or nothing. Importing twice adds nothing, a
        message that has changed since stays as it was stored first, and one that was forgotten stays
        forgotten, unless `again`. Of conversations that were edited or retried the branch is taken that their
        program shows; `branches="all"` takes the others too. With `attachments` the bytes of images and files
        are kept where the export holds them, of what is added now. `user` is needed where the file names
        none; `progress` is called with bytes read and bytes in all.

        Raises InvalidImport when nothing of it can be read, NoUser, and ImportInterrupted on Ctrl-C: what is
        complete by then is stored.
        """
        user = None if user is None else key("user", user)
        flag("strict", strict)
        flag("again", again)
        flag("attachments", attachments)
        function("progress", progress, optional=True)
        given = path if hasattr(path, "read") else file_path("path", path)
        with OpenedSource(given) as source:
            report = import_source(
                self._database,
                lambda whose: self._variants.serving(whose, self._messages),
                reading(source, format, branches),
                user,
                now=self._now,
                strict=strict,
                again=again,
                attachments=attachments,
                progress=progress,
            )
        if self._worker is not None:
            for whose in report.users:
                self._worker.notify(whose)
        return report

    @audited("read")
    def topics(self, user: Key) -> Topics:
        """The user's topic documents: to be read, searched, taken out as a folder, and corrected by hand."""
        whose = key("user", user)

        def add(edits: Sequence[Message]) -> tuple[list[Message], tuple[Behind, ...]]:
            stored = self.add(edits, user=whose)
            return stored, self.maintain(user=whose, views=[self._topics.name]).behind

        view = self._variants.serving(whose, self._topics)
        return Topics(self._database, view, whose, add=add, now=self._now)

    @audited("read")
    def profile(self, user: Key) -> Profile:
        """Notes on the user: instructions, constraints, preferences, facts, people, plans, decisions."""
        whose = key("user", user)

        def add(edit: Message) -> Message:
            return self.add(edit, user=whose)[0]

        view = self._variants.serving(whose, self._notes)
        return Profile(self._database, view, whose, add=add, count=self._count)

    @audited("read")
    def timeline(
        self,
        subject: str = "",
        *,
        user: Key,
        session: Key | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        limit: int = 100,
    ) -> list[TimelineLine]:
        """Dated lines: of each session its title and first statement, and what a model noted.

        The newest `limit`, in the order of time; of those that have a word of the `subject`.
        """
        whose, most = key("user", user), count("limit", limit, least=1)
        within: TimelineFilter = {
            "subject": words("subject", subject),
            "session": None if session is None else key("session", session),
            "since": None if since is None else to_time(since, "since"),
            "until": None if until is None else to_time(until, "until"),
        }
        with self._database.read(whose) as connection:
            lines = session_lines(connection, whose, most=most, **within)
        view = self._variants.serving(whose, self._notes)
        notes = view.notes(generations.snapshots(self._database, whose, view), whose)
        lines += note_lines(notes, **within)
        return sorted(lines, key=lambda line: (line.time, line.sources))[-most:]

    @audited("read")
    def items(self, user: Key) -> Items:
        """The user's items: JSON documents by name, with their history."""
        whose = key("user", user)

        def add(puts: Sequence[Message]) -> None:
            self.add(puts, user=whose)

        def rank(query: str, passages: int, seqs: frozenset[int]) -> tuple[Evidence, ...]:
            question = replace(self._query(query, whose, None, passages * PASSAGE_TOKENS, None), within=seqs)
            return self._passages(self._database, question, passages, Narrowing())

        def forget(seqs: Sequence[int]) -> Receipt:
            return self.forget(user=whose, seqs=seqs)

        return Items(self._database, whose, add=add, rank=rank, forget=forget)

    @audited("read")
    def chunks(self, *, user: Key) -> list[StoredChunk]:
        """The chunks view's memory, chunk by chunk in the order in which they were made."""
        user = key("user", user)
        view = self._variants.serving(user, self._chunks)
        return view.chunks(generations.snapshots(self._database, user, view))

    @audited("read")
    def history(self, *, user: Key) -> list[Past]:
        """What chunks no longer say, with what took its place, in the order in which it went."""
        user = key("user", user)
        view = self._variants.serving(user, self._chunks)
        return view.history(generations.snapshots(self._database, user, view))

    @audited("read")
    def themes(self, *, user: Key) -> list[Theme]:
        """The hierarchy view's themes with their semantics, in the order in which they began."""
        return self._made_by(self._hierarchy, user, self._hierarchy.themes)

    @audited("read")
    def episodes(self, *, user: Key) -> list[Episode]:
        """The hierarchy view's episodes, in the order in which they were told."""
        return self._made_by(self._hierarchy, user, self._hierarchy.episodes)

    def audit(
        self, *, user: Key | None = None, since: TimeLike | None = None, newest: int | None = None
    ) -> list[AuditEntry]:
        """Who read, wrote and forgot, in the order of time: of one user or of all, the `newest` so many.

        Only what was done while audit was on.
        """
        whose = None if user is None else key("user", user)
        began = None if since is None else to_time(since, "since")
        most = None if newest is None else count("newest", newest, least=1)
        with self._database.read(whose) as connection:
            return entries(connection, whose, began, most)

    def usage(self, *, user: Key | None = None) -> list[Usage]:
        """What models were used for: calls, tokens and time per user, day, view and task."""
        user = None if user is None else key("user", user)
        return self._meter.usage(user)

    def stats(self, *, user: Key | None = None) -> Stats:
        """What is stored, of one user or of all."""
        user = None if user is None else key("user", user)
        return inspection.stats(self._database, list(self._views.values()), self._meter, user)

    def check_integrity(self) -> Integrity:
        """Compare the database file, the log, every view and policies with each other; repairs nothing."""
        forgetting.finish_all(self._database, self._stores())
        integrity = inspection.check_integrity(self._database, self._stores())
        with self._database.read() as connection:
            return replace(integrity, faults=(*integrity.faults, *retaining.faults(connection)))

    def rebuild(
        self,
        view: str = "messages",
        *,
        user: Key,
        chat: ChatModel | Own | None = OWN,
        embedder: Embedder | str | Own | None = OWN,
        beside: bool = False,
        progress: Progress | None = None,
    ) -> Builds:
        """Make a view of a user anew from the log; the old build serves until the new one is complete.

        With a `chat` model or an `embedder`, or with `beside`, the new one waits beside the old one for
        `switch`, and `diff` compares the two; maintenance keeps it in step with the log as long as this
        memory is open. None is no chat model, and the embedded embedder. Without any of them it takes the
        old one's place at once: so damage is mended. Stopped half way, the next call goes on from there.

        Raises ModelFailed for a model that cannot be had, and InvalidInput for the kv view beside itself.
        """
        whose = key("user", user)
        (chosen,) = self._chosen([view])
        function("progress", progress, optional=True)
        if not (flag("beside", beside) or chat is not OWN or embedder is not OWN):
            return self._rebuilder.rebuild(whose, chosen, progress)
        given = None if chat is OWN and embedder is OWN else self._models(chat, embedder)
        return self._rebuilder.grow(whose, chosen, given, progress)

    def estimate(
        self,
        view: str = "messages",
        *,
        user: Key,
        chat: ChatModel | Own | None = OWN,
        prices: Prices | None = None,
    ) -> RebuildEstimate:
        """What such a rebuild would ask of models: calls, tokens, and money by your `prices`; asks none.

        Measured on the user's newest 512 messages, which the view reads and keeps nothing of; see
        `rebuilding.estimate` for what is not foreseen.
        """
        whose = key("user", user)
        (chosen,) = self._chosen([view])
        option("prices", prices, Prices)
        answering = self._chat if chat is OWN else _a_chat_model(chat)
        return self._rebuilder.estimate(whose, chosen, answering, shared_static_embedder(), prices)

    def builds(self, view: str = "messages", *, user: Key) -> Builds:
        """Which build of the view serves the user, and which one stands beside it or is kept."""
        whose = key("user", user)
        (chosen,) = self._chosen([view])
        return self._rebuilder.builds(whose, chosen)

    @audited("read")
    def diff(self, view: str = "messages", *, user: Key) -> BuildDiff:
        """What the build beside the serving one says otherwise, with its sources; or the one that is kept.

        Raises InvalidInput where only one is there.
        """
        whose = key("user", user)
        (chosen,) = self._chosen([view])
        return self._rebuilder.diff(whose, chosen)

    def switch(self, view: str = "messages", *, user: Key, progress: Progress | None = None) -> Builds:
        """Let the build beside serve, once it has read what came meanwhile; the old one is kept.

        It stays chosen: another process whose settings made the old one does not make that anew. Open the
        memory with the new models from now on. Raises InvalidInput where none stands beside, or it was begun
        with models that this memory does not have, and ModelFailed.
        """
        whose = key("user", user)
        (chosen,) = self._chosen([view])
        function("progress", progress, optional=True)
        return self._rebuilder.switch(whose, chosen, progress)

    def rollback(self, view: str = "messages", *, user: Key) -> Builds:
        """Let the build that is kept serve again, at once; what served is kept instead.

        It is kept from a switch to the next rebuild, and forgotten from like the other. What came since the
        switch it reads in the next maintenance. Raises InvalidInput where none is kept.
        """
        whose = key("user", user)
        (chosen,) = self._chosen([view])
        rolled_back = self._rebuilder.rollback(whose, chosen)
        if self._worker is not None:
            self._worker.notify(whose)
        return rolled_back

    def discard(self, view: str = "messages", *, user: Key) -> Builds:
        """Remove the build that does not serve. Raises InvalidInput where there is none."""
        whose = key("user", user)
        (chosen,) = self._chosen([view])
        return self._rebuilder.discard(whose, chosen)

    def _models(
        self, chat: ChatModel | Own | None, embedder: Embedder | str | Own | None
    ) -> tuple[ChatModel | None, Embedder]:
        answering = self._chat if chat is OWN else _a_chat_model(chat)
        if embedder is OWN:
            return answering, self._embedder
        chosen = _an_embedder(settings.embedder(embedder)) or shared_static_embedder()
        if isinstance(embedder, str):  # it was made here, and is closed with the memory
            self._own_models.append(chosen)
        return answering, chosen

    @audited("write")
    def maintain(
        self,
        *,
        user: Key | None = None,
        views: Sequence[str] | None = None,
        progress: Progress | None = None,
    ) -> Maintained:
        """Let the views read what they have not read yet, and put their storage in order.

        Of one user or of all. Models are asked where they are configured; where one fails or a ceiling is
        reached, offline answers stand in and the report counts them. `progress` is called with messages read
        and messages to be read.
        """
        user = None if user is None else key("user", user)
        function("progress", progress, optional=True)
        chosen = self._chosen(views)
        forgetting.finish_all(self._database, self._stores())
        self._database.keep_reserve()
        if not self._database.shared and self._database.bucket is None:
            self._database.saved.sweep(user)
        gone = self.apply_retention(user=user)
        names = self.users() if user is None else [user]
        with self._database.read(user) as connection:
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
        report = maintenance.maintain(
            self._database,
            chosen,
            names,
            workers=self._workers,
            on_step=step,
            built_as=self._variants.serving,
            hold=self._hold,
        )
        report = replace(report, behind=(*report.behind, *self._rebuilder.keep_in_step(names, chosen)))
        return replace(maintenance.with_usage(report, before, self._meter.total(user)), forgotten=tuple(gone))

    def _count(self, text: str) -> int:
        return self._count_short(text) if len(text) < _SHORT else self.count_tokens(text)

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, by the tokenizer that budgets are counted with."""
        counting = self._tokenizer if self._counted is None else self._counted.tokenizer
        return counting.count([words("text", text)])[0]

    def _now(self) -> datetime:
        now = self._clock()
        if not isinstance(now, datetime):
            raise InvalidInput(f"clock must give a datetime, not {shown(now)}")
        return to_time(now, "the clock's time")

    def _ingest(self, parts: Parts) -> list[Appended]:
        (user, _), *_ = parts
        view = self._variants.serving(user, self._messages)
        # Vectors of another embedder may take long, and are the worker's to make.
        later = self._worker is not None and self._embedder is not shared_static_embedder()
        appended = ingest(self._database, view, parts, self._now(), later=later)
        if self._worker is not None:
            for user, _ in parts:
                self._worker.notify(user)
        return appended

    def _maintain_in_background(self, user: str) -> None:
        assert self._worker is not None
        worker = self._worker

        def check() -> None:
            self._way.give()
            worker.check()

        if self._leases is None:
            self._maintain_one(user, check)
            return
        with self._leases.hold(user) as check_lease:
            if check_lease is None:
                return  # another worker is at it

            def check_both() -> None:
                check()
                check_lease()

            try:
                self._maintain_one(user, check_both)
            except LeaseLost as error:
                _logger.warning("%s: another worker goes on", error)

    def _maintain_one(self, user: str, check: Callable[[], None]) -> None:
        assert self._worker is not None
        worker = self._worker

        def check_turn(_: int) -> None:
            worker.check_turn(user)

        self.apply_retention(user=user)
        report = maintenance.maintain(
            self._database,
            self._chosen(None),
            [user],
            patient=True,
            on_step=check_turn,
            check=check,
            built_as=self._variants.serving,
        )
        beside = self._rebuilder.keep_in_step([user], self._chosen(None), check, check_turn)
        for lagging in report.behind:
            raise lagging.error or ModelFailed(lagging.reason)
        for lagging in beside:
            raise OwnModelFailed(lagging.reason)

    def _chosen(self, names: Sequence[str] | None) -> list[View]:
        if names is None:
            return [view for name, view in self._views.items() if name in self._maintained]
        if isinstance(names, str) or not isinstance(names, Sequence) or not names:
            raise InvalidInput(f"views must be a list of names, such as ['messages'], not {shown(names)}")
        return self._named(names)

    def _named(self, names: Sequence[str]) -> list[View]:
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise InvalidInput(f"views are given by a list of names, not {shown(names)}")
        names = members("views", names)
        for name in names:
            if not isinstance(name, str) or name not in self._views:
                raise UnknownName(f"no view {shown(name)}: there is {', '.join(sorted(self._views))}")
        return [self._views[name] for name in dict.fromkeys(names)]

    def _noise(self) -> MessagesView:
        """A view of noise alone: made for one recall, so that no live object holds it."""
        static = shared_static_embedder()
        return MessagesView(self._embedder, static, static, most_noise=MOST_UNREAD)

    def _stores(self) -> list[ViewStore]:
        """What the views keep, that of a kv view which is not attached now too."""
        attached: list[ViewStore] = list(self._views.values())
        return attached if KV in self._views else [*attached, self._kv]

    def _recordings(self) -> list[Path]:
        """The folder of a recorded chat model, which has questions about messages in it."""
        folder = getattr(self._chat, "folder", None)
        return [folder.absolute()] if isinstance(folder, Path) else []

    def _made_by(self, view: View, user: Key, read: Callable[[Connection, Generation], list[R]]) -> list[R]:
        return inspection.read_view(self._database, key("user", user), view, read)

    def _all_messages(self, user: Key) -> Iterator[Message]:
        after = 0
        while batch := self.messages(user=user, after=after, limit=1000, noise=True):
            yield from batch
            after = batch[-1].seq


def _seq_or_id(which: object) -> int | str:
    """A number is a seq, whatever else a key can be is an id."""
    if isinstance(which, int) and not isinstance(which, bool):
        return count("a seq", which, least=1)
    return key("a message's id", which)


def _a_replica(database: Database, url: str | None) -> ReplicaReads | None:
    """Raises InvalidInput for what is no database of PostgreSQL, or beside a folder."""
    if url is None:
        return None
    if not isinstance(url, str) or not _is_database_url(url) or not database.shared:
        given = repr(place_shown(url)) if isinstance(url, str) else shown(url)
        raise InvalidInput(f"replica must be the URL of a standby of a memory in PostgreSQL, not {given}")
    return ReplicaReads(database, url)


def _is_database_url(place: str) -> bool:
    try:
        return url_in(place) is not None
    except InvalidInput:
        return False


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
