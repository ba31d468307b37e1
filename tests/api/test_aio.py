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
    Filter,
    InvalidInput,
    Memory,
    Receipt,
    Retention,
    RetentionRule,
    StaticEmbedder,
    UnknownName,
    User,
)
from zibaldone.testing import HashEmbedder, ScriptedModel
from zibaldone.views.messages import MessagesView

PAIRS = {
    "": (Memory, AsyncMemory),
    "user": (User, AsyncUser),
    "builds": (Builds, AsyncBuilds),
    "admin": (Admin, AsyncAdmin),
}
NOT_AWAITED = {"__init__", "from_env", "user", "name", "profile", "topics", "items"}
NAMES = [
    f"{part}.{name}".removeprefix(".")
    for part, (plain, _) in PAIRS.items()
    for name in sorted(vars(plain))
    if not name.startswith("_")
]


def owner_of(memory, name):
    """The object whose method a dotted name is of, of ann's where it is of a user; and the method's name."""
    part, _, method = name.rpartition(".")
    return {"": memory, "user": memory.user("ann"), "builds": memory.builds, "admin": memory.admin}[
        part
    ], method


TALK = [{"id": str(i), "content": f"Tulip number {i}.", "session": str(i % 2)} for i in range(6)]


def run(function):
    """Run a coroutine function to its end."""
    return anyio.run(function)


@pytest.mark.parametrize(("plain", "other"), PAIRS.values())
def test_names(plain, other):
    """Every public name of one is a public name of the other."""
    assert public(plain) == public(other)


def public(cls):
    """The public names of a class."""
    return sorted(name for name in vars(cls) if not name.startswith("_"))


@pytest.mark.parametrize("name", ["__init__", *NAMES])
def test_signatures(name):
    """Parameters, defaults, annotations and return types are the same; only the methods are awaited."""
    part, _, method = name.rpartition(".")
    one, other = (vars(cls)[method] for cls in PAIRS[part])
    if isinstance(one, property):
        assert isinstance(other, property)
        return
    if isinstance(one, classmethod):
        one, other = one.__func__, other.__func__
    assert inspect.iscoroutinefunction(other) == (method not in NOT_AWAITED)
    if method != "user":  # which gives an AsyncUser
        assert inspect.signature(one) == inspect.signature(other)


def same(value):
    """The parts of a result that two runs of one call have in common."""
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
            {
                "user": "ann",
                "filter": Filter(session="1"),
                "budget_tokens": 50,
                "min_confidence": 0.0,
                "now": 0,
            },
        ),
        ("recall", ("Tulip",), {"user": "ann", "views": ["messages"]}),
        ("search", ("Tulip",), {"user": "ann", "limit": 2, "filter": Filter(exclude_session="1")}),
        ("messages", (), {"user": "ann", "filter": Filter(session="1"), "after": 2, "limit": 2}),
        ("get", ("3",), {"user": "ann"}),
        ("update", (4, "Tulip number four."), {"user": "ann"}),
        ("user.preload", (), {}),
        ("user.deletions", (), {}),
        ("user.versions", (4,), {}),
        ("user.attachments", (4,), {}),
        ("user.sessions", (), {}),
        ("user.titled_sessions", (), {"limit": 2, "after": 0, "words": "", "among": ["1"]}),
        ("users", (), {}),
        ("maintain", (), {"user": "ann", "views": ["chunks"], "progress": lambda *_: None}),
        ("user.chunks", (), {}),
        ("user.superseded", (), {}),
        ("user.themes", (), {}),
        ("user.episodes", (), {}),
        ("admin.usage", (), {"user": "ann"}),
        ("forget", (), {"user": "ann", "seqs": [1], "dry_run": True}),
        ("forget", (), {"user": "ann", "session": "1"}),
        ("forget", (), {"user": "ann", "before": "1999-01-01"}),
        ("forget", (), {"user": "bea", "everything": True}),
        ("admin.grant", ("team",), {"user": "ann", "write": True}),
        ("admin.grants", (), {"user": "ann", "scope": "team"}),
        ("admin.revoke", ("team",), {"user": "ann"}),
        ("admin.audit", (), {"user": "ann", "since": 0, "newest": 3}),
        ("user.retain", (Retention((RetentionRule(9000),)),), {}),
        ("user.retention", (), {}),
        ("admin.apply_retention", (), {"user": "ann", "dry_run": True}),
        ("admin.save_receipt", (Receipt("ann", False, (1,), (), True), tmp_path / "receipt"), {}),
        ("admin.verify", (tmp_path / "receipt",), {"texts": ["Something about tulips"]}),
        ("user.export", (), {"path": tmp_path / "out"}),
        ("user.import_", (tmp_path / "out",), {"format": "jsonl", "progress": lambda *_: None}),
        ("builds.rebuild", (), {"user": "ann", "view": "messages"}),
        ("builds.rebuild", ("messages",), {"user": "ann", "beside": True, "progress": lambda *_: None}),
        ("builds.status", ("messages",), {"user": "ann"}),
        ("builds.diff", ("messages",), {"user": "ann"}),
        ("builds.switch", ("messages",), {"user": "ann", "progress": lambda *_: None}),
        ("builds.rollback", ("messages",), {"user": "ann"}),
        ("builds.discard", ("messages",), {"user": "ann"}),
        ("admin.stats", (), {"user": "ann"}),
        ("admin.check", (), {}),
        ("admin.count_tokens", ("three words here",), {}),
        ("user.timeline", ("tulip",), {}),
        ("ask", ("Where do the tulips grow?",), {"user": "ann", "chat": ScriptedModel(lambda _: "no JSON")}),
        ("admin.import_", (tmp_path / "out",), {"user": "cid", "format": "jsonl"}),
        ("close", (), {}),
    ]
    not_called = {"path", "from_env", "user", "builds", "admin", "user.name"}
    not_called |= {"user.profile", "user.topics", "user.items"}  # which give objects with awaited methods
    not_called |= {f"admin.{name}" for name in ("can_ask", "place", "encrypted", "is_embedded")}
    not_called |= {f"admin.{name}" for name in ("attach", "detach", "start_worker")}
    assert {name for name, _, _ in calls} == set(NAMES) - not_called
    plain = opened("plain")
    expected = [same(getattr(*owner_of(plain, name))(*args, **options)) for name, args, options in calls]

    async def awaited():
        memory = AsyncMemory(tmp_path / "async", config=Config(clock=clock))
        assert memory.path == tmp_path / "async"
        return [
            same(await getattr(*owner_of(memory, name))(*args, **options)) for name, args, options in calls
        ]

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
