"""What every importer promises. A new one is an entry in SAMPLES."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zibaldone import InvalidImport, Memory
from zibaldone.importers import get, names, recognise
from zibaldone.importers.importing import read_file
from zibaldone.importers.source import OpenedSource
from zibaldone.message_input import to_messages

_TURNS = [("user", "I moved to Lisbon. 犬!"), ("assistant", "How is it?"), ("user", 'Sunny.\nAnd "loud".')]


def _chatgpt():
    mapping, parent = {"root": {"parent": None, "message": None, "children": []}}, "root"
    for i, (role, content) in enumerate(_TURNS):
        mapping[f"n{i}"] = {
            "parent": parent,
            "children": [],
            "message": {
                "author": {"role": role},
                "create_time": 1683554160.0 + i,
                "content": {"content_type": "text", "parts": [content]},
            },
        }
        parent = f"n{i}"
    return [
        {"title": "Move", "create_time": 1683554160.0, "mapping": mapping, "current_node": parent, "id": "c"}
    ]


def _claude():
    time = "2024-01-15T10:30:00.000Z"
    messages = [
        {"uuid": f"m{i}", "sender": {"user": "human"}.get(role, role), "created_at": time, "text": content}
        for i, (role, content) in enumerate(_TURNS)
    ]
    return [{"uuid": "c", "name": "Move", "created_at": time, "chat_messages": messages}]


def _locomo():
    turns = [
        {"speaker": "Ann" if role == "user" else "Ben", "dia_id": f"D1:{i}", "text": content}
        for i, (role, content) in enumerate(_TURNS, 1)
    ]
    sessions = {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    return [
        {
            "sample_id": "conv-1",
            "qa": [],
            "conversation": {"speaker_a": "Ann", "speaker_b": "Ben", **sessions},
        }
    ]


def _longmemeval():
    turns = [{"role": role, "content": content} for role, content in _TURNS]
    haystack = {"haystack_session_ids": ["s1"], "haystack_sessions": [turns]}
    return [{"question_id": "q1", "haystack_dates": ["2023/07/12 (Wed) 10:14"], **haystack}]


def _beam():
    turns = [{"role": role, "id": i, "content": content} for i, (role, content) in enumerate(_TURNS)]
    return [{"batch_number": 1, "time_anchor": "March-15-2024", "turns": [turns[:2], turns[2:]]}]


def _jsonl():
    return [{"role": role, "content": content} for role, content in _TURNS]


SAMPLES = {
    "chatgpt": json.dumps(_chatgpt()),
    "claude": json.dumps(_claude(), ensure_ascii=False),
    "locomo": json.dumps(_locomo(), indent=1),
    "longmemeval": json.dumps(_longmemeval()),
    "beam": json.dumps(_beam()),
    "jsonl": "".join(json.dumps(line) + "\n" for line in _jsonl()),
}


@pytest.fixture(params=SAMPLES)
def sample(request, tmp_path):
    """(format, file) of each importer in turn; the file's name says nothing."""
    path = tmp_path / "file"
    path.write_text(SAMPLES[request.param], encoding="utf-8")
    return request.param, path


def test_every_importer_has_a_sample():
    """The suite runs through all that are registered."""
    assert set(SAMPLES) == set(names())


def test_each_file_is_recognised_by_its_own_importer(sample):
    """By content, and before any importer that is asked later."""
    name, path = sample
    assert recognise(path).name == name
    with OpenedSource(path) as source:
        assert get(name).files(source) == ["file"]


def test_every_word_arrives_in_order(sample):
    """Contents are the file's, word for word, in the order of the conversation."""
    conversations = read_file(sample[1]).conversations
    contents = [message.content for one in conversations for message in one.messages]
    assert contents == [content for _, content in _TURNS]


def test_reading_twice_gives_the_same(sample, tmp_path):
    """Messages, ids included, depend on the file's content alone, not on its name or the clock."""
    name, path = sample
    again = tmp_path / "elsewhere.txt"
    again.write_bytes(path.read_bytes())
    first, second = (
        [one.messages for one in read_file(file, named).conversations]
        for file, named in ((path, None), (again, name))
    )
    assert first == second


def test_every_message_has_an_id_of_its_own(sample):
    """No two messages of a file share an id."""
    conversations = read_file(sample[1]).conversations
    ids = [message.id for one in conversations for message in one.messages]
    assert all(ids)
    assert len(set(ids)) == len(ids)


def test_every_message_can_be_stored(sample):
    """What an importer gives, the border of the memory takes as it is."""
    conversations = read_file(sample[1]).conversations
    for one in conversations:
        assert to_messages(one.messages, session=None) == list(one.messages)


def test_importing_twice_adds_nothing(sample, tmp_path):
    """The second import of a file reads as much and adds none, and the memory is as it was."""
    name, path = sample
    with Memory(tmp_path / "memory") as memory:
        first = memory.import_(path, user="ann")
        stored = memory.messages(user="ann")
        second = memory.import_(path, user="ann")
        assert (first.format, first.read, first.added) == (name, 3, 3)
        assert (second.read, second.added) == (3, 0)
        assert memory.messages(user="ann") == stored
        assert memory.check_integrity().ok


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_file_that_was_cut_off_is_refused_or_ends_at_a_line(sample, tmp_path, data):
    """Cut anywhere, a file is an InvalidImport that names it; JSON Lines may end at any line."""
    name, path = sample
    whole = path.read_bytes().rstrip()
    cut = tmp_path / "cut"
    cut.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    if name != "jsonl" or not _ends_at_a_line(cut, whole):
        with pytest.raises(InvalidImport, match=str(cut)):
            read_file(cut, name)
    else:
        conversations = read_file(cut, name).conversations
        read = [message.content for one in conversations for message in one.messages]
        assert read == [content for _, content in _TURNS][: len(read)]


def _ends_at_a_line(cut, whole):
    """Whether something is left, and no line of it is torn."""
    size = cut.stat().st_size
    return size > 0 and (whole[size - 1 : size] == b"\n" or whole[size : size + 1] == b"\n")


def test_nothing_of_a_broken_file_is_stored(sample, tmp_path):
    """A fault in the last message leaves the memory without a user."""
    name, path = sample
    text = path.read_text(encoding="utf-8")
    broken = tmp_path / "broken"
    broken.write_text(text.replace(json.dumps(_TURNS[2][1]), "7"), encoding="utf-8")
    with Memory(tmp_path / "memory") as memory:
        with pytest.raises(InvalidImport):
            memory.import_(broken, user="ann", format=name, strict=True)
        assert memory.users() == []
