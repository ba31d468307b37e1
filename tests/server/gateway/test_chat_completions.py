"""Chat completions through the gateway, by OpenAI's own client."""

from upstream import Reply


def ask(client, *texts, **options):
    """A request whose messages are the user's and the assistant's in turn."""
    roles = ("user", "assistant")
    messages = [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)]
    return client.chat.completions.create(model="fake", messages=messages, **options)


def said(messages):
    """Role and content of each message."""
    return [(message.role, message.content) for message in messages]


def test_what_was_said_elsewhere_is_recalled(chat, upstream, told, logged):
    """It stands before the last words of the user, and is not stored as said."""
    told("My dentist is Dr. Moss, in Elm Street.")
    upstream.says("Dr. Moss.")
    answer = ask(chat, "Who is my dentist?")
    assert answer.choices[0].message.content == "Dr. Moss."
    (sent,) = upstream.last.json["messages"]
    assert "My dentist is Dr. Moss, in Elm Street." in sent["content"]
    assert sent["content"].endswith("\n\nWho is my dentist?")
    assert said(logged(session="s")) == [("user", "Who is my dentist?"), ("assistant", "Dr. Moss.")]


def test_the_answer_says_what_memory_did(chat, told):
    """Which messages were recalled, how many tokens that is, and how long it took."""
    told("My dentist is Dr. Moss, in Elm Street.")
    raw = chat.chat.completions.with_raw_response.create(
        model="fake", messages=[{"role": "user", "content": "Who is my dentist?"}]
    )
    assert raw.headers["x-memory-status"] == "ok"
    memory = raw.parse().model_extra["memory"]
    assert [citation["seq"] for citation in memory["citations"]] == [1]
    assert memory["tokens"] > 5
    assert memory["ms"] > 0
    assert memory["status"] == "ok"


def test_a_stream_comes_as_it_is_and_is_stored(chat, upstream, told, logged):
    """Every piece of it; the last chunk says what memory did."""
    told("My dentist is Dr. Moss, in Elm Street.")
    upstream.says("Your dentist is Dr. Moss.")
    chunks = list(ask(chat, "Who is my dentist?", stream=True, stream_options={"include_usage": True}))
    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(pieces) == "Your dentist is Dr. Moss."
    assert len(pieces) > 4
    assert chunks[-1].usage.total_tokens == 5
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert [citation["seq"] for citation in chunks[-2].model_extra["memory"]["citations"]] == [1]
    assert said(logged(session="s"))[-1] == ("assistant", "Your dentist is Dr. Moss.")


def test_history_is_stored_once(chat, upstream, logged):
    """An agent sends its whole history each time; the log gets what is new."""
    upstream.says("One.", "Two.", "Three.")
    ask(chat, "a")
    ask(chat, "a", "One.", "b")
    ask(chat, "a", "One.", "b", "Two.", "b")
    assert said(logged()) == [
        ("user", "a"),
        ("assistant", "One."),
        ("user", "b"),
        ("assistant", "Two."),
        ("user", "b"),
        ("assistant", "Three."),
    ]


def test_parallel_tool_calls_are_stored_with_their_results(chat, upstream, logged):
    """Streamed in fragments, each linked to its result."""
    calls = [("call_1", "weather", {"city": "Rome"}), ("call_2", "weather", {"city": "Oslo"})]
    upstream.replies(Reply("", calls=calls), Reply("Warm and cold."))
    list(ask(chat, "Weather in Rome and Oslo?", stream=True))
    stored = logged()[-1]
    assert [call["id"] for call in stored.metadata["tool_calls"]] == ["call_1", "call_2"]
    assert [call["function"]["arguments"] for call in stored.metadata["tool_calls"]] == [
        '{"city": "Rome"}',
        '{"city": "Oslo"}',
    ]
    messages = [
        {"role": "user", "content": "Weather in Rome and Oslo?"},
        {"role": "assistant", "content": None, "tool_calls": stored.metadata["tool_calls"]},
        {"role": "tool", "tool_call_id": "call_1", "content": "20 degrees"},
        {"role": "tool", "tool_call_id": "call_2", "content": "2 degrees"},
    ]
    chat.chat.completions.create(model="fake", messages=messages)
    roles = [message.role for message in logged()]
    assert roles == ["user", "assistant", "tool", "tool", "assistant"]
    assert [m.metadata["tool_call_id"] for m in logged()[2:4]] == ["call_1", "call_2"]


def test_pictures_are_no_words(chat, upstream, told, logged):
    """They go on as they are, behind what is recalled; the log names them, and knows the turn again."""
    told("My dentist is Dr. Moss, in Elm Street.")
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    parts = [picture, {"type": "text", "text": "Is this my dentist?"}]
    messages = [{"role": "user", "content": parts}]
    chat.chat.completions.create(model="fake", messages=messages)
    sent = upstream.last.json["messages"][0]["content"]
    assert [part["type"] for part in sent] == ["image_url", "text", "text"]
    assert [sent[0], sent[2]] == parts
    messages += [{"role": "assistant", "content": "Noted."}, {"role": "user", "content": "And now?"}]
    chat.chat.completions.create(model="fake", messages=messages)
    stored = logged(session="s")
    assert len(stored) == 4
    assert "Is this my dentist?" in stored[0].content
    assert "iVBOR" not in stored[0].content + str(stored[0].metadata)


def test_what_a_model_thinks_aloud_is_not_stored(chat, upstream, logged):
    """Clients leave it out of the history: the turn is known with it and without it."""
    upstream.says("<think>The user greets me.</think>Hello.")
    answer = ask(chat, "Good morning.").choices[0].message.content
    assert answer.startswith("<think>")
    for echo in (answer, "Hello."):
        ask(chat, "Good morning.", echo, f"Echo {len(echo)}")
    assert "think" not in str(logged())
    assert [m.content for m in logged()].count("Hello.") == 3
    assert [m.role for m in logged()].count("user") == 3
