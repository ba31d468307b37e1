"""The background worker: whose turn it is, how long it waits, how it ends."""

import queue
import threading

import pytest

from faulty_models import FailingEmbedder
from zibaldone import MemAttention
from zibaldone.engine.maintenance import OwnModelFailed
from zibaldone.engine.worker import BackgroundWorker, Stopped
from zibaldone.errors import ClosedMemory, ModelUnavailable, StorageBusy, StorageCorrupt
from zibaldone.testing import HashEmbedder

CHUNKS = {"chunks": MemAttention(chunk_gate_tokens=40), "chat": None, "maintained": ["chunks"]}


class Clock:
    """A thousand seconds pass between two looks at it: longer than any wait."""

    now = 0.0

    def __call__(self):
        """What time it is."""
        self.now += 1000
        return self.now


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Memories do not wait for more of what is said."""
    monkeypatch.setattr("zibaldone.api.admin.GATHER_S", 0.0)


@pytest.fixture
def started():
    """Starts workers, and stops them."""
    workers = []

    def started(maintain, due=lambda _: [], **options):
        worker = BackgroundWorker(maintain, due, **({"threads": 1} | options))
        workers.append(worker)
        worker.start()
        return worker

    yield started
    for worker in workers:
        assert worker.stop(20)


def test_users_are_maintained_once_each(started):
    """A user who is told of ten times while waiting has one turn."""
    gate, done = threading.Event(), []

    def maintain(user):
        gate.wait(20)
        done.append(user)

    worker = started(maintain)
    for user in ["ann", *["bea"] * 10, *["cid"] * 10]:
        worker.notify(user)
    gate.set()
    assert worker.idle(20)
    assert sorted(set(done)) == ["ann", "bea", "cid"]
    assert done.count("bea") <= 2


def test_a_full_queue_loses_nobody(started):
    """Who finds no place in the queue is found when all are looked at."""
    everybody, done, gate = [f"user {i}" for i in range(50)], set(), threading.Event()

    def maintain(user):
        gate.wait(20)
        done.add(user)

    worker = started(
        maintain, lambda most: [user for user in everybody if user not in done][:most], queue_users=4
    )
    for user in everybody:
        worker.notify(user)
    assert len(worker._waiting) <= 4
    gate.set()
    assert worker.idle(20)
    assert done == set(everybody)


def test_a_failing_model_is_tried_again_after_longer_and_longer(started, caplog):
    """Each failure doubles the wait; a success ends it."""
    waits = []

    def maintain(user):
        waits.append(worker._retry_at % 1000)
        if len(waits) < 12:
            raise ModelUnavailable("down")

    worker = started(maintain, clock=Clock())
    worker.notify("ann")
    assert worker.idle(20)
    assert waits == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert worker._failures == 0
    assert "maintenance of user 'ann' waits: down" in caplog.text


@pytest.mark.parametrize("error", [StorageCorrupt, StorageBusy, OwnModelFailed, ZeroDivisionError])
def test_one_user_s_damage_makes_nobody_else_wait(started, caplog, error):
    """Who has a torn block, or meets a bug, rests, longer and longer; the others are maintained meanwhile."""
    now, turns = [0.0], queue.Queue()

    def maintain(user):
        turns.put(user)
        if user == "ann":
            raise error("a torn block")

    worker = started(maintain, clock=lambda: now[0])
    worker.notify("ann")
    assert turns.get(timeout=20) == "ann"
    with worker._changed:
        assert worker._changed.wait_for(lambda: not worker._busy, 20)
    for time, expected in ((0.9, ["bea"]), (1.0, ["ann", "bea"]), (2.9, ["bea"]), (3.0, ["ann", "bea"])):
        now[0] = time
        worker.notify("bea")
        assert sorted(turns.get(timeout=20) for _ in expected) == expected
        with worker._changed:
            assert worker._changed.wait_for(lambda: not worker._busy, 20)
        assert turns.empty()
    assert "maintenance of user 'ann'" in caplog.text
    assert "a torn block" in caplog.text


def test_what_is_said_within_a_while_is_read_together(started):
    """While a user talks on, reading waits until there is a pause, but not for longer than it may."""
    now, turns = [0.0], queue.Queue()
    worker = started(turns.put, clock=lambda: now[0], gather_s=5.0, longest_s=12.0)
    for time in (0.0, 4.0, 8.0, 11.9):
        now[0] = time
        worker.notify("ann")
    assert not worker.idle(0.1)
    assert turns.empty()
    now[0] = 12.0
    worker.notify("ann")
    assert turns.get(timeout=20) == "ann"
    assert worker.idle(20)
    for time in (13.0, 17.9):
        now[0] = time
        worker.notify("bea" if time == 17.9 else "ann")
    now[0] = 18.0
    worker.notify("bea")
    assert turns.get(timeout=20) == "ann"
    assert turns.empty()


def test_who_has_much_to_be_read_lets_the_others_go_first(started):
    """After a turn a user stands behind all who wait, and goes on when it is their turn again."""
    left, gate, turns = {"ann": 7, "bea": 1, "cid": 3}, threading.Event(), []
    clock = Clock()

    def maintain(user):
        assert gate.wait(20)
        turns.append(user)
        while left[user]:
            left[user] -= 1
            worker.check_turn(user)

    worker = started(maintain, clock=clock, turn_s=2000)  # over at the second step
    for user in left:
        worker.notify(user)
    worker.notify("ann")
    gate.set()
    assert worker.idle(20)
    assert left == {"ann": 0, "bea": 0, "cid": 0}
    assert turns[:3] == ["ann", "bea", "cid"]
    assert turns[3:] == ["ann", "cid", "ann", "ann"]


def test_others_work_is_seen_however_busy_one_s_own_users_are(started):
    """Users who talk all the time do not keep a worker from looking who else lags behind."""
    lags, seen = threading.Event(), threading.Event()

    def maintain(user):
        if user == "zoe":
            seen.set()
        elif not seen.is_set():
            worker.notify("ann" if user == "bea" else "bea")

    worker = started(maintain, lambda _: ["zoe"] if lags.is_set() else [], poll_s=0.05)
    assert worker.idle(20)
    lags.set()
    worker.notify("ann")
    assert seen.wait(5)


def test_one_user_s_failing_rebuild_is_not_everybody_s(opened):
    """The embedder of a build that grows beside fails: who asked for it waits, and nobody else does."""
    other = FailingEmbedder(HashEmbedder(32, name="other"), failing=False)
    memory = opened(embedder=HashEmbedder(16))
    memory.add("A tulip.", user="ann")
    memory.builds.rebuild(user="ann", embedder=other)
    memory.admin.start_worker(threads=1)
    other.failing = True
    memory.add("A rose.", user="ann")
    worker = memory._wiring.worker
    with worker._changed:
        assert worker._changed.wait_for(lambda: "ann" in worker._resting, 20)
    assert worker._retry_at == 0


def test_no_thread_of_a_closed_memory_begins(opened, caplog):
    """It says that it is closed, and nothing looks for work in vain."""
    memory = opened()
    memory.close()
    with pytest.raises(ClosedMemory):
        memory.admin.start_worker()
    assert memory._wiring.worker is None
    assert not caplog.messages


def test_stopping_ends_between_two_steps(started):
    """A maintenance under way is told to stop at its next step, and a user is not left half done."""
    steps, under_way = [], threading.Event()

    def maintain(user):
        for step in range(10**6):
            under_way.set()
            worker.check()
            steps.append(step)

    worker = started(maintain)
    worker.notify("ann")
    assert under_way.wait(20)
    assert worker.stop(20)
    with pytest.raises(Stopped):
        worker.check()


def test_users_go_side_by_side(started):
    """Two threads work on two users at once."""
    barrier = threading.Barrier(2, timeout=20)
    worker = started(lambda user: barrier.wait(), threads=2)
    worker.notify("ann")
    worker.notify("bea")
    assert worker.idle(20)


def test_a_memory_maintains_itself(opened):
    """With background=True what comes is read without anybody asking, and what an earlier process left."""
    facts = [f"Fact {i}: Otto repaired clock number {i} in his cellar." for i in range(9)]
    with opened(**CHUNKS) as memory:
        memory.add(facts, user="ann")
    memory = opened(background=True, **CHUNKS)
    memory.add(facts, user="bea")
    assert memory._wiring.worker.idle(20)
    assert memory.user("ann").chunks()
    assert memory.user("bea").chunks()
    assert memory.admin.stats().views[1].lag == 0
    memory.close()
