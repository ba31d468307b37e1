"""A fault of memory never fails a request, and one of the upstream is passed on as it is."""

import asyncio
import threading
import time

import anthropic
import httpx2
import openai
import pytest
from loopback import servers
from upstream import Reply

from zibaldone import AsyncMemory, RecallGivenUp, StorageFull
from zibaldone.server.gateway import exchange

BODY = {"model": "fake", "messages": [{"role": "user", "content": "Who is my dentist?"}], "user": "ann"}


def post(base, timeout=60):
    """The answer to one question."""
    return httpx2.post(f"{base}/v1/chat/completions", json=BODY, timeout=timeout)


@pytest.fixture
def ask(chat):
    """Asks one question; gives the answer with its headers."""

    def ask(text="Who is my dentist?", **options):
        messages = [{"role": "user", "content": text}]
        return chat.chat.completions.with_raw_response.create(model="fake", messages=messages, **options)

    return ask


def broken(monkeypatch, name, error):
    """Let a method of the memory fail."""

    async def fail(*_, **__):
        raise error

    monkeypatch.setattr(AsyncMemory, name, fail)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (StorageFull("no space"), "nothing recalled: StorageFull"),
        (RuntimeError("a secret word"), "nothing recalled: RuntimeError"),
        (RecallGivenUp(), "nothing recalled within 20000 ms"),
    ],
)
def test_a_recall_that_fails_leaves_the_request_as_it_was(ask, upstream, monkeypatch, logged, error, reason):
    """The answer says so, and what was said is stored; the recall knew until when it is waited for."""
    limits = []

    async def fail(*_, timeout_s, **__):
        limits.append(timeout_s)
        raise error

    monkeypatch.setattr(AsyncMemory, "recall", fail)
    answer = ask()
    assert answer.headers["x-memory-status"] == "degraded"
    assert answer.headers["x-memory-reason"] == reason
    assert 0 <= limits.pop() <= 20
    assert answer.parse().model_extra["memory"]["status"] == "degraded"
    assert upstream.last.json["messages"] == [{"role": "user", "content": "Who is my dentist?"}]
    assert len(logged()) == 2


@pytest.mark.parametrize(("late_s", "reason"), [(30.0, "others came first"), (0.0, "50 ms")])
def test_a_recall_that_is_late_is_left_behind(serving, upstream, monkeypatch, told, late_s, reason):
    """The request goes on without it; it keeps its turn for some time, or those in time would be late too."""
    told("My dentist is Dr. Moss.")
    may_end = threading.Event()

    async def stuck(*_, **__):
        await asyncio.to_thread(may_end.wait, 20)

    monkeypatch.setattr(AsyncMemory, "recall", stuck)
    monkeypatch.setattr(exchange, "_LATE_S", late_s)
    base = serving(upstream=upstream.url, recall_timeout_ms=50)
    began = time.perf_counter()
    first, second = (post(base) for _ in range(2))
    assert time.perf_counter() - began < 15
    may_end.set()
    assert first.headers["x-memory-status"] == "degraded"
    assert first.headers["x-memory-reason"].endswith("50 ms")
    assert second.headers["x-memory-reason"].endswith(reason)
    assert upstream.last.json["messages"] == BODY["messages"]


@pytest.mark.parametrize("stream", [False, True])
def test_what_cannot_be_stored_is_said(ask, monkeypatch, stream):
    """The answer comes all the same, with its report."""
    broken(monkeypatch, "add", StorageFull("no space"))
    answer = ask(stream=stream)
    if stream:
        chunks = list(answer.parse())
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Noted."
        memory = chunks[-1].model_extra["memory"]
    else:
        assert answer.headers["x-memory-status"] == "degraded"
        memory = answer.parse().model_extra["memory"]
    assert memory["status"] == "degraded"
    assert memory["reason"] == "not stored: StorageFull"


def test_what_was_not_stored_comes_with_the_next_request(chat, ask, monkeypatch, logged):
    """The history has it."""
    with monkeypatch.context() as patched:
        broken(patched, "add", StorageFull("no space"))
        ask("one")
    messages = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "two"},
    ]
    chat.chat.completions.create(model="fake", messages=messages)
    assert [m.content for m in logged()] == ["one", "Noted.", "two", "Noted."]


@pytest.mark.parametrize("status", [400, 401, 429, 529])
def test_errors_of_the_upstream_are_its_own(as_ann, wire, gateway, upstream, status, logged):
    """Status, headers and body, in each format; the question was asked, and is stored once."""
    error = {"type": "error", "error": {"message": "No.", "type": "some_error", "code": "some_code"}}
    upstream.replies(Reply(status=status, error=error))
    for _ in range(2):
        with pytest.raises((openai.APIStatusError, anthropic.APIStatusError)) as caught:
            as_ann(wire, gateway).ask([{"role": "user", "content": "Who is my dentist?"}], stream=False)
        assert caught.value.response.json() == error
        assert caught.value.response.headers["retry-after"] == "0"
    assert [m.content for m in logged()] == ["Who is my dentist?"]


def test_an_upstream_that_is_not_there(serving):
    """A gateway's error, in the shape in which clients read errors; it says where."""
    base = serving(upstream="http://127.0.0.1:9/v1")
    answer = post(base)
    assert answer.status_code == 502
    assert "the upstream http://127.0.0.1:9/v1 could not be reached" in answer.json()["error"]["message"]


def test_what_goes_on_in_the_background_is_waited_for(memory_path, upstream, monkeypatch, logged):
    """The server's end: the question of a client that has hung up is still stored."""
    add = AsyncMemory.add

    async def slow(*given, **options):
        await asyncio.sleep(1)
        return await add(*given, **options)

    monkeypatch.setattr(AsyncMemory, "add", slow)
    upstream.says("Too late.", delay_s=5)
    with servers(memory_path) as serving, pytest.raises(httpx2.ReadTimeout):
        post(serving(upstream=upstream.url), timeout=0.5)
    assert [m.content for m in logged()] == ["Who is my dentist?"]
