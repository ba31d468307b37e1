"""The log: a row of seqs per user, ids that make a retry harmless, all of a call or none of it."""

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone import IdConflict, InvalidMessage
from zibaldone.log import from_us, to_us

FIRST = {
    "id": "x",
    "content": "My dentist is Dr. Moss.",
    "name": "Ann",
    "session": "s",
    "time": "2024-01-02T09:00Z",
}


def test_a_retried_add_adds_nothing(memory, clock):
    """Messages with known ids come back as they were first stored, with their first seqs."""
    first = memory.add([FIRST, {"id": "y", "content": "b"}], user="ann")
    version = memory.admin.stats()
    clock.tick(timedelta(days=1))
    assert memory.add([FIRST, {"id": "y", "content": "b"}], user="ann") == first
    assert memory.admin.stats() == version


def test_a_retry_with_more(memory):
    """The known keep their seqs, the new get the next ones, in order; a second copy is the first."""
    memory.add([{"id": str(i), "content": str(i)} for i in (0, 1, 2)], user="ann")
    stored = memory.add([{"id": str(i), "content": str(i)} for i in (3, 1, 4, 3)], user="ann")
    assert [(m.id, m.seq) for m in stored] == [("3", 4), ("1", 2), ("4", 5), ("3", 4)]
    assert stored[0] == stored[3]
    assert len(memory.messages(user="ann")) == 5
    assert memory.recall("4", user="ann", min_confidence=0)
    assert memory.admin.check().ok


@pytest.mark.parametrize(
    ("field", "value"),
    [("content", "other"), ("role", "tool"), ("name", None), ("name", "Bea"), ("session", "t"), ("time", 0)],
)
@pytest.mark.parametrize("together", [False, True])
def test_a_taken_id(memory, field, value, together):
    """The id of a message that says something else is refused with what differs, and nothing is stored."""
    changed = FIRST | {field: value}
    if not together:
        memory.add(FIRST, user="ann")
    before = memory.messages(user="ann")
    with pytest.raises(IdConflict, match=rf"'x' is taken .* another {field}"):
        memory.add(["new", *([FIRST] if together else []), changed], user="ann")
    assert memory.messages(user="ann") == before


def test_a_retry_may_tell_the_time_otherwise(memory, clock):
    """Not at all, where there was none, or on another clock: the first offset stays."""
    (first,) = memory.add({"id": "y", "content": "a"}, user="ann")
    clock.tick(timedelta(hours=1))
    assert memory.add({"id": "y", "content": "a"}, user="ann") == [first]
    assert memory.add({"id": "y", "content": "a", "time": first.time}, user="ann") == [first]
    (first,) = memory.add(FIRST, user="ann")
    (again,) = memory.add(FIRST | {"time": "2024-01-02T10:00+01:00"}, user="ann")
    assert again == first
    assert again.time.utcoffset() == timedelta()


@pytest.mark.parametrize("bad", [{"content": 3}, {"content": "\ud800"}, {"content": "x", "time": "soon"}])
def test_all_or_nothing(memory, bad):
    """A bad third message, and none of the call is stored; the next add gets the first seq."""
    with pytest.raises(InvalidMessage, match=r"messages\[2\]"):
        memory.add(["a", "b", bad, "d"], user="ann")
    assert memory.users() == []
    assert memory.add("a", user="ann")[0].seq == 1


def test_forgotten_seqs_are_not_given_again(memory):
    """A new message gets a new seq, also when the last one was forgotten, or everything."""
    memory.add(["a", "b", "c"], user="ann")
    memory.forget(user="ann", seqs=[3])
    assert memory.add("d", user="ann")[0].seq == 4
    memory.forget(user="ann", everything=True)
    assert memory.add("e", user="ann")[0].seq == 5
    assert memory.admin.check().ok


def test_a_forgotten_id_is_free(memory):
    """After its message was forgotten an id may be used again."""
    memory.add(FIRST, user="ann")
    memory.forget(user="ann", seqs=[1])
    assert memory.add(FIRST | {"content": "new"}, user="ann")[0].seq == 2


@given(
    st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29)),  # noqa: DTZ001 - the zone comes beside it
    st.integers(-86399, 86399),
)
def test_times_are_exact(naive, offset_s):
    """A stored time is the same to the microsecond, on the same clock."""
    time = naive.replace(tzinfo=timezone(timedelta(seconds=offset_s)))
    back = from_us(to_us(time), offset_s)
    assert back == time
    assert back.utcoffset() == time.utcoffset()


def test_integrity_tells_what_disagrees(memory):
    """A message above the user's counter, or without its unit, is a fault in words."""
    memory.add(["a", "b"], user="ann")
    with memory._database.write() as connection:
        connection.exec_driver_sql("UPDATE messages SET seq = 9 WHERE seq = 2")
    faults = memory.admin.check().faults
    assert "user 'ann': message 9 is above the last seq 2" in faults
    assert any("message 2" in fault for fault in faults)
