"""Opens the database that a place means: a folder, or the URL of a PostgreSQL database."""

from __future__ import annotations

from pathlib import Path

from zibaldone.storage.database import Database, url_in
from zibaldone.storage.sqlite import SqliteDatabase, database_file


def open_database(place: str | Path, *, busy_timeout_s: float) -> Database:
    """The database of a folder, or of a URL such as "postgresql+psycopg://user@host/memory".

    Raises StorageUnusable, StorageCorrupt, NewerSchema, StorageBusy, and MissingExtra for a URL without the
    extra 'postgres'.
    """
    if (url := url_in(place)) is not None:
        from zibaldone.storage.postgres import PostgresDatabase

        return PostgresDatabase(url, busy_timeout_s=busy_timeout_s)
    return SqliteDatabase(Path(place), busy_timeout_s=busy_timeout_s)


def is_there(place: str | Path) -> bool:
    """Whether there is a memory; of a URL only opening it can say.

    Raises OSError, and RuntimeError for the home of nobody.
    """
    return url_in(place) is not None or database_file(Path(place).expanduser()).exists()
