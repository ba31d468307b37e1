"""Transactions: snapshots, one writer at a time, bounded waiting, nothing left behind."""

import shutil
import threading

import pytest
from sqlalchemy import text

from anywhere import EVERYWHERE
from zibaldone import ClosedMemory, StorageBusy, StorageUnusable
from zibaldone.storage import opening, schema
from zibaldone.storage.folder_layout import FILE

pytestmark = pytest.mark.usefixtures("made_from_nothing")


@pytest.fixture
def open_database(tmp_path):
    """Opens the one folder, as another process would."""
    opened = []

    def open_database(busy_timeout_s=5.0):
        opened.append(opening.open_database(tmp_path, busy_timeout_s=busy_timeout_s))
        return opened[-1]

    yield open_database
    for database in opened:
        database.close()


@pytest.fixture
def opened_there(place, request):
    """Opens the one folder or database, as another process would."""
    return request.getfixturevalue("open_database" if place == "folder" else "opened_database")


def put(connection, user):
    """Write something."""
    connection.execute(schema.users.insert().values(user=user, next_seq=1, version=1, deletions=1))


def users(database):
    """What was written."""
    with database.read() as connection:
        return list(connection.execute(text('SELECT "user" FROM users ORDER BY 1')).scalars())


@pytest.mark.parametrize(
    ("pragma", "value"),
    [("journal_mode", "wal"), ("synchronous", 2), ("secure_delete", 1), ("temp_store", 2)],
)
def test_every_connection_is_durable(open_database, pragma, value):
    """Each connection syncs at every commit, overwrites what is deleted and keeps no text in other files."""
    database = open_database()
    with database.read() as one, database.read() as two:
        assert {c.exec_driver_sql(f"PRAGMA {pragma}").scalar_one() for c in (one, two)} == {value}


@EVERYWHERE
@pytest.mark.parametrize("fault", [LookupError, KeyboardInterrupt, SystemExit])
def test_a_write_that_raises_is_undone(opened_there, fault):
    """Whatever ends the block early, nothing of it is stored and the next write begins at once."""
    database = opened_there(0.5)
    with pytest.raises(fault), database.write("ann") as connection:  # noqa: PT012 - the block is the subject
        put(connection, "ann")
        raise fault
    with database.write("bea") as connection:
        put(connection, "bea")
    assert users(database) == ["bea"]


@EVERYWHERE
def test_a_read_is_one_snapshot(opened_there):
    """What is committed during a read is not seen by it, and nobody waits for it."""
    reading, writing = opened_there(), opened_there()
    with reading.read() as connection:
        count = text("SELECT count(*) FROM users")
        assert connection.execute(count).scalar_one() == 0
        with writing.write("ann") as other:
            put(other, "ann")
        assert connection.execute(count).scalar_one() == 0
    assert users(reading) == ["ann"]


def test_a_locked_database(open_database):
    """Who waits for another process or thread longer than the timeout is told, and has stored nothing."""
    one, two = open_database(), open_database(0.2)
    for writing in (one, two):
        with (
            writing.write(),
            pytest.raises(StorageBusy, match=r"nothing was stored: try again, or raise busy_timeout_s"),
            two.write(),
        ):
            raise AssertionError
    with two.write() as connection:
        put(connection, "bea")
    assert users(two) == ["bea"]


def test_more_threads_than_connections(open_database):
    """A thread that gets no connection in time is told that the database is busy."""
    database = open_database(0.1)
    opened = [database.read() for _ in range(32)]
    for one in opened:
        one.__enter__()
    try:
        with pytest.raises(StorageBusy), database.read():
            raise AssertionError
    finally:
        for one in opened:
            one.__exit__(None, None, None)
    assert users(database) == []


def test_closed(open_database):
    """A closed database refuses, and leaves one file."""
    database = open_database()
    database.close()
    database.close()
    with pytest.raises(ClosedMemory), database.read():
        raise AssertionError
    assert [p.name for p in database.folder.iterdir()] == [FILE]


def test_a_slow_reader_holds_up_a_purge_and_nobody_else(open_database):
    """The log cannot be emptied while somebody reads an older snapshot: a purge gives up, or waits."""
    hasty, patient, reading = open_database(0.2), open_database(20), open_database()
    purged = []
    with hasty.write() as connection:
        put(connection, "ann")
    with reading.read() as snapshot:
        snapshot.execute(text("SELECT * FROM users")).all()
        with hasty.write() as connection:
            connection.execute(text("DELETE FROM users"))
        assert not hasty.purge()
        thread = threading.Thread(target=lambda: purged.append(patient.purge()))
        thread.start()
        for number in range(30):
            with patient.write() as connection:
                put(connection, f"user {number}")
        assert thread.is_alive()
    thread.join()
    assert purged == [True]
    assert (patient.folder / f"{FILE}-wal").stat().st_size == 0
    assert len(users(patient)) == 30


@pytest.mark.parametrize("lost", ["file", "folder", "replaced"])
def test_a_database_that_is_deleted_while_it_is_open(open_database, lost):
    """Nothing is acknowledged into a file that nobody finds again, and no empty one is made in its place."""
    database = open_database()
    with database.write() as connection:
        put(connection, "ann")
    if lost == "folder":
        shutil.rmtree(database.folder)
    else:
        database.path.rename(database.folder / "moved")
    if lost == "replaced":
        shutil.copy(database.folder / "moved", database.path)
    for use in (database.read, database.write):
        with pytest.raises(StorageUnusable, match="deleted or replaced while it was open"), use():
            raise AssertionError
    assert database.path.exists() == (lost == "replaced")
    if lost == "file":
        (database.folder / "moved").rename(database.path)
        assert users(database) == ["ann"]


def test_a_database_that_is_deleted_during_a_write(open_database):
    """What was deleted between the beginning and the commit is not acknowledged either."""
    database = open_database()
    with pytest.raises(StorageUnusable, match="deleted or replaced"), database.write() as connection:  # noqa: PT012
        put(connection, "ann")
        database.path.unlink()


def test_an_error_that_is_kept_keeps_no_snapshot(tmp_path):
    """Whoever holds on to an exception from the middle of a result keeps nobody from writing."""
    database = opening.open_database(tmp_path, busy_timeout_s=0.2)
    with database.write() as connection:
        connection.execute(text("CREATE TABLE numbers (n INTEGER)"))
        connection.execute(text("INSERT INTO numbers VALUES (1), (2), (3)"))

    def stop_half_way():
        with database.read() as connection:
            rows = connection.execute(text("SELECT n FROM numbers"))
            raise LookupError(next(rows).n)

    with pytest.raises(LookupError) as kept:
        stop_half_way()
    other = opening.open_database(tmp_path, busy_timeout_s=0.2)
    with other.write() as connection:
        connection.execute(text("INSERT INTO numbers VALUES (4)"))
    other.close()
    with database.write() as connection:
        connection.execute(text("INSERT INTO numbers VALUES (5)"))
    assert kept.value.args == (1,)
    database.close()
