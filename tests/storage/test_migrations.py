"""Migrations: a folder gets to the tables of schema.py, whole or not at all, and never back."""

import pytest
from sqlalchemy import create_engine, inspect, text

from zibaldone import Memory, NewerSchema, StorageUnusable
from zibaldone.storage import schema
from zibaldone.storage.migrations import FIRST, MIGRATIONS, migrate
from zibaldone.storage.opening import open_database

pytestmark = pytest.mark.usefixtures("made_from_nothing")


@pytest.fixture
def database(tmp_path):
    """A fresh folder, opened."""
    database = open_database(tmp_path, busy_timeout_s=5)
    yield database
    database.close()


def described(connection):
    """Every table: its columns with type, nullability and default, its primary key and its indexes."""
    seen = inspect(connection)
    return {
        table: (
            [(c["name"], str(c["type"]), c["nullable"], c["default"]) for c in seen.get_columns(table)],
            seen.get_pk_constraint(table)["constrained_columns"],
            sorted((i["name"], *i["column_names"], bool(i["unique"])) for i in seen.get_indexes(table)),
        )
        for table in seen.get_table_names()
    }


def test_a_fresh_folder_has_the_tables_of_the_schema(database):
    """What the migrations make is what schema.py says, to the column, key and index."""
    memory = create_engine("sqlite://")
    with memory.begin() as connection:
        schema.metadata.create_all(connection)
        expected = described(connection)
    memory.dispose()
    with database.read() as connection:
        assert described(connection) == expected
    assert set(expected) == set(schema.metadata.tables)


# What was measured of an embedder is no user's, nor are the bucket and what workers keep; a key is looked up
# before its user is known, and a block by a digest.
NOBODY_S = {"migrations", "server_keys", "stored_objects", "bucket", "maintained_views", "sealing"}


@pytest.mark.parametrize(
    "table", [t for t in schema.metadata.sorted_tables if t.name not in NOBODY_S], ids=str
)
def test_every_key_begins_with_the_user(table):
    """A database that is split by user finds every row of one user in one place."""
    assert [c.name for c in table.primary_key][0] == "user"  # noqa: RUF015 - the order is the point
    assert all(next(iter(index.columns)).name == "user" for index in table.indexes)


def test_a_folder_that_kept_themes_keeps_none(database):
    """Themes and thresholds of the first tables are gone, grants are there, and all is as in a new folder."""
    with database.write() as connection:
        expected = described(connection)
        for statement in (
            "ALTER TABLE hierarchy_states ADD COLUMN grouped BIGINT NOT NULL DEFAULT 0",
            "ALTER TABLE hierarchy_states ADD COLUMN theme_cap BIGINT NOT NULL DEFAULT 0",
            "DROP TABLE grants",
            "CREATE TABLE hierarchy_thresholds (embedder TEXT PRIMARY KEY, thresholds TEXT NOT NULL)",
            f"DELETE FROM migrations WHERE number > {FIRST}",
        ):
            connection.execute(text(statement))
    migrate(database.write)
    with database.read() as connection:
        assert described(connection) == expected


def test_blocks_of_keys_and_values_at_places_of_one_file_are_encoded_anew(database):
    """The log stays, no row of the earlier blocks does, and all is as in a new folder."""
    with database.write() as connection:
        expected = described(connection)
        for statement in (
            "ALTER TABLE kv_blocks DROP COLUMN boxes",
            "ALTER TABLE kv_blocks ADD COLUMN slot BIGINT",
            "ALTER TABLE kv_blocks ADD COLUMN boxes_crc BIGINT",
            "CREATE TABLE kv_erasures (place BIGINT)",
            "CREATE TABLE kv_attended (seq BIGINT)",
            "INSERT INTO kv_pools VALUES ('ann', 1, 'f', '{}', 1)",
            (
                'INSERT INTO view_states ("user", view, generation, fingerprint, cursor, serving) VALUES'
                " ('ann', 'kv', 1, 'f', 3, 1), ('ann', 'chunks', 1, 'f', 3, 1)"
            ),
            f"DELETE FROM migrations WHERE number > {FIRST + 3}",
        ):
            connection.execute(text(statement))
    migrate(database.write)
    with database.read() as connection:
        assert described(connection) == expected
        assert connection.execute(text("SELECT count(*) FROM kv_pools")).scalar_one() == 0
        assert connection.execute(text("SELECT view FROM view_states")).scalars().all() == ["chunks"]


def add_a_table(connection):
    """A migration."""
    connection.execute(text("CREATE TABLE added (x TEXT)"))


def fail_half_way(connection):
    """A migration that makes a table, changes another, and fails."""
    connection.execute(text("CREATE TABLE half (x TEXT)"))
    connection.execute(text("ALTER TABLE added ADD COLUMN y TEXT"))
    connection.execute(text("UPDATE users SET version = 99"))
    raise LookupError


def make_the_other(connection):
    """The same migration, mended."""
    connection.execute(text("CREATE TABLE half (x TEXT)"))


def test_a_failing_migration_leaves_the_old_schema(tmp_path):
    """Nothing of it is there, nor of those that came with it; when it is mended, all of them are."""
    with Memory(tmp_path) as memory:
        memory.add("rye", user="ann")
    database = open_database(tmp_path, busy_timeout_s=5)
    with pytest.raises(LookupError):
        migrate(database.write, [*MIGRATIONS, add_a_table, fail_half_way])
    with database.read() as connection:
        tables = described(connection)
        assert not {"half", "added"} & set(tables)
        assert connection.execute(text("SELECT version FROM users")).scalar_one() == 1
        numbers = connection.execute(text("SELECT number FROM migrations")).scalars().all()
        assert numbers == list(range(FIRST, FIRST + len(MIGRATIONS) + 1))
    migrate(database.write, [*MIGRATIONS, add_a_table, make_the_other])
    with database.read() as connection:
        assert {"half", "added"} <= set(described(connection))
    database.close()


@pytest.mark.parametrize(
    ("number", "error", "says"),
    [
        (1000, NewerSchema, r"schema 1000, .* upgrade with pip install -U"),
        (25, StorageUnusable, r"schema 25, of before 0\.1\.0: open it once with zibaldone as of commit"),
    ],
)
def test_a_folder_of_another_time(tmp_path, number, error, says):
    """One of a newer version, or of before the first, is refused with what to do, and no byte changes."""
    with Memory(tmp_path) as memory:
        memory.add("rye", user="ann")
        with memory._database.write() as connection:
            connection.execute(text("DELETE FROM migrations"))
            connection.execute(text("INSERT INTO migrations VALUES (:n, 'other', 0)"), {"n": number})
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    with pytest.raises(error, match=says):
        Memory(tmp_path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
