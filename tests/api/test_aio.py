"""AsyncMemory: the same names, the same signatures and the same answers as Memory."""

import asyncio
import inspect
import threading
from functools import partial

import anyio
import pytest

from zibaldone import (
    AsyncMemory,
    ClosedMemory,
    InvalidInput,
    Memory,
    Prices,
    Receipt,
    Retention,
    RetentionRule,
    StaticEmbedder,
    UnknownName,
)
from zibaldone.testing import HashEmbedder, ScriptedModel
from zibaldone.views.messages import MessagesView

ALL = sorted(name for name in vars(Memory) if not name.startswith("_"))
NAMES = [
    name for name in ALL if name not in ("topics", "profile", "items")
]  # which give objects with awaited methods
TALK = [{"id": str(i), "content": f"Tulip number {i}.", "session": str(i % 2)} for i in range(6)]


def run(function):
    """Run a coroutine function to its end."""
    return anyio.run(function)


def test_names():
    """Every public name of one is a public name of the other."""
    assert sorted(name for name in vars(AsyncMemory) if not name.startswith("_")) == ALL


@pytest.mark.parametrize("name", ["__init__", *NAMES])
def test_signatures(name):
    """Parameters, defaults, annotations and return types are the same; only the methods are awaited."""
    one, other = vars(Memory)[name], vars(AsyncMemory)[name]
    if isinstance(one, property):
        one, other = one.fget, other.fget
    else:
        assert inspect.iscoroutinefunction(other) == (name != "__init__")
    assert inspect.signature(one) == inspect.signature(other)


def same(value):
    """What two runs of one call have in common."""
    if hasattr(value, "trace"):
        return value.text, value.evidence, value.citations, value.trace.decisions
    if hasattr(value, "steps"):
        return value.text, value.marks, len(value.steps), value.evidence.text
    if hasattr(value, "bytes_on_disk"):
        return value.users, value.messages, value.sessions, value.views
    if hasattr(value, "looked_at"):
        return value.ok, value.looked_for, value.leftovers
    return value


def test_behaviour(opened, tmp_path, clock):
    """Each method gives what Memory's method gives, called in the same order on a folder of its own."""
    calls = [
        ("add", (TALK,), {"user": "ann", "session": "s"}),
        ("add", ("One of Bea's",), {"user": "bea"}),
        (
            "recall",
            ("Tulip number 3",),
            {"user": "ann", "session": "1", "budget_tokens": 50, "floor": 0.0, "now": 0},
        ),
        ("recall", ("Tulip",), {"user": "ann", "views": ["messages"]}),
        ("search", ("Tulip",), {"user": "ann", "limit": 2, "exclude_session": "1"}),
        ("messages", (), {"user": "ann", "session": "1", "after": 2, "limit": 2}),
        ("get", ("3",), {"user": "ann"}),
        ("update", (4, "Tulip number four."), {"user": "ann"}),
        ("warm", (), {"user": "ann"}),
        ("versions", (4,), {"user": "ann"}),
        ("attachments", (4,), {"user": "ann"}),
        ("sessions", (), {"user": "ann"}),
        ("titled_sessions", (), {"user": "ann", "limit": 2, "skip": 0, "words": "", "among": ["1"]}),
        ("users", (), {}),
        ("maintain", (), {"user": "ann", "views": ["chunks"], "progress": lambda *_: None}),
        ("chunks", (), {"user": "ann"}),
        ("history", (), {"user": "ann"}),
        ("themes", (), {"user": "ann"}),
        ("episodes", (), {"user": "ann"}),
        ("usage", (), {"user": "ann"}),
        ("forget", (), {"user": "ann", "seqs": [1], "dry_run": True}),
        ("forget", (), {"user": "ann", "session": "1"}),
        ("forget", (), {"user": "ann", "before": "1999-01-01"}),
        ("forget", (), {"user": "bea", "everything": True}),
        ("audit", (), {"user": "ann", "since": 0, "newest": 3}),
        ("retain", (Retention((RetentionRule(9000),)),), {"user": "ann"}),
        ("retention", (), {"user": "ann"}),
        ("apply_retention", (), {"user": "ann", "dry_run": True}),
        ("save_receipt", (Receipt("ann", False, (1,), (), True), tmp_path / "receipt"), {}),
        ("verify", (tmp_path / "receipt",), {"texts": ["Something about tulips"]}),
        ("export", (), {"user": "ann", "path": tmp_path / "out"}),
        ("import_", (tmp_path / "out",), {"user": "cid", "format": "jsonl", "progress": lambda *_: None}),
        ("rebuild", (), {"user": "ann", "view": "messages"}),
        ("estimate", ("topics",), {"user": "ann", "chat": None, "prices": Prices(1.0)}),
        ("rebuild", ("messages",), {"user": "ann", "beside": True, "progress": lambda *_: None}),
        ("builds", ("messages",), {"user": "ann"}),
        ("diff", ("messages",), {"user": "ann"}),
        ("switch", ("messages",), {"user": "ann", "progress": lambda *_: None}),
        ("rollback", ("messages",), {"user": "ann"}),
        ("discard", ("messages",), {"user": "ann"}),
        ("stats", (), {"user": "ann"}),
        ("check_integrity", (), {}),
        ("count_tokens", ("three words here",), {}),
        ("timeline", ("tulip",), {"user": "ann"}),
        ("ask", ("Where do the tulips grow?",), {"user": "ann", "chat": ScriptedModel(lambda _: "no JSON")}),
        ("close", (), {}),
    ]
    assert {name for name, _, _ in calls} == set(NAMES) - {
        "can_ask",
        "path",
        "place",
        "encrypted",
        "is_embedded",
        "attach",
        "detach",
        "start_worker",
    }
    plain = opened("plain")
    expected = [same(getattr(plain, name)(*args, **options)) for name, args, options in calls]

    async def awaited():
        memory = AsyncMemory(tmp_path / "async", clock=clock)
        assert memory.path == tmp_path / "async"
        return [same(await getattr(memory, name)(*args, **options)) for name, args, options in calls]

    assert without_ids(run(awaited)) == without_ids(expected)


def without_ids(values):
    """Made ids are random."""

    def told(value):
        return (value.content, value.seq, value.time) if hasattr(value, "seq") else value

    return [[told(item) for item in value] if isinstance(value, list) else told(value) for value in values]


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
            view = await memory.attach(second)
            found = await memory.recall("Tulip number 3", user="ann", views=["second"])
            assert found.trace.views[0].view == "second"
            with pytest.raises(InvalidInput, match="attached already"):
                await memory.attach(second)
            await memory.detach(view)
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
