"""Nothing that a client or an upstream sends in an odd shape fails a request."""

import json

import httpx2
import pytest

from zibaldone.server.gateway.anthropic import AnthropicMessages
from zibaldone.server.gateway.chat import ChatCompletions
from zibaldone.server.gateway.json_body import read_object
from zibaldone.server.gateway.responses import Responses

DEEP: list = []
for _ in range(400):
    DEEP = [DEEP]
ODD = [None, [], {}, "", 0, True, ["x"], {"type": "text"}, [[]], [{}], "\ud800", DEEP]
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
SAID = {"role": "assistant", "content": "x", "tool_calls": [CALL]}
MESSAGE = {"type": "message", "role": "assistant"}
TEXT = {"type": "text", "text": "x"}
USE = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": [TEXT]}
FORMATS = {  # of each format: a request, an answer, and the events of one
    "chat": (
        ChatCompletions(),
        {
            "messages": [
                {"role": "user", "content": [TEXT]},
                SAID,
                {"role": "tool", "tool_call_id": "c", "content": "r"},
            ],
            "n": 1,
        },
        {"choices": [{"index": 0, "message": SAID}]},
        [
            {"choices": [{"index": 0, "delta": {"content": "x", "tool_calls": [{"index": 0, **CALL}]}}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        ],
    ),
    "responses": (
        Responses(),
        {
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "Hello."}]},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "r"},
            ],
            "previous_response_id": "r",
            "conversation": {"id": "c"},
        },
        {"id": "r", "output": [{**MESSAGE, "content": "x"}]},
        [
            {"type": "response.output_item.added", "output_index": 0, "item": {**MESSAGE, "content": []}},
            {"type": "response.output_text.delta", "output_index": 0, "delta": "x"},
            {"type": "response.output_item.added", "output_index": 1, "item": {"type": "function_call"}},
            {"type": "response.completed", "response": {"id": "r", "output": []}},
        ],
    ),
    "anthropic": (
        AnthropicMessages(),
        {
            "messages": [
                {"role": "user", "content": "Hello."},
                {"role": "assistant", "content": [USE]},
                {"role": "user", "content": [RESULT, TEXT]},
            ]
        },
        {"content": [TEXT, USE]},
        [
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}},
            {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "input": {}}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        ],
    ),
}


def odd_forms(value):
    """The value with each of its parts replaced by something odd, one at a time."""
    if isinstance(value, dict | list):
        for place in value if isinstance(value, dict) else range(len(value)):
            copied = value.copy()
            for other in (*ODD, *odd_forms(value[place])):
                copied[place] = other
                yield copied.copy()


def as_object(value):
    """As the gateway reads it."""
    return read_object(json.dumps(value).encode())


@pytest.mark.parametrize("name", FORMATS)
def test_requests(name):
    """What can be read of them is read, and memory finds its place or none."""
    wire, request, _, _ = FORMATS[name]
    for odd in odd_forms(request):
        body = as_object(odd)
        for turn in wire.turns(body):
            assert turn.key
            if turn.message.role == "user":
                for changed in wire.with_memory(body, turn.place, "BLOCK").values():
                    assert "BLOCK" in str(json.loads(changed))
        wire.continues(body)
        wire.conversation(body)
        wire.reader(body)


@pytest.mark.parametrize("name", FORMATS)
def test_answers(name):
    """Whole ones, and streams."""
    wire, request, answer, events = FORMATS[name]
    for odd in odd_forms(answer):
        assert all(turn.key for turn in wire.answer(odd))
    for odd in odd_forms(events):
        reader = wire.reader(as_object(request))
        for event in odd:
            if isinstance(event, dict):
                reader.read(event)
                assert json.loads(reader.with_report(as_object(event), '{"a":1}'))
        assert all(turn.key for turn in reader.turns())


@pytest.mark.parametrize("name", FORMATS)
def test_answers_of_several_rounds(name):
    """Whole ones, and streams, with calls of our tool or of others."""
    request, answer, events = json.loads(json.dumps(FORMATS[name][1:]).replace('"f"', '"search_memory"'))
    for odd in odd_forms(answer):
        rounds = FORMATS[name][0].rounds(as_object({**request, "n": 1}))
        assert json.loads(rounds.whole(as_object(odd)))
        rounds.results([""] * len(rounds.calls))
        rounds.next(is_last=True)
        assert json.loads(rounds.whole(as_object(odd)))
        assert None not in map(json.loads, [*rounds.elements(), *rounds.unseen()])
    for odd in odd_forms(events):
        rounds = FORMATS[name][0].rounds(as_object({**request, "n": 1}))
        for event in odd:
            if isinstance(event, dict):
                rounds.event(b"data: " + json.dumps(event).encode() + b"\n\n", event)
        assert None not in map(json.loads, [*rounds.elements(), *rounds.unseen()])
        assert rounds.words() is not None


def test_calls_of_tools_that_the_upstream_does_not_count():
    """Some send each call whole, all of them with the index 0 or with none."""
    reader = ChatCompletions().reader(as_object({}))
    for number, counted in enumerate(({"index": 0}, {}, {"index": None})):
        function = {"name": f"f{number}", "arguments": json.dumps({"n": number})}
        call = {**counted, "id": f"c{number}", "function": function}
        reader.read({"choices": [{"delta": {"tool_calls": [call]}}]})
    (turn,) = reader.turns()
    made = [(call["id"], *call["function"].values()) for call in turn.message.metadata["tool_calls"]]
    assert made == [(f"c{n}", f"f{n}", f'{{"n": {n}}}') for n in range(3)]


def test_what_is_said_aloud_has_a_transcript():
    """Whole, and in a stream."""
    wire = ChatCompletions()
    audio = {"id": "a", "data": "AAAA", "transcript": "Hi."}
    message = {"role": "assistant", "content": None, "audio": audio}
    (turn,) = wire.answer({"choices": [{"index": 0, "message": message}]})
    reader = wire.reader(as_object({}))
    for part in ("H", "i."):
        reader.read({"choices": [{"delta": {"audio": {"transcript": part}}}]})
    (streamed,) = reader.turns()
    assert turn.message.content == streamed.message.content == "Hi."


def test_a_slash_at_the_end_of_the_address(gateway, upstream):
    """It is the same address: what is for memory alone does not go on."""
    body = {"model": "fake", "messages": [{"role": "user", "content": "Hello."}], "memory": {"user": "ann"}}
    answer = httpx2.post(f"{gateway}/v1/chat/completions/", json=body)
    assert answer.json()["memory"]["status"] == "ok"
    assert "memory" not in upstream.last.json


def test_a_request_corrects_nothing(gateway, upstream, logged):
    """Who corrects the log does it by other means: in a chat this is nobody's role."""
    messages = [{"role": "editor", "content": "It is Tom."}, {"role": "user", "content": "Hello."}]
    body = {"model": "fake", "messages": messages, "memory": {"user": "ann"}}
    assert httpx2.post(f"{gateway}/v1/chat/completions", json=body).status_code == 200
    assert [m.role for m in logged()] == ["user", "assistant"]
