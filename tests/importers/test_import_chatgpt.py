"""The ChatGPT export."""

from datetime import UTC, datetime

import pytest

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
    """An edited prompt and a regenerated answer leave no trace."""
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
    assert found.name == "Bread"
    assert found.user_hint is None
    assert (message.session, message.id, message.metadata) == ("conv", "chatgpt:conv:a", {"title": "Bread"})
    assert message.time == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


@pytest.mark.parametrize(
    "hidden",
    [
        node("root", "system", "You are ChatGPT"),
        node("root", "user", "secret", metadata={"is_visually_hidden_from_conversation": True}),
        node("root", "assistant", "secret", weight=0),
        node("root", "assistant", content={"content_type": "thoughts", "thoughts": [{"content": "hm"}]}),
        node("root", "user", content={"content_type": "user_editable_context", "user_profile": "x"}),
        node("root", "assistant", ""),
        node("root", "assistant", None, " \n"),
        node("root", "assistant", content=None),
    ],
)
def test_hidden_and_empty_nodes_are_skipped(read, hidden):
    """What the reader of the conversation never saw is not remembered."""
    assert texts(read([conversation("b", a=hidden, b=node("a", "user", "Hi"))])) == [("user", "Hi")]


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
    """A message without a time happened when its neighbour did; without any, when the conversation began."""
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
    assert offsets == [60, 60, 60, 0]


def test_without_current_node_the_newest_leaf_is_the_end(read):
    """Old exports do not say where the conversation ends."""
    one = conversation(
        "c", a=node("root", "user", "Q"), b=node("a", "assistant", "old"), c=node("a", "assistant", "new")
    )
    del one["current_node"]
    assert texts(read([one])) == [("user", "Q"), ("assistant", "new")]


def test_unknown_parent_ends_the_branch(read):
    """A branch whose root is not in the file begins at its first node."""
    assert texts(read([conversation("a", a=node("gone", "user", "Hi"))])) == [("user", "Hi")]


def test_empty_conversations_are_left_out(read):
    """A conversation without messages is no conversation."""
    assert read([{**conversation(None), "mapping": {}}, {**conversation("root"), "id": "2"}]) == []


def test_half_a_character_is_replaced(read):
    """A cut-off emoji does not spoil an export; whole ones and literal backslashes are untouched."""
    raw = r'[{"id": "c", "current_node": "a", "mapping": {"a": {"message": {"author": {"role": "user"},'
    raw += r' "content": {"parts": ["\ud83d\ude00 \ud83d \\ud83d"]}}}}}]'
    assert texts(read(raw)) == [("user", "\U0001f600 \ufffd \\ud83d")]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (conversation("z"), "$[0].current_node: found 'z', expected a node of the mapping"),
        (
            conversation("a", a=node("b"), b=node("a")),
            "$[0].mapping.a: found a parent chain that runs in a circle",
        ),
        (conversation(None, root=node("root")), "$[0].mapping: found parent chains that all run in circles"),
        (
            conversation("a", a=node("root", "user", "x", time="soon")),
            "$[0].mapping.a.message.create_time: found 'soon'",
        ),
        (
            conversation("a", a=node("root", "user", "x", time=float("nan"))),
            "create_time: found nan, expected",
        ),
        (conversation("a", a=node("root", "user", "x", time=10**400)), "create_time: found 1000"),
        (
            conversation("a", a=node("root", "user", "x", time=START * 1000)),
            "create_time: found 1683554160000.0",
        ),
        (conversation("a", a=node("root", "user", "x", time=True)), "create_time: found True"),
        (
            conversation("a", a=node("root", "user", 3, "x")),
            "$[0].mapping.a.message.content.parts[0]: found 3",
        ),
        (
            conversation("a", a=node("root", "user", "x", author=None)),
            "message.author: found null, expected a value",
        ),
        (conversation("a", a=node("root", "", "x")), "message.author.role: found ''"),
        (conversation("a", a=7), "$[0].mapping.a: found 7, expected an object"),
        ({**conversation(), "mapping": []}, "$[0].mapping: found an empty list, expected an object"),
        ({**conversation(), "id": None}, "$[0].id: found null"),
        ({"mapping": {}}, "$[0]: found an object with 'mapping', expected the field 'id'"),
    ],
)
def test_faults_name_the_path(fault, broken, said):
    """A bad export is refused with the JSON path of the fault, what was found and what was expected."""
    assert said in fault([broken])


def test_same_conversation_twice(fault):
    """Two conversations of one id cannot be told apart."""
    assert "$[1].id: found 'conv', which $[0].id has as well" in fault(
        [conversation("root"), conversation("root")]
    )
