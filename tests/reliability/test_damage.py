"""Damaged files, foreign files, folders that cannot be written, disks that are full."""

import contextlib
import os
import random
import shutil
import sqlite3
from functools import partial

import pytest
from children import Child

from zibaldone import Config, InvalidInput, Memory, StorageCorrupt, StorageError, StorageFull, StorageUnusable
from zibaldone.testing import HashEmbedder

FILE = "zibaldone.sqlite3"
PAGE = 4096
EMBEDDER = HashEmbedder(16)
NOBODY = 65534


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The closed folder of a memory of 300 messages, one of them of many pages."""
    path = tmp_path_factory.mktemp("sound")
    with Memory(path, embedder=EMBEDDER) as memory:
        memory.add([f"Message {i} of rye and tulips." for i in range(300)], user="ann")
        memory.add("rye " * 10_000, user="ann")
    return path


@pytest.fixture
def copy(sound, tmp_path):
    """A copy of it to be damaged."""
    return shutil.copytree(sound, tmp_path / "copy")


def use(path):
    """All that one does with a memory; a StorageError may come out, and nothing else."""
    with Memory(path, embedder=EMBEDDER) as memory:
        found = memory.admin.check()
        memory.recall("rye", user="ann")
        memory.messages(user="ann")
        memory.add("One more.", user="ann")
        memory.builds.rebuild(user="ann")
        memory.forget(user="ann", seqs=[5, 301])
        return found


@pytest.mark.wide
def test_a_torn_page(copy):
    """Wherever a page was overwritten: what cannot be read is a StorageError that says so, and no crash."""
    chance = random.Random(1)
    whole = (copy / FILE).read_bytes()
    outcomes = set()
    pages = len(whole) // PAGE
    for page in [*range(1, pages), *chance.sample(range(1, pages), 20)]:
        torn = bytearray(whole)
        instead = chance.choice([chance.randbytes(PAGE), chance.randbytes(512), bytes(PAGE), bytes(512)])
        torn[page * PAGE : page * PAGE + len(instead)] = instead
        (copy / FILE).write_bytes(torn)
        for log in copy.glob("*-*"):
            log.unlink()
        try:
            outcomes.add("ok" if use(copy).ok else "faults")
        except StorageCorrupt as error:
            outcomes.add("recover" in str(error) or "rebuild" in str(error))
    assert True in outcomes
    assert False not in outcomes


@pytest.mark.parametrize("length", [100, PAGE - 1, PAGE, PAGE + 1, 10 * PAGE, -PAGE])
def test_a_truncated_file(copy, length):
    """A file that ends too early is told to be damaged, with what can be done."""
    data = (copy / FILE).read_bytes()[:length]
    (copy / FILE).write_bytes(data)
    with pytest.raises(
        StorageCorrupt, match=r"is damaged .* restore a copy, or salvage it with sqlite3 .* \.recover"
    ):
        use(copy)


@pytest.mark.parametrize(
    "garbage", [b"garbage " * 1000, b"\0" * PAGE * 2, b""], ids=["text", "zeros", "empty"]
)
def test_garbage(copy, garbage):
    """A file that is no database is told to be damaged, and left as it is; an empty one is a fresh memory."""
    (copy / FILE).write_bytes(garbage)
    if not garbage:
        assert use(copy).ok
        return
    with pytest.raises(StorageCorrupt):
        Memory(copy)
    assert (copy / FILE).read_bytes() == garbage


def test_a_garbled_log(copy):
    """A write-ahead log of garbage, left by a broken disk, adds nothing to what the file has."""
    (copy / f"{FILE}-wal").write_bytes(random.Random(2).randbytes(100_000))
    (copy / f"{FILE}-shm").write_bytes(random.Random(3).randbytes(32768))
    assert use(copy).ok


def test_a_path_that_is_no_folder(tmp_path):
    """A file in the place of the folder, or in the middle of its path, or a name that no folder can have."""
    (tmp_path / "file").write_text("x")
    for path in (
        tmp_path / "file",
        tmp_path / "file" / "below",
        tmp_path / ("x" * 300),
        "~nobody of this name/x",
    ):
        with pytest.raises(StorageUnusable, match="folder"):
            Memory(path)


def test_a_foreign_database(tmp_path):
    """A database of another program is refused, no byte of it changes, and no connection stays."""
    for number, table in enumerate(
        ["notes (text)", "migrations (id INTEGER PRIMARY KEY, migration TEXT, batch INT)"]
    ):
        path = tmp_path / str(number)
        path.mkdir()
        connection = sqlite3.connect(path / FILE)
        connection.execute(f"CREATE TABLE {table}")
        connection.close()
        before = (path / FILE).read_bytes()
        with pytest.raises(StorageUnusable, match=r"not zibaldone's .* choose another folder"):
            Memory(path)
        assert {p.name: p.read_bytes() for p in path.iterdir()} == {FILE: before}
        with contextlib.closing(sqlite3.connect(path / FILE, timeout=0)) as connection:
            connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            connection.execute(f"DROP TABLE {table.partition(' ')[0]}")


def as_nobody(run):
    """Run in a child that is not root, since root may write anywhere."""
    if os.getuid() != 0:
        return Child(run).wait()

    def dropped(tell, hear):
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        run(tell, hear)

    return Child(dropped).wait()


@pytest.mark.parametrize("folder_mode", [0o555, 0o755, 0o000], ids=oct)
def test_a_read_only_folder(tmp_path, sound, folder_mode):
    """A folder or file that may not be written is refused with what memory needs; nothing in it changes."""
    path = shutil.copytree(sound, tmp_path / "read-only")
    parents = [(parent, parent.stat().st_mode) for parent in (path.parent, path.parent.parent)]
    for parent, mode in parents:
        parent.chmod(mode | 0o055)
    (path / FILE).chmod(0o444)
    if os.getuid() == 0:
        os.chown(path, NOBODY, NOBODY)
        os.chown(path / FILE, NOBODY, NOBODY)
    before = (path / FILE).read_bytes()
    path.chmod(folder_mode)

    def run(tell, hear):
        for folder in (path, path / "below") if folder_mode != 0o755 else (path,):
            with pytest.raises(StorageUnusable, match="folder"):
                use(folder)

    try:
        as_nobody(run)
    finally:
        path.chmod(0o755)
        for parent, mode in parents:
            parent.chmod(mode)
    assert {p.name: p.read_bytes() for p in path.iterdir()} == {FILE: before}


def limit_pages(memory, spare):
    """Let the database grow by so many pages and no further: SQLite itself then reports a full disk."""
    with memory._database.read() as connection:  # whose the next call is, too
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages + spare}")


@pytest.mark.parametrize("spare", [0, 1, 2, 5, 20])
def test_a_full_disk(memory, spare):
    """Wherever in a call the space runs out: StorageFull, nothing of the call is stored, then all works."""
    first = memory.add(["rye", "tulip"], user="ann")
    for user in ("ann", "bea"):
        limit_pages(memory, spare)
        with pytest.raises(StorageFull, match="nothing of this call was stored: free some space"):
            memory.add([f"{i} " + "rye " * 300 for i in range(120)], user=user)
    assert memory.messages(user="ann") == first
    assert memory.messages(user="bea") == []
    assert memory.recall("rye", user="ann")
    assert memory.admin.check().faults == ()
    limit_pages(memory, 100_000)
    assert memory.add("bread", user="ann")[0].seq == 3
    assert memory.recall("bread", user="ann")


VIEWS = ["messages", "chunks", "hierarchy", "topics", "notes"]
PLANTED = [
    *(None, -1, 0, 5, 10**6, 2**62, 1.5),
    *("abc", "", b"xyz", "[]", "{}", "[1]", '{"a":', "null", b"=\xd8"),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The closed folder of a memory that all views have read."""
    path = tmp_path_factory.mktemp("built")
    with Memory(path, embedder=EMBEDDER, config=Config(maintained=VIEWS)) as memory:
        for session in ("1", "2"):
            talk = [f"On day {i} Ann bought {i} tulips in Porto, and Rex ate {i} of them." for i in range(20)]
            memory.add(talk, user="ann", session=session)
        memory.add(
            {"role": "editor", "content": "Rex eats no tulips.", "metadata": {"sources": [1]}}, user="ann"
        )
        memory.maintain()
    return path


def plant(path, chance):
    """Damage some rows of one table as SQLite would keep them, and nothing else; says which and how."""
    with contextlib.closing(sqlite3.connect(path / FILE, isolation_level=None)) as connection:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        while True:
            table = chance.choice(tables)
            described = connection.execute(f"PRAGMA table_info({table})").fetchall()
            columns = [column[1] for column in described]
            key = ", ".join(f'"{column[1]}"' for column in described if column[5])  # some have no rowid
            rows = connection.execute(f"SELECT {key} FROM {table}").fetchall()
            if not rows:
                continue
            rows = chance.choice([rows, [chance.choice(rows)]])
            column, value = chance.choice(columns), chance.choice(PLANTED)
            marks = ", ".join([f"({', '.join('?' * len(rows[0]))})"] * len(rows))
            chosen, keys = f"({key}) IN (VALUES {marks})", [part for row in rows for part in row]
            with contextlib.suppress(sqlite3.IntegrityError):  # such as NULL: another choice
                if chance.random() < 0.15:
                    connection.execute(f"DELETE FROM {table} WHERE {chosen}", keys)
                    return table, "rows deleted"
                if column != "user":
                    connection.execute(f'UPDATE {table} SET "{column}" = ? WHERE {chosen}', [value, *keys])
                    return table, column, value


def use_all(path):
    """Everything that one does with a memory and its views; what is told is of StorageError."""
    told = []
    with Memory(path, embedder=EMBEDDER, config=Config(maintained=VIEWS)) as memory:
        for call in (
            *(
                partial(memory.recall, "Where did Ann buy 5 tulips?", user="ann", views=[view])
                for view in VIEWS
            ),
            partial(memory.messages, user="ann"),
            memory.user("ann").sessions,
            memory.admin.stats,
            memory.admin.check,
            *(getattr(memory.user("ann"), name) for name in ("chunks", "superseded", "themes", "episodes")),
            memory.user("ann").topics.documents,
            memory.user("ann").topics.tools,
            partial(memory.add, "One more.", user="ann"),
            partial(memory.maintain, user="ann"),
            partial(memory.forget, user="ann", seqs=[3], dry_run=True),
            partial(memory.forget, user="ann", seqs=[3, 4]),
            *(partial(memory.builds.rebuild, user="ann", view=view) for view in VIEWS),
            partial(memory.forget, user="ann", everything=True),
        ):
            try:
                call()
            except (StorageError, InvalidInput) as error:
                told.append(str(error))
    return told


SEEDS = [
    *(1, 6),
    *(pytest.param(seed, marks=pytest.mark.wide) for seed in (9, 11, 17, 22, 24, 27, 33, 46)),
    *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(100, 300)),
]


@pytest.mark.parametrize("seed", SEEDS)
def test_planted_values(built, tmp_path, seed):
    """Values that fit no column, rows that fit no other: a StorageError at most, that names the fix."""
    path = shutil.copytree(built, tmp_path / "copy")
    what = plant(path, random.Random(seed))
    try:
        told = use_all(path)
    except StorageError as error:
        told = [str(error)]
    assert all(":" in said for said in told), what  # the error, and what to do


def damaged(built, tmp_path, change):
    """A copy in which a row was changed behind SQLite's back."""
    path = shutil.copytree(built, tmp_path / "copy")
    with contextlib.closing(sqlite3.connect(path / FILE, isolation_level=None)) as connection:
        connection.execute(change)
    return Memory(path, embedder=EMBEDDER, config=Config(maintained=VIEWS))


def test_states_that_are_lost_are_made_anew(built, tmp_path):
    """Views whose rows no state tells of begin again, and end as they were."""
    with Memory(built, embedder=EMBEDDER, config=Config(maintained=VIEWS)) as memory:
        before = [recalled(memory, view) for view in VIEWS]
    with damaged(built, tmp_path, "DELETE FROM view_states") as memory:
        assert memory.maintain(user="ann").behind == ()
        assert [recalled(memory, view) for view in VIEWS] == before
        assert memory.admin.check().ok


def recalled(memory, view):
    """What a view says to one question."""
    return memory.recall("Where did Ann buy 5 tulips?", user="ann", views=[view]).text


def test_a_value_of_another_type_is_told(built, tmp_path):
    """What stands in the wrong column is said with what belongs there."""
    with (
        damaged(built, tmp_path, "UPDATE view_states SET cursor = 'x'") as memory,
        pytest.raises(StorageCorrupt, match="a row has 'x' where a whole number belongs: restore a copy"),
    ):
        memory.recall("tulips", user="ann")


@pytest.mark.parametrize("change", ["metadata = '{'", "metadata = '[]'", "time_us = 1 << 62"])
def test_a_damaged_message_can_be_forgotten(built, tmp_path, change):
    """The error names its seq, and the fix that it names is one."""
    with damaged(built, tmp_path, f"UPDATE messages SET {change} WHERE seq = 3") as memory:
        with pytest.raises(StorageCorrupt, match=r"message 3 .* or forget\(user='ann', seqs=\[3\]\)"):
            memory.messages(user="ann")
        if change.startswith("time_us"):
            with pytest.raises(StorageCorrupt, match="session '1' of user 'ann' is damaged"):
                memory.user("ann").sessions()
        assert memory.admin.stats().sessions == 3  # counts read neither
        memory.forget(user="ann", seqs=[3])
        assert 3 not in {message.seq for message in memory.messages(user="ann")}


@pytest.mark.parametrize(
    ("view", "change"),
    [
        ("hierarchy", "UPDATE hierarchy_semantics SET time_us = 1 << 62"),
        ("topics", "UPDATE topic_states SET digest = 'zz'"),
    ],
)
def test_a_damaged_view_can_be_made_anew(built, tmp_path, view, change):
    """Rows that do not fit together are told when something is forgotten, and a rebuild mends them."""
    with damaged(built, tmp_path, change) as memory:
        with pytest.raises(StorageCorrupt, match=rf"rebuild\(user=.*, view='{view}'\)"):
            memory.forget(user="ann", seqs=[3])
        memory.builds.rebuild(user="ann", view=view)
        assert memory.forget(user="ann", seqs=[3]).messages
        assert memory.admin.check().ok
