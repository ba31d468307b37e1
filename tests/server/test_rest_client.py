"""RestMemory gives what Memory gives, over a server."""

import inspect
from dataclasses import replace
from datetime import UTC, datetime

import httpx2
import pytest

from zibaldone import Filter, Memory, Message
from zibaldone.adapters.rest import RestMemory
from zibaldone.errors import IdConflict, InvalidInput, StorageBusy, StorageUnreachable, ZibaldoneError
from zibaldone.testing import ScriptedModel

NOON = datetime(2024, 6, 1, 12, tzinfo=UTC)
ANSWER = '{"answer": "In Lisbon.", "sources": [1]}'


@pytest.fixture
def address(serving, clock):
    """A server with a model."""
    return serving(clock=clock, chat=ScriptedModel(lambda _: ANSWER))


@pytest.fixture
def remote(address):
    """A client of it."""
    with RestMemory(address) as remote:
        yield remote


def as_sent(unit):
    """A passage without what only the library says of it."""
    old = unit.outdated and replace(unit.outdated, rule="", instead="", newest=0)
    return replace(unit, channels=(), place=0, ids=(), outdated=old)


def talk(memory):
    """Talk to a memory, by whatever door; what it gave."""
    said = [
        Message("I moved to Lisbon in May.", time=NOON, id="a/1"),
        {"role": "assistant", "content": "How do you like Lisbon?", "time": NOON, "id": "a/2"},
        {"role": "user", "content": "I play the piano.", "time": NOON, "session": "music", "id": "a/3"},
        *(
            {"content": f"My rent is {rent}.", "time": NOON, "session": "rent", "id": f"rent/{rent}"}
            for rent in ("790 a month", "835 a month now")
        ),
    ]
    added = memory.add(said, user="ann", session="moving")
    corrected = memory.update("a/3", "I play the cello.", user="ann", metadata={"why": "slip"})
    recalled = memory.recall("Where does Ann live?", user="ann", budget_tokens=500, now=NOON)
    answer = memory.ask("Where does Ann live?", user="ann", rounds=1, now=NOON)
    rent = memory.recall(messages=[said[0], {"role": "user", "content": "What is my rent?"}], user="ann")
    assert any(unit.outdated for unit in rent.evidence)
    narrowed = Filter(session="moving", roles=["user"], since=datetime(2024, 1, 1, tzinfo=UTC), metadata={})
    return {
        "added": added,
        "corrected": replace(corrected, id="", time=None),
        "recalled": (
            recalled.text,
            recalled.tokens,
            recalled.confidence,
            [cited.seq for cited in recalled.citations],
        ),
        "rent": rent.text,
        "evidence": [as_sent(unit) for unit in (*recalled.evidence, *rent.evidence)],
        "answer": (answer.text, answer.known, answer.citations, answer.evidence.text, answer.calls),
        "sure": memory.search("Lisbon", user="ann").confidence,
        "found": [
            unit.text for unit in memory.search("Lisbon", user="ann", limit=2, filter=narrowed, now=NOON)
        ],
        "messages": memory.messages(user="ann", filter=narrowed),
        "last": [one.content for one in memory.messages(user="ann", last=2)],
        "page": [one.seq for one in memory.messages(user="ann", after=1, limit=2)],
        "one": memory.get("a/1", user="ann"),
        "none": memory.get("a/9", user="ann"),
        "users": memory.users(),
        "dry": replace(memory.forget(user="ann", session="moving", dry_run=True), views=()),
        "gone": memory.forget(user="ann", everything=True).messages,
    }


def test_it_gives_what_the_library_gives(remote, opened):
    """The same calls, the same results; but for what a recall's trace and candidates have."""
    assert talk(remote) == talk(opened("here", chat=ScriptedModel(lambda _: ANSWER)))


def test_its_methods_have_the_library_s_signatures(remote):
    """Whoever knows the one knows the other."""
    for name in ("add", "recall", "ask", "search", "messages", "get", "update", "users", "forget"):
        assert inspect.signature(getattr(RestMemory, name)) == inspect.signature(getattr(Memory, name))


def test_errors_are_the_library_s(remote, address, make_key):
    """Those that it has; any other is the root of all, with its code."""
    remote.add({"content": "one", "id": "a/1"}, user="ann")
    with pytest.raises(IdConflict):
        remote.add({"content": "two", "id": "a/1"}, user="ann")
    with pytest.raises(InvalidInput, match="limit"):
        remote.search("one", user="ann", limit=0)
    with pytest.raises(InvalidInput, match="chat does not go to a server"):
        remote.recall("one", user="ann", chat=ScriptedModel([]), rounds=1)
    with pytest.raises(InvalidInput, match="by its id"):
        remote.get(1, user="ann")
    make_key("ann")
    with pytest.raises(ZibaldoneError, match="key"):
        remote.recall("one", user="ann")


def test_a_server_of_something_else(remote, monkeypatch):
    """Its answer is no memory's."""
    page = httpx2.Response(200, html="<p>Hello</p>")
    monkeypatch.setattr(httpx2.Client, "request", lambda *_, **__: page)
    with pytest.raises(ZibaldoneError, match="is it a zibaldone server"):
        remote.users()


def test_a_user_s_key_opens_that_user(address, make_key):
    """And no other."""
    with RestMemory(address, key=make_key("ann")) as remote:
        remote.add("I play the piano.", user="ann")
        assert "piano" in remote.recall("What do I play?", user="ann").text
        with pytest.raises(ZibaldoneError):
            remote.recall("What do I play?", user="ben")


def test_it_tries_again_with_the_same_ids(remote, monkeypatch):
    """After a failure of the network, and after 503; what may have happened is not sent twice."""
    sent = []

    def failing(*fates):
        left = list(fates)

        def handle(request):
            sent.append(request.content)
            fate = left.pop(0)
            if isinstance(fate, Exception):
                raise fate
            return fate

        remote._client = httpx2.Client(base_url="http://server", transport=httpx2.MockTransport(handle))

    monkeypatch.setattr("time.sleep", lambda _: None)
    problem = {"type": "urn:zibaldone:problem:storage-busy", "detail": "try again"}
    broken, busy = httpx2.ReadError("gone"), httpx2.Response(503, json=problem)
    failing(broken, busy, httpx2.Response(201, json={"messages": [], "new": 0}))
    assert remote.add("one", user="ann") == []
    assert len(sent) == 3
    assert len(set(sent)) == 1
    failing(broken, broken)
    with pytest.raises(StorageUnreachable, match="check that it runs"):
        remote.forget(user="ann", everything=True)
    assert len(sent) == 4
    failing(*[busy] * 4)
    with pytest.raises(StorageBusy):
        remote.recall("one", user="ann")
    assert len(sent) == 8
