"""JSON Lines chat, and our own export."""

import json

import pytest


def lines(*objects):
    """A JSON Lines file."""
    return "\n".join(json.dumps(one, ensure_ascii=False) for one in objects) + "\n"


CHAT = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello"},
    {"role": "user", "content": "Hi"},
]


def test_ids_survive_growth(read):
    """A file that has grown gives the old messages their old ids."""
    short, long = read(lines(*CHAT[:2]))[0], read(lines(*CHAT))[0]
    assert long.messages[:2] == short.messages


def test_aliases_and_unknown_fields(read):
    """Usual names for session and time are understood; other fields are kept as metadata."""
    line = {
        **CHAT[0],
        "conversation_id": 7,
        "timestamp": 0,
        "model": "m",
        "metadata": {"a": 1},
        "user_id": "ann",
    }
    (found,) = read(lines(line))
    (message,) = found.messages
    assert (message.session, message.time.year, message.metadata) == ("7", 1970, {"model": "m", "a": 1})
    assert found.user_hint == "ann"


def test_users_are_kept_apart(read):
    """Lines of different users are conversations of different users, each in its order."""
    found = read(lines({**CHAT[0], "user": "a"}, {**CHAT[0], "user": "b"}, {**CHAT[1], "user": "a"}))
    assert [(one.user_hint, len(one.messages)) for one in found] == [("a", 2), ("b", 1)]


def test_fine_tuning_shape(read):
    """A line with messages is a conversation and a session of its own."""
    found = read(lines({"messages": CHAT}, {"messages": CHAT[:1], "id": "x"}, {"messages": CHAT[:2]}))
    assert [len(one.messages) for one in found] == [3, 1, 2]
    assert len({message.session for one in found for message in one.messages}) == 3
    assert found[1].messages[0].session == "x"


@pytest.mark.parametrize("content", [CHAT, {"messages": CHAT}])
def test_plain_json(read, content):
    """A list of messages, or one object that holds them, need not be one a line."""
    assert [message.content for message in read(json.dumps(content, indent=1))[0].messages] == [
        "Hi",
        "Hello",
        "Hi",
    ]


def test_blank_lines_bom_and_crlf(read):
    """What editors do to a file does no harm."""
    text = "\ufeff" + lines(*CHAT).replace("\n", "\r\n\r\n")
    assert len(read(text)[0].messages) == 3


def test_same_line_twice(read):
    """A repeated line with an id of its own is the same message."""
    first, second = read(lines({**CHAT[0], "id": "1"}, {**CHAT[0], "id": "1"}))[0].messages
    assert first == second


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (lines(*CHAT) + '{"role": "user", ', "line 4: the JSON ends too early"),
        (lines(*CHAT, {"role": "user"}), "line 4: $: has no content"),
        (lines(*CHAT, {"role": 5, "content": "x"}), "line 4: $: role must be"),
        (lines(*CHAT, [1]), "line 4: $: found a list of 1, expected an object"),
        (lines(*CHAT, {"content": "x", "time": "soon"}), "line 4: $.time: found 'soon'"),
        (lines(*CHAT, {"content": "x", "time": float("inf")}), "line 4: $.time: found inf"),
        (lines(*CHAT, {"content": "x", "id": [1]}), "line 4: $.id: found a list of 1"),
        (
            lines({"id": "1", **CHAT[0]}, {"id": "1", **CHAT[1]}),
            "a message with the id of another: '1'",
        ),
        (lines({"messages": [CHAT[0], {"role": "user"}]}), "$.messages[1]: has no content"),
        (lines({"content": "x", "metadata": {"a": float("nan")}}), "metadata is not JSON"),
        (lines({"content": "x", "metadata": 3}), "metadata must be a mapping"),
        (lines(*CHAT) + '{"content": ' + "1" * 5000 + "}", "line 4: a number has too many digits"),
        (lines(*CHAT) + '{"content": ' + "[" * 100_000, "line 4: is nested too deeply"),
    ],
)
def test_faults_name_the_line(fault, content, expected):
    """A bad file is refused with the line of the fault."""
    assert expected in fault(content)
