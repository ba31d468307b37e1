"""Objects of OpenAI's, Anthropic's and LangChain's own libraries, added as they are."""

import base64
import json
from dataclasses import dataclass
from hashlib import sha256

import anthropic.types as anthropic_types
import openai.types.responses as responses
import pytest
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_to_dict,
)
from openai.types.chat import ChatCompletion, ChatCompletionMessage

from zibaldone import Filter, InvalidMessage
from zibaldone.log.message_input import to_messages

PIXEL = b"\x89PNG\r\n\x1a\n not really a picture, but kept as one"
ENCODED = base64.b64encode(PIXEL).decode()
DATA_URL = f"data:image/png;base64,{ENCODED}"
RESULT = 'line one\n  "quoted" {"and": [1, 2]}\n\n\ttabbed end  '  # of a tool: to be kept word for word
CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"city": "Bern"}'}}


def read(*given):
    """(role, content) of what would be stored."""
    return [(m.role, m.content) for m in to_messages(given, session=None)]


def one(given):
    """The only message of an object."""
    (message,) = to_messages([given], session=None)
    return message


def test_openai_messages():
    """A message of a completion: text, refusal, calls, and what else a server puts into it."""
    said = ChatCompletionMessage(role="assistant", content="Hello.")
    assert (one(said).role, one(said).content, one(said).metadata) == ("assistant", "Hello.", {})
    assert (
        one(ChatCompletionMessage(role="assistant", content=None, refusal="I can't.")).content == "I can't."
    )
    called = one(ChatCompletionMessage(role="assistant", content=None, tool_calls=[CALL]))
    assert called.content == '[tool call: find({"city": "Bern"})]'
    assert called.metadata["tool_calls"] == [CALL]
    both = one(ChatCompletionMessage(role="assistant", content="Wait.", tool_calls=[CALL]))
    assert (both.content, both.metadata["tool_calls"]) == ("Wait.", [CALL])
    thought = ChatCompletionMessage.model_validate(
        {"role": "assistant", "content": "4", "reasoning_content": "two and two"}
    )
    assert one(thought).metadata == {"reasoning": "two and two"}
    assert read(ChatCompletionMessage(role="assistant", content=None)) == [("assistant", "")]


def test_openai_completion():
    """A completion is its first choice's message."""
    choices = [
        {"index": i, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        for i, text in enumerate(["Yes.", "No."])
    ]
    completion = ChatCompletion(
        id="chatcmpl-7", object="chat.completion", created=1, model="m", choices=choices
    )
    assert read(completion) == read(completion.model_dump()) == [("assistant", "Yes.")]
    assert one(completion).id is None  # servers are known to use it twice


def test_openai_says_aloud():
    """The words of an audio answer are its text; the sound is attached."""
    audio = {"id": "a", "data": ENCODED, "expires_at": 1, "transcript": "Good morning."}
    message = one(ChatCompletionMessage(role="assistant", content=None, audio=audio))
    assert message.content == "Good morning."
    assert message.metadata["attachments"][0]["sha256"] == sha256(PIXEL).hexdigest()
    assert ENCODED not in json.dumps(message.metadata)


def test_responses_items():
    """Messages, calls, outputs and thoughts; ids are theirs, and an output knows its call."""
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
        responses.ResponseReasoningItem(
            id="rs1", type="reasoning", summary=[{"type": "summary_text", "text": "Look it up."}]
        ),
        responses.ResponseFunctionToolCall(
            type="function_call", call_id="c1", id="fc1", name="find", arguments='{"city": "Bern"}'
        ),
        {"type": "function_call_output", "call_id": "c1", "output": RESULT},
        responses.ResponseOutputMessage(
            id="m1",
            type="message",
            role="assistant",
            status="completed",
            content=[
                {"type": "output_text", "text": "Rain.", "annotations": []},
                {"type": "refusal", "refusal": "No more."},
            ],
        ),
        {"type": "web_search_call", "id": "ws1", "status": "completed", "action": {"query": "rain"}},
    ]
    stored = to_messages(items, session=None)
    assert [(m.role, m.content) for m in stored] == [
        ("user", "Weather?"),
        ("assistant", ""),
        ("assistant", '[tool call: find({"city": "Bern"})]'),
        ("tool", RESULT),
        ("assistant", "Rain.\nNo more."),
        ("assistant", "[web search call]"),
    ]
    assert [m.id for m in stored] == [None, "rs1", "fc1", None, "m1", "ws1"]
    assert stored[1].metadata == {"reasoning": "Look it up."}
    assert stored[2].metadata["tool_calls"] == [CALL]
    assert stored[3].metadata == {"tool_call_id": "c1"}
    assert stored[5].metadata["item"]["action"] == {"query": "rain"}
    whole = {"object": "response", "id": "resp", "output": [items[3], items[4].model_dump()]}
    assert read(whole) == [("tool", RESULT), ("assistant", "Rain.\nNo more.")]


def test_outputs_of_many_shapes():
    """Parts become their text, other JSON its own words."""
    parts = [{"type": "input_text", "text": "one"}, {"type": "input_image", "image_url": DATA_URL}]
    output = {"type": "function_call_output", "call_id": "c", "output": parts}
    assert one(output).content == "one\n[image]"
    assert one(output).metadata["attachments"][0]["bytes"] == len(PIXEL)
    assert one({**output, "output": {"a": [1]}}).content == '{"a": [1]}'
    assert one({**output, "output": [1, 2]}).content == "[1, 2]"


def test_anthropic_messages():
    """Text, calls and thoughts of an answer; results in the next turn are messages of their own."""
    answer = anthropic_types.Message(
        id="msg_1",
        type="message",
        role="assistant",
        model="m",
        stop_reason="tool_use",
        usage={"input_tokens": 1, "output_tokens": 1},
        content=[
            anthropic_types.ThinkingBlock(type="thinking", thinking="Hm, Bern.", signature="x"),
            anthropic_types.TextBlock(type="text", text="I look."),
            anthropic_types.ToolUseBlock(type="tool_use", id="c1", name="find", input={"city": "Bern"}),
            anthropic_types.ToolUseBlock(type="tool_use", id="c2", name="find", input={"x": None}),
        ],
    )
    results = {
        "role": "user",
        "id": "turn",
        "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": RESULT},
            {"type": "tool_result", "tool_use_id": "c2", "is_error": True,
             "content": [{"type": "text", "text": "gone"}, {"type": "text", "text": "away"}]},
            {"type": "text", "text": "And now?"},
        ],
    }  # fmt: skip
    stored = to_messages([answer, {"role": "assistant", "content": answer.content}, results], session="s")
    assert [(m.role, m.content) for m in stored] == [
        ("assistant", "I look."),
        ("assistant", "I look."),
        ("tool", RESULT),
        ("tool", "gone\naway"),
        ("user", "And now?"),
    ]
    for message in stored[:2]:
        assert message.metadata["tool_calls"][0] == CALL
        assert message.metadata["tool_calls"][1]["function"]["arguments"] == '{"x": null}'
        assert message.metadata["reasoning"] == "Hm, Bern."
    assert stored[0].id == "msg_1"
    assert stored[2].metadata == {"tool_call_id": "c1"}
    assert stored[3].metadata == {"tool_call_id": "c2", "is_error": True}
    assert [m.id for m in stored[2:]] == ["turn/1", "turn/2", "turn"]
    assert {m.session for m in stored} == {"s"}
    alone = one({"role": "user", "content": results["content"][:1], "id": "r"})
    assert (alone.role, alone.content, alone.id) == ("tool", RESULT, "r")


def test_anthropic_documents():
    """A document in plain words is kept as words; other files are named."""
    text = {
        "type": "document",
        "title": "Notes",
        "source": {"type": "text", "media_type": "text/plain", "data": RESULT},
    }
    assert one({"role": "user", "content": [text]}).content == f"[document: Notes]\n{RESULT}"
    pdf = {"type": "document", "title": "A", "context": "tax", "source": {
        "type": "base64", "media_type": "application/pdf", "data": ENCODED}}  # fmt: skip
    message = one({"role": "user", "content": [pdf]})
    assert message.content == "[document: A, tax]"
    assert message.metadata["attachments"] == [
        {
            "type": "document",
            "name": "A",
            "caption": "tax",
            "media_type": "application/pdf",
            "sha256": sha256(PIXEL).hexdigest(),
            "bytes": len(PIXEL),
        }
    ]
    found = {"type": "search_result", "title": "T", "source": "s", "content": [{"type": "text", "text": "x"}]}
    assert one({"role": "user", "content": [found]}).content == "T\nx"


LANGCHAIN = [
    SystemMessage("Be brief."),
    HumanMessage("Weather?", id="h1", name="ann"),
    AIMessage("", tool_calls=[{"name": "find", "args": {"city": "Bern"}, "id": "c1"}], id="run-1"),
    ToolMessage(RESULT, tool_call_id="c1", name="find", artifact={"rows": 3}),
    AIMessage([{"type": "text", "text": "Rain."}], additional_kwargs={"reasoning_content": "It says rain."}),
    ChatMessage(content="Hello.", role="critic"),
]


@pytest.mark.parametrize(
    "given",
    [
        LANGCHAIN,
        [message.model_dump() for message in LANGCHAIN],
        messages_to_dict(LANGCHAIN),
        [dumpd(message) for message in LANGCHAIN],
        {"messages": LANGCHAIN},
    ],
    ids=["objects", "dumped", "messages_to_dict", "dumpd", "state"],
)
def test_langchain_messages(given):
    """As objects, as mappings, and as a graph's state: "ai" is the assistant, "human" the user."""
    stored = to_messages(given, session=None)
    assert [(m.role, m.content) for m in stored] == [
        ("system", "Be brief."),
        ("user", "Weather?"),
        ("assistant", '[tool call: find({"city": "Bern"})]'),
        ("tool", RESULT),
        ("assistant", "Rain."),
        ("critic", "Hello."),
    ]
    assert (stored[1].name, stored[1].id, stored[2].id) == ("ann", "h1", "run-1")
    assert stored[2].metadata["tool_calls"] == [CALL]
    assert stored[3].metadata["tool_call_id"] == "c1"
    assert stored[3].metadata["artifact"] == {"rows": 3}
    assert stored[4].metadata == {"reasoning": "It says rain."}


def test_langchain_oddities():
    """Chunks, errors of tools, calls that could not be read, and calls that stand there twice."""
    assert read(AIMessageChunk("Hi.")) == [("assistant", "Hi.")]
    assert read({"type": "ai", "content": "Hi."}, {"role": "human", "content": "x"}) == [
        ("assistant", "Hi."),
        ("user", "x"),
    ]
    failed = one(ToolMessage("no", tool_call_id="c", status="error"))
    assert failed.metadata == {"tool_call_id": "c", "is_error": True}
    broken = {"name": "find", "args": '{"city": ', "id": "c9", "error": "cut", "type": "invalid_tool_call"}
    message = one(AIMessage("", invalid_tool_calls=[broken]))
    assert message.content == '[tool call: find({"city": )]'
    block = {"type": "tool_use", "id": "c1", "name": "find", "input": {"city": "Bern"}}
    call = {"name": "find", "args": {"city": "Bern"}, "id": "c1"}
    assert one(AIMessage([block], tool_calls=[call])).metadata["tool_calls"] == [CALL]


IMAGES = [
    {"type": "image_url", "image_url": {"url": DATA_URL}},
    {"type": "input_image", "image_url": DATA_URL},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ENCODED}},
    {"type": "image", "source_type": "base64", "mime_type": "image/png", "data": ENCODED},
    {"type": "image", "base64": ENCODED, "mime_type": "image/png"},
]


@pytest.mark.parametrize("part", IMAGES, ids=range(len(IMAGES)))
def test_images(part, memory):
    """Every way to send one: type, hash and size are kept, and the bytes if asked."""
    turn = {"role": "user", "content": [{"type": "text", "text": "My cat."}, {**part, "caption": "asleep"}]}
    (without,) = memory.add(turn, user="u")
    (kept,) = memory.add(turn, user="u", keep_files=True)
    assert kept.content == "My cat.\n[image: asleep]"
    (known,) = memory.user("u").attachments(kept.id)
    assert (known.type, known.caption, known.media_type) == ("image", "asleep", "image/png")
    assert (known.sha256, known.size_bytes, known.data) == (sha256(PIXEL).hexdigest(), len(PIXEL), PIXEL)
    assert [found.data for found in memory.user("u").attachments(without.seq)] == [None]
    assert memory.user("v").attachments(kept.seq) == []
    assert memory.get(kept.seq, user="u").files == ()
    assert memory.recall("What of my cat?", user="u", min_confidence=0).text.count("[image: asleep]") >= 1


def test_the_bytes_of_a_file_go_with_its_message(memory):
    """From the table and from every file of the folder; and only that user's."""
    other = memory.add({"content": IMAGES[:1]}, user="v", keep_files=True)[0]
    (kept,) = memory.add({"content": IMAGES[:1]}, user="u", keep_files=True)
    marker = PIXEL[-20:]
    assert any(marker in path.read_bytes() for path in memory.path.rglob("*") if path.is_file())
    memory.forget(user="u", seqs=[kept.seq])
    assert memory.user("u").attachments(kept.seq) == []
    assert memory.user("v").attachments(other.seq)[0].data == PIXEL
    assert memory.admin.check().ok
    memory.forget(user="v", everything=True)
    assert not any(marker in path.read_bytes() for path in memory.path.rglob("*") if path.is_file())


def test_a_file_that_is_too_large_is_refused_where_it_was_to_be_kept(memory, monkeypatch):
    """Elsewhere it is named all the same."""
    monkeypatch.setattr("zibaldone.log.message_input.MOST_FILE_BYTES", 10)
    with pytest.raises(InvalidMessage, match="keep it elsewhere"):
        memory.add({"content": IMAGES[:1]}, user="u", keep_files=True)
    assert memory.add({"content": IMAGES[:1]}, user="u")[0].content == "[image]"


@dataclass
class Unreadable:
    """An object of a library that cannot say what it is."""

    error: Exception | None = None

    def model_dump(self, **_options):
        if self.error is not None:
            raise self.error
        return 3


@pytest.mark.parametrize("given", [Unreadable(), Unreadable(ValueError("no")), [Unreadable()]])
def test_objects_that_cannot_be_read(given):
    """A typed error says which one."""
    with pytest.raises(InvalidMessage, match=r"messages\[0\]: a Unreadable cannot be read"):
        to_messages(given, session=None)


@pytest.mark.parametrize(
    "given",
    [
        {"type": "text", "text": "a part alone"},
        {"type": "weather", "content": "x"},
        {"role": "user", "type": "weather", "content": "x"},
        {
            "role": "user",
            "content": [{"type": "tool_use", "id": [1], "name": 3, "input": {1: object()}}],
            "x": 1,
        },
        {"choices": []},
        {"type": "ai"},
        {"type": "ai", "data": {}},
    ],
    ids=range(7),
)
def test_what_looks_like_none_of_them_is_refused(given):
    """With the position and the reason."""
    with pytest.raises(InvalidMessage, match=r"^messages\[0\]: "):
        to_messages([given], session=None)


def test_a_result_is_left_out_by_its_role(memory):
    """Tools' results are recalled or not, as is wished, and never taken for the user's words."""
    memory.add(
        [
            {"role": "user", "content": "What is in my notes on tulips?"},
            {"role": "user", "content": [{"type": "tool_result", "content": "I hate tulips."}]},
        ],
        user="u",
    )  # fmt: skip
    memory.maintain()
    assert "hate" in memory.recall("tulips", user="u", min_confidence=0).text
    assert (
        "hate"
        not in memory.recall(
            "tulips", user="u", min_confidence=0, filter=Filter(roles=["user", "assistant"])
        ).text
    )
    assert memory.user("u").profile.text() == ""
