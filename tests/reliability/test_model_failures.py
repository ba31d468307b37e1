"""Whatever a model server does, through add, maintain and recall: nothing is lost, and the meter tells."""

import json
import threading
import time

import pytest

from chunk_model import good
from misbehaving_server import MisbehavingServer, Misbehaviour
from zibaldone import Ceilings, MemAttention, OpenAIChat, OpenAIEmbedder, ZibaldoneError
from zibaldone.models.base import ChatReply

pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]

CHUNKS = {
    "chunks": MemAttention(chunk_gate_tokens=40, top_p=1, recall_relevance="model"),
    "maintained": ["chunks"],
}
FACTS = [f"Fact {i}: Otto repaired clock number {i} in cellar {i} on a Tuesday." for i in range(8)]


@pytest.fixture
def opened(opened_anywhere):
    """Opens memories wherever they are to be."""
    return opened_anywhere


@pytest.fixture
def server():
    """A model server that can misbehave."""
    with MisbehavingServer(good) as server:
        server.trickle_s = 0.02
        yield server


@pytest.fixture
def with_model(opened, server):
    """A memory whose chat model is the server, with little patience."""
    clients = []

    def with_model(**options):
        client = OpenAIChat("fake", base_url=server.base_url, timeout_s=0.2, max_retries=0)
        clients.append(client)
        return opened(**(CHUNKS | {"chat": client} | options))

    yield with_model
    for client in clients:
        client.close()


FEW = [Misbehaviour.INVALID_JSON, Misbehaviour.SERVER_ERROR, Misbehaviour.DROP]
OTHERS = [misbehaviour for misbehaviour in Misbehaviour if misbehaviour not in FEW]


def covered(memory):
    """Seqs that some item of some chunk names."""
    return {s for chunk in memory.user("ann").chunks() for item in chunk.items for s in item.sources}


@pytest.mark.parametrize(
    "misbehaviour", FEW + [pytest.param(each, marks=pytest.mark.wide) for each in OTHERS]
)
def test_nothing_is_lost_whatever_the_server_does(with_model, server, misbehaviour):
    """Every message is stored, in a chunk and recalled; the chunks are marked, and the meter counts it."""
    memory = with_model()
    server.always = misbehaviour
    stored = memory.add(FACTS, user="ann")
    report = memory.maintain()
    assert report.behind == ()
    assert memory.admin.stats(user="ann").views[1].lag == 0
    chunks = memory.user("ann").chunks()
    assert len(chunks) >= 3
    assert all(chunk.degraded and chunk.made_by == "offline" for chunk in chunks)
    last = max(seq for seq in covered(memory))
    assert covered(memory) == set(range(1, last + 1))
    found = memory.recall("clock number 3", user="ann", views=["chunks"], min_confidence=0)
    assert {seq for evidence in found.evidence for seq in evidence.sources}
    assert "selected offline" in found.trace.views[0].note
    assert [m.content for m in memory.messages(user="ann")] == [m.content for m in stored] == FACTS
    usage = memory.admin.usage(user="ann")
    assert report.degraded >= len(chunks)
    assert sum(one.degraded for one in usage) == report.degraded + 1
    assert memory.admin.check().faults == ()


def test_a_server_that_recovers_is_asked_again(with_model, server):
    """After a bad time the next chunks are the model's; a rebuild makes the degraded ones anew."""
    memory = with_model()
    server.always = Misbehaviour.SERVER_ERROR
    memory.add(FACTS[:3], user="ann")
    memory.maintain()
    server.always = None
    memory.add(FACTS[3:], user="ann")
    memory.maintain()
    made_by = [chunk.made_by.split("/")[0] for chunk in memory.user("ann").chunks()]
    assert made_by[0] == "offline"
    assert made_by[-1] == "fake"
    memory.builds.rebuild(user="ann", view="chunks")
    assert {chunk.degraded for chunk in memory.user("ann").chunks()} == {""}
    assert memory.admin.check().faults == ()


def test_ceilings_degrade_and_never_lose(with_model):
    """When the day's calls are used up the rest is done offline, and says so."""
    memory = with_model(ceilings=Ceilings(calls_per_user_per_day=2))
    memory.add(FACTS, user="ann")
    report = memory.maintain()
    assert report.model_calls == 2
    assert report.degraded > 0
    assert "calls_per_user_per_day is 2" in memory.user("ann").chunks()[-1].degraded
    assert covered(memory)
    assert memory.admin.check().faults == ()


def test_an_embedding_server_that_fails_loses_nothing(opened, server, caplog):
    """Messages are stored and found by their words; when the server is back the views catch up."""
    embedder = OpenAIEmbedder("fake", dimension=8, base_url=server.base_url, timeout_s=0.2, max_retries=0)
    memory = opened(**CHUNKS, chat=None, embedder=embedder)
    server.always = Misbehaviour.DROP
    memory.add(FACTS, user="ann")
    assert "view messages lags behind for user 'ann'" in caplog.text
    assert len(memory.maintain().behind) == 2
    assert memory.recall("clock number 3", user="ann").evidence
    assert memory.recall("clock number 3", user="ann", views=["chunks"], min_confidence=0).evidence
    server.always = None
    assert memory.maintain().behind == ()
    assert memory.user("ann").chunks()
    embedder.close()


def test_closing_does_not_wait_for_a_model_that_hangs(with_model, server, monkeypatch):
    """The worker is given some time to end, and no more; what it had not committed is done again later."""
    from zibaldone.api import wiring as module

    monkeypatch.setattr(module, "_STOP_S", 0.05)
    client = OpenAIChat("fake", base_url=server.base_url, timeout_s=30, max_retries=0)
    server.always = Misbehaviour.HANG
    memory = with_model(background=True, chat=client)
    memory.add(FACTS, user="ann")
    until = time.monotonic() + 20
    while not server.requests and time.monotonic() < until:
        threading.Event().wait(0.01)
    began = time.monotonic()
    memory.close()
    assert time.monotonic() - began < 10
    again = with_model(chat=None)
    assert again.maintain().behind == ()
    assert again.admin.check().faults == ()
    server.close()
    client.close()


def test_more_recalls_at_once_than_there_are_connections(opened):
    """Forty recalls that ask a model under a daily ceiling end soon: none holds what another waits for."""
    quiet = opened(**CHUNKS, chat=None)
    quiet.add(FACTS, user="ann")
    quiet.maintain()
    quiet.close()
    together = threading.Barrier(40, timeout=60)
    asked = threading.local()

    def select(request):
        if not getattr(asked, "before", False):
            asked.before = True
            together.wait()  # every recall has got this far, and holds whatever it holds
        given = json.loads(request.turns[1].content)
        return {"chunks": [one["chunk"] for one in given["candidates"]][: given["at_most"]]}

    class Together:
        name = "together"

        def chat(self, request):
            return ChatReply(json.dumps(select(request)), prompt_tokens=10, completion_tokens=5)

    memory = opened(
        **CHUNKS, chat=Together(), ceilings=Ceilings(tokens_per_user_per_day=10**7), busy_timeout_s=5
    )
    notes, errors = [], []

    def recall():
        try:
            found = memory.recall("clock number 3", user="ann", views=["chunks"], min_confidence=0)
            notes.append(found.trace.views[0].note)
        except ZibaldoneError as error:
            errors.append(error)

    threads = [threading.Thread(target=recall) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (errors, notes) == ([], [""] * 40)
    assert sum(one.calls for one in memory.admin.usage(user="ann")) == 40
