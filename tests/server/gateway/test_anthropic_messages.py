"""Anthropic's messages through the gateway, by Anthropic's own client."""

import json

from upstream import Reply


def ask(client, *texts, **options):
    """A request whose messages are the user's and the assistant's in turn."""
    roles = ("user", "assistant")
    messages = [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)]
    return client.messages.create(model="fake", max_tokens=99, messages=messages, **options)


def stored(messages):
    """Role and content of each message."""
    return [(message.role, message.content) for message in messages]


def test_memory_is_before_the_last_words_of_the_user(claude, upstream, told, logged):
    """The system prompt stays as it is, and is not stored."""
    told("My dentist is Dr. Moss, in Elm Street.")
    upstream.says("Dr. Moss.")
    answer = ask(claude, "Who is my dentist?", system="Be short.")
    assert answer.content[0].text == "Dr. Moss."
    assert [citation["seq"] for citation in answer.model_extra["memory"]["citations"]] == [1]
    sent = upstream.last.json
    assert sent["system"] == "Be short."
    assert "Elm Street" in sent["messages"][0]["content"]
    assert sent["messages"][0]["content"].endswith("\n\nWho is my dentist?")
    assert stored(logged(session="s")) == [("user", "Who is my dentist?"), ("assistant", "Dr. Moss.")]


def test_a_stream_is_put_together(claude, upstream, told, logged):
    """The client's own reading of the stream works, and the last event says what memory did."""
    told("My dentist is Dr. Moss, in Elm Street.")
    upstream.says("Your dentist is Dr. Moss.")
    with claude.messages.stream(
        model="fake", max_tokens=99, messages=[{"role": "user", "content": "Who is my dentist?"}]
    ) as stream:
        events = list(stream)
        assert stream.get_final_text() == "Your dentist is Dr. Moss."
    (stop,) = [event for event in events if event.type == "message_delta"]
    assert stop.model_extra["memory"]["status"] == "ok"
    assert stored(logged(session="s"))[-1] == ("assistant", "Your dentist is Dr. Moss.")


def test_tools_are_stored_and_results_stay_in_front(claude, upstream, told, logged):
    """A result must be the first thing after its call: memory goes behind results, before the words."""
    told("I like the weather in Rome to be warm.")
    upstream.replies(
        Reply("Let me look.", calls=[("tu_1", "weather", {"city": "Rome"}), ("tu_2", "clock", {})]),
        Reply("Warm."),
    )
    with claude.messages.stream(
        model="fake", max_tokens=99, messages=[{"role": "user", "content": "How is the weather in Rome?"}]
    ) as stream:
        first = stream.get_final_message()
    assert [block.type for block in first.content] == ["text", "tool_use", "tool_use"]
    results = [
        {"type": "tool_result", "tool_use_id": "tu_1", "content": [{"type": "text", "text": "20 degrees"}]},
        {"type": "tool_result", "tool_use_id": "tu_2", "content": "noon"},
        {"type": "text", "text": "Is the weather in Rome warm?"},
    ]
    messages = [
        {"role": "user", "content": "How is the weather in Rome?"},
        {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in first.content]},
        {"role": "user", "content": results},
    ]
    claude.messages.create(model="fake", max_tokens=99, messages=messages)
    sent = upstream.last.json["messages"][-1]["content"]
    assert [block["type"] for block in sent] == ["tool_result", "tool_result", "text", "text"]
    assert "I like the weather" in sent[2]["text"]
    assert sent[3] == results[2]
    assert [(m.role, m.content) for m in logged(session="s")] == [
        ("user", "How is the weather in Rome?"),
        ("assistant", "Let me look."),
        ("tool", "20 degrees"),
        ("tool", "noon"),
        ("user", "Is the weather in Rome warm?"),
        ("assistant", "Warm."),
    ]
    calls = logged(session="s")[1].metadata["tool_calls"]
    assert [call["id"] for call in calls] == ["tu_1", "tu_2"]
    assert json.loads(calls[0]["function"]["arguments"]) == {"city": "Rome"}
    assert [m.metadata["tool_call_id"] for m in logged(session="s")[2:4]] == ["tu_1", "tu_2"]


def test_thoughts_are_not_what_was_said(claude, upstream, logged):
    """Thinking blocks in the history are no turns."""
    messages = [
        {"role": "user", "content": "Hello."},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "A greeting.", "signature": "x"},
                {"type": "text", "text": "Hi."},
            ],
        },
        {"role": "user", "content": "How are you?"},
    ]
    claude.messages.create(model="fake", max_tokens=99, messages=messages)
    assert upstream.last.json["messages"] == messages
    assert [m.content for m in logged()] == ["Hello.", "Hi.", "How are you?", "Noted."]


def test_who_is_asking_may_stand_in_the_metadata(gateway, upstream, logged):
    """metadata.user_id, with the session behind it as coding agents write it."""
    import anthropic

    session = "5fd0a1c2-0000-4000-8000-000000000001"
    with anthropic.Anthropic(base_url=gateway, api_key="k", max_retries=0) as client:
        ask(client, "Hello.", metadata={"user_id": f"user_ab12_account__session_{session}"})
    assert [m.content for m in logged("user_ab12_account_", session)] == ["Hello.", "Noted."]
    assert upstream.last.json["metadata"] == {"user_id": f"user_ab12_account__session_{session}"}


def test_newer_agents_write_the_same_as_json(gateway, upstream, logged):
    """Device, account and session: the user stays the one that older versions of them name."""
    import anthropic

    session = "5fd0a1c2-0000-4000-8000-000000000001"
    user_id = json.dumps({"device_id": "ab12", "account_uuid": "", "session_id": session})
    with anthropic.Anthropic(base_url=gateway, api_key="k", max_retries=0) as client:
        ask(client, "Hello.", metadata={"user_id": user_id})
    assert [m.content for m in logged("user_ab12_account_", session)] == ["Hello.", "Noted."]
    assert upstream.last.json["metadata"] == {"user_id": user_id}


def test_the_words_of_a_tool_are_its_own(claude, logged):
    """Nothing is put in the place of an empty text."""
    parts = [{"type": "text", "text": "It rains."}, {"type": "text", "text": ""}]
    messages = [
        {"role": "user", "content": "And now?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "weather", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": parts}]},
    ]
    claude.messages.create(model="fake", max_tokens=99, messages=messages)
    assert [m.content.strip() for m in logged() if m.role == "tool"] == ["It rains."]
