"""AsyncMemory: Memory for asyncio and trio, the same names and signatures, each call in a worker thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from anyio import CapacityLimiter
from anyio.lowlevel import RunVar

from zibaldone.api.documents import AsyncTopics
from zibaldone.api.items import AsyncItems
from zibaldone.api.memory import Memory
from zibaldone.api.profile import AsyncProfile
from zibaldone.core.deadline import with_time_left
from zibaldone.core.threads import Awaited, awaited, in_thread
from zibaldone.core.validation import Key

P = ParamSpec("P")
T = TypeVar("T")


def _opened(
    init: Callable[Concatenate[Memory, P], None],
) -> Callable[[Callable[..., None]], Callable[Concatenate[AsyncMemory, P], None]]:
    """The signature of Memory's constructor, for one that hands all of it on."""
    return wraps(init)


def _by_user(
    method: Callable[Concatenate[Memory, P], T],
) -> Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, T]]:
    """A method that reads a user's index, or adds to it: `_for_user` calls it, and may do so elsewhere."""
    parameters = signature(method)

    @wraps(method)
    async def call(self: AsyncMemory, /, *args: P.args, **options: P.kwargs) -> T:
        _, *given = parameters.bind(self, *args, **options).arguments.items()
        inner: Callable[..., T] = getattr(self._inner, method.__name__)
        return await self._for_user(inner, **dict(given))

    return call


_ASKING = 64  # questions of an event loop that wait for a model at a time
_limiter: RunVar[CapacityLimiter | None] = RunVar("asking", None)


def _asking() -> CapacityLimiter:
    if (limiter := _limiter.get()) is None:
        limiter = CapacityLimiter(_ASKING)
        _limiter.set(limiter)
    return limiter


class AsyncMemory(Awaited[Memory]):
    """See Memory; every method is awaited, and so are those of what `items`, `profile` and `topics` give.

    The constructor, which opens the folder, is not. A `progress` is called in the worker thread. A recall
    that is cancelled stops at its next step.
    """

    @_opened(Memory.__init__)
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(Memory(*args, **options))

    @property
    def path(self) -> Path:
        """The folder."""
        return self._inner.path

    @property
    def encrypted(self) -> bool:
        """See Memory.encrypted."""
        return self._inner.encrypted

    @property
    def place(self) -> str:
        """See Memory.place."""
        return self._inner.place

    @property
    def is_embedded(self) -> bool:
        """See Memory.is_embedded."""
        return self._inner.is_embedded

    @property
    def can_ask(self) -> bool:
        """See Memory.can_ask."""
        return self._inner.can_ask

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def items(self, user: Key) -> AsyncItems:
        """See Memory.items."""
        return AsyncItems(self._inner.items(user))

    def profile(self, user: Key) -> AsyncProfile:
        """See Memory.profile."""
        return AsyncProfile(self._inner.profile(user))

    def topics(self, user: Key) -> AsyncTopics:
        """See Memory.topics."""
        return AsyncTopics(self._inner.topics(user))

    start_worker = awaited(Memory.start_worker)
    close = awaited(Memory.close)
    attach = awaited(Memory.attach)
    detach = awaited(Memory.detach)

    add = _by_user(Memory.add)
    recall = _by_user(Memory.recall)
    ask = awaited(Memory.ask, _asking)
    warm = _by_user(Memory.warm)
    search = awaited(Memory.search)
    messages = awaited(Memory.messages)
    get = awaited(Memory.get)
    update = awaited(Memory.update)
    versions = awaited(Memory.versions)
    attachments = awaited(Memory.attachments)
    sessions = awaited(Memory.sessions)
    titled_sessions = awaited(Memory.titled_sessions)
    users = awaited(Memory.users)
    timeline = awaited(Memory.timeline)

    forget = awaited(Memory.forget)
    verify = awaited(Memory.verify)
    save_receipt = awaited(Memory.save_receipt)
    retain = awaited(Memory.retain)
    retention = awaited(Memory.retention)
    apply_retention = awaited(Memory.apply_retention)
    export = awaited(Memory.export)
    import_ = awaited(Memory.import_)

    rebuild = awaited(Memory.rebuild)
    estimate = awaited(Memory.estimate)
    builds = awaited(Memory.builds)
    diff = awaited(Memory.diff)
    switch = awaited(Memory.switch)
    rollback = awaited(Memory.rollback)
    discard = awaited(Memory.discard)
    maintain = awaited(Memory.maintain)

    audit = awaited(Memory.audit)
    usage = awaited(Memory.usage)
    chunks = awaited(Memory.chunks)
    history = awaited(Memory.history)
    themes = awaited(Memory.themes)
    episodes = awaited(Memory.episodes)
    stats = awaited(Memory.stats)
    check_integrity = awaited(Memory.check_integrity)
    count_tokens = awaited(Memory.count_tokens)

    async def _for_user(self, method: Callable[..., T], **options: Any) -> T:
        """What a method of Memory gives that reads the index of options["user"], or adds to it."""
        since = time.monotonic()
        return await in_thread(lambda: method(**with_time_left(options, since)))


def wrapped(memory: AsyncMemory) -> Memory:
    """The Memory behind it, for threads of their own, such as of whoever answers command lines."""
    return memory._inner  # noqa: SLF001 - of this module
