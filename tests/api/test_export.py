"""Files in and out: what an import keeps, refuses and counts."""

import json
import os
import stat

import pytest

from zibaldone import InvalidInput


def write(path, *messages):
    path.write_text("\n".join(json.dumps(message) for message in messages), encoding="utf-8")
    return path


def test_users_that_are_put_together_keep_their_messages(memory, tmp_path):
    """Two users of a file may use the same ids: with user= both come in whole, and only once."""
    lines = [{"id": "1", "user": whose, "content": f"I am {whose}."} for whose in ("ann", "bob")]
    path = write(tmp_path / "both.jsonl", *lines)
    for added in (2, 0):
        done = memory.user("me").import_(path)
        assert (done.added, done.changed) == (added, 0)
    assert [m.session for m in memory.messages(user="me")] == ["ann/default", "bob/default"]


def test_a_line_has_what_a_message_has(memory, tmp_path):
    """All but its seq and what is empty."""
    full = {"content": "x", "name": "Ann", "metadata": {"a": 1}, "id": "1", "time": "2024-01-02"}
    memory.add([full, ""], user="ann")
    memory.user("ann").export(path=tmp_path / "out")
    lines = [json.loads(line) for line in (tmp_path / "out").read_text(encoding="utf-8").splitlines()]
    stored = {"session": "default", "role": "user", "time": "2024-01-02T00:00:00+00:00"}
    assert lines[0] == full | stored
    assert set(lines[0]) - set(lines[1]) == {"name", "metadata"}
    assert lines[1]["content"] == ""


@pytest.mark.parametrize("name", ["zibaldone.sqlite3", "zibaldone.sqlite3-wal", "new.jsonl", "blocks/new"])
def test_nothing_is_exported_into_the_memory_s_own_folder(memory, tmp_path, name):
    """It would destroy the database, or keep words that are forgotten later: refused, by any path to it."""
    memory.add("I live in Porto.", user="ann")
    (tmp_path / "link").symlink_to(memory.path)
    (memory.path / "blocks").mkdir(exist_ok=True)
    for path in (memory.path / name, tmp_path / "link" / name, memory.path / ".." / memory.path.name / name):
        with pytest.raises(InvalidInput, match="memory's own folder: choose another"):
            memory.user("ann").export(path=path)
    (tmp_path / "file").symlink_to(memory.path / name)
    with pytest.raises(InvalidInput, match="memory's own folder: choose another"):
        memory.user("ann").export(path=tmp_path / "file")
    assert [m.content for m in memory.messages(user="ann")] == ["I live in Porto."]
    assert memory.admin.check().ok


def test_what_is_no_file_is_not_replaced(memory, tmp_path):
    """A device or a pipe stays what it is."""
    memory.add("x", user="ann")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to("/dev/null")
    for path in (tmp_path / "pipe", tmp_path / "null", tmp_path):
        with pytest.raises(InvalidInput, match="choose another"):
            memory.user("ann").export(path=path)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert (tmp_path / "null").is_symlink()
