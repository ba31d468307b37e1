"""Processes that share a PostgreSQL database: nothing acknowledged is lost or doubled, whoever is killed."""

from __future__ import annotations

import threading
import time

import pytest
from children import Child

from zibaldone import Memory, StorageError, StorageUnreachable
from zibaldone.engine.leases import LeaseLost, Leases
from zibaldone.storage import schema
from zibaldone.storage.opening import open_database
from zibaldone.testing import HashEmbedder

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
        assert renewed.holder == leases.holder
        check()
    slow = Leases(database, lease_s=30)
    with slow.hold("ann") as check:
        with database.unlocked() as connection:
            connection.execute(schema.leases.update().values(holder="another"))
        slow._renew(["ann"])
        with pytest.raises(LeaseLost):
            check()


@pytest.mark.wide
def test_workers_share_the_users_and_take_over_from_one_that_is_killed(url):
    """Each message is read once by each view, all of them are read, and no lease is left."""
    users = [f"user {number}" for number in range(8)]
    with Memory(url, embedder=EMBEDDER) as memory:
        for user in users:
            memory.add([f"I moved to Oslo. {user} bakes rye bread {n}." for n in range(5)], user=user)

        def work(tell, hear):
            with Memory(url, embedder=EMBEDDER) as mine:
                mine.admin.start_worker(threads=1, poll_s=0.2, lease_s=2)
                tell("works")
                hear()

        def stuck(tell, hear):
            with Memory(url, embedder=EMBEDDER) as mine:
                mine._wiring._maintain_one = lambda user, check: (tell(user), hear())
                mine.admin.start_worker(threads=1, poll_s=0.2, lease_s=2)
                hear()

        killed = Child(stuck)
        taken = killed.next()
        killed.kill()
        workers = [Child(work), Child(work)]
        until = time.monotonic() + 60
        views = [memory._wiring.views[name] for name in memory._wiring.maintained]
        while time.monotonic() < until and memory._wiring.backlog.look():
            time.sleep(0.05)
        assert taken in users
        assert memory._wiring.backlog.look() == []
        for worker in workers:
            worker.say()
            worker.wait()
        assert memory.admin.check().ok
        assert all(lag == 0 for lag in lags(memory, users, views))
        with memory._database.read() as connection:
            assert connection.execute(schema.leases.select()).all() == []


def test_maintenance_in_the_foreground_takes_turns_with_workers(url, database):
    """While a worker has the user, `maintain` and `rebuild` wait; and while they work, no worker begins."""
    worker, asked, done = Leases(database), [], threading.Event()

    class Watched(HashEmbedder):
        def embed(self, texts):
            with worker.hold("ann") as held:
                asked.append(held)
            return super().embed(texts)

    def foreground():
        memory.maintain(user="ann")
        memory.builds.rebuild("notes", user="ann", beside=False)
        done.set()

    with Memory(url, embedder=Watched(16)) as memory:
        memory.add("I moved to Oslo.", user="ann")
        asked.clear()
        with worker.hold("ann") as held:
            assert held is not None
            thread = threading.Thread(target=foreground)
            thread.start()
            assert not done.wait(0.3)
            assert asked == []
        thread.join()
        assert asked
        assert set(asked) == {None}
        assert memory._wiring.backlog.look() == []


def lags(memory, users, views):
    """How many messages each view of each user has not read."""
    from zibaldone.engine import generations

    with memory._database.read() as connection:
        return [generations.lag(connection, user, view) for user in users for view in views]
