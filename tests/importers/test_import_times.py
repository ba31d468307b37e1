"""When imported messages happened: a time of their own, a neighbour's, or none that anybody knows."""

import json

from exports import read_file
from zibaldone.api.memory import Memory

MORNING, NOON = "2023-05-08T09:00:00+00:00", "2023-05-08T12:00:00+00:00"


def test_a_message_without_a_time_has_its_neighbours(read):
    """That of the one before it in its session; the first have that of the one behind, or nobody knows it."""
    said = [("1", None), ("1", MORNING), ("2", NOON), ("1", None), ("1", NOON), ("1", None), ("3", None)]
    lines = [{"role": "user", "content": "x", "session": session, "time": time} for session, time in said]
    talks = read("\n".join(map(json.dumps, lines)))
    times = [[m.time and m.time.isoformat() for m in talk.messages] for talk in talks]
    assert times == [[MORNING, MORNING, MORNING, NOON, NOON], [NOON], [None]]


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
    found = [m.is_dated for talk in read_file(tmp_path / "out.jsonl") for m in talk.messages]
    assert found == [False, False, False, True]


def test_a_time_is_found_across_what_is_read_together(read):
    """The first messages of a session without a time have that of the one behind, wherever a piece ends."""
    said = [{"role": "user", "content": str(n), "session": "1", "time": MORNING} for n in range(998)]
    late = [{"role": "user", "content": "x", "session": "2"} for _ in range(4)]
    lines = [*said, *late, {"role": "user", "content": "y", "session": "2", "time": NOON}]
    messages = [
        m for talk in read("\n".join(map(json.dumps, lines))) for m in talk.messages if m.session == "2"
    ]
    assert [message.time and message.time.isoformat() for message in messages] == [NOON] * 5
