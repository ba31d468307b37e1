"""The Claude export."""

import pytest

from exports import read_file


def chat(*messages, **more):
    """One conversation of the export."""
    return {
        "uuid": "conv",
        "name": "Bread",
        "created_at": "2024-01-15T10:30:00.000Z",
        "chat_messages": messages,
        **more,
    }


def said(uuid, sender="human", **more):
    """One message of it."""
    return {"uuid": uuid, "sender": sender, "created_at": "2024-01-15T10:30:05.123456Z", "text": "", **more}


def contents(conversations):
    """The text of every message."""
    return [message.content for found in conversations for message in found.messages]


def test_messages(read):
    """Sender, id, session, title and time are taken over."""
    (found,) = read([chat(said("1", text="Hi"), said("2", "assistant", text="Hello"))])
    first, second = found.messages
    assert [first.role, second.role] == ["user", "assistant"]
    assert (first.id, first.session, first.metadata) == ("claude:conv:1", "conv", {"title": "Bread"})
    assert first.time.isoformat() == "2024-01-15T10:30:05.123456+00:00"
    assert found.user_hint is None


def test_blocks_win_over_text(read):
    """The content blocks are the message; thoughts, calls and results are noise of roles of their own."""
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "rye"}},
        {
            "type": "tool_result",
            "tool_use_id": "t1",
            "name": "search",
            "content": [{"type": "text", "text": "long"}],
        },
        {"type": "voice_note", "title": "At the baker's", "text": "Ask for rye."},
        {"type": "text", "text": "Rye it is."},
    ]
    (talk,) = read([chat(said("1", "assistant", text="Let me look. Rye it is.", content=blocks))])
    assert [(m.role, m.content, m.metadata.get("noise")) for m in talk.messages] == [
        ("thinking", "hm", "thinking"),
        ("assistant", "Let me look.\n[voice note]\nAsk for rye.\nAt the baker's\nRye it is.", None),
        ("assistant", '[tool call: search({"q": "rye"})]', "call"),
        ("tool", "long", "result"),
    ]
    assert talk.messages[3].metadata["tool_call_id"] == "t1"
    assert len({message.id for message in talk.messages}) == 4


def test_edited_and_retried_messages_are_other_branches(read, write):
    """The branch of the newest message is the conversation; the others come when asked for."""
    messages = [
        said("1", text="How lomg?", parent_message_uuid="root"),
        said("2", text="How long?", parent_message_uuid="root"),
        said("3", "assistant", text="An hour.", parent_message_uuid="2"),
        said("4", "assistant", text="Two hours.", parent_message_uuid="2", created_at="2024-01-15T10:31:00Z"),
    ]
    assert contents(read([chat(*messages)])) == ["How long?", "Two hours."]
    everything = read_file(write([chat(*messages)]), branches="all")
    assert [(m.content, m.metadata.get("branch")) for m in everything[0].messages] == [
        ("How lomg?", "other"),
        ("How long?", None),
        ("An hour.", "other"),
        ("Two hours.", None),
    ]


def test_attachments(read):
    """A pasted text that became an attachment is kept; a file is named."""
    message = said(
        "1",
        text="See",
        content=[],
        attachments=[{"file_name": "paste.txt", "extracted_content": "all of it"}, {"file_name": ""}],
        files=[{"file_name": "a.png"}],
    )
    assert contents(read([chat(message)])) == ["See\n[file: paste.txt]\nall of it\n[file]\n[file: a.png]"]


def test_empty_messages_and_conversations_are_skipped(read):
    """What was never said is not remembered."""
    assert read([chat(said("1"), said("2", content=[{"type": "text", "text": " "}])), chat(uuid="2")]) == []


def test_missing_time_comes_from_before(read):
    """A message without a time happened when the one before it did, or when the conversation began."""
    (found,) = read(
        [
            chat(
                said("1", text="a", created_at=None),
                said("2", text="b"),
                said("3", text="c", created_at=None),
            )
        ]
    )
    assert [message.time.second for message in found.messages] == [0, 5, 5]


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        (
            chat(said("1", "robot")),
            "$[0].chat_messages[0].sender: found 'robot', expected 'human', 'assistant' or 'system'",
        ),
        (chat(said("1", text="a"), said("1", text="b")), "a message with the id of another: 'claude:conv:1'"),
        (chat(said("1", text=5)), "$[0].chat_messages[0].text: found 5, expected a string"),
        (
            chat(said("1", content=[{"text": "x"}])),
            "$[0].chat_messages[0].content[0]: found an object with 'text'",
        ),
        (chat(chat_messages={}), "$[0].chat_messages: found an empty object, expected a list"),
    ],
)
def test_faults_name_the_path(fault, broken, expected):
    """A bad export is refused with the JSON path of the fault."""
    assert expected in fault([broken])
