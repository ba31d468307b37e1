"""Migrations: a folder gets to the tables of schema.py, whole or not at all, and never back."""

import sqlite3

import pytest
from sqlalchemy import create_engine, inspect, text

from zibaldone import Memory, NewerSchema, StorageError, generations
from zibaldone.models.static import shared_static_embedder
from zibaldone.storage import migrations, schema
from zibaldone.storage.folder_layout import FILE
from zibaldone.storage.migrations import MIGRATIONS, migrate
from zibaldone.storage.opening import open_database
from zibaldone.testing import HashEmbedder
from zibaldone.views.base import Generation
from zibaldone.views.messages import MessagesView

pytestmark = pytest.mark.usefixtures("made_from_nothing")


@pytest.fixture
def database(tmp_path):
    """A fresh folder, opened."""
    database = open_database(tmp_path, busy_timeout_s=5)
    yield database
    database.close()


def described(connection):
    """Every table: its columns with type, nullability and place in the primary key, and its indexes."""
    seen = inspect(connection)
    return {
        table: (
            [(c["name"], str(c["type"]), c["nullable"], c["default"]) for c in seen.get_columns(table)],
            seen.get_pk_constraint(table)["constrained_columns"],
            sorted((i["name"], tuple(i["column_names"]), bool(i["unique"])) for i in seen.get_indexes(table)),
            seen.get_foreign_keys(table),
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
NOBODY_S = {
    "migrations",
    "hierarchy_thresholds",
    "server_keys",
    "stored_objects",
    "bucket",
    "maintained_views",
    "sealing",
}


@pytest.mark.parametrize(
    "table", [t for t in schema.metadata.sorted_tables if t.name not in NOBODY_S], ids=str
)
def test_every_key_begins_with_the_user(table):
    """A database that is split by user finds every row of one user in one place."""
    assert [c.name for c in table.primary_key][0] == "user"  # noqa: RUF015 - the order is the point
    assert all(next(iter(index.columns)).name == "user" for index in table.indexes)


def test_what_we_know_our_database_by():
    """The tables by which a folder is known are among those that the first migration makes."""
    assert migrations.OURS.issubset(schema.metadata.tables)


def test_each_migration_is_recorded(database):
    """The record has one row per migration, in order, with its name."""
    with database.read() as connection:
        rows = connection.execute(text("SELECT number, name FROM migrations ORDER BY number")).all()
    assert [tuple(row) for row in rows] == [(i, m.__name__) for i, m in enumerate(MIGRATIONS, 1)]


def test_migrating_again_does_nothing(database):
    """A folder at the newest schema is left alone."""
    migrate(database.write)
    with database.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM migrations")).scalar_one() == len(MIGRATIONS)


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
        assert numbers == list(range(1, len(MIGRATIONS) + 1))
    migrate(database.write, [*MIGRATIONS, add_a_table, make_the_other])
    with database.read() as connection:
        assert {"half", "added"} <= set(described(connection))
    database.close()


def test_a_newer_folder(tmp_path):
    """A folder of a newer version is refused with what to do, and no byte of it changes."""
    with Memory(tmp_path) as memory:
        memory.add("rye", user="ann")
    database = open_database(tmp_path, busy_timeout_s=5)
    migrate(database.write, [*MIGRATIONS, add_a_table])
    database.close()
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    with pytest.raises(NewerSchema, match=rf"schema {len(MIGRATIONS) + 1}, .* upgrade with pip install -U"):
        Memory(tmp_path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_refused_folder_is_not_held_open(tmp_path):
    """After a refusal no connection stays: the file can be opened by whoever it belongs to."""
    connection = sqlite3.connect(tmp_path / FILE)
    connection.execute("CREATE TABLE notes (text)")
    connection.close()
    with pytest.raises(StorageError):
        Memory(tmp_path)
    connection = sqlite3.connect(tmp_path / FILE, timeout=0)
    connection.execute("PRAGMA locking_mode=EXCLUSIVE")
    connection.execute("INSERT INTO notes VALUES ('x')")
    connection.commit()
    connection.close()


def test_what_was_made_before_themes_came_in_batches_is_kept():
    """Episodes, semantics and a model's names stay, and serve; themes are to be put together again."""
    engine = create_engine("sqlite://")
    build = "wordllama/256/eb5462f96c28"
    with engine.begin() as connection:
        for migration in MIGRATIONS[: MIGRATIONS.index(migrations.themes_in_batches)]:
            migration(connection)
        for statement in (
            f"""INSERT INTO view_states VALUES
                ('u', 'hierarchy', 1, '4/theme_cap=9,split=True,merge=False/{build}', 4, 1),
                ('u', 'messages', 1, '4/theme_cap=9', 4, 1)""",
            f"INSERT INTO hierarchy_states VALUES ('u', 1, 2, 3, 4, 5, '{build}')",
            "INSERT INTO hierarchy_semantics VALUES ('u', 1, 1, 1, 2, 7, 1, x'00')",
            "INSERT INTO hierarchy_themes VALUES ('u', 1, 2, 'Running', 'model', x'00')",
            f"INSERT INTO hierarchy_thresholds VALUES ('{build}', '{{}}')",
        ):
            connection.execute(text(statement))
        migrations.themes_in_batches(connection)

        def rows(table):
            return [tuple(row) for row in connection.execute(text(f"SELECT * FROM {table}"))]

        now = build.replace("eb5462f96c28", "af41c54f526d")
        assert rows("view_states") == [
            ("u", "hierarchy", 1, f"4/{now}", 4, 1),
            ("u", "messages", 1, "4/theme_cap=9", 4, 1),
        ]
        assert rows("hierarchy_states") == [("u", 1, 2, 3, 5, now, 0, 0)]
        assert rows("hierarchy_semantics") == [("u", 1, 1, 1, 2, 7)]
        assert rows("hierarchy_themes") == [("u", 1, 2, "Running", "model")]
        assert rows("hierarchy_thresholds") == []
    engine.dispose()


def test_a_hierarchy_of_before_is_made_anew():
    """Nothing of what it was made of stays, and the view begins again at the log's first message."""
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        for migration in MIGRATIONS[: MIGRATIONS.index(migrations.units_of_the_hierarchy)]:
            migration(connection)
        for statement in (
            "INSERT INTO view_states VALUES ('u', 'hierarchy', 1, 'f', 4, 1)",
            "INSERT INTO view_states VALUES ('u', 'messages', 1, 'f', 4, 1)",
            "INSERT INTO hierarchy_states VALUES ('u', 1, 2, 2, 2, 'e/2/x')",
            """INSERT INTO hierarchy_episodes VALUES
                ('u', 1, 1, 's', 'A run', 'Ann ran.', 5, 6, x'003C0000', '', 'd')""",
            "INSERT INTO hierarchy_messages VALUES ('u', 1, 1, 1), ('u', 1, 2, 1), ('u', 1, 4, 1)",
            "INSERT INTO hierarchy_statements VALUES ('u', 1, 1, 0, 1, 'Ann ran.', 'I ran.', x'0000003C')",
            "INSERT INTO hierarchy_themes VALUES ('u', 1, 1, 'Running', '', x'')",
        ):
            connection.execute(text(statement))
        migrations.units_of_the_hierarchy(connection)
        views = connection.execute(text('SELECT "view" FROM view_states')).scalars().all()
        assert views == ["messages"]
        for table in inspect(connection).get_table_names():
            if table.startswith("hierarchy_"):
                assert connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() == 0
    engine.dispose()


def test_generations_of_before_stand_nowhere_and_were_not_chosen():
    """In a folder in which nobody could choose a build yet, what serves serves, what is built goes on."""
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        for migration in MIGRATIONS[: MIGRATIONS.index(migrations.builds_beside)]:
            migration(connection)
        rows = "('u', 'messages', 1, 'f', 4, 1), ('u', 'messages', 2, 'g', 2, 0)"
        connection.execute(text(f"INSERT INTO view_states VALUES {rows}"))
        migrations.builds_beside(connection)
        view = MessagesView(HashEmbedder(), shared_static_embedder(), shared_static_embedder())
        assert generations.serving(connection, "u", view) == Generation("u", 1, "f", 4)
        assert generations.building(connection, "u", view) == Generation("u", 2, "g", 2)
        assert generations.standing(connection, "u", view, "beside") is None
        assert generations.standing(connection, "u", view, "kept") is None
    engine.dispose()
