"""The benchmark of a memory as it grows, and of many users: its figures are there, and say what they say."""

import pytest

from zibaldone.bench import beside, scale
from zibaldone.bench.outcome import Run
from zibaldone.bench.registry import BesideOptions, ScaleOptions


@pytest.mark.wide
def test_each_size_and_many_users_are_measured(tmp_path, monkeypatch):
    """A column per size, and one for so many tokens; processes are new, users are each asked once."""
    monkeypatch.setattr(scale, "_LAST", 10)
    monkeypatch.setattr(scale, "_COLD", 1)
    options = ScaleOptions(sizes=(30, 60), tokens=1500, users=6, each=5, maintained=3)
    measured = scale.run(options, Run("", tmp_path))
    sizes, users = measured.figures["sizes"], measured.figures["users"]
    assert [size.messages for size in sizes[:2]] == [30, 60]
    assert 1500 <= sizes[2].tokens < 1600
    for size in sizes:
        assert set(size.last_ms) == set(options.views)
        assert size.longest_write_ms > 0
        assert size.peak_bytes > size.text_bytes
        assert size.cold.processor_ms > 0
        assert size.cold.interpreter_bytes < size.cold.memory_bytes
        assert size.database_bytes > size.text_bytes > 0
    assert (users.users, users.messages, users.maintained) == (6, 5, 3)
    assert users.handles > 0
    assert users.memory_bytes >= users.opened_bytes > 0
    assert len(measured.tables) == 2


def test_a_chat_again_is_another_one():
    """Of the same words, later, in sessions of its own; talks among people have other names, too."""
    turns = scale.made_up_turns(4)
    again = [message for message, _ in zip(scale._Endless(turns, renamed=False)(), range(8), strict=False)]
    assert [message.content for message in again[:4]] == [message.content for message in again[4:]]
    assert not {message.session for message in again[:4]} & {message.session for message in again[4:]}
    assert max(message.time for message in again[:4]) < min(message.time for message in again[4:])


@pytest.mark.wide
def test_adds_beside_a_busy_process_are_measured(tmp_path):
    """Both things that it is at."""
    options = BesideOptions(history=600, calls=4, megabytes=0.3)
    rows = beside.run(options, Run("", tmp_path)).figures["beside"]
    assert [row.beside for row in rows] == ["a maintenance", "messages of 0.3 MB"]
    assert all(row.alone_ms > 0 < row.busy_ms <= row.worst_ms for row in rows)
