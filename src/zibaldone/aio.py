"""AsyncMemory: Memory for asyncio and trio, the same names and signatures, each call in a worker thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from zibaldone.core import Evidence, Message, Recall
from zibaldone.documents import AsyncTopics
from zibaldone.forgetting import Receipt
from zibaldone.importers.importing import ReadFile
from zibaldone.ingest import Imported, Progress
from zibaldone.inspection import Integrity, Stats
from zibaldone.log import Session
from zibaldone.maintenance import Maintained
from zibaldone.memory import MAINTAINED, Memory, V, now_utc
from zibaldone.message_input import MessageLike
from zibaldone.models.base import ChatModel, Embedder, Tokenizer
from zibaldone.models.meter import Ceilings, Usage
from zibaldone.profile import AsyncProfile
from zibaldone.settings import FROM_ENVIRONMENT, FromEnvironment
from zibaldone.storage.database import Database
from zibaldone.threads import in_thread
from zibaldone.validation import TimeLike
from zibaldone.views.base import View
from zibaldone.views.chunks import MemAttention, Past, Placement, StoredChunk
from zibaldone.views.hierarchy import Episode, Theme, XMemory
from zibaldone.views.topics import Consolidation


class AsyncMemory:
    """See Memory; every method is awaited. The constructor, which opens the folder, is not."""

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
        """Open the folder, as Memory does."""
        self._memory = Memory(
            path,
            embedder=embedder,
            chat=chat,
            ceilings=ceilings,
            chunks=chunks,
            placement=placement,
            hierarchy=hierarchy,
            topics=topics,
            maintained=maintained,
            background=background,
            workers=workers,
            clock=clock,
            busy_timeout_s=busy_timeout_s,
        )

    @property
    def path(self) -> Path:
        """The folder."""
        return self._memory.path

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
        self, messages: MessageLike | Iterable[MessageLike], *, user: str, session: str | None = None
    ) -> list[Message]:
        """See Memory.add."""
        return await in_thread(self._memory.add, messages, user=user, session=session)

    async def recall(
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
        """See Memory.recall."""
        return await in_thread(
            self._memory.recall,
            query,
            user=user,
            session=session,
            exclude_session=exclude_session,
            roles=roles,
            since=since,
            until=until,
            metadata=metadata,
            budget_tokens=budget_tokens,
            views=views,
            floor=floor,
            now=now,
        )

    async def search(
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
            now=now,
        )

    async def messages(
        self, *, user: str, session: str | None = None, after: int = 0, limit: int | None = None
    ) -> list[Message]:
        """See Memory.messages."""
        return await in_thread(self._memory.messages, user=user, session=session, after=after, limit=limit)

    async def sessions(self, *, user: str) -> list[Session]:
        """See Memory.sessions."""
        return await in_thread(self._memory.sessions, user=user)

    async def users(self) -> list[str]:
        """See Memory.users."""
        return await in_thread(self._memory.users)

    async def forget(
        self,
        *,
        user: str,
        seqs: Iterable[int] | None = None,
        session: str | None = None,
        before: TimeLike | None = None,
        everything: bool = False,
        dry_run: bool = False,
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
        )

    async def export(self, *, user: str, path: str | Path) -> int:
        """See Memory.export."""
        return await in_thread(self._memory.export, user=user, path=path)

    async def import_(
        self,
        path: str | Path | ReadFile,
        *,
        user: str | None = None,
        format: str | None = None,  # noqa: A002 - the word a caller expects
        progress: Progress | None = None,
    ) -> Imported:
        """See Memory.import_; `progress` is called in the worker thread."""
        return await in_thread(self._memory.import_, path, user=user, format=format, progress=progress)

    def topics(self, user: str) -> AsyncTopics:
        """See Memory.topics; the methods of what it returns are awaited."""
        return AsyncTopics(self._memory.topics(user))

    def profile(self, user: str) -> AsyncProfile:
        """See Memory.profile; the methods of what it returns are awaited."""
        return AsyncProfile(self._memory.profile(user))

    async def rebuild(self, *, user: str, view: str = "messages") -> None:
        """See Memory.rebuild."""
        await in_thread(self._memory.rebuild, user=user, view=view)

    async def maintain(
        self,
        *,
        user: str | None = None,
        views: Sequence[str] | None = None,
        progress: Progress | None = None,
    ) -> Maintained:
        """See Memory.maintain; `progress` is called in the worker thread."""
        return await in_thread(self._memory.maintain, user=user, views=views, progress=progress)

    async def usage(self, *, user: str | None = None) -> list[Usage]:
        """See Memory.usage."""
        return await in_thread(self._memory.usage, user=user)

    async def chunks(self, *, user: str) -> list[StoredChunk]:
        """See Memory.chunks."""
        return await in_thread(self._memory.chunks, user=user)

    async def history(self, *, user: str) -> list[Past]:
        """See Memory.history."""
        return await in_thread(self._memory.history, user=user)

    async def themes(self, *, user: str) -> list[Theme]:
        """See Memory.themes."""
        return await in_thread(self._memory.themes, user=user)

    async def episodes(self, *, user: str) -> list[Episode]:
        """See Memory.episodes."""
        return await in_thread(self._memory.episodes, user=user)

    async def stats(self, *, user: str | None = None) -> Stats:
        """See Memory.stats."""
        return await in_thread(self._memory.stats, user=user)

    async def check_integrity(self) -> Integrity:
        """See Memory.check_integrity."""
        return await in_thread(self._memory.check_integrity)

    async def count_tokens(self, text: str) -> int:
        """See Memory.count_tokens."""
        return await in_thread(self._memory.count_tokens, text)
