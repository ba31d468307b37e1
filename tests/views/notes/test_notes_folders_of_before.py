"""A folder with a profile, a timeline and updates: their rows go, the log stays, and notes are made of it."""

import pytest
from sqlalchemy import text

from zibaldone import Memory


@pytest.fixture
def before(tmp_path):
    """As the version before left it."""
    with Memory(tmp_path / "memory", chat=None) as memory:
        memory.add(["Always answer in metric units.", "I live in Oslo."], user="ann")
        memory.profile("ann").edit("2.0", "I live in Hamar.")
        with memory._database.write() as connection:
            for statement in (
                "DROP TABLE notes",
                "DROP TABLE notes_unread",
                "CREATE TABLE update_words (word BIGINT)",
                "CREATE TABLE update_links (rule TEXT)",
                "CREATE TABLE profile_notes (topic TEXT)",
                "DROP TABLE saved_indexes",
                "DROP TABLE stored_objects",
                "UPDATE migrations SET number = 25",
                """INSERT INTO view_states ("user", "view", generation, fingerprint, cursor, serving)
                    VALUES ('ann', 'profile', 1, '9/x/2', 2, 1)""",
                """INSERT INTO units
                    VALUES ('ann', 'profile', 1, 1, 0, 'instruction', 0, 5, NULL, 3, '', x'00')""",
            ):
                connection.execute(text(statement))
    return tmp_path / "memory"


def test_notes_take_the_place_of_three_views(before):
    """Nothing of the old rows is left, and a person's edit stands."""
    with Memory(before, chat=None) as memory:
        memory.maintain()
        assert [note.text for note in memory.profile("ann").entries()] == [
            "Always answer in metric units.",
            "I live in Hamar.",
        ]
        with memory._database.read() as connection:
            views = set(connection.execute(text('SELECT DISTINCT "view" FROM view_states')).scalars())
            units = set(connection.execute(text('SELECT DISTINCT "view" FROM units')).scalars())
        assert "profile" not in views | units
        assert memory.check_integrity().ok
