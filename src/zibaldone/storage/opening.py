"""Opens the database that a place means: a folder, or the URL of a PostgreSQL database."""

from __future__ import annotations

from pathlib import Path

from zibaldone.errors import InvalidInput
from zibaldone.storage.database import Database, url_in
from zibaldone.storage.folder_layout import is_memory
from zibaldone.storage.sqlite import SqliteDatabase


def open_database(place: str | Path, *, busy_timeout_s: float, key: str | bytes | None = None) -> Database:
    """The database of a folder, or of a URL such as "postgresql+psycopg://user@host/memory".

    A folder is encrypted with a `key`. Raises InvalidInput for one with a URL, StorageUnusable (KeyMissing,
    WrongKey and NotEncrypted among them), StorageCorrupt, NewerSchema, StorageBusy, and MissingExtra for a
    URL without the extra 'postgres', or a key without the extra 'encryption'.
    """
    if (url := url_in(place)) is not None:
        if key is not None:
            raise InvalidInput(
                "a key is for a folder: what PostgreSQL keeps, its server encrypts, or the disk below it"
            )
        from zibaldone.storage.postgres import PostgresDatabase

        return PostgresDatabase(url, busy_timeout_s=busy_timeout_s)
    return SqliteDatabase(Path(place), busy_timeout_s=busy_timeout_s, key=key)


def is_there(place: str | Path) -> bool:
    """Whether there is a memory; of a URL only opening it can say.

    Raises OSError, and RuntimeError for the home of nobody.
    """
    return url_in(place) is not None or is_memory(Path(place).expanduser())
