"""Open the database of a folder, or of a PostgreSQL URL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import select

from zibaldone.errors import InvalidInput, KeyMissing, NotEncrypted, WrongKey
from zibaldone.storage.database import Database, url_in
from zibaldone.storage.folder_layout import HEADER, is_memory
from zibaldone.storage.schema import sealing, users
from zibaldone.storage.sqlite import SqliteDatabase

if TYPE_CHECKING:
    from zibaldone.storage.keyring import Keyring


def open_database(
    place: str | Path,
    *,
    busy_timeout_s: float,
    key: str | bytes | None = None,
    user_keys: str | Path | None = None,
    wall_key: str | bytes | None = None,
) -> Database:
    """Open the database of a folder, or of a URL such as "postgresql+psycopg://user@host/memory".

    A folder is encrypted with a `key`. Where `user_keys` says where keys of users are, it opens those, and
    the folder, too, if that is encrypted. By `wall_key` a role that does not own PostgreSQL's tables
    proves whose rows it means. Raises InvalidInput for a URL with a key alone, StorageUnusable
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

        database: Database = PostgresDatabase(url, busy_timeout_s=busy_timeout_s, wall_key=wall_key)
    else:
        folder = Path(place)
        of_folder = key if user_keys is None or (folder.expanduser() / HEADER).exists() else None
        try:
            database = SqliteDatabase(folder, busy_timeout_s=busy_timeout_s, key=of_folder)
        except NotEncrypted:  # the key may be for keys of users: KeyMissing says so
            open_database(folder, busy_timeout_s=busy_timeout_s).close()
            raise
    try:
        if (keyring := _opened_keyring(database, user_keys, key)) is not None:
            database.use_keyring(keyring)
    except BaseException:
        database.close()
        raise
    return database


def _opened_keyring(database: Database, given: str | Path | None, key: str | bytes | None) -> Keyring | None:
    """Open the keys of a memory's users; None if words are stored in plain text.

    A memory without messages gets some where `given` names a place. Raises InvalidInput, KeyMissing,
    WrongKey, NotEncrypted, StorageCorrupt, MissingExtra.
    """
    with database.read() as connection:
        mine = connection.execute(select(sealing)).first()
        is_new = connection.execute(select(users.c.user).limit(1)).first() is None
    if given is None:
        if mine is None:
            return None
        raise KeyMissing(
            f"the words in {database.name} are sealed by keys of its users, in {mine.place}: give"
            " Memory(key=..., config=Config(user_keys=...)), or set ZIBALDONE_USER_KEYS and"
            " ZIBALDONE_KEY_COMMAND and open with Memory.from_env()"
        )
    if mine is None and not is_new:
        raise NotEncrypted(
            f"{database.name} has messages that are not sealed: leave user_keys= and ZIBALDONE_USER_KEYS"
            " out, or export them and import them into a new memory that has user_keys"
        )
    if key is None:
        raise KeyMissing(
            "keys of users need a key that opens them: give Memory(key=...), or set ZIBALDONE_KEY"
            " and open with Memory.from_env()"
        )
    from zibaldone.storage.key_places import key_place
    from zibaldone.storage.keyring import Keyring, keys_at

    place = key_place(given, None if database.shared else database.folder)
    keyring = Keyring(place, keys_at(place, key, may_begin=mine is None))
    if mine is None:
        with database.write() as connection:
            mine = connection.execute(select(sealing)).first()  # another process may have been first
            if mine is None:
                if connection.execute(select(users.c.user).limit(1)).first() is not None:
                    raise NotEncrypted(f"{database.name} was given messages meanwhile: open it anew")
                connection.execute(sealing.insert().values(id=keyring.id, place=place.name))
    if mine is not None and mine.id != keyring.id:
        raise WrongKey(f"the keys in {place.name!r} are of another memory than {database.name}")
    return keyring


def is_there(place: str | Path) -> bool:
    """True if there is a memory in the folder; always True for a URL.

    Raises OSError, and RuntimeError for the home of nobody.
    """
    return url_in(place) is not None or is_memory(Path(place).expanduser())
