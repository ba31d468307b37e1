"""While the memory's database is away: typed answers, a line of the log for each, and models go on."""

from __future__ import annotations

import threading

import httpx2
import openai
import pytest
from upstream import shared_upstream, upstream

from postgres_server import NoServer, Server
from zibaldone import Memory
from zibaldone.errors import StorageUnreachable
from zibaldone.server import access
from zibaldone.server.keys import KeyStore

__all__ = ["shared_upstream", "upstream"]
GONE = StorageUnreachable("the database cannot be reached (it went away); nothing of this call was stored")


@pytest.fixture
def failing_lines(caplog):
    """What the log says that is more than a line, or has an error with it."""

    def failing_lines():
        texts = [record.getMessage() for record in caplog.records if record.name.startswith("zibaldone")]
        assert texts
        return [t for t in texts if "\n" in t] + [r for r in caplog.records if r.exc_info]

    return failing_lines


def ask(base, question="Who is my dentist?", *, key="nobody's"):
    """A question to the model behind the gateway."""
    with openai.OpenAI(base_url=f"{base}/v1", api_key=key, max_retries=0) as client:
        return client.chat.completions.with_raw_response.create(
            model="fake",
            messages=[{"role": "user", "content": question}],
            extra_headers={"X-Memory-User": "ann"},
        )


def test_whether_keys_are_needed_cannot_be_known(serving, monkeypatch, failing_lines):
    """A request to the memory is a 503 that says when to try again, and one line of the log."""
    base = serving()

    def gone(_):
        raise GONE

    monkeypatch.setattr(KeyStore, "exist", gone)
    answer = httpx2.get(f"{base}/v1/memory/messages", params={"user": "ann"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert answer.json()["type"] == "urn:zibaldone:problem:storage-unreachable"
    assert failing_lines() == []


def test_the_gateway_lets_nobody_in_who_had_to_show_a_key(serving, make_key, monkeypatch, upstream):
    """Where there were keys, or nobody knows, nothing is passed on."""
    base, token = serving(upstream=upstream.url), make_key("ann")
    assert ask(base, key=token).status_code == 200

    def gone(*_):
        raise GONE

    monkeypatch.setattr(KeyStore, "exist", gone)
    monkeypatch.setattr(KeyStore, "authenticate", gone)
    asked = len(upstream.sent)
    for key in ("nobody's", token):
        with pytest.raises(openai.APIStatusError) as refused:
            ask(base, key=key)
        assert refused.value.status_code == 503
    assert len(upstream.sent) == asked


@pytest.fixture
def stuck():
    """A look at the keys that does not end before the test does."""
    ended = threading.Event()

    def look(*_):
        ended.wait(30)

    yield look
    ended.set()


def test_keys_that_cannot_be_read_hold_no_model_up(serving, monkeypatch, upstream, stuck, failing_lines):
    """Without keys the request goes on soon, also behind many whose looks still wait; REST waits."""
    monkeypatch.setattr(access, "_MOST_READS", 3)
    base = serving(upstream=upstream.url)
    assert ask(base).status_code == 200  # now it is known that there is none
    monkeypatch.setattr(KeyStore, "exist", stuck)
    for _ in range(5):
        assert ask(base).parse().choices[0].message.content == "Noted."
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.get(f"{base}/v1/memory/messages", params={"user": "ann"}, timeout=0.5)
    assert failing_lines() == []


def test_who_may_need_a_key_is_shown_nothing_and_stores_nothing(serving, memory_path, monkeypatch, upstream):
    """Keys may have been made since it was looked last, and the memory itself may be there."""
    base = serving(upstream=upstream.url, recall_timeout_ms=20_000)
    says = {"messages": [{"role": "user", "content": "My dentist is Dr. Moss."}]}
    assert httpx2.post(f"{base}/v1/memory/messages", params={"user": "ann"}, json=says).status_code == 201
    assert ask(base).status_code == 200
    assert "Dr. Moss" in str(upstream.sent[-1])

    def gone(_):
        raise GONE

    monkeypatch.setattr(KeyStore, "exist", gone)
    answer = ask(base, "And who is my doctor?")
    assert answer.headers["x-memory-status"] == "degraded"
    assert "could not be read" in answer.headers["x-memory-reason"]
    assert "Dr. Moss" not in str(upstream.sent[-1])
    with Memory(memory_path) as memory:
        assert len(memory.messages(user="ann")) == 3


def test_a_key_that_cannot_be_read_is_a_503_soon(serving, make_key, monkeypatch, upstream, stuck):
    """Whoever shows a key, or comes before anything is known of keys, is not let in, nor kept waiting."""
    base, token = serving(upstream=upstream.url), make_key("ann")
    monkeypatch.setattr(access, "_KEY_S", 0.05)
    monkeypatch.setattr(KeyStore, "exist", stuck)
    monkeypatch.setattr(KeyStore, "authenticate", stuck)
    for key in ("nobody's", token):
        with pytest.raises(openai.APIStatusError) as refused:
            ask(base, key=key)
        assert (refused.value.status_code, refused.value.response.headers["retry-after"]) == (503, "1")
    assert upstream.sent == []


@pytest.mark.wide
def test_a_database_that_goes_away_and_comes_back(serving, upstream, failing_lines):
    """REST answers 503, the gateway goes on without memory and says so; afterwards all is as before."""
    try:
        postgres = Server()
    except NoServer as why:
        pytest.skip(str(why))
    try:
        base = serving(postgres.new(), upstream=upstream.url, busy_timeout_s=0.2, background=True)
        with httpx2.Client(base_url=base, params={"user": "ann"}) as client:
            says = {"messages": [{"role": "user", "content": "My dentist is Dr. Moss."}]}
            assert client.post("/v1/memory/messages", json=says).status_code == 201
            postgres.kill()
            for answer in (
                client.post("/v1/memory/messages", json=says),
                client.post("/v1/memory/recall", json={"query": "dentist"}),
                client.get("/readyz"),
            ):
                assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
            answer = ask(base)
            assert answer.headers["x-memory-status"] == "degraded"
            assert answer.parse().choices[0].message.content == "Noted."
            postgres.start()
            assert client.post("/v1/memory/recall", json={"query": "dentist"}).status_code == 200
            ask(base)
            assert "Dr. Moss" in str(upstream.last.json)
        assert failing_lines() == []
    finally:
        postgres.stop()
