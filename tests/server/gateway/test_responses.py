"""Responses through the gateway, by OpenAI's own client."""

from upstream import Reply


def stored(messages):
    """Role and content of each message."""
    return [(message.role, message.content) for message in messages]


def test_a_text_is_a_turn(chat, upstream, told, logged):
    """Memory stands before it; instructions are not stored."""
    told("My dentist is Dr. Moss, in Elm Street.")
    upstream.says("Dr. Moss.")
    answer = chat.responses.create(model="fake", input="Who is my dentist?", instructions="Be short.")
    assert answer.output_text == "Dr. Moss."
    assert [citation["seq"] for citation in answer.model_extra["memory"]["citations"]] == [1]
    assert "Elm Street" in upstream.last.json["input"]
    assert upstream.last.json["input"].endswith("\n\nWho is my dentist?")
    assert upstream.last.json["instructions"] == "Be short."
    assert stored(logged(session="s")) == [("user", "Who is my dentist?"), ("assistant", "Dr. Moss.")]


def test_events_come_as_they_are_and_the_last_one_says_what_memory_did(chat, upstream, told, logged):
    """The client's own reading of the stream works."""
    told("My dentist is Dr. Moss, in Elm Street.")
    upstream.says("Your dentist is Dr. Moss.")
    items = [{"role": "user", "content": [{"type": "input_text", "text": "Who is my dentist?"}]}]
    with chat.responses.stream(model="fake", input=items) as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert "".join(deltas) == final.output_text == "Your dentist is Dr. Moss."
    assert final.model_extra["memory"]["status"] == "ok"
    parts = upstream.last.json["input"][0]["content"]
    assert [part["type"] for part in parts] == ["input_text", "input_text"]
    assert parts[1] == items[0]["content"][0]
    assert stored(logged(session="s"))[-1] == ("assistant", "Your dentist is Dr. Moss.")


def test_calls_and_their_outputs_are_turns(chat, upstream, logged):
    """Parallel calls, streamed, each linked to its output."""
    upstream.replies(
        Reply("", calls=[("call_1", "weather", {"city": "Rome"}), ("call_2", "weather", {"city": "Oslo"})]),
        Reply("Warm and cold."),
    )
    question = {"role": "user", "content": "Weather?"}
    with chat.responses.stream(model="fake", input=[question]) as stream:
        first = stream.get_final_response()
    calls = [item.model_dump(exclude_none=True) for item in first.output]
    outputs = [
        {"type": "function_call_output", "call_id": call["call_id"], "output": f"{number} degrees"}
        for number, call in enumerate(calls)
    ]
    chat.responses.create(model="fake", input=[question, *calls, *outputs])
    messages = logged()
    assert [m.role for m in messages] == ["user", "assistant", "assistant", "tool", "tool", "assistant"]
    assert [m.metadata["tool_calls"][0]["id"] for m in messages[1:3]] == ["call_1", "call_2"]
    assert [(m.content, m.metadata["tool_call_id"]) for m in messages[3:5]] == [
        ("0 degrees", "call_1"),
        ("1 degrees", "call_2"),
    ]


def test_a_history_that_the_upstream_keeps(gateway, upstream, logged):
    """What goes on from an answer is of its session, and follows it."""
    import openai

    with openai.OpenAI(
        base_url=f"{gateway}/v1", api_key="k", default_headers={"X-Memory-User": "ann"}
    ) as ann:
        first = ann.responses.create(model="fake", input="ok")
        second = ann.responses.create(model="fake", input="ok", previous_response_id=first.id)
        ann.responses.create(model="fake", input="ok", previous_response_id=second.id)
        ann.responses.create(model="fake", input="ok", conversation="conv_1")
    messages = logged()
    assert [m.content for m in messages] == ["ok", "Noted."] * 4
    assert len({m.session for m in messages[:6]}) == 1
    assert {m.session for m in messages[6:]} == {"conv_1"}
