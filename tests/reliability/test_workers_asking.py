"""Workers that share a database ask a model nothing twice, but what a killed one took with it."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict

import pytest
from children import Child

from chunk_model import good
from memories import open_memory
from zibaldone import MemAttention, OpenAIChat
from zibaldone.storage import schema
from zibaldone.testing import FakeOpenAIServer, HashEmbedder

pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]

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
            for user in names:
                items = [item for chunk in memory.user(user).chunks() for item in chunk.items]
                assert len({item.sources for item in items}) == len(items)
    repeated = {question: told for question, told in asked.items() if len(told) > 1}
    assert {user for told in repeated.values() for _, user in told} <= in_hand
    assert all(len(told) == 2 and told[0][0] == KILLED for told in repeated.values())
    assert repeated
    assert twice_at_once == []
    assert {worker for told in asked.values() for worker, _ in told} == {f"worker {n}" for n in range(3)}
