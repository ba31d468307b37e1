"""The gateway's memory in several processes: what is said, who sees it, and what a process's end changes."""

import asyncio
import os
import queue
import signal
import socket
import threading
import time

import pytest

from memories import open_async_memory, open_memory
from processes import family, is_running
from zibaldone import AsyncMemory, Memory, Message, User
from zibaldone.errors import InvalidInput, NotEncrypted, RecallGivenUp, StorageUnreachable
from zibaldone.log.audit import Actor, acting
from zibaldone.server.chores import sync_caches
from zibaldone.server.memory_pool import MemoryPool
from zibaldone.server.pool_process import MemoryCall, answer_calls, framed
from zibaldone.views.user_cache import users_held

TOLD = ("My sister Amalia lives in Porto.", "I play the cello on Tuesdays.", "My bicycle is green.")
QUESTION = "Where does my sister live?"


def children():
    """The ids of processes that this one has started, and that still run."""
    return {pid for pid in family(os.getpid())[1:] if is_running(pid)}


def pooled(path, work, *, processes=2, **options):
    """Return what the coroutine function gives of a pool; it gets the processes' ids to it, too."""

    async def run():
        before = children()
        async with open_async_memory(path, **options) as memory:
            parts = MemoryPool(memory, path, processes)
            try:
                await parts.start()
                return await work(parts, sorted(children() - before))
            finally:
                await parts.close()
                assert children() <= before, "a process is left behind"

    return asyncio.run(run())


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Runs a coroutine function on a pool of two processes, which others have, too."""
    path = tmp_path_factory.mktemp("pool")
    with asyncio.Runner() as runner, Memory(path) as there:
        memory = AsyncMemory(path)
        parts = MemoryPool(memory, path, 2)
        runner.run(parts.start())
        yield lambda work: runner.run(work(parts, there))
        runner.run(parts.close())
        runner.run(memory.close())


def some_users(parts, processes=2):
    """A user of each process."""
    names = (f"u{number}" for number in range(100))
    by_process = {parts.process_of(name): name for name in names}
    return [by_process[number] for number in range(processes)]


async def ended(pid):
    """Wait until a process that was killed is seen to have ended."""
    os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + 30
    while pid in children():
        assert time.monotonic() < until
        await asyncio.sleep(0.01)


def test_users_of_all_processes_have_what_they_said_and_nothing_of_others(shared):
    """The text, evidence and confidence are those of the memory itself."""

    async def work(parts, memory):
        users = some_users(parts)
        for user, told in zip(users, TOLD, strict=False):
            await parts.add([{"content": told}, {"content": TOLD[2]}], user=user, session="before")
        recalls = [await parts.recall(QUESTION, user=user) for user in users]
        for user, told, recalled in zip(users, TOLD, recalls, strict=False):
            here = memory.recall(QUESTION, user=user)
            assert (recalled.text, recalled.evidence) == (here.text, here.evidence)
            assert (recalled.tokens, recalled.confidence) == (here.tokens, here.confidence)
            assert [m.content for m in memory.messages(user=user)] == [told, TOLD[2]]
        assert "Porto" in recalls[0].text
        assert "Porto" not in recalls[1].text

    shared(work)


def test_what_is_raised_there_is_raised_here(shared):
    """A typed error with its words."""

    async def work(parts, _):
        with pytest.raises(InvalidInput, match="budget_tokens"):
            await parts.recall(QUESTION, user="ann", budget_tokens=0)

    shared(work)


@pytest.mark.wide
def test_who_acts_is_noted_there(tmp_path):
    """A process knows the door and the key of who asked its server."""

    async def work(parts, _):
        with acting("gateway", "k1"):
            await parts.add([{"content": TOLD[0]}], user="ann")
            await parts.recall(QUESTION, user="ann")

    pooled(tmp_path, work, processes=1, audit=True)
    with Memory(tmp_path) as memory:
        noted = [(entry.operation, entry.door, entry.key) for entry in memory.admin.audit(user="ann")]
    assert noted == [("add", "gateway", "k1"), ("recall", "gateway", "k1")]


def test_what_was_forgotten_by_the_server_is_recalled_by_no_process(shared):
    """Though the process has read it before."""

    async def work(parts, _):
        await parts.add([{"content": TOLD[0]}], user="who forgets")
        assert "Porto" in (await parts.recall(QUESTION, user="who forgets")).text
        await parts.forget(user="who forgets", everything=True)
        assert not await parts.recall(QUESTION, user="who forgets", min_confidence=0)

    shared(work)


def test_what_others_forget_is_looked_for(tmp_path):
    """Another process tells nobody: keys go at each look, and indexes of who forgot, of others not."""
    pytest.importorskip("cryptography")
    keys = {"key": "k" * 32, "user_keys": tmp_path / "keys", "chat": None}

    async def run():
        with open_memory(tmp_path / "m", **keys) as here, open_memory(tmp_path / "m", **keys) as elsewhere:
            for user in ("ann-elsewhere", "bob"):
                here.add(TOLD[0], user=user)
                here.recall(QUESTION, user=user)
            here.add(TOLD[0], user="cem-who-never-recalls")
            elsewhere.forget(user="cem-who-never-recalls", everything=True, shred=True)
            assert here._database.keyring._held
            looking = asyncio.create_task(sync_caches(here, every_s=0.01))
            until = time.monotonic() + 30
            while here._database.keyring._held:
                assert time.monotonic() < until
                await asyncio.sleep(0.01)
            elsewhere.forget(user="ann-elsewhere", everything=True, shred=True)
            while "ann-elsewhere" in users_held():
                assert time.monotonic() < until
                await asyncio.sleep(0.01)
            looking.cancel()
            assert "bob" in users_held()
            assert "Porto" in here.recall(QUESTION, user="bob").text

    asyncio.run(run())


def test_what_is_added_is_taken_in_before_somebody_asks(tmp_path, monkeypatch):
    """Of a user who recalls in the process, and of nobody else: an import of others builds no index."""
    taken_in = queue.SimpleQueue()
    monkeypatch.setattr(User, "preload", lambda user: taken_in.put(user._user))
    ours, theirs = socket.socketpair()
    with ours, theirs, theirs.makefile("rb") as calls, Memory(tmp_path) as memory:
        memory.add(TOLD[0], user="ann-who-asks")
        memory.recall(QUESTION, user="ann-who-asks")
        answering = threading.Thread(target=answer_calls, args=(theirs, calls, memory))
        answering.start()
        for number, user in enumerate(("zoe-who-never-asks", "ann-who-asks")):
            ours.sendall(framed(MemoryCall(number, "add", {"messages": TOLD[1], "user": user}, Actor())))
            ours.recv(2**16)
        assert taken_in.get(timeout=20) == "ann-who-asks"
        assert taken_in.empty()
        ours.shutdown(socket.SHUT_WR)
        answering.join(20)


@pytest.mark.wide
def test_a_process_that_is_killed_is_started_again_and_loses_no_turn(tmp_path):
    """Messages with ids are stored once, whenever it ends; the other process's users notice nothing."""

    async def work(parts, pids):
        first, second = some_users(parts)
        for user in (first, second):
            await parts.add([Message(TOLD[0], id="a")], user=user)
        calls = [
            asyncio.ensure_future(parts.add([Message(f"{TOLD[1]} {n}", id=f"{n}")], user=user))
            for n in range(40)
            for user in (first, second)
        ]
        await asyncio.sleep(0)
        await ended(pids[0])
        await asyncio.gather(*calls)
        until = time.monotonic() + 60
        while True:
            try:
                recalls = [await parts.recall(QUESTION, user=user) for user in (first, second)]
                break
            except StorageUnreachable:
                assert time.monotonic() < until
                await asyncio.sleep(0.1)
        assert all("Porto" in recalled.text for recalled in recalls)
        with Memory(tmp_path) as memory:
            for user in (first, second):
                ids = sorted(m.id for m in memory.messages(user=user))
                assert ids == sorted(["a", *map(str, range(40))])

    pooled(tmp_path, work)


@pytest.mark.wide
def test_what_may_have_been_stored_already_is_not_stored_again(tmp_path):
    """Messages without ids of their own: the caller is told that nobody knows."""

    async def work(parts, pids):
        os.kill(pids[0], signal.SIGSTOP)
        adding = asyncio.ensure_future(parts.add([{"content": TOLD[0]}], user="ann"))
        await asyncio.sleep(0.05)
        await ended(pids[0])
        with pytest.raises(StorageUnreachable, match="not known"):
            await adding

    pooled(tmp_path, work, processes=1)


@pytest.mark.wide
def test_the_key_that_a_command_printed_opens_the_memory_there(tmp_path, monkeypatch):
    """The command is asked once, here: what it reads of the environment a process of ours may not have."""
    pytest.importorskip("sqlcipher3", reason="pip install 'zibaldone[encryption]'")
    monkeypatch.setenv("ZIBALDONE_KEY_COMMAND", "printenv VAULT_OF_KEYS")
    monkeypatch.setenv("VAULT_OF_KEYS", "5a" * 32)

    async def work(parts, _):
        await parts.add([{"content": TOLD[0]}], user="ann")

    pooled(tmp_path, work, processes=1, key="5a" * 32)
    with Memory(tmp_path, key="5a" * 32) as memory:
        assert memory.admin.stats().messages == 1


@pytest.mark.wide
def test_a_folder_that_cannot_be_opened_there_is_an_error_of_the_start(tmp_path, monkeypatch):
    """And no process stays."""

    async def run():
        async with AsyncMemory(tmp_path) as memory:
            monkeypatch.setenv("ZIBALDONE_KEY", "00" * 32)
            parts = MemoryPool(memory, tmp_path, 1)
            with pytest.raises(NotEncrypted):
                await parts.start()
            await parts.close()

    before = children()
    asyncio.run(run())
    assert children() <= before


@pytest.mark.wide
def test_a_process_gives_up_when_its_caller_does(shared):
    """The time that a call has goes with it, and what it raises comes back; the next call has its own."""

    async def work(parts, _):
        await parts.add(TOLD[0], user="in a hurry")
        with pytest.raises(RecallGivenUp):
            await parts.recall(QUESTION, user="in a hurry", timeout_s=0)
        return (await parts.recall(QUESTION, user="in a hurry", timeout_s=600)).text

    assert "Porto" in shared(work)
