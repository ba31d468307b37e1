"""Streams that end otherwise than they should, and the record of them."""

import asyncio
import time

import httpx2
import openai
import pytest
from upstream import Reply

from zibaldone import AsyncMemory

QUESTION = {"model": "fake", "stream": True, "messages": [{"role": "user", "content": "Hello."}]}
LONG = "This is a long answer of many words, which somebody stops listening to."


def eventually(condition):
    """Wait until it holds."""
    for _ in range(600):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it never came about")


def ask(client, text, **options):
    """One question, streamed."""
    messages = [{"role": "user", "content": text}]
    return client.chat.completions.create(model="fake", messages=messages, stream=True, **options)


def test_who_hangs_up_leaves_a_partial_answer(chat, upstream, logged):
    """As far as it had come, which is before its end; the upstream is told to stop."""
    whole = LONG * 20  # there is more to come for long, however slow the hanging up is
    upstream.says(whole, pause_s=0.05)
    stream = ask(chat, "Tell me.")
    heard = ""
    for chunk in stream:
        heard += chunk.choices[0].delta.content or ""
        if len(heard) > 12:
            break
    stream.close()
    eventually(lambda: len(logged()) == 2)
    question, answer = logged()
    assert question.content == "Tell me."
    assert answer.metadata["partial"] is True
    assert whole.startswith(answer.content)
    assert len(heard) <= len(answer.content) < len(whole)
    eventually(lambda: upstream.hung_up == 1)


@pytest.mark.parametrize("mode", ["context", "tool"])
def test_who_hangs_up_before_anything_came_leaves_the_question(chat, upstream, logged, mode):
    """Nobody answered it, or the model was still searching."""
    late = Reply(LONG, delay_s=5)
    upstream.replies(*[Reply("", calls=[("h1", "search_memory", {"query": "x"})])] * (mode == "tool"), late)
    with pytest.raises((openai.APITimeoutError, httpx2.ReadTimeout)):
        list(ask(chat, "Tell me.", timeout=0.5, extra_headers={"X-Memory-Mode": mode}))
    eventually(lambda: len(logged()) == 1)
    assert logged()[0].content == "Tell me."


PIECE = b'data: {"choices":[{"index":0,"delta":{"content":"By Mon"}}]}\n\n'
ERROR = b'data: {"error":{"message":"overloaded"}}\n\n'
LAST = b'data: {"choices":[{"index":0,"delta":{"content":"day."},"finish_reason":"stop"}]}'


@pytest.mark.parametrize(
    ("events", "answer", "partial"),
    [
        pytest.param(PIECE + ERROR, "By Mon", True, id="an error is no end of an answer"),
        pytest.param(PIECE + ERROR + b"data: [DONE]\n\n", "By Mon", True, id="nor is an end after it"),
        pytest.param(PIECE, "By Mon", True, id="nothing says that it is over"),
        pytest.param(PIECE + LAST, "By Monday.", None, id="the last event lacks its empty line"),
    ],
)
def test_how_a_stream_ends(gateway, upstream, logged, events, answer, partial):
    """What comes is passed on, and an answer that broke off is stored as a part."""
    upstream.says("", raw=events)
    got = httpx2.post(f"{gateway}/v1/chat/completions", json=QUESTION, headers={"X-Memory-User": "ann"})
    assert got.content.startswith(PIECE)
    assert (ERROR in got.content) is (ERROR in events)
    assert (b'"memory":{"status":"ok"' in got.content) is not partial
    assert [(m.content, m.metadata.get("partial")) for m in logged()] == [("Hello.", None), (answer, partial)]


def test_an_answer_in_one_piece_that_breaks_off(chat, upstream, logged):
    """It is the upstream's fault, and is said to be."""
    upstream.says("Noted.", break_after=1)
    with pytest.raises(openai.InternalServerError, match="broke off") as caught:
        chat.chat.completions.create(model="fake", messages=[{"role": "user", "content": "Hello."}])
    assert caught.value.status_code == 502
    assert [m.content for m in logged()] == ["Hello."]


def test_an_answer_that_comes_later_is_said_not_to_be_stored(gateway, upstream, logged):
    """The upstream gives it to who asks again, by another path."""
    upstream.replies(Reply(status=201, error={"id": "resp_1", "status": "queued", "output": []}))
    body = {"model": "fake", "input": "Hello.", "background": True}
    answer = httpx2.post(f"{gateway}/v1/responses", json=body, headers={"X-Memory-User": "ann"})
    assert answer.headers["x-memory-status"] == "degraded"
    assert [m.content for m in logged()] == ["Hello."]


@pytest.mark.parametrize("path", ["chat/completions", "responses", "messages"])
@pytest.mark.parametrize("stream", [True, False])
def test_the_answer_is_in_the_log_before_its_last_byte_leaves(gateway, upstream, monkeypatch, path, stream):
    """However long storing takes: when the report is there, so are question and answer, and it is whole."""
    stored = []
    add = AsyncMemory.add

    async def slow(*given, **options):
        await asyncio.sleep(0.2)
        messages = await add(*given, **options)
        stored.extend((message.content, message.metadata) for message in messages)
        return messages

    monkeypatch.setattr(AsyncMemory, "add", slow)
    upstream.says("Now it is stored.")
    question = {"messages": [{"role": "user", "content": "Is it?"}], "input": "Is it?", "max_tokens": 9}
    body = {"model": "fake", "stream": stream, "user": "ann", **question}
    with httpx2.stream("POST", f"{gateway}/v1/{path}", json=body, timeout=60) as answer:
        for line in answer.iter_lines():
            if '"citations"' in line:
                assert stored == [("Is it?", {}), ("Now it is stored.", {})]
                break
        else:
            raise AssertionError("no report")
