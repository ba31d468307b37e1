"""AsyncMemory: Memory for asyncio and trio, the same names and signatures, each call in a worker thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, TypeVar
from uuid import UUID

from zibaldone.audit import AuditEntry
from zibaldone.core import Evidence, Message
from zibaldone.deadline import with_time_left
from zibaldone.documents import AsyncTopics
from zibaldone.forgetting import Receipt
from zibaldone.importers.base import Branches
from zibaldone.imports import Imported
from zibaldone.ingest import Progress
from zibaldone.inspection import Integrity, Stats
from zibaldone.items import AsyncItems
from zibaldone.leases import LEASE_S
from zibaldone.log import Session
from zibaldone.maintenance import Maintained
from zibaldone.memory import MAINTAINED, Memory, V, now_utc
from zibaldone.message_input import MessageLike
from zibaldone.message_objects import Attachment
from zibaldone.models.base import ChatModel, Embedder, Tokenizer
from zibaldone.models.meter import Ceilings, Prices, Usage
from zibaldone.profile import AsyncProfile
from zibaldone.rebuilding.builds import Builds
from zibaldone.rebuilding.difference import BuildDiff
from zibaldone.rebuilding.estimate import RebuildEstimate
from zibaldone.rebuilding.variants import OWN, Own
from zibaldone.recalled import Recall
from zibaldone.retention import Retention
from zibaldone.session_list import TitledSession
from zibaldone.settings import FROM_ENVIRONMENT, FromEnvironment
from zibaldone.storage.database import Database
from zibaldone.threads import in_thread
from zibaldone.timeline import TimelineLine
from zibaldone.validation import Key, TimeLike
from zibaldone.verification.result import Verification
from zibaldone.views.base import View
from zibaldone.views.chunks import MemAttention, Past, Placement, StoredChunk
from zibaldone.views.hierarchy import Episode, Theme, XMemory
from zibaldone.views.messages import Tuning
from zibaldone.views.topics import Consolidation
from zibaldone.worker import TURN_S

T = TypeVar("T")


class AsyncMemory:
    """See Memory; every method is awaited. The constructor, which opens the folder, is not."""

    def __init__(
        self,
        path: str | Path,
        *,
        embedder: Embedder | str | FromEnvironment | None = FROM_ENVIRONMENT,
        chat: ChatModel | FromEnvironment | None = FROM_ENVIRONMENT,
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
        """Open the folder, as Memory does."""
        self._memory = Memory(
            path,
            embedder=embedder,
            chat=chat,
            tokenizer=tokenizer,
            ceilings=ceilings,
            chunks=chunks,
            placement=placement,
            hierarchy=hierarchy,
            topics=topics,
            maintained=maintained,
            retention=retention,
            audit=audit,
            background=background,
            workers=workers,
            clock=clock,
            blocks=blocks,
            replica=replica,
            busy_timeout_s=busy_timeout_s,
            key=key,
            user_keys=user_keys,
        )

    @property
    def path(self) -> Path:
        """The folder."""
        return self._memory.path

    @property
    def encrypted(self) -> bool:
        """See Memory.encrypted."""
        return self._memory.encrypted

    @property
    def place(self) -> str:
        """See Memory.place."""
        return self._memory.place

    @property
    def is_embedded(self) -> bool:
        """See Memory.is_embedded."""
        return self._memory.is_embedded

    async def start_worker(
        self,
        *,
        threads: int = 2,
        poll_s: float = 60.0,
        lease_s: float = LEASE_S,
        turn_s: float = TURN_S,
        leased: bool = True,
    ) -> None:
        """See Memory.start_worker."""
        await in_thread(
            self._memory.start_worker,
            threads=threads,
            poll_s=poll_s,
            lease_s=lease_s,
            turn_s=turn_s,
            leased=leased,
        )

    async def close(self) -> None:
        """Close the files; idempotent."""
        await in_thread(self._memory.close)

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def attach(self, make: Callable[[Database, Tokenizer], V]) -> V:
        """See Memory.attach."""
        return await in_thread(self._memory.attach, make)

    async def detach(self, view: View) -> None:
        """See Memory.detach."""
        await in_thread(self._memory.detach, view)

    async def add(
        self,
        messages: MessageLike | Iterable[MessageLike],
        *,
        user: Key,
        session: Key | None = None,
        agent: Key | None = None,
        keep_files: bool = False,
    ) -> list[Message]:
        """See Memory.add."""
        return await self._for_user(
            self._memory.add,
            messages=messages,
            user=user,
            session=session,
            agent=agent,
            keep_files=keep_files,
        )

    async def recall(
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
        budget_tokens: int = 1000,
        views: Sequence[str] | None = None,
        floor: float | None = None,
        noise: bool = False,
        now: TimeLike | None = None,
        timeout_s: float | None = None,
    ) -> Recall:
        """See Memory.recall. Cancelled, it stops at its next step, too."""
        return await self._for_user(
            self._memory.recall,
            query=query,
            messages=messages,
            user=user,
            session=session,
            exclude_session=exclude_session,
            exclude_seqs=exclude_seqs,
            roles=roles,
            since=since,
            until=until,
            metadata=metadata,
            agent=agent,
            budget_tokens=budget_tokens,
            views=views,
            floor=floor,
            noise=noise,
            now=now,
            timeout_s=timeout_s,
        )

    async def warm(self, *, user: Key) -> None:
        """See Memory.warm."""
        await self._for_user(self._memory.warm, user=user)

    async def search(
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
        """See Memory.search."""
        return await in_thread(
            self._memory.search,
            query,
            user=user,
            limit=limit,
            session=session,
            exclude_session=exclude_session,
            roles=roles,
            since=since,
            until=until,
            metadata=metadata,
            agent=agent,
            now=now,
            timeout_s=timeout_s,
        )

    async def messages(
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
        """See Memory.messages."""
        return await in_thread(
            self._memory.messages,
            user=user,
            session=session,
            after=after,
            before=before,
            limit=limit,
            last=last,
            roles=roles,
            since=since,
            until=until,
            metadata=metadata,
            agent=agent,
            noise=noise,
        )

    async def get(self, which: int | str | UUID, *, user: Key) -> Message | None:
        """See Memory.get."""
        return await in_thread(self._memory.get, which, user=user)

    async def update(
        self, which: int | str | UUID, content: str, *, user: Key, metadata: Mapping[str, Any] | None = None
    ) -> Message:
        """See Memory.update."""
        return await in_thread(self._memory.update, which, content, user=user, metadata=metadata)

    async def versions(self, which: int | str | UUID, *, user: Key) -> list[Message]:
        """See Memory.versions."""
        return await in_thread(self._memory.versions, which, user=user)

    async def attachments(self, which: int | str | UUID, *, user: Key) -> list[Attachment]:
        """See Memory.attachments."""
        return await in_thread(self._memory.attachments, which, user=user)

    async def sessions(self, *, user: Key, after: int = 0, limit: int | None = None) -> list[Session]:
        """See Memory.sessions."""
        return await in_thread(self._memory.sessions, user=user, after=after, limit=limit)

    async def titled_sessions(
        self, *, user: Key, limit: int = 50, skip: int = 0, words: str = ""
    ) -> tuple[list[TitledSession], int]:
        """See Memory.titled_sessions."""
        return await in_thread(self._memory.titled_sessions, user=user, limit=limit, skip=skip, words=words)

    async def users(self) -> list[str]:
        """See Memory.users."""
        return await in_thread(self._memory.users)

    async def forget(
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
        """See Memory.forget."""
        return await in_thread(
            self._memory.forget,
            user=user,
            seqs=seqs,
            session=session,
            before=before,
            everything=everything,
            dry_run=dry_run,
            keep_texts=keep_texts,
            shred=shred,
        )

    async def verify(
        self,
        receipt: Receipt | str | Path,
        *,
        texts: Iterable[str] = (),
        also: Iterable[str | Path] = (),
    ) -> Verification:
        """See Memory.verify."""
        return await in_thread(self._memory.verify, receipt, texts=texts, also=also)

    async def retain(self, policy: Retention | None, *, user: Key) -> None:
        """See Memory.retain."""
        await in_thread(self._memory.retain, policy, user=user)

    async def retention(self, *, user: Key) -> Retention:
        """See Memory.retention."""
        return await in_thread(self._memory.retention, user=user)

    async def set_tuning(self, tuning: Tuning | None, *, user: Key) -> None:
        """See Memory.set_tuning."""
        await in_thread(self._memory.set_tuning, tuning, user=user)

    async def tuning(self, *, user: Key) -> Tuning | None:
        """See Memory.tuning."""
        return await in_thread(self._memory.tuning, user=user)

    async def apply_retention(
        self, *, user: Key | None = None, policy: Retention | None = None, dry_run: bool = False
    ) -> list[Receipt]:
        """See Memory.apply_retention."""
        return await in_thread(self._memory.apply_retention, user=user, policy=policy, dry_run=dry_run)

    async def save_receipt(
        self, receipt: Receipt, path: str | Path, verified: Verification | None = None
    ) -> None:
        """See Memory.save_receipt."""
        await in_thread(self._memory.save_receipt, receipt, path, verified)

    async def export(self, *, user: Key, path: str | Path, attachments: bool = False) -> int:
        """See Memory.export."""
        return await in_thread(self._memory.export, user=user, path=path, attachments=attachments)

    async def import_(
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
        """See Memory.import_; `progress` is called in the worker thread."""
        return await in_thread(
            self._memory.import_,
            path,
            user=user,
            format=format,
            branches=branches,
            strict=strict,
            again=again,
            attachments=attachments,
            progress=progress,
        )

    def topics(self, user: Key) -> AsyncTopics:
        """See Memory.topics; the methods of what it returns are awaited."""
        return AsyncTopics(self._memory.topics(user))

    def profile(self, user: Key) -> AsyncProfile:
        """See Memory.profile; the methods of what it returns are awaited."""
        return AsyncProfile(self._memory.profile(user))

    async def timeline(
        self,
        subject: str = "",
        *,
        user: Key,
        session: Key | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        limit: int = 100,
    ) -> list[TimelineLine]:
        """See Memory.timeline."""
        return await in_thread(
            self._memory.timeline,
            subject,
            user=user,
            session=session,
            since=since,
            until=until,
            limit=limit,
        )

    def items(self, user: Key) -> AsyncItems:
        """See Memory.items; the methods of what it returns are awaited."""
        return AsyncItems(self._memory.items(user))

    async def rebuild(
        self,
        view: str = "messages",
        *,
        user: Key,
        chat: ChatModel | Own | None = OWN,
        embedder: Embedder | str | Own | None = OWN,
        beside: bool = False,
        progress: Progress | None = None,
    ) -> Builds:
        """See Memory.rebuild; `progress` is called in the worker thread."""
        return await in_thread(
            self._memory.rebuild,
            view,
            user=user,
            chat=chat,
            embedder=embedder,
            beside=beside,
            progress=progress,
        )

    async def estimate(
        self,
        view: str = "messages",
        *,
        user: Key,
        chat: ChatModel | Own | None = OWN,
        prices: Prices | None = None,
    ) -> RebuildEstimate:
        """See Memory.estimate."""
        return await in_thread(self._memory.estimate, view, user=user, chat=chat, prices=prices)

    async def builds(self, view: str = "messages", *, user: Key) -> Builds:
        """See Memory.builds."""
        return await in_thread(self._memory.builds, view, user=user)

    async def diff(self, view: str = "messages", *, user: Key) -> BuildDiff:
        """See Memory.diff."""
        return await in_thread(self._memory.diff, view, user=user)

    async def switch(self, view: str = "messages", *, user: Key, progress: Progress | None = None) -> Builds:
        """See Memory.switch; `progress` is called in the worker thread."""
        return await in_thread(self._memory.switch, view, user=user, progress=progress)

    async def rollback(self, view: str = "messages", *, user: Key) -> Builds:
        """See Memory.rollback."""
        return await in_thread(self._memory.rollback, view, user=user)

    async def discard(self, view: str = "messages", *, user: Key) -> Builds:
        """See Memory.discard."""
        return await in_thread(self._memory.discard, view, user=user)

    async def maintain(
        self,
        *,
        user: Key | None = None,
        views: Sequence[str] | None = None,
        progress: Progress | None = None,
    ) -> Maintained:
        """See Memory.maintain; `progress` is called in the worker thread."""
        return await in_thread(self._memory.maintain, user=user, views=views, progress=progress)

    async def audit(
        self, *, user: Key | None = None, since: TimeLike | None = None, newest: int | None = None
    ) -> list[AuditEntry]:
        """See Memory.audit."""
        return await in_thread(self._memory.audit, user=user, since=since, newest=newest)

    async def usage(self, *, user: Key | None = None) -> list[Usage]:
        """See Memory.usage."""
        return await in_thread(self._memory.usage, user=user)

    async def chunks(self, *, user: Key) -> list[StoredChunk]:
        """See Memory.chunks."""
        return await in_thread(self._memory.chunks, user=user)

    async def history(self, *, user: Key) -> list[Past]:
        """See Memory.history."""
        return await in_thread(self._memory.history, user=user)

    async def themes(self, *, user: Key) -> list[Theme]:
        """See Memory.themes."""
        return await in_thread(self._memory.themes, user=user)

    async def episodes(self, *, user: Key) -> list[Episode]:
        """See Memory.episodes."""
        return await in_thread(self._memory.episodes, user=user)

    async def stats(self, *, user: Key | None = None) -> Stats:
        """See Memory.stats."""
        return await in_thread(self._memory.stats, user=user)

    async def check_integrity(self) -> Integrity:
        """See Memory.check_integrity."""
        return await in_thread(self._memory.check_integrity)

    async def count_tokens(self, text: str) -> int:
        """See Memory.count_tokens."""
        return await in_thread(self._memory.count_tokens, text)

    async def _for_user(self, method: Callable[..., T], **options: Any) -> T:
        """What a method of Memory gives that reads the index of options["user"], or adds to it."""
        since = time.monotonic()
        return await in_thread(lambda: method(**with_time_left(options, since)))


def wrapped(memory: AsyncMemory) -> Memory:
    """The Memory behind it, for threads of their own, such as of whoever answers command lines."""
    return memory._memory  # noqa: SLF001 - of this module
