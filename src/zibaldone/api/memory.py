"""Memory: eleven verbs, and `user`, `builds` and `admin` for what is asked for less often."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import zibaldone  # whose names are loaded when they are first used
from zibaldone import log
from zibaldone.api import settings
from zibaldone.api.config import DEFAULT_VIEWS, DEFAULTS, Config
from zibaldone.api.wiring import Wiring
from zibaldone.core import CORRECTS, EDITOR, TIME_KNOWN, Evidence, Message, Scope
from zibaldone.core.telemetry import Facts, traced
from zibaldone.core.validation import (
    Key,
    TimeLike,
    count,
    file_path,
    flag,
    function,
    key,
    members,
    number,
    one_line,
    option,
    shown,
    to_seq_or_id,
    type_of,
    whole_text,
)
from zibaldone.engine import forgetting
from zibaldone.engine.forgetting import Receipt
from zibaldone.engine.ingest import Progress
from zibaldone.engine.maintenance import Maintained
from zibaldone.errors import InvalidInput, NotGranted, TooMany, ZibaldoneError
from zibaldone.log.audit import audited, note_read
from zibaldone.log.filters import Filter, Narrowing, to_filter
from zibaldone.log.grants import granted, must_be_granted
from zibaldone.log.message_input import ATTACHMENTS, MessageLike, read_chat, to_messages
from zibaldone.models.asker import Asker
from zibaldone.models.base import ChatModel, Embedder, Reranker
from zibaldone.recall.recall import DEFAULT_FLOOR, RECALL_TOKENS, Order, to_order
from zibaldone.recall.result import Passages, Recall
from zibaldone.recall.shared import unite_passages, unite_scopes
from zibaldone.search.question import Question
from zibaldone.text.purgeable_cache import sweeping
from zibaldone.views.base import View
from zibaldone.views.toolkit import PASSAGE_TOKENS

if TYPE_CHECKING:
    from zibaldone.recall.ask import Asking

T = TypeVar("T")
ASK_TOKENS = 2500  # of evidence that a model is shown; docs/results.md has what rounds of it answer


def _facts(recalled: Recall) -> Facts:
    """Return what telemetry tells of a recall."""
    return {
        "zibaldone.recall.tokens": recalled.tokens,
        "zibaldone.passages": len(recalled.evidence),
        "zibaldone.confidence": recalled.confidence,
    }


def _to_question(
    query: str | None, chat: MessageLike | Iterable[MessageLike] | None
) -> tuple[str, frozenset[str]]:
    """Return the question, and the contents of the chat, which need not be recalled."""
    if chat is None:
        if query is None:
            raise InvalidInput("recall needs a query, or the messages of a chat: recall(messages=[...])")
        return query, frozenset()
    last, repeated = read_chat(chat)
    text = last if query is None else query
    if text is None:
        raise InvalidInput("no message of the chat is the user's: give the question as query=")
    return text, repeated


class Memory:
    """Everything that users said, kept once, word for word, in one folder.

    Opening a folder creates it if it is missing and never changes what is in it. Safe to share among
    threads; several processes may open one folder. Times without a zone mean UTC.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        embedder: Embedder | str | None = None,
        chat: ChatModel | None = None,
        reranker: Reranker | str | None = None,
        key: str | bytes | None = None,
        config: Config = DEFAULTS,
    ) -> None:
        """Open a folder, or the URL of a database in PostgreSQL; reads no environment variables.

        `embedder` makes the vectors; None is the embedded one, which needs no key and no download. One of
        another library goes by its name: "fastembed:BAAI/bge-small-en-v1.5" (extra `neural`). `chat` answers
        what views ask; None: plain algorithms do. `reranker` reads a recall's thirty best candidates with the
        question and puts them in order: "fastembed:Xenova/ms-marco-MiniLM-L-6-v2" (extra `neural`), "chat"
        (the chat model), or one of your own; None: their order stays. With a `key` the folder is
        encrypted (extra `encryption`): 32 random bytes, these in hexadecimal, or a passphrase;
        `encrypt_folder` converts one that is there. `config` has all else.

        Raises StorageUnusable (KeyMissing, WrongKey and NotEncrypted among them), StorageCorrupt,
        NewerSchema, StorageBusy, MissingExtra for what is not installed, and ModelFailed for an embedder or
        a reranker that cannot be loaded.
        """
        option("config", config, Config)
        self._wiring = Wiring(file_path("path", path), embedder, chat, reranker, key, config)
        self._database = self._wiring.database
        if config.background:
            self.admin.start_worker()

    @classmethod
    def from_env(
        cls,
        path: str | Path | None = None,
        *,
        embedder: Embedder | str | None = None,
        chat: ChatModel | None = None,
        reranker: Reranker | str | None = None,
        key: str | bytes | None = None,
        config: Config = DEFAULTS,
    ) -> Memory:
        """Open a memory as the ZIBALDONE_* variables say, but for what is given: see `settings`.

        `path` is ZIBALDONE_MEMORY unless given. An embedder "openai:text-embedding-3-small" takes its key
        from OPENAI_API_KEY. Raises what opening raises, and InvalidInput for a variable that cannot be.
        """
        place = file_path("path", settings.memory_path() if path is None else path)
        option("config", config, Config)
        given = (embedder, chat)
        if isinstance(embedder, str):
            embedder = settings.embedder_called(embedder)
        elif embedder is None:
            embedder = settings.embedder()
        chat = settings.chat() if chat is None else chat
        memory = cls(
            place,
            embedder=embedder,
            chat=chat,
            reranker=settings.text("RERANKER") if reranker is None else reranker,
            key=settings.key() if key is None else key,
            config=config.with_environment(),
        )
        memory._wiring.embedder_called = settings.embedder_called
        # Those that were made here are closed with the memory.
        memory._wiring.own_models += [model for model in (embedder, chat) if model not in (None, *given)]
        return memory

    @property
    def path(self) -> Path:
        """The folder; of a memory in PostgreSQL one on this machine, where nothing lies as yet."""
        return self._database.folder

    @property
    def builds(self) -> zibaldone.Builds:
        """Builds of views: rebuild, status, diff, switch, rollback, discard."""
        return zibaldone.Builds(self._wiring)

    @property
    def admin(self) -> zibaldone.Admin:
        """Imports, retention, figures, checks and the worker, of all users."""
        return zibaldone.Admin(self._wiring)

    def user(self, name: Key) -> zibaldone.User:
        """One user: profile, topics, items, sessions, export and import, retention."""
        return zibaldone.User(self._wiring, name)

    def close(self) -> None:
        """Stop the background worker and close the files; idempotent.

        Every other method raises ClosedMemory afterwards. A step of a maintenance that waits for a model is
        given a few seconds to end; what it did not commit will be done again.
        """
        self._wiring.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @traced(lambda stored: {"zibaldone.messages": len(stored)})
    @audited("write")
    def add(
        self,
        messages: MessageLike | Iterable[MessageLike],
        *,
        user: Key,
        session: Key | None = None,
        agent: Key | None = None,
        keep_files: bool = False,
        by: Key | None = None,
    ) -> list[Message]:
        """Store messages; returns them as stored, with their seqs, once they are durable.

        All of them or none. A message is a Message, a string, a mapping in the OpenAI chat shape with `time`,
        `session`, `metadata` and `id` beside it, or an object of OpenAI's, Anthropic's or LangChain's library
        (see `message_input`), which may be several messages; its own session wins over `session`. A message
        whose `id` is known already adds nothing and comes back as it was first stored. `agent` is noted in
        the metadata of those that name none, under "agent"; recall can be narrowed to it. Of images and files
        name, type and hash are kept, and with `keep_files` their bytes: `User.attachments` has them.

        Into a shared memory, `user="team:design"`, write `by` the user who does: they need a grant to write,
        their messages have their name, behind another that they say, and metadata's "written_by".

        Raises InvalidMessage, IdConflict, NotGranted, StorageBusy, StorageFull.
        """
        user, writer = key("user", user), None if by is None else key("by", by)
        if writer is not None:
            one_line("by", writer)
        if writer not in (None, user):
            with self._database.read(writer) as connection:
                must_be_granted(granted(connection, writer), user, writer, write=True)
        keeps = flag("keep_files", keep_files)
        given = to_messages(messages, session=session, agent=agent, by=writer, keep_files=keeps)
        if writer not in (None, user) and any(message.role == EDITOR for message in given):
            raise NotGranted("what others wrote into a shared memory is corrected by an admin alone")
        return self._wiring.ingest.add(user, given)

    @traced(_facts)
    @audited("read")
    def recall(
        self,
        query: str | None = None,
        *,
        messages: MessageLike | Iterable[MessageLike] | None = None,
        user: Key,
        filter: Filter | None = None,  # noqa: A002 - what it is called wherever one asks
        budget_tokens: int = RECALL_TOKENS,
        views: Sequence[str] | None = None,
        min_confidence: float | None = None,
        include_tool_traffic: bool = False,
        order: Order = "best",
        shared: Sequence[Key] | None = None,
        chat: ChatModel | None = None,
        rounds: int = 0,
        now: TimeLike | None = None,
        timeout_s: float | None = None,
    ) -> Recall:
        """Recall the evidence for a query: cited, chronological, at most `budget_tokens` long.

        With the `messages` of a chat, the question is the user's last one unless `query` says otherwise, and
        what stands in them is not recalled again. What is put together follows from what the question asks
        for: `trace.aim`. A `filter` narrows it. `views` names the views to ask. Below `min_confidence` (0
        to 1; None: the default) the recall is empty, with 0 never. `now` is what "last week" in the query is
        relative to; given, the profile is as it was then. In the `order` "first" or "last", of what fits best
        the earliest or the latest comes first. With `include_tool_traffic` the newest thousand calls of
        tools, their results, thoughts and the like are looked through, too, by words.

        What is shared with the user (`admin.grant`) is recalled beside their own, each memory by itself: all
        of it, or of these `shared` memories; none with []. It shares the budget, and evidence and citations
        have its `scope`. A filter's session and seqs are of one's own: with a session only that is recalled,
        unless `shared` says otherwise. What cannot be recalled is in `trace.missing`.

        With `rounds`, a model looks so often whether something is missing, and asks for it: the memory's, or
        `chat`. What it asks is narrowed as the recall is, whatever its confidence; see `ask`, which answers.

        After `timeout_s` it stops at its next step and raises RecallGivenUp; None: it takes what it takes.
        """
        narrowed, taken_by = to_filter(filter), to_order(order)
        turns = members("messages of a chat", messages) if isinstance(messages, Iterator) else messages
        text, repeated = _to_question(query, turns)
        room, wiring = count("budget_tokens", budget_tokens, least=1), self._wiring
        question = wiring.unread_question(text, user, narrowed.scope_session(), room, now, timeout_s)
        if count("rounds", rounds, least=0) or chat is not None:
            if not rounds or views is not None or min_confidence is not None or include_tool_traffic:
                raise InvalidInput(
                    "chat= goes with rounds=, and rounds= without views, min_confidence and"
                    " include_tool_traffic"
                )
            asking = self._asking(question, chat, rounds, narrowed, shared, turns)
            return replace(asking, gathers=True, order=taken_by).run().evidence
        least = DEFAULT_FLOOR if min_confidence is None else min_confidence
        floor = number("min_confidence", least, least=0, most=1)
        chosen = wiring.chosen(DEFAULT_VIEWS if views is None else views)
        sources: list[View] = [view for view in chosen if view is not wiring.notes]
        if flag("include_tool_traffic", include_tool_traffic):
            sources.append(wiring.noise())
        of_one = partial(
            wiring.recalled,
            sources=sources or chosen,  # asked alone, notes are what is recalled
            with_notes=bool(sources) and wiring.notes in chosen,
            floor=floor,
            order=taken_by,
            rules_of=question.scope.user,
        )
        missing: dict[str, str] = {}
        narrowing = narrowed.narrowing(repeated=repeated)
        own, beside = self._of_each(question, narrowing, shared, of_one, missing)
        if not beside and not missing:
            return own if own or own.trace.decisions else wiring.with_reason(own, question.scope.user)
        united = unite_scopes(own, beside, room, wiring.count_tokens, taken_by, missing)
        self._note_shared(beside, united.evidence)
        return united

    def _of_each(
        self,
        question: Question,
        narrowing: Narrowing,
        shared: Sequence[Key] | None,
        of_one: Callable[[Question, Narrowing], T],
        missing: dict[str, str] | None = None,
    ) -> tuple[T, dict[str, T]]:
        """Return what one's own memory gives, and what each shared one does, by its name.

        Why one gives nothing is put into `missing`; without that it raises.
        """
        wiring, user, session = self._wiring, question.scope.user, question.scope.session
        own, beside = of_one(question, narrowing), dict[str, T]()
        for scope in wiring.shared_with(user, shared, session):
            try:
                of_scope = replace(question, scope=Scope(scope, session))
                beside[scope] = of_one(of_scope, narrowing.elsewhere())
            except ZibaldoneError as error:  # one's own is answered all the same
                if missing is None:
                    raise
                missing[scope] = f"{scope!r} was not recalled: {error}"
        return own, beside

    def _note_shared(self, scopes: Iterable[str], given: Sequence[Evidence]) -> None:
        """Note in the audit log of each shared memory how much of it was given out."""
        for scope in scopes:
            note_read(self._database, scope, sum(unit.scope == scope for unit in given))

    @traced(lambda answer: {"zibaldone.calls": answer.calls, "zibaldone.known": answer.known})
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
        shared: Sequence[Key] | None = None,
        now: TimeLike | None = None,
        timeout_s: float | None = 120.0,
        on_step: Callable[[zibaldone.Step], None] | None = None,
    ) -> zibaldone.Answer:
        """Answer a question, cited, by a model that may look into memory again: the memory's, or `chat`.

        It sees what a recall brings, and may ask for more up to `rounds` times, four queries at a time,
        with a time, a session, a role, the earliest or the latest mention: `rounds` + 1 requests at most,
        repairs counted. All evidence together has at most `budget_tokens`; a history that fits is shown
        whole. A `filter` narrows all of it; `shared` is as in `recall`. `on_step` is called after the first
        look and after every request.

        A model that fails, talks nonsense or takes longer than `timeout_s` leaves the plain recall as
        `evidence`, and `marks` that say so. Raises InvalidInput where there is no model, and RecallGivenUp
        where `timeout_s` is over before there is a recall.
        """
        narrowed, room = to_filter(filter), count("budget_tokens", budget_tokens, least=1)
        session = narrowed.scope_session()
        unread = self._wiring.unread_question(question, user, session, room, now, timeout_s)
        function("on_step", on_step, optional=True)
        return replace(self._asking(unread, chat, rounds, narrowed, shared), on_step=on_step).run()

    def _asking(
        self,
        question: Question,
        chat: ChatModel | None,
        rounds: int,
        narrowed: Filter,
        shared: Sequence[Key] | None,
        messages: MessageLike | Iterable[MessageLike] | None = None,
    ) -> Asking:
        from zibaldone.recall.ask import MOST_ROUNDS, Asking, no_model

        wiring, whose = self._wiring, question.scope.user
        scopes = wiring.shared_with(whose, shared, question.scope.session)
        asker = wiring.asker
        if chat is not None:
            asker = Asker(option("chat", chat, ChatModel), wiring.meter, wiring.tokenizer)
        if not asker.has_model:
            raise no_model()
        narrowed.narrowing()  # or else a model would be asked before it is found wrong
        if not question.text.strip():
            raise InvalidInput("a question needs words")
        if count("rounds", rounds, least=0) > MOST_ROUNDS:
            raise TooMany(f"rounds can be at most {MOST_ROUNDS}, not {rounds}")

        def recalled(query: str, narrowed: Filter, exclude_seqs: Collection[int], **options: Any) -> Recall:
            return self.recall(
                query,
                messages=messages,
                user=whose,
                filter=replace(narrowed, exclude_seqs={*narrowed.exclude_seqs, *exclude_seqs}),
                min_confidence=0,
                now=question.before and question.now,
                shared=scopes,
                **options,
            )

        def still_there(scope: str, seqs: Collection[int]) -> bool:
            if scope and scope not in wiring.shared_with(whose, None, None):
                return False
            with self._database.read(scope or whose) as connection:
                return log.present(connection, scope or whose, seqs) >= set(seqs)

        return Asking(question, asker, recalled, wiring.count_tokens, still_there, rounds, narrowed, scopes)

    @traced(lambda passages: {"zibaldone.passages": len(passages)})
    @audited("read")
    def search(
        self,
        query: str,
        *,
        user: Key,
        filter: Filter | None = None,  # noqa: A002 - what it is called wherever one asks
        limit: int = 20,
        shared: Sequence[Key] | None = None,
        now: TimeLike | None = None,
        timeout_s: float | None = None,
    ) -> Passages:
        """The best passages for a query, best first, each word for word; for people and interfaces.

        No budget and no least confidence: `limit` passages, if there are so many; their `clear` says whether
        they are about the query. `shared` is as in `recall`, but what cannot be searched raises. Given up as
        a recall is.
        """
        most, narrowed, wiring = count("limit", limit, least=1), to_filter(filter), self._wiring
        session, room = narrowed.scope_session(), most * PASSAGE_TOKENS
        question = wiring.unread_question(query, user, session, room, now, timeout_s)
        of_one = partial(wiring.passages, limit=most)
        own, beside = self._of_each(question, narrowed.narrowing(), shared, of_one)
        if not beside:
            return own
        united = unite_passages({"": own, **beside}, most)
        self._note_shared(beside, united)
        return united

    @audited("read")
    def messages(
        self,
        *,
        user: Key,
        filter: Filter | None = None,  # noqa: A002 - what it is called wherever one asks
        after: int = 0,
        before: int | None = None,
        limit: int | None = None,
        last: int | None = None,
        include_tool_traffic: bool = False,
    ) -> list[Message]:
        """The first `limit` messages, or the `last`, above seq `after` and below `before`; in order of seqs.

        Calls of tools and other noise come only with `include_tool_traffic`. The next page begins `after` the
        last seq of this one.
        """
        user, narrowed = key("user", user), to_filter(filter)
        tool_traffic = flag("include_tool_traffic", include_tool_traffic)
        within, narrowing = narrowed.scope_session(), narrowed.narrowing(without_noise=not tool_traffic)
        count("after", after, least=0)
        for name, given in (("before", before), ("limit", limit), ("last", last)):
            if given is not None:
                count(name, given, least=0)
        if limit is not None and last is not None:
            raise InvalidInput("give limit= or last=, not both: the first messages, or the newest")
        with self._database.read(user) as connection:
            return log.select_messages(
                connection,
                user,
                narrowing,
                session=within,
                after=after,
                before=before,
                limit=limit if last is None else last,
                newest=last is not None,
            )

    @audited("read")
    def get(self, which: int | str | UUID, *, user: Key) -> Message | None:
        """The message of a seq (a number) or of an id (a string or a UUID); None when there is none.

        As it was stored: `User.versions` has its corrections.
        """
        user, chosen = key("user", user), to_seq_or_id(which)
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
        from zibaldone.api.items import is_put

        user, chosen = key("user", user), to_seq_or_id(which)
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
        if is_put(old):
            raise InvalidInput(
                f"message {old.seq} is what an item says: put the item again with user(...).items.put()"
            )
        own = (CORRECTS, TIME_KNOWN, ATTACHMENTS)
        kept = {name: value for name, value in old.metadata.items() if name not in own}
        seqs, ids = [version.seq for version in versions], [version.id for version in versions]
        corrects = {CORRECTS: {"seqs": seqs, "ids": ids, "role": old.voice}}
        given = {**kept, **(metadata or {}), **corrects}
        edit = Message(content, role=EDITOR, name=old.name, session=old.session, metadata=given)
        return self.add(edit, user=user)[0]

    def users(self, *, after: str = "", limit: int | None = None) -> list[str]:
        """Every user that has messages, or had, in the order of their names.

        With `limit`, so many of those behind the name `after`: the last one of the page before.
        """
        if limit is not None:
            count("limit", limit, least=0)
        with self._database.read() as connection:
            return log.all_users(connection, whole_text("after", after), limit)

    @traced(lambda receipt: {"zibaldone.messages": receipt.messages, "zibaldone.dry_run": receipt.dry_run})
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
        destroys the user's key, in a memory with `user_keys`: what any log or backup still has is
        unreadable at once.

        Raises InvalidInput. What is not there is counted as 0.
        """
        user = key("user", user)
        flag("dry_run", dry_run)
        flag("keep_texts", keep_texts)
        selected = forgetting.selector(seqs, session, before, everything)
        if flag("shred", shred) and not everything:
            raise InvalidInput("a key is of all that a user said: shred=True needs everything=True")
        return self._wiring.forget(user, selected, dry_run=dry_run, keep_texts=keep_texts, shred=shred)

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
        whose = None if user is None else key("user", user)
        function("progress", progress, optional=True)
        return self._wiring.maintain(whose, self._wiring.chosen(views), progress)
