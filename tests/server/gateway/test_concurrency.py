"""Many requests at once: no turn is lost, and none is stored twice."""

import asyncio

import httpx2
import pytest
from upstream import Reply

from zibaldone import Memory


def post_all(gateway, requests):
    """Send all of them at once; gives the answers in their order."""

    async def run():
        async with httpx2.AsyncClient(base_url=gateway, timeout=120) as client:
            sent = (client.post("/v1/chat/completions", json=body, headers=head) for body, head in requests)
            return await asyncio.gather(*sent)

    return asyncio.run(run())


def request(text, *, user="ann", session="s", history=()):
    """A chat completion and its headers."""
    roles = ("user", "assistant")
    turns = [{"role": roles[i % 2], "content": content} for i, content in enumerate([*history, text])]
    return {"model": "fake", "messages": turns}, {"X-Memory-User": user, "X-Memory-Session": session}


def test_a_request_sent_many_times_at_once_is_one_turn(gateway, upstream, logged):
    """Clients that try again before they have an answer."""
    upstream.says("Noted.", delay_s=0.1)
    answers = post_all(gateway, [request("Hello.")] * 8)
    assert {answer.status_code for answer in answers} == {200}
    assert [(m.role, m.content) for m in logged()] == [("user", "Hello."), ("assistant", "Noted.")]


def test_two_requests_of_a_session_at_once(gateway, upstream, logged):
    """Each has its question and its answer; both go on from the same history."""
    upstream.reply = lambda body: Reply(f"On {body['messages'][-1]['content'][-5:]}")
    post_all(gateway, [request("Hello.")])
    history = ("Hello.", logged()[1].content)
    post_all(gateway, [request(f"Question {n:05}", history=history) for n in range(4)])
    contents = [m.content for m in logged()]
    assert len(contents) == len(set(contents)) == 2 + 2 * 4
    for number in range(4):
        assert f"Question {number:05}" in contents
        assert any(content.endswith(f"{number:05}") and content.startswith("On") for content in contents)


@pytest.mark.parametrize("processes", [0, pytest.param(2, marks=pytest.mark.wide)])
def test_many_users_at_once(serving, upstream, memory_path, processes):
    """Each gets what is of them alone, and the log has every turn, in however many processes."""
    gateway = serving(upstream=upstream.url, recall_timeout_ms=20_000, processes=processes)
    for turn in range(3):
        post_all(gateway, [request(f"I am U{n:02}, turn {turn}.", user=f"u{n}") for n in range(6)])
    for sent in upstream.sent:
        content = sent.json["messages"][0]["content"]
        names = {content[at + 5 : at + 8] for at in range(len(content)) if content.startswith("I am U", at)}
        assert len(names) == 1
    with Memory(memory_path) as memory:
        for number in range(6):
            contents = [m.content for m in memory.messages(user=f"u{number}") if m.role == "user"]
            assert contents == [f"I am U{number:02}, turn {turn}." for turn in range(3)]
        assert memory.admin.check().ok
