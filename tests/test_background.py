"""The background worker: whose turn it is, how long it waits, how it ends."""

import queue
import threading

import pytest

from zibaldone import MemAttention
from zibaldone.errors import ModelUnavailable, StorageCorrupt
from zibaldone.worker import BackgroundWorker, Stopped

CHUNKS = {"chunks": MemAttention(chunk_gate_tokens=40), "chat": None, "maintained": ["chunks"]}


class Clock:
    """A thousand seconds pass between two looks at it: longer than any wait."""

    now = 0.0

    def __call__(self):
        """What time it is."""
        self.now += 1000
        return self.now


@pytest.fixture
def started():
    """Starts workers, and stops them."""
    workers = []

    def started(maintain, due=list, **options):
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


def test_what_an_earlier_process_left_is_found_at_the_start(started):
    """Users who lag behind are looked for without being told of."""
    done = []
    worker = started(done.append, lambda: ["ann", "bea"])
    assert worker.idle(20)
    assert sorted(done) == ["ann", "bea"]


def test_a_full_queue_loses_nobody(started):
    """Who finds no place in the queue is found when all are looked at."""
    everybody, done, gate = [f"user {i}" for i in range(50)], set(), threading.Event()

    def maintain(user):
        gate.wait(20)
        done.add(user)

    worker = started(maintain, lambda: [user for user in everybody if user not in done], queue_users=4)
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
        waits.append(worker._not_before % 1000)
        if len(waits) < 12:
            raise ModelUnavailable("down")

    worker = started(maintain, clock=Clock())
    worker.notify("ann")
    assert worker.idle(20)
    assert waits == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert worker._failures == 0
    assert "maintenance of user 'ann' waits: down" in caplog.text


def test_one_user_s_damage_makes_nobody_else_wait(started, caplog):
    """Who has a torn block rests, longer and longer; the others are maintained meanwhile."""
    now, turns = [0.0], queue.Queue()

    def maintain(user):
        turns.put(user)
        if user == "ann":
            raise StorageCorrupt("a torn block")

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
    assert "maintenance of user 'ann' waits: a torn block" in caplog.text


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


def test_one_user_s_bug_is_not_everybody_s(started, caplog):
    """An error that nobody expected is told, and the others are maintained."""
    done = []

    def maintain(user):
        if user == "ann" and not done:
            done.append("failed")
            raise ZeroDivisionError
        done.append(user)

    worker = started(maintain, clock=Clock())
    worker.notify("ann")
    worker.notify("bea")
    assert worker.idle(20)
    assert sorted(done) == ["ann", "bea", "failed"]
    assert "ZeroDivisionError" in caplog.text


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
    """With background=True what is maintained comes without anybody asking; add does not wait for it."""
    memory = opened(background=True, **CHUNKS)
    memory.add([f"Fact {i}: Otto repaired clock number {i} in his cellar." for i in range(9)], user="ann")
    assert memory._worker.idle(20)
    assert memory.chunks(user="ann")
    assert memory.stats().views[1].lag == 0
    memory.close()


def test_another_process_s_messages_are_found_at_the_next_opening(opened):
    """What was added while no worker ran is read when one starts."""
    memory = opened(**CHUNKS)
    memory.add([f"Fact {i}: Otto repaired clock number {i} in his cellar." for i in range(9)], user="ann")
    memory.close()
    again = opened(background=True, **CHUNKS)
    assert again._worker.idle(20)
    assert again.chunks(user="ann")
    again.close()
