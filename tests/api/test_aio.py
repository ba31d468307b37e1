"""AsyncMemory: the same names, the same signatures and the same answers as Memory."""

import asyncio
import inspect
import threading
from functools import partial
from typing import get_type_hints

import anyio
import pytest

import zibaldone
from zibaldone import AsyncMemory, Config, Memory
from zibaldone.testing import HashEmbedder

AWAITED = [name.removeprefix("Async") for name in zibaldone.__all__ if name.startswith("Async")]
TALK = [{"id": str(i), "content": f"Tulip number {i}.", "session": str(i % 2)} for i in range(6)]


def run(function):
    """Run a coroutine function to its end."""
    return anyio.run(function)


@pytest.mark.parametrize("name", AWAITED)
def test_every_method_is_awaited(name):
    """The same names, parameters, defaults, annotations and results; constructors are not awaited."""
    assert inspect.signature(AsyncMemory.__init__) == inspect.signature(Memory.__init__)

    def members(cls):
        named = {name: value for name, value in vars(cls).items() if not name.startswith("_")}
        return {name: getattr(value, "__func__", value) for name, value in named.items()}

    ours, theirs = members(getattr(zibaldone, name)), members(getattr(zibaldone, f"Async{name}"))
    assert ours.keys() == theirs.keys()
    for name, method in ours.items():
        awaited = theirs[name]
        if isinstance(method, property):
            assert isinstance(awaited, property), name
        elif name != "user":  # which gives an AsyncUser
            assert inspect.unwrap(awaited) is inspect.unwrap(method), name
            assert inspect.iscoroutinefunction(awaited) == (name != "from_env"), name


@pytest.mark.parametrize("name", ["Config", *AWAITED])
def test_annotations_can_be_evaluated(name):
    """By whoever makes a form, a check or a client of them, though much is loaded late."""
    owner = getattr(zibaldone, name)
    get_type_hints(owner)
    for called, member in vars(owner).items():
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if callable(function) and not called.startswith("_"):
            get_type_hints(function)


def answers(memory):
    """One of each object that a memory gives, or what is awaited for it."""
    ann = memory.user("ann")
    return [
        memory.add(TALK, user="ann"),
        memory.search("Tulip number 3", user="ann"),
        ann.sessions(),
        ann.topics.documents(),
        ann.profile.entries(),
        ann.items.namespaces(),
        memory.builds.status(user="ann"),
        memory.admin.check(),
    ]


def test_behaviour(opened, tmp_path, clock):
    """What Memory's methods give, and those of what its properties give."""

    async def awaited():
        async with AsyncMemory(tmp_path / "async", config=Config(clock=clock)) as memory:
            return [await answer for answer in answers(memory)]

    assert run(awaited) == answers(opened("plain"))


class Slow(HashEmbedder):
    """An embedder whose vectors an add makes, and that waits until it is told to go on."""

    def __init__(self):
        super().__init__()
        self.begun, self.go_on = threading.Event(), threading.Event()

    def embed(self, texts):
        """The vectors, when it is time."""
        self.begun.set()
        assert self.go_on.wait(30)
        return super().embed(texts)


def test_a_cancelled_add_is_waited_for(tmp_path):
    """Asyncio's own cancelling, too, comes back when the write has ended: it never lands later."""
    embedder = Slow()

    async def main():
        memory = AsyncMemory(tmp_path / "m", embedder=embedder)
        task = asyncio.ensure_future(memory.add("Tulip", user="ann"))
        assert await asyncio.to_thread(embedder.begun.wait, 30)
        task.cancel()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(task), 0.2)
        assert not task.done()
        embedder.go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [m.content for m in await memory.messages(user="ann")] == ["Tulip"]
        await memory.close()

    asyncio.run(main())


def test_what_is_cancelled_before_it_begins_never_does(tmp_path):
    """A call that waits for its turn when it is cancelled leaves nothing behind."""
    embedder = Slow()

    async def main():
        memory = AsyncMemory(tmp_path / "m", embedder=embedder)
        anyio.to_thread.current_default_thread_limiter().total_tokens = 1
        first = asyncio.ensure_future(memory.add("first", user="ann"))
        second = asyncio.ensure_future(memory.add("second", user="ann"))
        assert await asyncio.get_running_loop().run_in_executor(None, embedder.begun.wait, 30)
        second.cancel()
        embedder.go_on.set()
        await first
        with pytest.raises(asyncio.CancelledError):
            await second
        assert [m.content for m in await memory.messages(user="ann")] == ["first"]
        await memory.close()

    asyncio.run(main())


def test_a_scope_that_is_cancelled_waits_for_the_write(tmp_path):
    """Anyio's cancelling comes back when the write has ended, and the loop is free meanwhile."""
    embedder = Slow()

    async def main():
        memory = AsyncMemory(tmp_path / "m", embedder=embedder)
        async with anyio.create_task_group() as group:
            group.start_soon(partial(memory.add, "Tulip", user="ann"))
            await anyio.to_thread.run_sync(embedder.begun.wait, 30)
            embedder.go_on.set()
            group.cancel_scope.cancel()
        assert [m.content for m in await memory.messages(user="ann")] == ["Tulip"]
        await memory.close()

    run(main)
