"""What every importer promises. A new one is an entry in SAMPLES."""

import csv
import io
import json
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exports import chatgpt_chat, claude_chat, read_file
from zibaldone import InvalidImport, Memory
from zibaldone.importers import get, names, recognise
from zibaldone.importers.source import opened_source
from zibaldone.log.message_input import to_messages

_TURNS = [("user", "I moved to Lisbon. 犬!"), ("assistant", "How is it?"), ("user", 'Sunny.\nAnd "loud".')]
_TEXTS = [text for _, text in _TURNS]


def _gemini():
    asked = [content for role, content in _TURNS if role == "user"]
    first, second = (
        {"header": "Gemini Apps", "title": f"Prompted {text}", "time": f"2024-01-15T10:3{i}:00Z"}
        for i, text in enumerate(asked)
    )
    return [{**first, "safeHtmlItem": [{"html": "<p>How is it?</p>"}]}, second]


def _claude_code():
    return [
        {
            "type": role,
            "sessionId": "s",
            "uuid": f"u{i}",
            "timestamp": f"2024-01-15T10:3{i}:00Z",
            "message": {"role": role, "content": content},
        }
        for i, (role, content) in enumerate(_TURNS)
    ]


def _codex():
    kinds = {"user": "input_text", "assistant": "output_text"}
    return [{"timestamp": "2024-01-15T10:30:00Z", "type": "session_meta", "payload": {"id": "s"}}] + [
        {
            "timestamp": f"2024-01-15T10:3{i}:00Z",
            "type": "response_item",
            "payload": {"type": "message", "role": role, "content": [{"type": kinds[role], "text": content}]},
        }
        for i, (role, content) in enumerate(_TURNS)
    ]


def _discord():
    messages = [
        {"id": str(i), "type": "Default", "timestamp": "2024-01-15T10:30:00+00:00", "content": content}
        | {"author": {"id": role, "name": role, "isBot": role != "user"}, "attachments": []}
        for i, (role, content) in enumerate(_TURNS)
    ]
    return {"guild": {"id": "1", "name": "G"}, "channel": {"id": "2", "name": "c"}, "messages": messages}


def _telegram():
    messages = [
        {"id": i, "type": "message", "date": "2024-01-15T10:30:00", "from": role, "text": content}
        for i, (role, content) in enumerate(_TURNS)
    ]
    return {"name": "Ann", "type": "personal_chat", "id": 7, "messages": messages}


def _whatsapp():
    return "".join(f"[15/01/24, 10:3{i}:00] {role}: {content}\n" for i, (role, content) in enumerate(_TURNS))


def _mbox():
    head = "From ann@example.org Mon Jan 15 10:30:00 2024\nMessage-ID: <{i}@x>\nFrom: {role} <{role}@x.org>\n"
    head += "Content-Type: text/plain; charset=utf-8\n\n"
    return "".join(head.format(i=i, role=role) + f"{content}\n\n" for i, (role, content) in enumerate(_TURNS))


def _sharegpt():
    names = {"user": "human", "assistant": "gpt"}
    return [{"id": "c", "conversations": [{"from": names[role], "value": text} for role, text in _TURNS]}]


def _csv():
    made = io.StringIO()
    csv.writer(made).writerows([("role", "content"), *_TURNS])
    return made.getvalue()


def _archive(files):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as packed:
        for name, content in files.items():
            packed.writestr(zipfile.ZipInfo(name), content)
    return made.getvalue()


def _slack():
    days = [
        {"type": "message", "user": "U1", "ts": f"170.{i}", "text": text}
        for i, (_, text) in enumerate(_TURNS)
    ]
    people = [{"id": "U1", "name": "ann"}]
    return {"users.json": json.dumps(people), "general/2024-01-15.json": json.dumps(days)}


def _lines(values):
    return "".join(json.dumps(value) + "\n" for value in values)


SAMPLES = {
    "chatgpt": json.dumps([chatgpt_chat("c", *_TEXTS)]),
    "claude": json.dumps([claude_chat("c", *_TEXTS)], ensure_ascii=False),
    "gemini": json.dumps(_gemini()),
    "claude_code": _lines(_claude_code()),
    "codex": _lines(_codex()),
    "slack": _archive(_slack()),
    "discord": json.dumps(_discord()),
    "telegram": json.dumps(_telegram(), indent=1),
    "whatsapp": _whatsapp(),
    "mbox": _mbox(),
    "markdown": _archive({f"{i}.md": content for i, (_, content) in enumerate(_TURNS)}),
    "sharegpt": json.dumps(_sharegpt()),
    "mem0": json.dumps({"results": [{"id": f"{i}", "memory": text} for i, (_, text) in enumerate(_TURNS)]}),
    "csv": _csv(),
    "jsonl": _lines({"role": role, "content": text} for role, text in _TURNS),
}
# What stands before a cut is whole.
BY_LINES = {"jsonl", "claude_code", "codex", "whatsapp", "mbox", "csv", "markdown"}


@pytest.fixture(params=SAMPLES)
def sample(request, tmp_path):
    """(format, file) of each importer in turn; the file's name says nothing."""
    path = tmp_path / "file"
    content = SAMPLES[request.param]
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return request.param, path


def test_every_importer_has_a_sample():
    """The suite runs through all that are registered."""
    assert set(SAMPLES) == set(names())


def test_each_file_is_recognised_by_its_own_importer(sample):
    """By content, and before any importer that is asked later."""
    name, path = sample
    assert recognise(path).name == name
    with opened_source(path) as source:
        assert get(name).files(source)


def test_every_word_arrives_in_order(sample):
    """Contents are the file's, word for word, in the order of the conversation."""
    conversations = read_file(sample[1])
    contents = [message.content for one in conversations for message in one.messages]
    assert contents == _TEXTS


def test_reading_twice_gives_the_same(sample, tmp_path):
    """Messages, ids included, depend on the file's content alone, not on its name or the clock."""
    name, path = sample
    again = tmp_path / "elsewhere.txt"
    again.write_bytes(path.read_bytes())
    first, second = (
        [one.messages for one in read_file(file, named)] for file, named in ((path, None), (again, name))
    )
    assert first == second


def test_every_message_can_be_stored_under_an_id_of_its_own(sample):
    """What an importer gives, the border of the memory takes as it is; no two messages share an id."""
    messages = [message for one in read_file(sample[1]) for message in one.messages]
    assert to_messages(messages, session=None) == messages
    assert all(message.id for message in messages)
    assert len({message.id for message in messages}) == len(messages)


def test_importing_twice_adds_nothing(sample, tmp_path):
    """The second import of a file reads as much and adds none, and the memory is as it was."""
    name, path = sample
    with Memory(tmp_path / "memory") as memory:
        first = memory.user("ann").import_(path)
        stored = memory.messages(user="ann")
        second = memory.user("ann").import_(path)
        assert (first.format, first.read, first.added) == (name, 3, 3)
        assert (second.read, second.added) == (3, 0)
        assert memory.messages(user="ann") == stored
        assert memory.admin.check().ok


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_file_that_was_cut_off_is_refused_or_ends_at_a_line(sample, tmp_path, data):
    """Cut anywhere, a file is an InvalidImport that names it; one of lines may be read up to there."""
    name, path = sample
    whole = path.read_bytes().rstrip()
    cut = tmp_path / "cut"
    cut.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    try:
        conversations = read_file(cut, name)
    except InvalidImport as error:
        where = str(error)
    else:
        assert name in BY_LINES
        contents = [message.content for one in conversations for message in one.messages]
        assert contents[:-1] == _TEXTS[: len(contents)][:-1]  # the last may be torn
        where = str(cut)
    assert str(cut) in where
