"""Blocking calls in threads: several side by side, or one that is awaited."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextvars import ContextVar, copy_context
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from anyio import CancelScope, CapacityLimiter, to_thread
from anyio.lowlevel import checkpoint

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")
S = TypeVar("S")
# A Ctrl-C that comes just before a wait without end begins wakes nobody: so waits end, and begin again.
_LOOK_S = 0.2
_left: ContextVar[list[asyncio.CancelledError] | None] = ContextVar("left", default=None)


def side_by_side(do: Callable[[T], R], given: Sequence[T], workers: int, name: str) -> list[R]:
    """Map `do` over `given` in threads, results in order; with one worker in this thread.

    They have this thread's context. The first error is raised when what is under way has ended; nothing more
    is begun. Ctrl-C is raised at once: the threads are left behind, and neither they nor what they wait for
    keep the process alive.
    """
    if workers == 1:
        return [do(thing) for thing in given]
    results: dict[int, R] = {}
    errors: list[BaseException] = []
    waiting = iter(enumerate(given))
    taking = threading.Lock()

    def work() -> None:
        while True:
            with taking:
                place, thing = next(waiting, (-1, None))
            if place < 0 or errors:
                return
            try:
                results[place] = do(thing)  # type: ignore[arg-type] # it is one of those that were given
            except BaseException as error:  # noqa: BLE001 - a thread's border: raised below, by the caller
                errors.append(error)

    threads = [
        threading.Thread(
            target=copy_context().run, args=(work,), name=f"zibaldone-{name}-{number}", daemon=True
        )
        for number in range(min(workers, len(given)))
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(_LOOK_S)
    except BaseException as error:
        errors.append(error)
        raise
    if errors:
        raise errors[0]
    return [results[place] for place in range(len(given))]


async def in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call in one of the threads that all such calls share; see `in_thread_of`."""
    return await in_thread_of(None, call, *args, **kwargs)


async def in_thread_of(
    limiter: CapacityLimiter | None, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Call in one of the threads of a limiter.

    Cancelled, it raises that when the call has ended: a write's fate is known.
    A call that has not begun when it is cancelled never does; one that asks `is_waited_for` may end early.
    """
    cancelled: list[asyncio.CancelledError] = []

    def begin() -> T:
        if cancelled:
            raise cancelled[0]  # before it began
        _left.set(cancelled)  # in the context of the thread's call alone
        return call(*args, **kwargs)

    await checkpoint()
    task = asyncio.ensure_future(to_thread.run_sync(begin, limiter=limiter))
    with CancelScope(shield=True):  # or a scope around would cancel at each turn of the loop
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:  # of asyncio's own kind, which no shield keeps away
                cancelled.append(error)
    if cancelled:
        if not task.cancelled():
            task.exception()  # is of no interest any more, and would be logged
        raise cancelled[0]
    return task.result()


class Awaited(Generic[S]):
    """An object whose methods are awaited: those of another one, each call in a worker thread."""

    def __init__(self, inner: S) -> None:
        """Wrap `inner`."""
        self._inner = inner


def awaited(
    method: Callable[Concatenate[S, P], T], limiter: Callable[[], CapacityLimiter] | None = None
) -> Callable[Concatenate[Awaited[S], P], Coroutine[Any, Any, T]]:
    """The method of the inner object, with its name, signature and docstring.

    With a `limiter`, such as of calls that wait for a model, it takes no thread of the others.
    """

    @wraps(method)
    async def call(self: Awaited[S], /, *args: P.args, **options: P.kwargs) -> T:
        inner: Callable[P, T] = getattr(self._inner, method.__name__)
        return await in_thread_of(limiter() if limiter else None, inner, *args, **options)

    return call


def is_waited_for() -> Callable[[], bool]:
    """Return a function that is True until this thread's call is cancelled."""
    left = _left.get()
    return lambda: not left
