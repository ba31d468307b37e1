"""Whatever a chat model gives or raises, the reply is sound, and every request is counted."""

import json
from collections import deque

import pytest

from misbehaving_server import Misbehaviour
from zibaldone import Ceilings, OpenAIChat, StaticEmbedder
from zibaldone.errors import CeilingReached, ModelFailed
from zibaldone.models.asker import Asker
from zibaldone.models.base import ChatReply, ChatRequest, Turn
from zibaldone.models.meter import Meter
from zibaldone.models.metered import MeteredChat

STATIC = StaticEmbedder()
GOOD = json.dumps({"colours": ["red"]})
REQUEST = ChatRequest("tests.question", (Turn("user", "Which colours are there?"),), max_tokens=20)


class Odd:
    """A model of somebody's own, whose replies are what it was given."""

    name = "odd"

    def __init__(self, reply):
        self.reply = reply

    def chat(self, request):
        """The reply, whatever it is."""
        return self.reply


@pytest.mark.parametrize(
    "reply", [None, "a text", 5, ChatReply(None), ChatReply(b"{}"), ChatReply(GOOD, finish="tool_calls")]
)
def test_what_is_no_reply_is_a_failure(task, reply):
    """The error is typed and names the model, a task is answered offline, and the call is counted."""
    meter = Meter(None)
    with pytest.raises(ModelFailed, match="'odd'"):
        MeteredChat(Odd(reply), meter, STATIC).chat(REQUEST, "ann")
    answer = Asker(Odd(reply), meter, STATIC).ask(task, user="ann")
    assert (answer.result.colours, answer.made_by) == (["grey"], "offline")
    assert "'odd'" in answer.degraded
    assert [usage.calls for usage in meter.usage()] == [1, 1]


def test_half_a_character_is_replaced_or_refused(task):
    """A lone surrogate, which nothing can store, comes through neither as it is nor as an escape."""
    assert MeteredChat(Odd(ChatReply("a \ud83d b")), Meter(None), STATIC).chat(REQUEST, "ann").text == "a � b"
    answer = Asker(Odd(ChatReply('{"colours": ["\\ud83d"]}')), Meter(None), STATIC).ask(task, user="ann")
    assert "a lone surrogate" in answer.degraded


@pytest.mark.parametrize("count", [-10_000, 1.5, "12", True, 2**40])
def test_counts_that_cannot_be_do_not_loosen_a_ceiling(count):
    """A model that tells of negative tokens is counted by our own tokenizer, and its attempts as one."""
    meter = Meter(None, Ceilings(tokens_per_user_per_day=200))
    reply = ChatReply("red and blue", prompt_tokens=count, completion_tokens=count, attempts=count)
    model = MeteredChat(Odd(reply), meter, STATIC)
    with pytest.raises(CeilingReached):
        deque(model.chat(REQUEST, "ann") for _ in range(100))
    usage = meter.total("ann")
    assert 3 <= usage.calls < 20
    assert 100 < usage.prompt_tokens + usage.completion_tokens <= 200


@pytest.fixture
def client(server, monkeypatch):
    """A client of it that retries four times, without waiting in between."""
    client = OpenAIChat("fake", base_url=server.base_url, timeout_s=0.5)
    monkeypatch.setattr(client._client._sdk.OpenAI, "_calculate_retry_timeout", lambda *_: 0.0)
    yield client
    client.close()


@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
@pytest.mark.parametrize(
    "misbehaviour", [Misbehaviour.SERVER_ERROR, Misbehaviour.NO_SCHEMAS, Misbehaviour.INVALID_JSON]
)
def test_a_ceiling_of_calls_holds_at_the_server(task, server, client, misbehaviour):
    """Retries and what is sent again without a part are calls: the server sees no more than the ceiling."""
    server.always = misbehaviour
    meter = Meter(None, Ceilings(calls_per_user_per_day=5))
    for _ in range(10):  # each with patience of its own
        answer = Asker(client, meter, STATIC).ask(task, user="ann")
        assert answer.degraded
    assert "calls_per_user_per_day is 5" in answer.degraded
    assert len(server.requests) == meter.total("ann").calls == 5
