"""Processes that share a database: nothing acknowledged is lost, nothing asked twice, whoever is killed."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict

import pytest
from children import Child

from chunk_model import good
from memories import open_memory
from zibaldone import MemAttention, Memory, OpenAIChat, StorageError, StorageUnreachable
from zibaldone.engine.leases import LeaseLost, Leases
from zibaldone.storage import schema
from zibaldone.storage.opening import open_database
from zibaldone.testing import FakeOpenAIServer, HashEmbedder

EMBEDDER = HashEmbedder(16)


@pytest.fixture
def database(url):
    """An empty memory's."""
    database = open_database(url, busy_timeout_s=10)
    yield database
    database.close()


@pytest.mark.wide
def test_the_server_goes_down_in_the_midst_of_adds(url, postgres):
    """Who adds with ids of their own, and again what failed, has every message once."""
    wanted, going = 60, threading.Event()
    with Memory(url, embedder=EMBEDDER) as memory:
        failed = []

        def add(start):
            for number in range(start, wanted, 2):
                message = {"content": f"message {number}", "id": f"id {number}"}
                while True:
                    try:
                        memory.add(message, user="ann")
                        break
                    except StorageError as error:
                        failed.append(error)
                if number > 5:
                    going.set()

        threads = [threading.Thread(target=add, args=(start,)) for start in (0, 1)]
        for thread in threads:
            thread.start()
        assert going.wait(30)
        postgres.kill()
        postgres.start()
        for thread in threads:
            thread.join()
        messages = memory.messages(user="ann")
        assert {message.id for message in messages} == {f"id {number}" for number in range(wanted)}
        assert [message.seq for message in messages] == list(range(1, wanted + 1))
        assert {type(error) for error in failed} <= {StorageUnreachable}
        memory.maintain()
        assert memory.admin.check().ok


def test_a_lease_is_one_worker_s(database):
    """Nobody else gets it while it is held; then anybody does, and a killed holder's once it has passed."""
    one, other = Leases(database), Leases(database)
    with one.hold("ann") as mine:
        mine()
        with other.hold("ann") as theirs:
            assert theirs is None
        with other.hold("bea") as theirs:
            theirs()
    with other.hold("ann") as theirs:
        theirs()
    short = Leases(database, lease_s=0.2)
    assert short._claim("ann")  # and is heard of no more
    until = time.monotonic() + 20
    while time.monotonic() < until:
        with other.hold("ann") as theirs:
            if theirs is not None:
                break
    else:
        pytest.fail("never taken over")


def keep_calling(check, until):
    """Until it raises, or the time is over."""
    while time.monotonic() < until:
        check()
        time.sleep(0.01)


def test_a_held_lease_is_renewed_and_a_stolen_one_is_lost(database):
    """The heartbeat keeps it past its first end; where another took it all the same, the work stops."""
    leases = Leases(database, lease_s=0.4)
    with leases.hold("ann") as check, database.unlocked() as connection:
        first = connection.execute(schema.leases.select()).one()
        until = time.monotonic() + 20
        renewed = first
        while renewed.until_us == first.until_us and time.monotonic() < until:
            renewed = connection.execute(schema.leases.select()).one()
        assert renewed.until_us > first.until_us
        assert renewed.holder == first.holder
        check()
    with leases.hold("ann") as check:
        with database.unlocked() as connection:
            connection.execute(schema.leases.update().values(holder="another"))
        with pytest.raises(LeaseLost):
            keep_calling(check, until)


SETTINGS = {
    "embedder": HashEmbedder(16),
    "chunks": MemAttention(chunk_gate_tokens=40),
    "maintained": ["chunks"],
}
KILLED = "worker 0"


def work(place, base_url, name):
    """A worker whose model is called by the worker's name."""

    def run(tell, hear):
        chat = OpenAIChat(name, base_url=base_url, timeout_s=60, max_retries=0)
        with open_memory(place, chat=chat, **SETTINGS) as memory:
            memory.admin.start_worker(threads=2, poll_s=0.1, lease_s=1.5, turn_s=0.2)
            tell("works")
            hear()

    return run


@pytest.mark.parametrize(
    ("place", "users"),
    [
        ("postgres", 6),
        pytest.param("folder", 6, marks=pytest.mark.exhaustive),
        pytest.param("postgres", 40, marks=pytest.mark.exhaustive),
    ],
    indirect=["place"],
)
@pytest.mark.wide
@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
def test_no_two_workers_ask_a_model_the_same(anywhere, users):
    """Three workers, one killed while it waits for answers: only what it had not committed is asked again."""
    path = anywhere("memory")
    names = [f"user{number}" for number in range(users)]
    with open_memory(path, chat=None, **SETTINGS) as memory:
        for user in names:
            memory.add([f"{user} repaired clock {i} in cellar {i} by day." for i in range(12)], user=user)
    asked, under_way, twice_at_once = defaultdict(list), defaultdict(set), []
    counting, stuck = threading.Lock(), threading.Event()

    def answer(body):
        worker, question = body["model"], json.dumps(body["messages"])
        (user,) = {name for name in names if f"{name} " in question}
        with counting:
            asked[question].append((worker, user))
            under_way[user].add(worker)
            if len(under_way[user] - {KILLED} if stuck.is_set() else under_way[user]) > 1:
                twice_at_once.append(user)
            hangs = worker == KILLED and sum(w == KILLED for told in asked.values() for w, _ in told) > 2
        if hangs:
            stuck.set()
            gone.wait(60)
        time.sleep(0.01)  # as a model's time: others would come in between
        with counting:
            under_way[user].discard(worker)
        return good(body)

    gone = threading.Event()
    with FakeOpenAIServer(answer) as server:
        workers = [Child(work(path, server.base_url, f"worker {number}")) for number in range(3)]
        for worker in workers:
            assert worker.next() == "works"
        assert stuck.wait(30)
        workers[0].kill()
        with open_memory(path, chat=None, **SETTINGS) as memory:
            with memory._database.read() as connection:
                leases = connection.execute(schema.leases.select()).all()
            in_hand = {row.user for row in leases if f"/{workers[0].pid}/" in row.holder}
            assert in_hand
            until = time.monotonic() + 60
            while memory._wiring.backlog.look() and time.monotonic() < until:
                time.sleep(0.05)
            assert memory._wiring.backlog.look() == []
            for worker in workers[1:]:
                worker.say()
                worker.wait()
            gone.set()
            assert memory.admin.check().faults == ()
            with memory._database.read() as connection:
                assert connection.execute(schema.leases.select()).all() == []
            for user in names:
                items = [item for chunk in memory.user(user).chunks() for item in chunk.items]
                assert len({item.sources for item in items}) == len(items)
    repeated = {question: told for question, told in asked.items() if len(told) > 1}
    assert {user for told in repeated.values() for _, user in told} <= in_hand
    assert all(len(told) == 2 and told[0][0] == KILLED for told in repeated.values())
    assert repeated
    assert twice_at_once == []
    assert {worker for told in asked.values() for worker, _ in told} == {f"worker {n}" for n in range(3)}
