"""Recognising, reading whole files, and who gets the messages."""

import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exports import read_file
from zibaldone.errors import InvalidImport, UnknownName
from zibaldone.importers import get, names
from zibaldone.importers.importing import NoUser, reading
from zibaldone.importers.source import opened_source


def test_unknown_format_name():
    """A misspelt format is answered with the right one."""
    with pytest.raises(UnknownName, match="did you mean 'chatgpt'"):
        get("chatgtp")


@pytest.mark.parametrize("content", ['{"a": 1}', "[]", "[[1]]", "{}", '[{"a": {"content": 1}}]'])
def test_unknown_content(fault, content):
    """What is of no known format is answered with the formats and what was looked for."""
    said = fault(content)
    assert all(name in said for name in names())


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is empty"),
        (b" \n\t", "is empty"),
        (b"PK\x03\x04rest", "is a damaged ZIP archive"),
        (b"\x89PNG\r\n\x00\x00", "line 1: byte 0x89 is not UTF-8"),
        ("[{}]".encode("utf-16"), "line 1: byte 0xff is not UTF-8"),
        (b'[\n{"caf\xe9": 1}]', "line 2: byte 0xe9 is not UTF-8"),
        (b"Dear diary", "it begins with 'Dear diary'. If it is one of the formats"),
    ],
)
@pytest.mark.parametrize("named", [None, "chatgpt"])
def test_files_that_are_no_json(fault, content, expected, named):
    """Each kind of wrong file is called by its name."""
    if content == b"Dear diary" and named:
        expected = "line 1: not valid JSON"
    assert expected in fault(content, named)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[{"mapping": {}, "id": "a"},\n{"mapping": {}, "id": "b"}\n', "line 3: the JSON ends too early"),
        ('[{"mapping": {}, "id": "a"}, {"mapping": {"x": {"mes', "line 1: the JSON ends too early"),
        ('[{"role": "user", "content": "caf\\u00', "line 1: the JSON ends too early"),
        ('[{"title": "Gif', "line 1: the JSON ends too early"),
        ('{"seldom": {\n"seen": [1, tr', "line 2: the JSON ends too early"),
        ('[{"a": -', "line 1: the JSON ends too early"),
        ("[", "line 1: the JSON ends too early"),
        ('{"seldom": seen, "x": 1}', "line 1: not valid JSON"),
        ('[{"a": "\\u12"}]', "line 1: not valid JSON"),
        ('[{"mapping": {}, "id": 1},\n {"mapping": {}, "id": 2} {"id": 3}]', "line 2: not valid JSON"),
    ],
)
def test_damaged_json(fault, content, said):
    """A cut-off download is called that, and no other fault is; the line is named."""
    assert said in fault(content, "chatgpt")


def test_a_note_by_itself(tmp_path):
    """One Markdown file is a vault of one."""
    (tmp_path / "gifts.md").write_text("# Gifts\n\nA scarf for Anna.\n")
    (conversation,) = read_file(tmp_path / "gifts.md")
    assert [message.content for message in conversation.messages] == ["# Gifts\n\nA scarf for Anna."]
    assert conversation.messages[0].metadata["title"] == "gifts"


def test_a_text_of_no_format_says_what_to_do(fault):
    """Whoever has a text that is no export is told how to store it."""
    assert "name ends in .md, or added as a message (zibaldone add -)" in fault("Dear diary")


def test_path_without_a_file(tmp_path):
    """A missing file, a directory, a pipe and an impossible path are typed errors."""
    os.mkfifo(tmp_path / "pipe")
    for path, said in (
        (tmp_path / "none", "no such file"),
        (tmp_path, "the folder holds nothing"),
        (tmp_path / "pipe", "not a regular file"),
        ("a\0b", "cannot be read"),
    ):
        with pytest.raises(InvalidImport, match=said):
            read_file(path)


_KEYS = """
    attachments author chat_messages content conversation create_time created_at current_node id mapping
    message messages metadata parent parts role sender speaker text time title turns type user uuid
""".split()
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["user", "human", "2023-07-12T10:14", "a", *_KEYS]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*_KEYS, "a"]), inner, max_size=6)
    ),
    max_leaves=25,
)


@pytest.mark.parametrize(
    "name", [name for name in names() if name not in ("whatsapp", "mbox", "markdown", "csv")]
)
@given(value=_VALUES)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_json_is_read_or_refused(write, name, value):
    """Whatever JSON a file holds, it gives conversations or an InvalidImport."""
    path = write([value] if name != "jsonl" else value)
    for named in (name, None):
        try:
            found = read_file(path, named)
        except InvalidImport:
            continue
        assert all(message.id and message.content is not None for one in found for message in one.messages)


@given(data=st.binary(max_size=200))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_read_or_refused(write, data):
    """Whatever bytes a file holds, it gives conversations or an InvalidImport."""
    with pytest.raises(InvalidImport):
        read_file(write(b"[{" + data))


def line(user, session="1"):
    """One message of somebody, or of nobody who is named."""
    return json.dumps({"role": "user", "content": "x", "session": session, "user": user})


@pytest.fixture
def assigned(write):
    """Whose the messages of these lines are: (user, sessions) in order."""

    def assigned(user, *lines):
        with opened_source(write("\n".join(lines))) as source:
            parts = list(reading(source).assigned(user))
        return [(part.user, [m.session for m in part.conversation.messages]) for part in parts]

    return assigned


@pytest.mark.parametrize(
    ("user", "named", "parts"),
    [
        (None, ["a", "b", "a"], [("a", ["1", "1"]), ("b", ["1"])]),
        ("me", ["a", "b"], [("me", ["a/1"]), ("me", ["b/1"])]),
        ("me", ["a"], [("me", ["1"])]),
        ("me", ["a", None], [("me", ["a/1"]), ("me", ["1"])]),
    ],
)
def test_whose_messages_are(assigned, user, named, parts):
    """Those of the user that a line names; for one user, several are kept apart by their sessions."""
    assert assigned(user, *map(line, named)) == parts


def test_no_user(assigned):
    """A file that names no user needs one from the caller."""
    with pytest.raises(NoUser, match="give user="):
        assigned(None, line("a"), line(None))
