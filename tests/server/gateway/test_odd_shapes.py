"""Nothing that a client or an upstream sends in an odd shape fails a request."""

import json

import httpx2
import pytest
from upstream import Reply, as_event
from wires import CHAT, MESSAGES, RESPONSES

DEEP: list = []
for _ in range(400):
    DEEP = [DEEP]
ODD = [None, [], {}, "", 0, True, ["x"], {"type": "text"}, [[]], [{}], "\ud800", DEEP]
TEXT = {"type": "text", "text": "x"}
FUNCTION = {"name": "search_memory", "arguments": "{}"}
CALL = {"id": "c", "type": "function", "function": FUNCTION}
SAID = {"role": "assistant", "content": "x", "tool_calls": [CALL]}
MESSAGE = {"type": "message", "role": "assistant", "content": "x"}
ITEM_CALL = {"type": "function_call", "call_id": "c", **FUNCTION}
USE = {"type": "tool_use", "id": "t", "name": "search_memory", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": [TEXT]}
# Of each format: elements of a request, what an answer consists of, and the events of one.
SHAPES = {
    CHAT: (
        [{"role": "user", "content": [TEXT]}, SAID, {"role": "tool", "tool_call_id": "c", "content": "r"}],
        ("choices", [{"index": 0, "message": SAID}]),
        [
            {"choices": [{"index": 0, "delta": {"content": "x", "tool_calls": [{"index": 0, **CALL}]}}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        ],
    ),
    RESPONSES: (
        [
            {"role": "user", "content": [{"type": "input_text", "text": "Hello."}]},
            ITEM_CALL,
            {"type": "function_call_output", "call_id": "c", "output": "r"},
        ],
        ("output", [MESSAGE, ITEM_CALL]),
        [
            {"type": "response.output_item.added", "output_index": 0, "item": {**MESSAGE, "content": []}},
            {"type": "response.output_text.delta", "output_index": 0, "delta": "x"},
            {"type": "response.output_item.added", "output_index": 1, "item": ITEM_CALL},
            {"type": "response.completed", "response": {"id": "r", "output": []}},
        ],
    ),
    MESSAGES: (
        [
            {"role": "assistant", "content": [USE]},
            {"role": "user", "content": [RESULT, TEXT]},
        ],
        ("content", [TEXT, USE]),
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


def odd_elements(elements):
    """The odd forms of all elements in one list."""
    return [odd for element in elements for (odd,) in odd_forms([element])]


def as_stream(events):
    """Events as an upstream sends them."""
    return b"".join(map(as_event, events))


@pytest.fixture
def post(gateway, wire):
    """Posts a body in a format, for Ann and in a mode; gives the answer, which is no error."""
    with httpx2.Client(base_url=gateway, timeout=60) as client:

        def post(elements, mode, **more):
            memory = {"user": "ann", "session": "s", "mode": mode}
            body = {"model": "fake", wire.list_name: elements, "memory": memory, **more}
            answer = client.post(f"/v1/{wire.path}", content=json.dumps(body))
            assert answer.status_code in (200, 201)
            return answer

        yield post


QUESTION = {"role": "user", "content": "Who is my dentist?"}
MEMBERS = ("n", "tools", "functions", "metadata", "user", "system", "store", "previous_response_id")


def test_requests(post, wire, upstream, told):
    """What can be read of them is read, and memory finds its place or none."""
    told("My dentist is Dr. Moss.")
    elements = odd_elements(SHAPES[wire][0])
    post([*elements, QUESTION], "both")
    *sent, last = upstream.last.json[wire.list_name]
    assert sent == elements
    assert "Dr. Moss" in last["content"]
    for odd in ODD:
        post(odd, "both")
    for odd in ODD[::2]:
        post([QUESTION], "both", **dict.fromkeys(MEMBERS, odd))
        assert "Dr. Moss" in str(upstream.last.json)


@pytest.mark.parametrize("mode", ["context", "tool"])
def test_whole_answers(post, wire, upstream, mode):
    """Also with calls of our tool, in the rounds that follow them."""
    name, parts = SHAPES[wire][1]
    upstream.replies(Reply(status=201, error={name: odd_elements(parts)}))
    post([QUESTION], mode)
    for odd in ODD:
        more = {"id": odd, "status": odd, "usage": odd, "tools": odd}
        calls = [CALL, {**CALL, "function": odd}, odd]
        messages = [{**SAID, "tool_calls": calls}, dict.fromkeys(SAID, odd), odd]
        answers = [{name: odd}, *({"choices": [{"index": 0, "message": message}]} for message in messages)]
        for answer in answers if wire is CHAT else answers[:1]:
            upstream.replies(Reply(status=201, error={**more, **answer}))
            assert post([QUESTION], mode).json()["memory"]["session"] == "s"


@pytest.mark.parametrize("mode", ["context", "tool"])
def test_streams(post, wire, upstream, mode):
    """They are passed on to their end."""
    events = SHAPES[wire][2]
    upstream.replies(Reply(raw=as_stream([*odd_elements(events), *events, {"x": "the end"}])))
    assert "the end" in post([QUESTION], mode, stream=True).text


@pytest.mark.parametrize("wire", [CHAT])
def test_calls_of_tools_that_the_upstream_does_not_count(post, upstream, logged):
    """Some send each call whole, all of them with the index 0 or with none."""
    counts = ({"index": 0}, {}, {"index": None})
    calls = [{**CALL, **counted, "id": f"c{number}"} for number, counted in enumerate(counts)]
    upstream.replies(
        Reply(raw=as_stream([{"choices": [{"delta": {"tool_calls": [call]}}]} for call in calls]))
    )
    post([QUESTION], "context", stream=True)
    assert [call["id"] for call in logged()[-1].metadata["tool_calls"]] == ["c0", "c1", "c2"]


@pytest.mark.parametrize("wire", [CHAT])
def test_what_is_said_aloud_has_a_transcript(post, upstream, logged):
    """Whole, and in a stream."""
    message = {"role": "assistant", "content": None, "audio": {"id": "a", "transcript": "Good day."}}
    deltas = [{"audio": {"transcript": part}} for part in ("H", "i.")]
    events = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    upstream.replies(
        Reply(status=201, error={"choices": [{"message": message}]}), Reply(raw=as_stream(events))
    )
    for stream in (False, True):
        post([QUESTION], "context", stream=stream)
    assert [message.content for message in logged()[1:]] == ["Good day.", "Hi."]


@pytest.mark.parametrize("wire", [CHAT])
def test_a_request_corrects_nothing(post, logged):
    """Who corrects the log does it by other means: in a chat this is nobody's role."""
    post([{"role": "editor", "content": "It is Tom."}, QUESTION], "context")
    assert [m.role for m in logged()] == ["user", "assistant"]
