"""Who has something to be maintained: found by marks, and nobody is left behind for good."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

from anywhere import EVERYWHERE
from zibaldone.engine import backlog
from zibaldone.storage.schema import users
from zibaldone.testing import HashEmbedder

SETTINGS = {"embedder": HashEmbedder(16), "chat": None}


@pytest.fixture
def opened(opened_anywhere):
    """Opens the memory as one more process would."""

    def opened(**options):
        return opened_anywhere(**{**SETTINGS, **options})

    return opened


@pytest.fixture
def looked_at(monkeypatch):
    """Of how many users something was asked, in each look at a view."""
    counts = []
    original = backlog.users_behind

    def users_behind(connection, view, *, among):
        counts.append(len(among))
        return original(connection, view, among=among)

    monkeypatch.setattr(backlog, "users_behind", users_behind)
    return counts


def marked(memory):
    """Users whose mark is set."""
    with memory._database.read() as connection:
        return set(connection.execute(select(users.c.user).where(users.c.behind == 1)).scalars())


def unmark(memory, *names):
    """As if nothing had marked them."""
    with memory._database.write() as connection:
        connection.execute(update(users).where(users.c.user.in_(names)).values(behind=0))


def settle(memory):
    """Everything is read, and a look has found so."""
    memory.maintain()
    assert memory._wiring.backlog.look() == []
    assert marked(memory) == set()


@EVERYWHERE
def test_who_was_added_to_is_found_and_is_marked_until_all_is_read(opened):
    """The mark comes with the message, and goes with the look that finds nothing to do."""
    memory = opened()
    settle(memory)
    memory.add("I moved to Oslo.", user="ann")
    assert marked(memory) == {"ann"}
    assert memory._wiring.backlog.look() == ["ann"]
    assert marked(memory) == {"ann"}
    settle(memory)


@EVERYWHERE
def test_a_look_costs_as_much_beside_many_idle_users_as_beside_few(opened, monkeypatch, looked_at):
    """It asks after those who are marked and after a page of the others, whoever else there is."""
    monkeypatch.setattr(backlog, "PAGE", 3)
    memory = opened(maintained=["messages"])
    for number in range(20):
        memory.add("I moved to Oslo.", user=f"user {number:02}")
    with memory._database.write() as connection:
        connection.execute(update(users).values(behind=0))
    memory.add("I moved to Rome.", user="user 19")
    looked_at.clear()
    memory._wiring.backlog.look(100)
    assert sum(looked_at) <= 1 + 3


@EVERYWHERE
def test_what_is_added_between_the_look_and_the_clearing_stays_marked(opened, monkeypatch):
    """A mark is cleared at the version that was looked at alone."""
    memory = opened()
    memory.add("I moved to Oslo.", user="ann")
    memory.add("I moved to Rome.", user="bea")
    memory.maintain()
    clear = memory._wiring.backlog._clear

    def late(settled):
        assert {"ann", "bea"} <= settled.keys()
        memory.add("My sister is Ida.", user="ann")
        clear(settled)

    monkeypatch.setattr(memory._wiring.backlog, "_clear", late)
    memory._wiring.backlog.look()
    monkeypatch.undo()
    assert marked(memory) == {"ann"}
    assert memory._wiring.backlog.look() == ["ann"]


@EVERYWHERE
def test_a_user_who_is_being_written_is_not_waited_for(opened):
    """The look goes on, and the one who writes marks the user again."""
    memory, other = opened(busy_timeout_s=0.2), opened()
    memory.add("I moved to Oslo.", user="ann")
    memory.maintain()
    with other._database.write("ann") as connection:
        connection.execute(update(users).values(version=users.c.version + 1, behind=1))
        assert memory._wiring.backlog.look() == []
    assert marked(memory) == {"ann"}
    settle(memory)


@EVERYWHERE
def test_a_worker_finds_whose_marks_another_one_cleared(opened):
    """One with further views looks at every user in the end."""
    few, more = opened(maintained=["messages"]), opened(maintained=["messages", "notes"])
    few.add("I moved to Oslo.", user="ann")
    settle(few)
    assert more._wiring.backlog.look() == ["ann"]


@EVERYWHERE
def test_whom_nobody_marked_is_found_all_the_same(opened, monkeypatch):
    """Each look goes over the next users, marked or not: after a round everybody was looked at."""
    monkeypatch.setattr(backlog, "PAGE", 2)
    memory = opened()
    names = [f"user {number}" for number in range(7)]
    for name in names:
        memory.add("I moved to Oslo.", user=name)
    unmark(memory, *names)
    found = [memory._wiring.backlog.look() for _ in range(4)]
    assert sorted(user for look in found for user in look) == names
    assert max(len(look) for look in found) == 2


@EVERYWHERE
def test_each_look_takes_as_many_as_there_is_room_for_and_the_next_goes_on(opened):
    """No user is passed over, however few are taken at a time."""
    memory = opened()
    names = [f"user {number}" for number in range(9)]
    for name in names:
        memory.add("I moved to Oslo.", user=name)
    seen = [memory._wiring.backlog.look(2) for _ in range(2 * len(names))]
    assert {user for look in seen for user in look} == set(names)
    assert max(len(look) for look in seen) == 2
