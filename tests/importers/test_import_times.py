"""When imported messages happened: a time of their own, a neighbour's, or none that anybody knows."""

import json

from exports import read_file
from zibaldone.api.memory import Memory
from zibaldone.core import Message
from zibaldone.core.validation import to_time
from zibaldone.importers.importing import timed

MORNING, NOON = to_time("2023-05-08T09:00:00Z"), to_time("2023-05-08T12:00:00Z")


def test_a_message_without_a_time_has_its_neighbours():
    """That of the one before it in its session; the first ones have that of the one behind."""
    messages = [
        Message("a", session="1"),
        Message("b", session="1", time=MORNING),
        Message("other", session="2", time=NOON),
        Message("c", session="1"),
        Message("d", session="1", time=NOON),
        Message("e", session="1"),
    ]
    assert [m.time for m in timed(messages)] == [MORNING, MORNING, NOON, MORNING, NOON, NOON]
    assert all(m.is_dated for m in timed(messages))


def test_a_session_without_any_time_is_marked():
    """Another session's time is none of its own."""
    first, second = timed(
        [Message("a", session="1", time=NOON), Message("b", session="2", metadata={"k": 1})]
    )
    assert first.is_dated
    assert not second.is_dated
    assert second.time is None
    assert second.metadata["k"] == 1


def test_a_recall_never_shows_the_day_of_the_import(tmp_path):
    """What has no time stands under "(no date)", before and after a rebuild and an export.

    Nor is it in the profile, or behind what no longer holds.
    """
    path = tmp_path / "chat.jsonl"
    lines = [{"role": "user", "content": "My boss is Otto.", "session": "1"}]
    lines += [{"role": "user", "content": "My boss is Kiki now.", "session": "1"}]
    lines += [{"role": "user", "content": "I'm allergic to parrots.", "session": "1"}]
    lines += [{"role": "user", "content": "My boss sings.", "session": "2", "time": "2023-05-08T09:00:00Z"}]
    path.write_text("\n".join(map(json.dumps, lines)))
    with Memory(tmp_path / "memory") as memory:
        memory.user("ann").import_(path)
        memory.maintain()
        said, known = (
            lambda: memory.recall("Who is my boss?", user="ann").text,
            lambda: memory.recall("Any parrots?", user="ann").text,
        )
        before = said(), known()
        mark = "[no longer holds: “My boss is Kiki now.”]"
        assert f"(no date)\nuser: My boss is Otto. {mark}\n" in before[0]
        assert "Mon 8 May 2023\nuser: My boss sings." in before[0]
        assert before[1].startswith("Always known:\n- I'm allergic to parrots.\n")
        assert "- I'm allergic to parrots." in memory.user("ann").profile.text().splitlines()
        memory.builds.rebuild(user="ann")
        assert (said(), known()) == before
        memory.user("ann").export(path=tmp_path / "out.jsonl")
    assert [m.is_dated for m in read_file(tmp_path / "out.jsonl")[0].messages] == [
        False,
        False,
        False,
        True,
    ]
