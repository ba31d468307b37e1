"""PostgreSQL: what a transaction promises, who waits for whom, and the second wall between users."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import inspect, text
from sqlalchemy.exc import DBAPIError

from zibaldone import Filter, InvalidInput, Memory, StorageBusy, StorageError, StorageUnusable
from zibaldone.storage import schema
from zibaldone.storage.database import place_shown, url_in
from zibaldone.storage.opening import open_database
from zibaldone.testing import HashEmbedder

EMBEDDER = HashEmbedder(16)
NOBODY_S = {"bucket", "sealing", "server_keys", "stored_objects"}  # walled as a whole


@pytest.fixture
def memory(url):
    """An empty memory in PostgreSQL."""
    with Memory(url, embedder=EMBEDDER) as memory:
        yield memory


def put(connection, user):
    """Write something."""
    connection.execute(schema.users.insert().values(user=user, next_seq=1, version=1, deletions=1))


def names(connection):
    """What was written, and is shown."""
    return list(connection.execute(text('SELECT "user" FROM users ORDER BY 1')).scalars())


def test_its_tables_are_those_of_the_schema(opened_database):
    """Columns and keys; every text compares byte by byte; and every table of users' rows is walled."""
    from zibaldone.storage.walls import walled

    with opened_database().read() as connection:
        looking = inspect(connection)
        for table in schema.metadata.sorted_tables:
            assert [c["name"] for c in looking.get_columns(table.name)] == [c.name for c in table.columns]
            key = looking.get_pk_constraint(table.name)["constrained_columns"]
            assert key == [c.name for c in table.primary_key]
            assert {i["name"] for i in looking.get_indexes(table.name)} == {i.name for i in table.indexes}
        others = (
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
            " AND data_type IN ('text', 'character varying') AND collation_name IS DISTINCT FROM 'C'"
        )
        assert connection.execute(text(others)).all() == []
        of_users = {t.name for t in schema.metadata.sorted_tables if "user" in t.primary_key.columns}
        assert set(walled(connection)) == of_users | NOBODY_S


def test_who_waits_for_whom(opened_database):
    """Writers of one user take turns, those of others do not; who writes everybody's rows waits for all."""
    one, other = opened_database(0.3), opened_database(0.3)
    with one.write("ann"):
        with other.write("bea", "cid") as connection:
            put(connection, "bea")
        with pytest.raises(StorageBusy), other.write("bea", "ann"):
            pass
        with pytest.raises(StorageBusy), other.write():
            pass
        with pytest.raises(StorageBusy), one.write("ann"):
            pass
    with one.write(), pytest.raises(StorageBusy), other.write("bea"):
        pass
    with other.write("ann"):
        pass


def test_two_that_write_the_same_two_users_never_deadlock(opened_database):
    """Whatever order they name them in."""
    database = opened_database(20)
    errors = []

    def write(*users):
        try:
            for _ in range(20):
                with database.write(*users):
                    pass
        except Exception as error:  # noqa: BLE001 - told below
            errors.append(error)

    threads = [threading.Thread(target=write, args=users) for users in (("a", "b"), ("b", "a"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_the_second_wall(opened_database):
    """A transaction that means one user is shown nobody else's rows, and cannot write them."""
    database = opened_database()
    for name in ("ann", "bea"):
        with database.write(name) as connection:
            put(connection, name)
    with database.read("ann") as connection:
        assert names(connection) == ["ann"]
    with database.write("ann") as connection:
        assert connection.execute(text("DELETE FROM users")).rowcount == 1
    with pytest.raises(StorageUnusable, match="row-level security"), database.write("ann") as connection:
        put(connection, "cid")
    with database.read() as connection:
        assert names(connection) == ["bea"]
    odd = "o'b\\ %s \0; SELECT 1 --"
    with database.write(odd) as connection:
        put(connection, odd)
    with database.read(odd) as connection:
        assert connection.execute(schema.users.select()).one().user == odd
    with database.read("on") as connection:
        assert names(connection) == []


def test_every_write_is_durable(opened_database):
    """A server that acknowledges before it has written writes first; a stricter one stays so."""
    database = opened_database()
    for setting, used in (("off", "on"), ("remote_apply", "remote_apply"), ("local", "local")):
        with database.read() as connection:
            connection.exec_driver_sql(f"SET SESSION synchronous_commit = {setting}")
        for begin in (lambda: database.write("ann"), database.write, database.unlocked):
            with begin() as connection:
                assert connection.execute(text("SHOW synchronous_commit")).scalar_one() == used


def test_a_failure_that_was_overlooked_is_no_success(opened_database):
    """The server takes a whole transaction back when a statement of it failed: whoever wrote is told."""
    database = opened_database()
    with pytest.raises(StorageError, match="nothing was stored"), database.write("ann") as connection:  # noqa: PT012
        put(connection, "ann")
        with suppress(DBAPIError):
            put(connection, "ann")
    with database.read() as connection:
        assert names(connection) == []


def test_messages_are_kept_word_for_word(memory):
    """NUL and what stands for it, in contents, sessions and metadata, are stored and compared as they are."""
    content = "The \0 tulip \x1a0 of \x1a\0 Ghent"
    memory.add({"content": content, "session": "a\0b", "metadata": {"title": "T\0"}}, user="ann")
    (stored,) = memory.messages(user="ann", filter=Filter(session="a\0b"))
    assert (stored.content, stored.session, stored.metadata["title"]) == (content, "a\0b", "T\0")
    assert "tulip" in memory.recall("tulip of Ghent", user="ann", min_confidence=0).text
    chat = [{"role": "user", "content": content}]
    assert memory.recall("tulip", messages=chat, user="ann", min_confidence=0).evidence == ()
    assert memory.user("ann").titled_sessions()[0][0].title == "T\0"


def test_the_address_shows_no_password():
    """In no error and on no screen; a path that was made of a URL is that URL."""
    url = "postgresql+psycopg://ann:secret@db.example/memory?options=x"
    assert url_in(Path(url)) == url_in(url) == url
    assert place_shown(Path(url)) == "postgresql+psycopg://ann:***@db.example/memory"
    assert url_in("postgresql/folder") is url_in(Path("/x")) is None


@pytest.mark.parametrize(
    ("given_url", "error", "says"),
    [
        ("postgresql+asyncpg://h/d", InvalidInput, "no driver"),
        ("postgresql+psycopg://h", InvalidInput, "names no database"),
        ("postgresql+psycopg://zibaldone:hush@127.0.0.1:9/none", None, "cannot be reached"),
    ],
)
def test_a_database_that_cannot_be_used(given_url, error, says):
    """The error says what to change, and no password."""
    from zibaldone import StorageUnreachable

    with pytest.raises(error or StorageUnreachable, match=says) as raised:
        Memory(given_url, embedder=EMBEDDER)
    assert "hush" not in str(raised.value)


def test_somebody_else_s_database(postgres):
    """Tables that are not ours are left alone."""
    postgres.run("CREATE DATABASE foreign_one OWNER zibaldone")
    postgres.run("CREATE TABLE strange (x int); ALTER TABLE strange OWNER TO zibaldone", "foreign_one")
    with pytest.raises(StorageUnusable, match="strange"):
        open_database(postgres.url("foreign_one"), busy_timeout_s=5)
    assert postgres.run("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", "foreign_one") == [(1,)]


@pytest.mark.usefixtures("early_indexes")
def test_what_is_saved_beside_the_rows_goes_with_what_is_forgotten(memory):
    """A saved index is the rows' neighbour: another process begins with it, and forgetting reaches it."""
    memory.add([f"The moss of day {number} is green." for number in range(4)], user="ann")
    memory.maintain()
    with memory._database.read() as connection:
        indexes = text("SELECT count(*) FROM stored_objects WHERE kind = 'index'")
        assert connection.execute(indexes).scalar_one() >= 1
    with Memory(f"{memory._database._url.render_as_string(hide_password=False)}", embedder=EMBEDDER) as other:
        first = other.recall("moss", user="ann", min_confidence=0)
        assert first.text == memory.recall("moss", user="ann", min_confidence=0).text
    receipt = memory.forget(user="ann", seqs=[1], keep_texts=True)
    assert (receipt.purged, "backups" in receipt.remains) == (False, True)
    with memory._database.read() as connection:
        assert connection.execute(indexes).scalar_one() == 0
    verified = memory.admin.verify(receipt)
    assert (verified.ok, verified.leftovers) == (True, ())
