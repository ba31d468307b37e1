"""PostgreSQL in trouble: collisions, clients and connections that are gone, a wall that was taken down."""

from __future__ import annotations

import random
from contextlib import ExitStack, suppress

import pytest
from children import Child
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from zibaldone import InvalidInput, Memory, StorageBusy, StorageUnreachable
from zibaldone.storage import postgres as module
from zibaldone.storage import schema
from zibaldone.storage.opening import open_database
from zibaldone.testing import HashEmbedder

EMBEDDER = HashEmbedder(16)
# A sequence goes on though the transaction is undone: the first so many inserts collide, and no others.
COLLIDING = (
    "CREATE SEQUENCE tries",
    """CREATE FUNCTION collide() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('tries') <= {times} THEN RAISE EXCEPTION 'in the way' USING ERRCODE = '{state}'; END IF;
        RETURN NULL;
    END $$""",
    "CREATE TRIGGER colliding AFTER INSERT OR UPDATE OR DELETE ON {table} EXECUTE FUNCTION collide()",
)


@pytest.fixture
def memory(url):
    """An empty memory in PostgreSQL."""
    with Memory(url, embedder=EMBEDDER) as memory:
        yield memory


def put(connection, user):
    """Write something."""
    connection.execute(schema.users.insert().values(user=user, next_seq=1, version=1, deletions=1))


def collide(memory, table, times, state="40001"):
    """Let the next so many statements that write the table collide with others'."""
    with memory._database.write() as connection:
        for statement in COLLIDING:
            connection.exec_driver_sql(statement.format(table=table, times=times, state=state))


def tries(memory):
    """How often it was tried."""
    with memory._database.read() as connection:
        return connection.execute(text("SELECT last_value FROM tries")).scalar_one()


@pytest.mark.parametrize("state", ["40001", "40P01"])
def test_an_add_that_collides_is_repeated_whole(memory, state):
    """The message is there once, with its units, and the caller hears nothing of it."""
    collide(memory, "messages", 3, state)
    stored = memory.add("A tulip.", user="ann")
    assert tries(memory) == 4
    assert [message.seq for message in stored] == [1]
    assert [message.content for message in memory.messages(user="ann")] == ["A tulip."]
    assert memory.admin.stats(user="ann").views[0].lag == 0
    assert memory.admin.check().ok


def test_what_collides_again_and_again_raises(memory):
    """After five times it is the caller's to decide: nothing was stored, and the error says so."""
    collide(memory, "messages", 10**6)
    with pytest.raises(StorageBusy, match="nothing was stored"):
        memory.add("A tulip.", user="ann")
    assert tries(memory) == 5
    assert memory.messages(user="ann") == []


def test_maintenance_forgetting_and_choosing_that_collide(memory):
    """Each is repeated, and done once."""
    memory.add(["I moved to Oslo.", "My sister Ida lives in Porto."], user="ann")
    collide(memory, "view_states", 2)
    assert memory.maintain().behind == ()
    memory.builds.rebuild("notes", user="ann", beside=True)
    with memory._database.write() as connection:
        connection.execute(text("ALTER SEQUENCE tries RESTART"))
    memory.builds.switch("notes", user="ann")
    with memory._database.write() as connection:
        connection.execute(text("DROP TRIGGER colliding ON view_states"))
        connection.execute(text("CREATE TRIGGER colliding AFTER DELETE ON units EXECUTE FUNCTION collide()"))
        connection.execute(text("ALTER SEQUENCE tries RESTART"))
    assert memory.forget(user="ann", seqs=[2]).seqs == (2,)
    assert [message.seq for message in memory.messages(user="ann")] == [1]
    assert memory.builds.status("notes", user="ann").standing == "kept"
    assert memory.admin.check().ok


def test_a_client_that_went_silent_does_not_keep_its_lock(url, opened_database, monkeypatch):
    """Of a machine that is gone in the midst of a write the server lets go; if it comes back, it is told."""
    monkeypatch.setattr(module, "_SILENT_MS", 300)
    database = opened_database()

    def run(tell, hear):
        theirs = open_database(url, busy_timeout_s=5)
        try:
            with theirs.write("ann") as connection:
                tell("writes")
                hear()
                put(connection, "ann")
        except StorageUnreachable as error:
            tell(str(error))

    child = Child(run)
    assert child.next() == "writes"
    with database.write("ann") as connection:
        assert connection.execute(schema.users.select()).all() == []
    child.say()
    assert "nothing of this call was stored" in child.next()
    child.wait()


@pytest.mark.parametrize("writes", [True, False])
def test_a_commit_that_got_no_answer_is_not_said_to_be_undone(opened_database, postgres, writes, caplog):
    """The connection went away under the commit: it may be stored, and the error says that nobody knows."""
    database = opened_database(0.2)

    def commit():
        with database.write("ann") as connection:
            if writes:
                put(connection, "ann")
            driver = connection.connection.driver_connection
            postgres.run(f"SELECT pg_terminate_backend({driver.info.backend_pid}, 5000)")

    def look():
        with database.read("ann") as connection:
            pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
            postgres.run(f"SELECT pg_terminate_backend({pid}, 5000)")

    with pytest.raises(StorageUnreachable, match="whether this call was stored is not known"):
        commit()
    with pytest.raises(StorageUnreachable, match="nothing of this call was stored"):
        look()
    assert [record for record in caplog.records if record.exc_info] == []
    with database.read("ann") as connection:
        assert connection.execute(schema.users.select()).all() == []


def test_a_statement_after_the_one_that_was_lost_is_an_error_of_storage(opened_database, postgres):
    """Who took no notice of the first gets no error of the driver's."""
    database = opened_database(0.2)

    def go_on():
        with database.write("ann") as connection:
            pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
            postgres.run(f"SELECT pg_terminate_backend({pid}, 5000)")
            with suppress(DBAPIError):
                connection.execute(text("SELECT 1"))
            put(connection, "ann")

    with pytest.raises(StorageUnreachable, match="nothing of this call was stored"):
        go_on()


def test_connections_that_the_server_has_ended_cost_no_call(opened_database, postgres, url):
    """However many were kept, and however short a wait is allowed."""
    database = opened_database(0.2)
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(database.read())
    name = url.split("@/")[1].split("?")[0]
    postgres.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
    for _ in range(8):
        with database.read() as connection:
            connection.execute(schema.users.select())


def test_users_of_one_process_do_not_wait_for_each_other(opened_database):
    """However many are written, one that is held up holds up nobody else."""
    database = opened_database(0.5)
    with database.write("ann"):
        for number in range(200):
            with database.write(f"user {number}"):
                pass
        with pytest.raises(StorageBusy), database.write("ann"):
            pass
    assert database._turns._turns == {}


def test_a_lease_does_not_wait_for_ever(opened_database):
    """Who holds the table of leases longer than one waits is an error, and no hanging thread."""
    from zibaldone.engine.leases import Leases

    database = opened_database(0.3)
    with opened_database().write() as connection:
        connection.execute(text("LOCK TABLE leases IN ACCESS EXCLUSIVE MODE"))
        with pytest.raises(StorageBusy), Leases(database).hold("ann"):
            pass


@pytest.mark.parametrize(
    "damage",
    ["ALTER TABLE units DISABLE ROW LEVEL SECURITY", "ALTER TABLE units NO FORCE ROW LEVEL SECURITY"],
)
def test_a_wall_that_was_taken_down_is_noticed_and_stands_again(memory, url, damage):
    """The check names the table; whoever opens the memory next puts it up."""
    memory.add("A tulip.", user="ann")
    with memory._database.write() as connection:
        connection.execute(text(damage))
    (fault,) = memory.admin.check().faults
    assert "table units has no row level security" in fault
    with Memory(url, embedder=EMBEDDER) as again:
        assert again.admin.check().ok
    with memory._database.read("bea") as connection:
        assert connection.execute(text("SELECT count(*) FROM units")).scalar_one() == 0


@pytest.mark.parametrize("field", ["user", "session", "id"])
def test_a_name_that_no_index_has_room_for(memory, field):
    """Nothing is stored, and the error says what to shorten."""
    long = "".join(random.Random(1).choices("0123456789abcdefghijklmnopqrstuvwxyz", k=9000))
    given = {"user": "ann", "session": "s", "id": "i", field: long}
    with pytest.raises(InvalidInput, match="shorten user, session, id"):
        memory.add({"content": "A tulip.", "id": given["id"]}, user=given["user"], session=given["session"])
    assert memory.users() == []
    memory.add("A tulip.", user="ann")


def test_a_role_that_no_wall_stops_is_named(url, postgres, caplog):
    """A superuser's memory works, and its log says what is missing."""
    open_database(url.replace("zibaldone@", "postgres@"), busy_timeout_s=5).close()
    assert "is exempt from row level security" in caplog.text
    caplog.clear()
    open_database(url, busy_timeout_s=5).close()
    assert caplog.text == ""
