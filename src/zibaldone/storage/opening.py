"""Opens the database that a place means: a folder, or the URL of a PostgreSQL database."""

from __future__ import annotations

from pathlib import Path

from zibaldone.errors import InvalidInput
from zibaldone.storage.database import Database, url_in
from zibaldone.storage.folder_layout import HEADER, is_memory
from zibaldone.storage.sqlite import SqliteDatabase


def open_database(
    place: str | Path,
    *,
    busy_timeout_s: float,
    key: str | bytes | None = None,
    user_keys: str | Path | None = None,
) -> Database:
    """The database of a folder, or of a URL such as "postgresql+psycopg://user@host/memory".

    A folder is encrypted with a `key`. Where `user_keys` says where keys of users are, it opens those, and
    the folder, too, if that is encrypted. Raises InvalidInput for a URL with a key alone, StorageUnusable
    (KeyMissing, WrongKey and NotEncrypted among them), StorageCorrupt, NewerSchema, StorageBusy, and
    MissingExtra for a URL without the extra 'postgres', or a key without the extra 'encryption'.
    """
    if (url := url_in(place)) is not None:
        if key is not None and user_keys is None:
            raise InvalidInput(
                "a key is for a folder, or for keys of users: what PostgreSQL keeps, its server encrypts, or"
                " give user_keys=, too"
            )
        from zibaldone.storage.postgres import PostgresDatabase

        database: Database = PostgresDatabase(url, busy_timeout_s=busy_timeout_s)
    else:
        folder = Path(place)
        of_folder = key if user_keys is None or (folder.expanduser() / HEADER).exists() else None
        database = SqliteDatabase(folder, busy_timeout_s=busy_timeout_s, key=of_folder)
    try:
        _use_keys_of_users(database, user_keys, key)
    except BaseException:
        database.close()
        raise
    return database


def _use_keys_of_users(database: Database, place: str | Path | None, key: str | bytes | None) -> None:
    if place is None and not database.is_sealed():
        return
    from zibaldone.storage.keyring import opened_keyring

    if (keyring := opened_keyring(database, place, key)) is not None:
        database.use_keyring(keyring)


def is_there(place: str | Path) -> bool:
    """Whether there is a memory; of a URL only opening it can say.

    Raises OSError, and RuntimeError for the home of nobody.
    """
    return url_in(place) is not None or is_memory(Path(place).expanduser())
