"""AsyncMemory: Memory for asyncio, the same names and signatures, each call in a worker thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from anyio import CapacityLimiter
from anyio.lowlevel import RunVar

from zibaldone.api.admin import AsyncAdmin
from zibaldone.api.builds import AsyncBuilds
from zibaldone.api.memory import Memory
from zibaldone.api.user import AsyncUser
from zibaldone.core.deadline import with_time_left
from zibaldone.core.threads import Awaited, awaited, in_thread
from zibaldone.core.validation import Key

P = ParamSpec("P")
T = TypeVar("T")


def _opened(
    init: Callable[Concatenate[Memory, P], None],
) -> Callable[[Callable[..., None]], Callable[Concatenate[AsyncMemory, P], None]]:
    """Give a constructor that hands all arguments on the signature of Memory's."""
    return wraps(init)


def _from_env(
    opens: Callable[P, Memory],
) -> Callable[[Callable[..., AsyncMemory]], Callable[Concatenate[type[AsyncMemory], P], AsyncMemory]]:
    """Give a constructor that hands all arguments on the signature of Memory.from_env."""
    return wraps(opens.__func__)  # type: ignore[attr-defined] # with its class, as here


def _by_user(
    method: Callable[Concatenate[Memory, P], T],
) -> Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, T]]:
    """Await a method that reads a user's index, or adds to it, by `_for_user`, which may be overridden."""
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
    """See Memory; every method is awaited, and so are those of what `user`, `builds` and `admin` give.

    The constructors, which open the folder, are not. A `progress` is called in the worker thread. A recall
    that is cancelled stops at its next step.
    """

    @_opened(Memory.__init__)
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(Memory(*args, **options))

    @classmethod
    @_from_env(Memory.from_env)
    def from_env(cls, *args: Any, **options: Any) -> AsyncMemory:
        memory = cls.__new__(cls)
        Awaited.__init__(memory, Memory.from_env(*args, **options))
        return memory

    @property
    def path(self) -> Path:
        """The folder."""
        return self._inner.path

    @property
    def builds(self) -> AsyncBuilds:
        return AsyncBuilds(self._inner.builds)

    @property
    def admin(self) -> AsyncAdmin:
        return AsyncAdmin(self._inner.admin)

    def user(self, name: Key) -> AsyncUser:
        return AsyncUser(self._inner.user(name))

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    add = _by_user(Memory.add)
    recall = _by_user(Memory.recall)
    ask = awaited(Memory.ask, _asking)
    search = awaited(Memory.search)
    messages = awaited(Memory.messages)
    get = awaited(Memory.get)
    update = awaited(Memory.update)
    forget = awaited(Memory.forget)
    maintain = awaited(Memory.maintain)
    users = awaited(Memory.users)
    close = awaited(Memory.close)

    async def _for_user(self, method: Callable[..., T], **options: Any) -> T:
        """Call a method of Memory that reads the index of options["user"], or adds to it."""
        since = time.monotonic()
        return await in_thread(lambda: method(**with_time_left(options, since)))


def wrapped(memory: AsyncMemory) -> Memory:
    """Return the Memory inside, for callers with threads of their own."""
    return memory._inner  # noqa: SLF001 - of this module
