"""Recalled text, streams, tools, pictures and thoughts in each of the three formats, by their own clients."""

import json

import pytest
from upstream import Reply
from wires import CHAT, MESSAGES, RESPONSES

QUESTION = {"role": "user", "content": "Who is my dentist?"}
FACT = "My dentist is Dr. Moss, in Elm Street."
PICTURES = {
    "chat/completions": {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
    "responses": {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="},
    "messages": {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
    },
}


@pytest.fixture
def client(wire, gateway, as_ann):
    """A client of one of the formats."""
    return as_ann(wire, gateway)


def said(messages):
    """Role and content of each message."""
    return [(message.role, message.content) for message in messages]


def test_what_was_said_elsewhere_is_recalled(client, wire, stream, upstream, told, logged):
    """It stands before the last words of the user, and is not stored; nor is what the program instructs."""
    told(FACT)
    upstream.says("Your dentist is Dr. Moss.")
    rules = {RESPONSES: {"instructions": "Be short."}, MESSAGES: {"system": "Be short."}}.get(wire, {})
    history = [QUESTION] if rules else [{"role": "system", "content": "Be short."}, QUESTION]
    answer = client.ask(history, stream=stream, **rules)
    assert answer.text == "Your dentist is Dr. Moss."
    assert [citation["seq"] for citation in answer.memory["citations"]] == [1]
    assert answer.memory["status"] == "ok"
    assert answer.memory["tokens"] > 5
    assert answer.memory["ms"] > 0
    sent = upstream.last.json
    *before, last = sent[wire.list_name]
    assert FACT in last["content"]
    assert last["content"].endswith("\n\nWho is my dentist?")
    assert before == history[:-1]
    assert {name: sent[name] for name in rules} == rules
    assert said(logged(session="s")) == [
        ("user", "Who is my dentist?"),
        ("assistant", "Your dentist is Dr. Moss."),
    ]


def test_a_text_for_input_is_a_turn(as_ann, gateway, upstream, told, logged):
    """Responses take one in place of a list."""
    told(FACT)
    as_ann(RESPONSES, gateway).ask("Who is my dentist?", stream=False)
    (sent,) = upstream.last.json["input"]
    assert FACT in sent["content"]
    assert sent["content"].endswith("\n\nWho is my dentist?")
    assert said(logged(session="s")) == [("user", "Who is my dentist?"), ("assistant", "Noted.")]


def test_parallel_calls_are_stored_with_their_results(client, wire, stream, upstream, logged):
    """Also where they come in fragments; each is linked to its result."""
    calls = [("c1", "weather", {"city": "Rome"}), ("c2", "weather", {"city": "Oslo"})]
    upstream.replies(Reply("Let me look.", calls=calls), Reply("Warm and cold."))
    answer = client.ask([QUESTION], stream=stream)
    results = [client.result("c1", "20 degrees"), client.result("c2", "2 degrees")]
    if wire is MESSAGES:
        results = [{"role": "user", "content": [part for turn in results for part in turn["content"]]}]
    client.ask([QUESTION, *answer.echo, *results], stream=stream)
    stored = logged()
    made = [call for message in stored for call in message.metadata.get("tool_calls", ())]
    assert [(call["id"], json.loads(call["function"]["arguments"])) for call in made] == [
        ("c1", {"city": "Rome"}),
        ("c2", {"city": "Oslo"}),
    ]
    assert [(m.content, m.metadata["tool_call_id"]) for m in stored if m.role == "tool"] == [
        ("20 degrees", "c1"),
        ("2 degrees", "c2"),
    ]
    words = [m.content for m in stored if m.role != "tool" and not m.content.startswith("[tool call")]
    assert words == ["Who is my dentist?", "Let me look.", "Warm and cold."]


def test_results_stay_in_front_of_what_is_recalled(as_ann, gateway, upstream, told, logged):
    """In a turn of Anthropic's with both; of a result's parts nothing is put in the place of an empty one."""
    told(FACT)
    parts = [{"type": "text", "text": "Open."}, {"type": "text", "text": ""}]
    content = [
        {"type": "tool_result", "tool_use_id": "t1", "content": parts},
        {"type": "text", "text": "Who is my dentist?"},
    ]
    call = {"type": "tool_use", "id": "t1", "name": "hours", "input": {}}
    history = [
        {"role": "user", "content": "Look it up."},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": content},
    ]
    as_ann(MESSAGES, gateway).ask(history, stream=False)
    sent = upstream.last.json["messages"][-1]["content"]
    assert [sent[0], sent[2]] == content
    assert FACT in sent[1]["text"]
    assert [m.content.strip() for m in logged(session="s") if m.role == "tool"] == ["Open."]


def test_pictures_are_no_words(client, wire, upstream, told, logged):
    """They go on as they are, before what is recalled; the log names them, and knows the turn again."""
    told(FACT)
    text = {"type": "input_text" if wire is RESPONSES else "text", "text": "Is this my dentist?"}
    parts = [PICTURES[wire.path], text]
    history = [{"role": "user", "content": parts}]
    client.ask(history, stream=False)
    picture, recalled, words = upstream.last.json[wire.list_name][0]["content"]
    assert [picture, words] == parts
    assert (recalled["type"], FACT in recalled["text"]) == (text["type"], True)
    history += [{"role": "assistant", "content": "Noted."}, {"role": "user", "content": "And now?"}]
    client.ask(history, stream=False)
    stored = logged(session="s")
    assert len(stored) == 4
    assert "Is this my dentist?" in stored[0].content
    assert "iVBOR" not in stored[0].content + str(stored[0].metadata)


def test_thoughts_are_not_what_was_said(as_ann, gateway, upstream, logged):
    """As parts of the history, and aloud, where clients leave them out: the turn is known either way."""
    thought = {"type": "thinking", "thinking": "A greeting.", "signature": "x"}
    answer = {"role": "assistant", "content": [thought, {"type": "text", "text": "Hi."}]}
    history = [{"role": "user", "content": "Good day."}, answer, {"role": "user", "content": "How are you?"}]
    as_ann(MESSAGES, gateway).ask(history, stream=False)
    assert upstream.last.json["messages"] == history
    assert [m.content for m in logged()] == ["Good day.", "Hi.", "How are you?", "Noted."]
    upstream.says("<think>The user greets me.</think>Hello.")
    aloud, greeting = as_ann(CHAT, gateway, **{"X-Memory-Session": "t"}), {"role": "user", "content": "Hey."}
    said_aloud = aloud.ask([greeting], stream=False).text
    assert said_aloud.startswith("<think>")
    for echo in (said_aloud, "Hello."):
        more = {"role": "user", "content": f"Echo {len(echo)}"}
        aloud.ask([greeting, {"role": "assistant", "content": echo}, more], stream=False)
    assert "think" not in str(logged(session="t"))
    assert [m.role for m in logged(session="t")] == ["user", "assistant"] * 3


def test_a_history_that_the_upstream_keeps(as_ann, gateway, logged):
    """What goes on from an answer is of its session, and follows it."""
    client = as_ann(RESPONSES, gateway, **{"X-Memory-Session": ""})
    first = client.ask("ok", stream=False)
    second = client.ask("ok", stream=False, previous_response_id=first.name)
    client.ask("ok", stream=False, previous_response_id=second.name)
    client.ask("ok", stream=False, conversation="conv_1")
    messages = logged()
    assert [m.content for m in messages] == ["ok", "Noted."] * 4
    assert len({m.session for m in messages[:6]}) == 1
    assert {m.session for m in messages[6:]} == {"conv_1"}
