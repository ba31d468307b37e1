"""Forgetting much: in small steps, and what a crash stopped is finished before anybody reads it."""

import shutil
from contextlib import contextmanager

import pytest
from sqlalchemy import text

from memories import open_memory
from zibaldone import Filter
from zibaldone.engine import forgetting_steps as steps
from zibaldone.engine import shredding
from zibaldone.storage.sqlite import SqliteDatabase
from zibaldone.testing import HashEmbedder

EMBEDDER = HashEmbedder(16)
LONG = "".join(chr(0x4E00 + i % 20_000) for i in range(100_000))


class Killed(BaseException):
    """As by kill -9: nobody handles it."""


def open_(path, **options):
    """The memory of the folder."""
    return open_memory(path, embedder=EMBEDDER, **options)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A memory with 350 short messages and a long one of Ann's, and one of Bea's."""
    path = tmp_path_factory.mktemp("made") / "memory"
    with open_(path) as memory:
        memory.add([f"Secret number {i} of the tulips." for i in range(350)], user="ann", session="tulips")
        memory.add(LONG, user="ann", session="long")
        memory.add("My dentist is Dr. Moss.", user="ann", session="kept")
        memory.add("My dentist is Dr. Pike.", user="bea")
    return path


@pytest.fixture
def path(made, tmp_path):
    """A copy of it."""
    return shutil.copytree(made, tmp_path / "memory")


@contextmanager
def written(monkeypatch, after=lambda _: None):
    """Counts by write transaction how many rows each deleted; calls `after` with how many there were."""
    transactions = []
    whole = SqliteDatabase._write_transaction

    @contextmanager
    def counted(self, *users):
        with whole(self, *users) as connection:
            before = connection.exec_driver_sql("SELECT total_changes()").scalar()
            yield connection
            transactions.append(connection.exec_driver_sql("SELECT total_changes()").scalar() - before)
        after(len(transactions))

    with monkeypatch.context() as patched:
        patched.setattr(SqliteDatabase, "_write_transaction", counted)
        patched.setattr(steps, "pause", lambda _: None)
        patched.setattr(shredding, "pause", lambda _: None)
        yield transactions


@pytest.mark.parametrize("session", ["tulips", "long"])
@pytest.mark.wide
def test_no_transaction_takes_more_than_a_step(path, session, monkeypatch):
    """Many messages, or one of many units, go in several transactions of few rows each."""
    with open_(path) as memory, written(monkeypatch) as transactions:
        receipt = memory.forget(user="ann", session=session)
        assert receipt.purged
        assert len(transactions) >= 5
        assert max(transactions) <= 2 * steps.STEP_UNITS + 10
        assert sum(transactions) > receipt.messages + receipt.views[0].counts[0].rows


def test_little_goes_in_one_transaction(path, monkeypatch):
    """One message of a line needs no note and no second step."""
    with open_(path) as memory, written(monkeypatch) as transactions:
        memory.forget(user="ann", seqs=[1])
        assert len(transactions) == 1


@pytest.mark.wide
def test_others_write_between_steps(path, monkeypatch):
    """After each step another user's add gets the lock, while the user's own rows wait for the end."""
    with open_(path) as memory:
        added = []
        monkeypatch.setattr(steps, "pause", lambda _: added.append(memory.add("Between two.", user="bea")))
        memory.forget(user="ann", session="tulips")
        assert len(added) >= 5
        assert len(memory.messages(user="bea")) == 1 + len(added)


def test_the_receipt_says_what_went_in_all_steps(path):
    """The counts are those of the dry run, and the audit has one entry."""
    with open_(path, audit=True) as memory:
        dry = memory.forget(user="ann", everything=True, dry_run=True)
        receipt = memory.forget(user="ann", everything=True, keep_texts=True)
        assert (receipt.seqs, receipt.views) == (dry.seqs, dry.views)
        assert len(receipt.texts) >= 352
        assert memory.admin.verify(receipt).ok
        entries = [entry for entry in memory.admin.audit(user="ann") if entry.action == "forget"]
        assert [entry.count for entry in entries] == [352]
        assert memory.admin.check().ok
        assert [m.content for m in memory.messages(user="bea")] == ["My dentist is Dr. Pike."]


def stopped_after(path, monkeypatch, number, **selector):
    """The memory, in which a forgetting died after so many transactions; None where it was done by then.

    The first of them notes what is to go.
    """

    def die(transactions):
        if transactions == number:
            raise Killed

    memory = open_(path)
    with written(monkeypatch, die):
        try:
            memory.forget(user="ann", **selector)
        except Killed:
            return memory
    memory.close()
    return None


@pytest.mark.wide
def test_a_kill_at_each_step_is_finished_by_the_next_to_open(path, monkeypatch):
    """Whichever transaction was the last: whoever opens the folder shows none of it, and purges the files."""
    number = 0
    while memory := stopped_after(path, monkeypatch, number := number + 1, session="tulips"):
        memory._database.finish_forgetting = None
        memory.close()
        with open_(path) as reopened:
            assert [m.session for m in reopened.messages(user="ann")] == ["long", "kept"]
            assert not any(
                "ulip" in e.text for e in reopened.recall("tulips", user="ann", min_confidence=0).evidence
            )
            assert reopened.admin.check().ok
            assert not reopened._database.purge_waits()
            stored = [{"content": f"Secret number {i} of the tulips."} for i in range(350)]
            reopened.add(stored, user="ann", session="tulips")
            reopened.forget(user="ann", session="kept")
            reopened.add("My dentist is Dr. Moss.", user="ann", session="kept")
    assert number > 5


def test_a_kill_is_finished_before_the_user_is_read_or_written(path, monkeypatch):
    """A memory that was open all the time shows none of what was noted, and takes an old id as a new one."""
    with open_(path) as memory:
        stored = memory.add({"id": "x", "content": "A tulip bulb."}, user="ann", session="tulips")
    memory = stopped_after(path, monkeypatch, 2, session="tulips")
    with memory:
        assert len(memory.messages(user="bea")) == 1
        assert memory.admin.stats(user="bea").messages == 1
        (again,) = memory.add({"id": "x", "content": "A tulip bulb."}, user="ann", session="tulips")
        assert again.seq > stored[0].seq
        assert [m.seq for m in memory.messages(user="ann", filter=Filter(session="tulips"))] == [again.seq]


@pytest.mark.wide
def test_maintenance_finishes_what_was_stopped(path, monkeypatch):
    """Whoever maintains looks for what was stopped, of users of whom nobody asks."""
    memory = stopped_after(path, monkeypatch, 2, session="tulips")
    with memory:
        memory.maintain(user="bea")
        with memory._database.read() as connection:
            assert (
                connection.execute(text("SELECT count(*) FROM messages WHERE session = 'tulips'")).scalar()
                == 0
            )
            assert connection.execute(text("SELECT count(*) FROM forgettings")).scalar() == 0


def test_a_user_whose_key_is_destroyed_goes_in_steps(tmp_path, monkeypatch):
    """Rows that nobody can read any more go a step at a time, and all of them."""
    options = {"user_keys": tmp_path / "keys", "key": b"k" * 32}
    with open_(tmp_path / "memory", **options) as memory:
        memory.add([f"Secret number {i}." for i in range(350)], user="ann")
        with written(monkeypatch) as transactions:
            receipt = memory.forget(user="ann", everything=True, shred=True)
        assert receipt.messages == 350
        assert len(transactions) > 4
        assert max(transactions) <= steps.STEP_UNITS
        assert memory.messages(user="ann") == []
        assert memory.add("Anew.", user="ann")[0].seq == 351


@pytest.mark.wide
def test_who_helped_with_one_forgetting_leaves_the_next_one_alone(path, monkeypatch):
    """A helper that comes late to the end of what is done takes no note that was made since."""
    memory = stopped_after(path, monkeypatch, 3, session="tulips")
    again = []

    def overtaken(_):
        if not again:
            again.append(True)
            memory.messages(user="ann")  # finished by another, while the first helper pauses
            again.append(stopped_after(path, monkeypatch, 1, session="long"))

    with memory:
        monkeypatch.setattr(steps, "pause", overtaken)
        memory.messages(user="ann")
        assert [m.session for m in memory.messages(user="ann")] == ["kept"]
        again[1].close()
