"""The ChatGPT export."""

from datetime import UTC, datetime

import pytest

from exports import read_file

START = 1683554160.0  # 2023-05-08 13:56 UTC


def node(parent, role="user", *parts, time=START, **more):
    """One node of the mapping."""
    kind = "text" if all(isinstance(part, str) for part in parts) else "multimodal_text"
    message = {
        "author": {"role": role},
        "create_time": time,
        "content": {"content_type": kind, "parts": list(parts)},
    }
    return {"parent": parent, "message": {**message, **more}, "children": []}


def conversation(current="c", **nodes):
    """One conversation of the export."""
    mapping = {"root": {"parent": None, "message": None, "children": []}, **nodes}
    return {"title": "Bread", "create_time": START, "mapping": mapping, "current_node": current, "id": "conv"}


def texts(conversations):
    """Role and content of every message."""
    return [(message.role, message.content) for found in conversations for message in found.messages]


def test_current_branch_alone_is_read(read):
    """An edited prompt and a regenerated answer are not in it."""
    found = read(
        [
            conversation(
                "d",
                a=node("root", "user", "How long does it rise?"),
                b=node("a", "assistant", "An hour."),
                c=node("a", "assistant", "Two hours."),
                old=node("root", "user", "How lomg?"),
                d=node("c", "user", "Thanks"),
            )
        ]
    )
    assert texts(found) == [
        ("user", "How long does it rise?"),
        ("assistant", "Two hours."),
        ("user", "Thanks"),
    ]


def test_session_title_id_and_time(read):
    """The conversation's id is the session, its title metadata; ids carry format, conversation, node."""
    (found,) = read([conversation("a", a=node("root", "user", "Hi"))])
    (message,) = found.messages
    assert found.user_hint is None
    assert (message.session, message.id, message.metadata) == ("conv", "chatgpt:conv:a", {"title": "Bread"})
    assert message.time == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


@pytest.mark.parametrize(
    ("hidden", "noise"),
    [
        (node("root", "system", "You are ChatGPT"), "hidden"),
        (node("root", "user", "secret", metadata={"is_visually_hidden_from_conversation": True}), "hidden"),
        (node("root", "assistant", "secret", weight=0), "hidden"),
        (node("root", "assistant", "search('rye')", recipient="browser"), "call"),
        (node("root", "tool", "Model set context updated."), "result"),
        (
            node(
                "root",
                "assistant",
                content={"content_type": "thoughts", "thoughts": [{"summary": "So", "content": "hm"}]},
            ),
            "thinking",
        ),
    ],
)
def test_noise_is_kept_and_marked(read, hidden, noise):
    """What the reader of the conversation was not shown is there word for word, and says so."""
    (talk,) = read([conversation("b", a=hidden, b=node("a", "user", "Hi"))])
    assert [message.metadata.get("noise") for message in talk.messages] == [noise, None]
    assert [message.is_noise for message in talk.messages] == [True, False]
    assert (talk.messages[0].role == "thinking") == (noise == "thinking")


def test_custom_instructions_and_memories_are_known_of_the_user(read):
    """Once, however many conversations repeat them, each with its source."""
    told = {
        "content_type": "user_editable_context",
        "user_profile": "Shown in all conversations:\n```\nI keep bees.\n```",
        "user_instructions": "Always answer in metric.",
    }
    remembered = {
        "content_type": "model_editable_context",
        "model_set_context": "1. [2024-04-10]. Likes rye.",
    }
    nodes = {
        "a": node("root", "user", content=told),
        "b": node("a", "system", content=remembered),
        "c": node("b", "assistant", "Has a dog, Rex.", recipient="bio"),
        "d": node("c", "user", "Hi"),
    }
    talks = read([conversation("d", **nodes), {**conversation("d", **nodes), "id": "other"}])
    known = [m for talk in talks for m in talk.messages if "profile" in m.metadata]
    assert [(m.content, m.metadata["profile"], m.metadata["source"]) for m in known] == [
        ("I keep bees.", "fact", "ChatGPT custom instructions"),
        ("Always answer in metric.", "instruction", "ChatGPT custom instructions"),
        ("Likes rye.", "fact", "ChatGPT memories"),
        ("Has a dog, Rex.", "fact", "ChatGPT memories"),
        ("Has a dog, Rex.", "fact", "ChatGPT memories"),
    ]
    assert known[2].time == datetime(2024, 4, 10, tzinfo=UTC)


def test_citation_markers_are_taken_out_and_kept(read):
    """Links of the program's own are not among the words; with the metadata the text is as it was."""
    raw = "Rye rises slowly \ue200cite\ue202turn0search1\ue201 and long【12†baker.example】."
    (talk,) = read([conversation("a", a=node("root", "assistant", raw))])
    (message,) = talk.messages
    assert message.content == "Rye rises slowly and long."
    whole = message.content
    for at, marker in reversed(message.metadata["citation_markers"]):
        whole = whole[:at] + marker + whole[at:]
    assert whole == raw


def test_all_branches(write):
    """Edited prompts and regenerated answers, marked as such, when they are asked for."""
    (talk,) = read_file(write([conversation("c", **RETRIED)]), branches="all")
    assert [(m.content, m.metadata.get("branch")) for m in talk.messages] == [
        ("Q", None),
        ("old", "other"),
        ("new", None),
    ]


RETRIED = {
    "a": node("root", "user", "Q"),
    "b": node("a", "assistant", "old"),
    "c": node("a", "assistant", "new"),
}
NO_CURRENT = conversation("c", **RETRIED)
del NO_CURRENT["current_node"]


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        (conversation("z", **RETRIED), "Q new"),  # no such node: the newest leaf is the end
        (conversation(None, **RETRIED), "Q new"),
        (NO_CURRENT, "Q new"),
        (conversation("a", a=node("b", "user", "1"), b=node("a", "user", "2")), "2 1"),  # a circle
        (conversation("a", a=node("gone", "user", "Hi")), "Hi"),  # a root that is not there
        (conversation("b", a=node("root", "assistant", ""), b=node("a", "user", "Hi")), "Hi"),
        (conversation("b", a=node("root", "user", None, " \n"), b=node("a", "user", "Hi")), "Hi"),
        (conversation("b", a=node("root", "user", content=None), b=node("a", "user", "Hi")), "Hi"),
        ({**conversation(None), "mapping": {}}, ""),
        (conversation("root"), ""),
    ],
)
def test_odd_trees(read, odd, said):
    """An odd end is no reason to leave a conversation out; what says nothing is no message."""
    assert [text for _, text in texts(read([odd]))] == said.split()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"content_type": "code", "language": "python", "text": "1 + 1"}, "1 + 1"),
        ({"content_type": "execution_output", "text": "2"}, "2"),
        (
            {"content_type": "tether_quote", "url": "https://a.example", "text": "It says"},
            "https://a.example\nIt says",
        ),
        ({"content_type": "tether_browsing_display", "result": "found"}, "found"),
        ({"content_type": "text", "parts": ["one", "two"]}, "one\ntwo"),
    ],
)
def test_content_types(read, content, expected):
    """Text is kept word for word, wherever a content type holds it."""
    assert texts(read([conversation("a", a=node("root", "tool", content=content))])) == [("tool", expected)]


def test_parts_that_are_no_text_become_placeholders(read):
    """An image, a generated image, a voice message and a file are described."""
    parts = [
        {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"},
        {"content_type": "image_asset_pointer", "metadata": {"dalle": {"prompt": "a red fox"}}},
        {"content_type": "audio_transcription", "text": "spoken"},
        {"content_type": "audio_asset_pointer"},
        {"content_type": "video_container_asset_pointer"},
        "What is this?",
    ]
    attachments = [{"name": "a.pdf"}, {"name": "b.png", "mime_type": "image/png"}]
    asked = node("root", "user", *parts, metadata={"attachments": attachments})
    ((_, content),) = texts(read([conversation("a", a=asked)]))
    assert content.split("\n") == [
        "[image]",
        "[image: a red fox]",
        "spoken",
        "[video container]",
        "What is this?",
        "[file: a.pdf]",
    ]


def test_missing_times_come_from_the_message_before(read):
    """A message without a time happened when the one before it did, or when the conversation began."""
    found = read(
        [
            conversation(
                a=node("root", "user", "1", time=None),
                b=node("a", "assistant", "2", time=START + 60),
                c=node("b", "user", "3", time=None),
            ),
            {**conversation("a", a=node("root", "user", "4", time=None)), "id": "other"},
        ]
    )
    offsets = [message.time.timestamp() - START for one in found for message in one.messages]
    assert offsets == [0, 60, 60, 0]


def test_half_a_character_is_replaced(read):
    """A cut-off emoji does not spoil an export; whole ones and literal backslashes are untouched."""
    raw = r'[{"id": "c", "current_node": "a", "mapping": {"a": {"message": {"author": {"role": "user"},'
    raw += r' "content": {"parts": ["\ud83d\ude00 \ud83d \\ud83d"]}}}}}]'
    assert texts(read(raw)) == [("user", "\U0001f600 \ufffd \\ud83d")]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (
            conversation("a", a=node("root", "user", "x", time="soon")),
            "$[0].mapping.a.message.create_time: found 'soon'",
        ),
        (
            conversation("a", a=node("root", "user", 3, "x")),
            "$[0].mapping.a.message.content.parts[0]: found 3",
        ),
        (
            conversation("a", a=node("root", "user", "x", author=None)),
            "message.author: found null, expected a value",
        ),
        (conversation("a", a=7), "$[0].mapping.a: found 7, expected an object"),
        ({**conversation(), "id": None}, "$[0].id: found null"),
        ({"mapping": {}}, "$[0]: found an object with 'mapping', expected the field 'id'"),
    ],
)
def test_faults_name_the_path(fault, broken, said):
    """A bad export is refused with the JSON path of the fault, what was found and what was expected."""
    assert said in fault([broken])
