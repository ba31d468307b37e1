"""The real chat client against a real server on the loopback, which behaves or does not."""

import os
import signal
import traceback

import pytest

from misbehaving_server import Misbehaviour
from zibaldone import OpenAIChat
from zibaldone.errors import InvalidInput, ModelFailed, ModelUnavailable
from zibaldone.models.base import ChatRequest, Turn
from zibaldone.testing import FakeOpenAIServer

pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]

SCHEMA = {"type": "object", "properties": {"colours": {"type": "array", "items": {"type": "string"}}}}
TURNS = (Turn("system", "Be brief."), Turn("user", "Why?"))
REQUEST = ChatRequest("tests.ask", TURNS, SCHEMA, max_tokens=50, logprobs=1)
PARTS = {"response_format", "logprobs", "max_tokens", "temperature"}


class OddServer(FakeOpenAIServer):
    """Changes its answers by a function, and keeps the headers that it was sent."""

    def __init__(self):
        self.change = lambda body: body
        self.headers = []
        super().__init__(lambda _: {"colours": ["red"]})

    def _completion(self, body):
        return self.change(super()._completion(body))

    def _handler(server):  # noqa: N805
        class Handler(super()._handler()):
            def do_POST(self):  # noqa: N802
                server.headers.append({name.lower(): value for name, value in self.headers.items()})
                super().do_POST()

        return Handler


@pytest.fixture
def odd():
    """A server whose answers can be changed."""
    with OddServer() as server:
        yield server


@pytest.fixture
def new_client():
    """Makes clients that do not retry, and closes them."""
    made = []

    def new(server, **arguments):
        settings = {"base_url": server.base_url, "timeout_s": 2, "max_retries": 0} | arguments
        made.append(OpenAIChat("m", **settings))
        return made[-1]

    yield new
    for client in made:
        client.close()


@pytest.fixture
def refusing():
    """Has a server refuse one request with a status and a sentence."""

    def refuse(server, status, says, times=1):
        server.refusals[Misbehaviour.TOO_LONG] = status, says
        server.misbehave.extend([Misbehaviour.TOO_LONG] * times)

    return refuse


def test_a_question_as_the_protocol_has_it(server, new_client):
    """Model, turns, limits and a strict schema go out; text, finish and usage come back."""
    client = new_client(server)
    reply = client.chat(ChatRequest("tests.ask", TURNS, SCHEMA, max_tokens=50))
    assert reply.text == '{"colours": ["red"]}'
    assert (reply.finish, reply.attempts, reply.logprobs) == ("stop", 1, None)
    assert reply.prompt_tokens == 3
    assert reply.completion_tokens == 2
    (body,) = server.requests
    assert body["model"] == "m"
    assert body["messages"][1] == {"role": "user", "content": "Why?"}
    assert (body["max_tokens"], body["temperature"]) == (50, 0.0)
    assert body["response_format"]["json_schema"]["strict"] is True
    assert client.name == "m"


def test_log_probabilities(server, new_client):
    """Tokens come with theirs, and with alternatives as many as were asked for."""
    reply = new_client(server).chat(ChatRequest("t.t", TURNS, logprobs=1))
    assert [token.token for token in reply.logprobs] == ['{"colours":', '["red"]}']
    assert reply.logprobs[0].logprob == -0.25
    assert reply.logprobs[0].alternatives == (("or", -1.5),)


@pytest.mark.parametrize("misbehaviour", [Misbehaviour.RATE_LIMITED, Misbehaviour.SERVER_ERROR])
def test_what_may_pass_is_tried_again(server, new_client, misbehaviour, monkeypatch):
    """A 429 and a 500 are retried, and the attempts are counted."""
    import openai._base_client

    waited = []
    monkeypatch.setattr(openai._base_client.time, "sleep", waited.append)
    server.misbehave.append(misbehaviour)
    assert new_client(server, max_retries=1).chat(REQUEST).attempts == 2
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
def test_a_model_that_cannot_be_had(server, new_client, misbehaviour, says, passes):
    """The failure says what to check, and whether a later try would mend it; the key is in no error."""
    server.always = misbehaviour
    client = new_client(server, api_key="sk-secret", timeout_s=0.2)
    with pytest.raises(ModelFailed, match=says) as raised:
        client.chat(REQUEST)
    assert isinstance(raised.value, ModelUnavailable) is passes
    assert "sk-secret" not in str(raised.value) + repr(client.__dict__["_client"])


@pytest.mark.parametrize(
    ("misbehaviour", "finish"), [(Misbehaviour.TRUNCATED, "length"), (Misbehaviour.REFUSAL, "refusal")]
)
def test_how_an_answer_ended(server, new_client, misbehaviour, finish):
    """Cut-off answers and refusals come back as what they are."""
    server.misbehave.append(misbehaviour)
    assert new_client(server).chat(REQUEST).finish == finish


@pytest.mark.parametrize(
    ("status", "says", "lost"),
    [
        (400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_tokens"),
        (400, "'temperature' does not support 0.0 with this model.", "temperature"),
        (403, "You are not allowed to request logprobs from this model", "logprobs"),
        (404, "No endpoints found that support response_format", "response_format"),
        (422, "json_schema: extra fields not permitted", "response_format"),
    ],
)
def test_what_a_server_does_not_take_is_left_out_from_then_on(
    server, new_client, refusing, status, says, lost
):
    """Once the request without it was taken; the attempts of both are counted."""
    refusing(server, status, says)
    client = new_client(server)
    assert client.chat(REQUEST).attempts == 2
    assert client.chat(REQUEST).attempts == 1
    assert [PARTS - body.keys() for body in server.requests] == [set(), {lost}, {lost}]
    if lost == "max_tokens":
        assert server.requests[-1]["max_completion_tokens"] == 50


def test_several_refusals_one_after_another(server, new_client, refusing):
    """Each is mended by itself, and the turns say what the response format no longer does."""
    refusing(server, 400, "response_format and logprobs and temperature are not supported", times=3)
    reply = new_client(server).chat(REQUEST)
    assert (reply.attempts, reply.logprobs) == (4, None)
    assert PARTS & server.requests[-1].keys() == {"max_tokens"}
    assert '"colours"' in server.requests[-1]["messages"][0]["content"]


def test_a_refusal_that_only_quotes_the_request_is_not_remembered(server, new_client, refusing):
    """A server that echoes the whole body in every error costs one request its parts, not all of them."""
    refusing(server, 400, f"top_k is missing in {sorted(PARTS)}", times=5)
    client = new_client(server)
    with pytest.raises(ModelFailed, match="top_k is missing"):
        client.chat(REQUEST)
    server.misbehave.clear()
    client.chat(REQUEST)
    assert server.requests[-1].keys() >= PARTS


def test_a_403_or_404_about_nothing_of_the_kind_may_pass(server, new_client, refusing):
    """The model may be there later, or the key be let in."""
    for status in (403, 404):
        refusing(server, status, "The model does not exist")
        with pytest.raises(ModelUnavailable, match=f"answered {status}"):
            new_client(server).chat(REQUEST)


@pytest.mark.parametrize("logprob", ["abc", None, float("nan"), 10**400, [1]])
def test_log_probabilities_that_are_no_numbers_are_none(odd, new_client, logprob):
    """The answer comes without them."""

    def change(body):
        body["choices"][0]["logprobs"] = {"content": [{"token": "a", "logprob": logprob}]}
        return body

    odd.change = change
    reply = new_client(odd).chat(REQUEST)
    assert (reply.text, reply.logprobs) == ('{"colours": ["red"]}', None)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ([], "chat protocol"),
        (None, "chat protocol"),
        ({"choices": [{"message": None}]}, "chat protocol"),
        ({"choices": [{"message": {"content": [{"type": "text"}]}}]}, "not a text"),
        ({"choices": [{"message": {"content": ""}, "finish_reason": []}]}, "chat protocol"),
        ({"error": {"message": "upstream overloaded"}}, "upstream overloaded"),
    ],
)
def test_json_that_is_no_chat_completion(odd, new_client, body, says):
    """It is a failure that tells what came instead."""
    odd.change = lambda _: body
    with pytest.raises(ModelFailed, match=says):
        new_client(odd).chat(REQUEST)


def test_what_only_one_server_knows(odd, new_client):
    """Fields and headers of the caller's go into every request."""
    extra = {"chat_template_kwargs": {"enable_thinking": False}}
    new_client(odd, extra_body=extra, headers={"X-Team": "blue"}).chat(REQUEST)
    assert odd.requests[0]["chat_template_kwargs"] == {"enable_thinking": False}
    assert odd.headers[0]["x-team"] == "blue"


def test_the_environment_of_the_sdk_is_not_asked(odd, new_client, monkeypatch):
    """Neither the address nor the organisation of another account reaches a server."""
    for name in ("BASE_URL", "API_KEY", "ORG_ID", "PROJECT_ID"):
        monkeypatch.setenv(f"OPENAI_{name}", f"http://env-{name.lower()}.invalid")
    client = new_client(odd)
    client.chat(ChatRequest("t.t", TURNS, timeout_s=1))
    assert odd.headers[0]["authorization"] == "Bearer none"
    assert not [value for value in odd.headers[0].values() if "env-" in value]
    elsewhere = OpenAIChat("m", api_key="sk-mine")
    assert str(elsewhere._client._client().base_url) == "https://api.openai.com/v1/"
    elsewhere.close()


@pytest.mark.parametrize("status", [400, 401, 404, 500])
def test_a_server_that_quotes_the_key(server, new_client, refusing, status):
    """It is neither in the error nor in its traceback."""
    key = "-".join(["sk", "secret"])  # the traceback quotes these lines
    refusing(server, status, f"Incorrect API key provided: {key}.")
    with pytest.raises(ModelFailed, match=r"provided: \[the key\]") as raised:
        new_client(server, api_key=key).chat(REQUEST)
    assert key not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize("secret", ["sk-secret\n", "sk-sécret", "sk-\0secret", 7])
def test_a_key_that_no_header_can_carry(secret):
    """It is refused at once, and not shown."""
    with pytest.raises(InvalidInput, match="api_key") as raised:
        OpenAIChat("m", api_key=secret)
    assert str(secret) not in str(raised.value)
    with pytest.raises(InvalidInput, match="headers"):
        OpenAIChat("m", api_key="k", headers={"X-Key": secret})


def test_a_password_in_the_address():
    """Errors name the server without it."""
    client = OpenAIChat("m", base_url="http://joe:pw-secret@127.0.0.1:1/v1", max_retries=0)
    with pytest.raises(ModelUnavailable, match=r"http://127\.0\.0\.1:1/v1") as raised:
        client.chat(REQUEST)
    assert "pw-secret" not in str(raised.value) + repr(client._client)
    client.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model", ""),
        ("model", 3),
        ("base_url", None),
        ("base_url", "localhost:8000/v1"),
        ("base_url", ""),
        ("base_url", "ftp://x/v1"),
        ("base_url", "http://[::1/v1"),
        ("timeout_s", 0),
        ("timeout_s", float("nan")),
        ("timeout_s", "soon"),
        ("max_retries", -1),
        ("max_retries", 1.5),
    ],
)
def test_arguments_that_cannot_be_meant(name, value):
    """Each is refused by name before anything is asked."""
    with pytest.raises(InvalidInput, match=name):
        OpenAIChat(**({"model": "m", "base_url": "http://127.0.0.1:1/v1"} | {name: value}))


@pytest.mark.parametrize(
    ("request_", "error", "says"),
    [
        (ChatRequest("t.t", (Turn("user", "\ud83d"),)), ModelFailed, "cannot be sent"),
        (ChatRequest("t.t", TURNS, timeout_s=0), ModelUnavailable, "no time is left"),
    ],
    ids=["half a character", "no time"],
)
def test_what_cannot_be_asked_is_not_sent(server, new_client, request_, error, says):
    """Nor is it taken for the server's fault."""
    with pytest.raises(error, match=says):
        new_client(server).chat(request_)
    assert server.requests == []


def test_a_request_s_own_patience(server, new_client):
    """The shorter limit counts."""
    server.always = Misbehaviour.HANG
    with pytest.raises(ModelUnavailable, match=r"within 0\.1 s"):
        new_client(server).chat(ChatRequest("t.t", TURNS, timeout_s=0.1))


def test_a_closed_client_opens_again(server, new_client):
    """Closing gives the connections back; it may be done twice."""
    client = new_client(server)
    client.chat(REQUEST)
    client.close()
    client.close()
    assert client.chat(REQUEST).finish == "stop"


def test_a_fork_while_another_thread_holds_the_client(server, new_client):
    """The child does not wait for a lock that nobody in it can open, and leaves the parent's connections."""
    client = new_client(server)
    client.chat(REQUEST)
    with client._client._lock:
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                os._exit(0 if client.chat(REQUEST).finish == "stop" else 1)
            finally:
                os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert client.chat(REQUEST).finish == "stop"


STRICT = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "more": {"$ref": "#/$defs/M"}},
    "$defs": {"M": {"type": "object", "properties": {}, "additionalProperties": False, "required": []}},
    "additionalProperties": False,
    "required": ["title", "more"],
}
LOOSE = {
    "type": "object",
    "title": "T",
    "properties": {
        "title": {"type": "string", "default": "x", "maxLength": 3},
        "more": {"$ref": "#/$defs/M", "description": "refused there by strict servers"},
    },
    "$defs": {"M": {"type": "object", "properties": {}}},
}
MAPPED = {"type": "object", "properties": {"ages": {"type": "object", "additionalProperties": True}}}


@pytest.mark.parametrize(("schema", "sent", "strict"), [(LOOSE, STRICT, True), (MAPPED, MAPPED, False)])
def test_a_schema_is_sent_as_strict_mode_wants_it(server, new_client, schema, sent, strict):
    """Every property required, none added; one of any key goes as it is: it would always come back empty."""
    new_client(server).chat(ChatRequest("t.t", TURNS, schema))
    format_ = server.requests[0]["response_format"]["json_schema"]
    assert (format_["schema"], format_["strict"]) == (sent, strict)
