"""The real client against a real server on the loopback, which behaves or does not."""

import pytest

from zibaldone import MissingExtra
from zibaldone.errors import ModelFailed, ModelUnavailable
from zibaldone.models.asker import Asker
from zibaldone.models.base import ChatRequest, Turn
from zibaldone.models.meter import Meter
from zibaldone.models.openai import OpenAIChat, strict_schema
from zibaldone.models.static import StaticEmbedder
from zibaldone.testing import FakeOpenAIServer, Misbehaviour

pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]

STATIC = StaticEmbedder()
SCHEMA = {"type": "object", "properties": {"colours": {"type": "array", "items": {"type": "string"}}}}
REQUEST = ChatRequest("tests.ask", (Turn("system", "Be brief."), Turn("user", "Why?")), SCHEMA, max_tokens=50)


@pytest.fixture
def client(server):
    """A client of the server, quick to lose its patience."""
    chat = OpenAIChat("fake", base_url=server.base_url, timeout_s=2, max_retries=1)
    yield chat
    chat.close()


def test_a_question_as_the_protocol_has_it(server, client):
    """Model, turns, limits and a strict schema go out; text, finish and usage come back."""
    reply = client.chat(REQUEST)
    assert reply.text == '{"colours": ["red"]}'
    assert (reply.finish, reply.attempts, reply.logprobs) == ("stop", 1, None)
    assert reply.prompt_tokens == 3
    assert reply.completion_tokens == 2
    (body,) = server.requests
    assert body["model"] == "fake"
    assert body["messages"][1] == {"role": "user", "content": "Why?"}
    assert (body["max_tokens"], body["temperature"]) == (50, 0.0)
    assert body["response_format"]["json_schema"]["strict"] is True
    assert client.name == "fake"


def test_a_server_without_answers_gives_the_least_that_fits():
    """As the one of `zibaldone.testing` does that was told nothing."""
    with FakeOpenAIServer() as server:
        client = OpenAIChat("fake", base_url=server.base_url)
        assert client.chat(REQUEST).text == '{"colours": []}'
        client.close()


def test_log_probabilities(server, client):
    """Tokens come with theirs, and with alternatives as many as were asked for."""
    reply = client.chat(ChatRequest("t.t", REQUEST.turns, logprobs=1))
    assert [token.token for token in reply.logprobs] == ['{"colours":', '["red"]}']
    assert reply.logprobs[0].logprob == -0.25
    assert reply.logprobs[0].alternatives == (("or", -1.5),)


@pytest.mark.parametrize("misbehaviour", [Misbehaviour.RATE_LIMITED, Misbehaviour.SERVER_ERROR])
def test_what_may_pass_is_tried_again(server, client, misbehaviour, monkeypatch):
    """A 429 and a 500 are retried, and the attempts are counted."""
    import openai._base_client

    waited = []
    monkeypatch.setattr(openai._base_client.time, "sleep", waited.append)
    server.misbehave.append(misbehaviour)
    assert client.chat(REQUEST).attempts == 2
    assert len(waited) == 1
    if misbehaviour is Misbehaviour.RATE_LIMITED:
        assert waited == [0.01]  # the server's own Retry-After


@pytest.mark.parametrize(
    ("misbehaviour", "says", "passes"),
    [
        (Misbehaviour.RATE_LIMITED, "rate limit", True),
        (Misbehaviour.SERVER_ERROR, "500", True),
        (Misbehaviour.UNAUTHORISED, "check the API key", True),
        (Misbehaviour.NOT_FOUND, "check the base URL", True),
        (Misbehaviour.HANG, "did not answer within 0.2 s", True),
        (Misbehaviour.TRICKLE, "did not answer within 0.2 s", True),
        (Misbehaviour.DROP, "connection", True),
        (Misbehaviour.TOO_LONG, "maximum context length", False),
        (Misbehaviour.NOT_HTTP_JSON, "not JSON", False),
        (Misbehaviour.EMPTY, "not one of the chat protocol", False),
    ],
)
def test_a_model_that_cannot_be_had(server, misbehaviour, says, passes):
    """The failure says what to check, and whether a later try would mend it; the key is in no error."""
    server.always = misbehaviour
    client = OpenAIChat("fake", base_url=server.base_url, api_key="sk-secret", timeout_s=0.2, max_retries=0)
    with pytest.raises(ModelFailed, match=says) as raised:
        client.chat(REQUEST)
    assert isinstance(raised.value, ModelUnavailable) is passes
    assert "sk-secret" not in str(raised.value) + repr(client.__dict__["_client"])
    client.close()


@pytest.mark.parametrize(
    ("misbehaviour", "finish"), [(Misbehaviour.TRUNCATED, "length"), (Misbehaviour.REFUSAL, "refusal")]
)
def test_how_an_answer_ended(server, client, misbehaviour, finish):
    """Cut-off answers and refusals come back as what they are."""
    server.misbehave.append(misbehaviour)
    assert client.chat(REQUEST).finish == finish


@pytest.mark.parametrize("misbehaviour", list(Misbehaviour))
def test_whatever_the_server_does_the_task_is_answered(server, task, misbehaviour):
    """Through the asker every misbehaviour ends in an answer: an offline one, with the reason."""
    server.always = misbehaviour
    client = OpenAIChat("fake", base_url=server.base_url, timeout_s=0.2, max_retries=0)
    meter = Meter(None)
    answer = Asker(client, meter, STATIC).ask(task, user="ann")
    takes_it = (Misbehaviour.NO_SCHEMAS, Misbehaviour.NO_LOGPROBS)
    assert answer.result.colours == ["grey"]
    assert answer.degraded
    assert sum(one.degraded for one in meter.usage()) == 1
    assert sum(one.calls for one in meter.usage()) >= 1 or misbehaviour in takes_it
    server.always = None
    assert Asker(client, meter, STATIC).ask(task, user="ann").result.colours == ["red"]
    client.close()


def test_a_schema_that_is_strict():
    """Every property is required and none is added; a property may be called like a keyword."""
    loose = {
        "type": "object",
        "title": "T",
        "properties": {
            "title": {"type": "string", "default": "x", "maxLength": 3},
            "more": {"$ref": "#/$defs/M", "description": "refused there by strict servers"},
        },
        "$defs": {"M": {"type": "object", "properties": {}}},
    }
    assert strict_schema(loose) == {
        "type": "object",
        "properties": {"title": {"type": "string"}, "more": {"$ref": "#/$defs/M"}},
        "$defs": {"M": {"type": "object", "properties": {}, "additionalProperties": False, "required": []}},
        "additionalProperties": False,
        "required": ["title", "more"],
    }


def test_without_the_extra(monkeypatch):
    """The error names the extra."""
    monkeypatch.setitem(__import__("sys").modules, "openai", None)
    with pytest.raises(MissingExtra, match=r"zibaldone\[openai\]"):
        OpenAIChat("gpt", api_key="k")
