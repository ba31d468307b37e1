"""Recalls from a streaming standby: never of before an acknowledged write or a forgetting."""

from __future__ import annotations

import time

import pytest

from postgres_process import PostgresServer
from postgres_server import NoServer, Server
from zibaldone import Config, InvalidInput, Memory, StorageUnreachable
from zibaldone.testing import HashEmbedder

EMBEDDER = HashEmbedder(16)


@pytest.fixture(scope="module")
def primary(template):
    """A server whose log is streamed."""
    try:
        server = Server("wal_level=replica")
    except NoServer as why:
        pytest.skip(f"no PostgreSQL can be started: {why}")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def standby(primary):
    """That streams it."""
    try:
        server = PostgresServer(("fsync=off", "hot_standby=on", "max_connections=300"), standby_of=primary)
    except NoServer as why:
        pytest.skip(f"no standby can be started: {why}")
    yield server
    server.stop()


@pytest.fixture
def memory(primary, standby, monkeypatch):
    """With the standby as its replica, which has replayed that the memory is there."""
    url = primary.new()
    name = url.partition("?")[0].rpartition("/")[2]
    caught_up(primary, standby)
    with Memory(url, embedder=EMBEDDER, config=Config(replica=standby.url(name))) as memory:
        yield memory
    standby.run("SELECT pg_wal_replay_resume()")


def caught_up(primary, standby):
    """Until it has replayed all that was committed by now."""
    ((wanted,),) = primary.run("SELECT pg_current_wal_flush_lsn()")
    until = time.monotonic() + 30
    while not standby.run(f"SELECT pg_last_wal_replay_lsn() >= '{wanted}'::pg_lsn")[0][0]:
        assert time.monotonic() < until
        time.sleep(0.01)


def texts(memory, question="tulips"):
    """What is recalled."""
    return [evidence.text for evidence in memory.recall(question, user="ann", min_confidence=0).evidence]


def counts(memory):
    """Recalls of the replica, and of the primary in its place."""
    return memory._wiring.replica.served, memory._wiring.replica.refused


@pytest.mark.wide
def test_a_replica_that_keeps_up_is_read(memory, primary, standby):
    """Recall and search; the answers are those of the primary."""
    memory.add(["I planted tulips.", "I baked rye bread."], user="ann")
    memory.maintain()
    caught_up(primary, standby)
    assert texts(memory) == texts(memory)
    assert "I planted tulips." in {found.text for found in memory.search("tulips", user="ann")}
    assert counts(memory) == (3, 0)


def test_what_was_acknowledged_is_never_missed(memory, primary, standby):
    """The replica stands still: the primary is read, until it goes on."""
    memory.add("I planted tulips.", user="ann")
    caught_up(primary, standby)
    standby.run("SELECT pg_wal_replay_pause()")
    memory.add("The tulips are red.", user="ann")
    assert "The tulips are red." in texts(memory)
    assert counts(memory) == (0, 1)
    standby.run("SELECT pg_wal_replay_resume()")
    caught_up(primary, standby)
    assert "The tulips are red." in texts(memory)
    assert counts(memory) == (1, 1)


def test_what_another_process_forgot_is_never_shown(memory, primary, standby):
    """The replica still has it; this process knows nothing of the forgetting but what the primary says."""
    memory.add(["The tulips are for Qantril.", "Rye bread."], user="ann")
    caught_up(primary, standby)
    assert "The tulips are for Qantril." in texts(memory)
    standby.run("SELECT pg_wal_replay_pause()")
    with Memory(memory._database._url.render_as_string(), embedder=EMBEDDER) as other:
        other.forget(user="ann", seqs=[1])
    assert "The tulips are for Qantril." not in texts(memory)
    assert counts(memory) == (1, 1)


def test_what_is_forgotten_while_the_replica_is_read(memory, primary, standby, monkeypatch):
    """The recall is done again, of the primary."""
    memory.add(["The tulips are for Qantril.", "The tulips are red."], user="ann")
    caught_up(primary, standby)
    read, forgotten = memory._wiring.replica._standby.read, []

    def reading(user):
        if not forgotten:
            forgotten.append(memory.forget(user="ann", seqs=[1]))
        return read(user)

    monkeypatch.setattr(memory._wiring.replica._standby, "read", reading)
    standby.run("SELECT pg_wal_replay_pause()")
    assert texts(memory) == ["The tulips are red."]
    assert counts(memory) == (0, 1)


def test_other_users_do_not_hold_a_replica_back(memory, primary, standby):
    """It is behind by what somebody else wrote, and has all of this user's."""
    memory.add("I planted tulips.", user="ann")
    caught_up(primary, standby)
    standby.run("SELECT pg_wal_replay_pause()")
    memory.add("I planted tulips, too.", user="bea")
    assert texts(memory) == ["I planted tulips."]
    assert counts(memory) == (1, 0)


@pytest.mark.wide
def test_a_replica_that_is_down_costs_no_answer(memory, primary, standby, monkeypatch):
    """The primary answers; the replica is not asked for a while, and read when it is there again."""
    memory.add("I planted tulips.", user="ann")
    caught_up(primary, standby)
    standby.kill()
    assert texts(memory) == ["I planted tulips."]
    assert texts(memory) == ["I planted tulips."]
    standby.start()
    assert counts(memory) == (0, 2)
    monkeypatch.setattr(memory._wiring.replica, "_retry_at", 0.0)
    caught_up(primary, standby)
    assert texts(memory) == ["I planted tulips."]
    assert counts(memory) == (1, 2)


def test_a_failing_primary_is_not_blamed_on_the_replica(memory, primary, standby, monkeypatch):
    """The error is raised, and the next recall is read from the replica all the same."""
    memory.add("I planted tulips.", user="ann")
    caught_up(primary, standby)
    state, failing = memory._wiring.replica._state, iter([False, True])

    def read_state(user):
        if next(failing, False):
            raise StorageUnreachable("the primary is away")
        return state(user)

    monkeypatch.setattr(memory._wiring.replica, "_state", read_state)
    with pytest.raises(StorageUnreachable, match="primary"):
        texts(memory)
    assert texts(memory) == ["I planted tulips."]
    assert counts(memory) == (1, 0)


def test_nothing_is_written_to_a_replica(memory):
    """By no way that the database has."""
    from zibaldone import StorageUnusable

    with pytest.raises(StorageUnusable, match="replica"), memory._wiring.replica._standby.write("ann"):
        pass


@pytest.mark.parametrize("replica", ["folder", "mysql://host/x", "postgresql+psycopg://host/x"])
def test_what_is_no_replica(tmp_path, replica):
    """A folder has none."""
    with pytest.raises(InvalidInput, match="replica must be"):
        Memory(tmp_path, embedder=EMBEDDER, config=Config(replica=replica))
