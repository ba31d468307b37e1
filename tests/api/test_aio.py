"""AsyncMemory: the same names, the same signatures and the same answers as Memory."""

import asyncio
import inspect
import threading
from functools import partial

import anyio
import pytest

from zibaldone import (
    Admin,
    AsyncAdmin,
    AsyncBuilds,
    AsyncMemory,
    AsyncUser,
    Builds,
    ClosedMemory,
    Config,
    InvalidInput,
    Memory,
    StaticEmbedder,
    UnknownName,
    User,
)
from zibaldone.api.documents import AsyncTopics, Topics
from zibaldone.api.items import AsyncItems, Items
from zibaldone.api.profile import AsyncProfile, Profile
from zibaldone.testing import HashEmbedder
from zibaldone.views.messages import MessagesView

PAIRS = [
    (Memory, AsyncMemory),
    (User, AsyncUser),
    (Builds, AsyncBuilds),
    (Admin, AsyncAdmin),
    (Topics, AsyncTopics),
    (Items, AsyncItems),
    (Profile, AsyncProfile),
]
TALK = [{"id": str(i), "content": f"Tulip number {i}.", "session": str(i % 2)} for i in range(6)]


def run(function):
    """Run a coroutine function to its end."""
    return anyio.run(function)


@pytest.mark.parametrize(("plain", "other"), PAIRS, ids=lambda cls: cls.__name__)
def test_every_method_is_awaited(plain, other):
    """The same names, parameters, defaults, annotations and results; constructors are not awaited."""

    def members(cls):
        named = {name: value for name, value in vars(cls).items() if not name.startswith("_")}
        return {name: getattr(value, "__func__", value) for name, value in named.items()}

    ours, theirs = members(plain), members(other)
    assert ours.keys() == theirs.keys()
    for name, method in ours.items():
        awaited = theirs[name]
        if isinstance(method, property):
            assert isinstance(awaited, property), name
        elif name != "user":  # which gives an AsyncUser
            assert inspect.unwrap(awaited) is inspect.unwrap(method), name
            assert inspect.iscoroutinefunction(awaited) == (name != "from_env"), name


def test_a_memory_is_opened_with_the_same_arguments():
    """By its constructor, which is not awaited."""
    assert inspect.signature(AsyncMemory.__init__) == inspect.signature(Memory.__init__)


def test_behaviour(opened, tmp_path, clock):
    """What Memory's methods give, those of what its properties give, and the arguments that they take."""

    async def awaited():
        memory = AsyncMemory(tmp_path / "async", config=Config(clock=clock))
        assert memory.path == tmp_path / "async"
        stored = await memory.add(TALK, user="ann")
        steps = []
        await memory.maintain(user="ann", views=["topics"], progress=lambda *done: steps.append(done))
        ann = memory.user("ann")
        assert ann.name == "ann"
        assert steps[-1] == (6, 6)
        return [
            [(message.content, message.seq, message.time) for message in stored],
            (await memory.recall("Tulip number 3", user="ann", min_confidence=0)).text,
            await ann.sessions(),
            await ann.topics.text("CURRENT"),
            await ann.profile.entries(),
            await ann.items.get(("a",), "b"),
            (await memory.builds.status(user="ann")).serving,
            await memory.admin.check(),
        ]

    memory = opened("plain")
    stored = memory.add(TALK, user="ann")
    memory.maintain(user="ann", views=["topics"])
    ann = memory.user("ann")
    assert run(awaited) == [
        [(message.content, message.seq, message.time) for message in stored],
        memory.recall("Tulip number 3", user="ann", min_confidence=0).text,
        ann.sessions(),
        ann.topics.text("CURRENT"),
        ann.profile.entries(),
        ann.items.get(("a",), "b"),
        memory.builds.status(user="ann").serving,
        memory.admin.check(),
    ]


def test_errors(tmp_path):
    """Errors come through as they are; async with closes."""

    async def main():
        async with AsyncMemory(tmp_path / "m") as memory:
            with pytest.raises(InvalidInput):
                await memory.forget(user="ann")
        with pytest.raises(ClosedMemory):
            await memory.users()

    run(main)


def test_a_view_that_is_attached_is_asked_by_its_name(tmp_path):
    """Attached it can be recalled from; detached it is unknown."""

    def second(database, tokenizer):
        view = MessagesView(StaticEmbedder(), StaticEmbedder(), StaticEmbedder())
        view.name = "second"
        return view

    async def main():
        async with AsyncMemory(tmp_path / "m") as memory:
            await memory.add(TALK, user="ann")
            view = await memory.admin.attach(second)
            found = await memory.recall("Tulip number 3", user="ann", views=["second"])
            assert found.trace.views[0].view == "second"
            with pytest.raises(InvalidInput, match="attached already"):
                await memory.admin.attach(second)
            await memory.admin.detach(view)
            with pytest.raises(UnknownName):
                await memory.recall("Tulip", user="ann", views=["second"])

    run(main)


def test_many_at_once(tmp_path):
    """Calls run beside each other in worker threads, and the event loop stays free."""

    async def main():
        async with AsyncMemory(tmp_path / "m") as memory:
            async with anyio.create_task_group() as group:
                for i in range(20):
                    group.start_soon(partial(memory.add, f"Tulip {i}", user="ann"))
                    group.start_soon(partial(memory.recall, "Tulip", user="ann"))
            return [m.seq for m in await memory.messages(user="ann")]

    assert run(main) == list(range(1, 21))


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


@pytest.mark.parametrize("way", ["cancel", "wait_for"])
def test_a_cancelled_add_is_waited_for(tmp_path, way):
    """Asyncio's own cancelling, too, comes back when the write has ended: it never lands later."""
    embedder = Slow()

    async def main():
        memory = AsyncMemory(tmp_path / "m", embedder=embedder)
        add = memory.add("Tulip", user="ann")
        task = asyncio.ensure_future(asyncio.wait_for(add, 0.05) if way == "wait_for" else add)
        assert await asyncio.to_thread(embedder.begun.wait, 30)
        if way == "cancel":
            task.cancel()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(task), 0.2)
        assert not task.done()
        embedder.go_on.set()
        with pytest.raises(TimeoutError if way == "wait_for" else asyncio.CancelledError):
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
