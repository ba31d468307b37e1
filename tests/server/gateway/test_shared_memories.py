"""Shared memories through the gateway: recalled beside the user's own, and nothing is stored in them."""

import json

import httpx2
import openai
import pytest
from upstream import Reply

from zibaldone import Memory

TEAM = "team:design"
FACT = "The design review is on Thursday."
QUESTION = {"role": "user", "content": "When is the design review?"}


@pytest.fixture
def shared(told, memory_path):
    """A team's fact, which ann may read."""
    told("I live in Lisbon.")
    told(FACT, user=TEAM)
    with Memory(memory_path) as memory:
        memory.admin.grant(TEAM, user="ann", write=True)


def revoke(memory_path):
    """Take the grant back, in another process or so."""
    with Memory(memory_path) as memory:
        memory.admin.revoke(TEAM, user="ann")


def ask(chat, **memory):
    """The answer to the question, with options of memory."""
    return chat.chat.completions.create(model="fake", messages=[QUESTION], extra_body={"memory": memory})


@pytest.mark.usefixtures("shared")
def test_what_is_shared_is_recalled_and_stored_in_one_s_own_alone(chat, upstream, logged):
    """The model sees it, the report cites it; the log has what was said, and no line that was recalled."""
    upstream.says("On Thursday, as your team says.")
    answer = ask(chat)
    content = upstream.last.json["messages"][0]["content"]
    assert f"[shared {TEAM}]" in content
    assert FACT in content
    cited = answer.memory["citations"]
    assert {(each["seq"], each.get("scope")) for each in cited} == {(1, None), (1, TEAM)}
    assert [m.content for m in logged(TEAM)] == [FACT]
    assert [m.content for m in logged(session="s")] == [
        QUESTION["content"],
        "On Thursday, as your team says.",
    ]
    ask(chat, shared=[])
    assert FACT not in upstream.last.json["messages"][0]["content"]


@pytest.mark.usefixtures("shared")
def test_a_name_that_is_not_granted_is_not_recalled(chat, upstream):
    """And the report says so; another's name in the header is refused to a key as ever."""
    answer = ask(chat, shared=["team:other"])
    assert "may not read 'team:other'" in answer.memory["reason"]
    assert FACT not in str(upstream.last.json)
    with pytest.raises(openai.BadRequestError):
        ask(chat, shared="team:design")


@pytest.mark.usefixtures("shared")
def test_a_revocation_in_the_middle_of_a_loop(chat, upstream, memory_path):
    """What was recalled for the turn is not inserted again."""
    upstream.replies(Reply("", calls=[("c1", "look_up", {})]), Reply("Thursday."))
    answer = chat.chat.completions.create(model="fake", messages=[QUESTION]).choices[0].message
    assert FACT in str(upstream.last.json)
    revoke(memory_path)
    tool = {"role": "tool", "tool_call_id": "c1", "content": "?"}
    rest = [QUESTION, answer.model_dump(exclude_none=True), tool]
    chat.chat.completions.create(model="fake", messages=rest)
    assert FACT not in str(upstream.last.json)


@pytest.mark.usefixtures("shared")
def test_a_model_that_searches_finds_what_is_shared(chat, upstream, memory_path):
    """Under its name; hidden beside a client's own call, it is not inserted again once it is revoked."""
    search, look_up = ("h1", "search_memory", {"query": "design review"}), ("c1", "look_up", {})
    upstream.replies(Reply("", calls=[search, look_up]), Reply("Thursday."), Reply("Thursday."))
    asked = {"model": "fake", "extra_headers": {"X-Memory-Mode": "tool"}}
    answer = chat.chat.completions.create(messages=[QUESTION], **asked).choices[0].message
    rest = [QUESTION, answer.model_dump(exclude_none=True)]
    rest.append({"role": "tool", "tool_call_id": "c1", "content": "?"})
    chat.chat.completions.create(messages=rest, **asked)
    assert f"[{TEAM}: earlier ·" in str(upstream.last.json)
    revoke(memory_path)
    chat.chat.completions.create(messages=rest, **asked)
    assert FACT not in str(upstream.last.json)


@pytest.mark.usefixtures("shared")
def test_a_revocation_while_the_model_searches(chat, upstream, memory_path):
    """The round that would show it once more is not asked, and the client learns why."""
    replies = [Reply("", calls=[("h1", "search_memory", {"query": "design review"})]) for _ in range(2)]

    def reply(_):
        if len(replies) == 1:
            revoke(memory_path)
        return replies.pop(0)

    upstream.reply = reply
    with pytest.raises(openai.ConflictError, match="shared no more"):
        chat.chat.completions.create(
            model="fake", messages=[QUESTION], extra_headers={"X-Memory-Mode": "tool"}
        )
    assert len(upstream.sent) == 2


@pytest.mark.usefixtures("shared")
def test_a_key_stays_with_its_user(serving, upstream, make_key):
    """The gateway has no way into the shared memory but the recall: a header that names it is refused."""
    key, base = make_key("ann"), serving(upstream=upstream.url)
    for headers, memory in (({"X-Memory-User": TEAM}, {}), ({}, {"user": TEAM})):
        answer = httpx2.post(
            f"{base}/v1/chat/completions",
            headers={"X-Memory-Key": key, "Authorization": "Bearer up", **headers},
            content=json.dumps({"model": "fake", "messages": [QUESTION], "memory": memory}),
        )
        assert answer.status_code == 403
