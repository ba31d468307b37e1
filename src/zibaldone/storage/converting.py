"""Conversion of plain folders to encrypted ones and back; interrupted, one of the two is whole.

Everything is written a second time under other names, and compared with the first. Then the header is put
there, or taken away, which decides in one step what the folder is. Only then the first files go; where that
was stopped, whoever opens the folder next goes on. Others may have the memory open: the write lock keeps them
from writing, and afterwards the file that they have open is gone, which they notice and say.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zibaldone.errors import (
    InvalidInput,
    KeyMissing,
    NotEncrypted,
    StorageBusy,
    StorageCorrupt,
    StorageFull,
    StorageUnusable,
)
from zibaldone.storage.encryption import (
    FolderKeys,
    check_key,
    new_header,
    open_header,
    put_header,
    sqlcipher,
    wrap_keys,
)
from zibaldone.storage.folder_layout import (
    BESIDE,
    BLOCKS,
    ENCRYPTED_BLOCKS,
    ENCRYPTED_FILE,
    ENCRYPTED_INDEX,
    HEADER,
    INDEX,
    KV,
    RESERVE,
    database_file,
    make_private,
    memory_file,
    sync_folder,
)
from zibaldone.storage.objects import EncryptedObjects, FileObjects, ObjectStore

_COPIES = "comparing-*"  # that a crash has left of comparisons
_WAIT_MS = 5000


@dataclass(frozen=True, slots=True)
class Converted:
    """The result of a conversion."""

    folder: Path
    encrypted: bool
    others: tuple[str, ...]  # files in the folder that are not ours, left as they are


def encrypt_folder(folder: Path, key: str | bytes) -> Converted:
    """Encrypt all that a memory keeps in its folder. Close it before, in every process.

    The plain files are deleted, not overwritten: what a disk, a snapshot or a backup still has of them is
    outside of its reach. Raises InvalidInput, StorageUnusable, StorageBusy, StorageFull, and MissingExtra.
    """
    if not key:
        raise KeyMissing("to encrypt a folder give a key, or set ZIBALDONE_KEY_COMMAND or ZIBALDONE_KEY")
    check_key(key)
    with _converting(folder):
        if (folder / HEADER).exists():
            raise InvalidInput(
                f"{str(folder)!r} is encrypted already: 'zibaldone admin rekey' gives it another key"
            )
        plain = database_file(folder)
        if not plain.exists():
            raise InvalidInput(f"{str(folder)!r} holds no memory: give the folder of one")
        if any(path.is_file() for path in (folder / KV).rglob("*")):
            raise InvalidInput(
                f"{str(folder / KV)!r} holds keys and values, which stay plain: delete that folder first, and"
                " use the kv view with a memory that is not encrypted"
            )
        _remove([*_encrypted_files(folder), *folder.glob(_COPIES)], folder)
        keys, header = new_header(key)
        with _write_locked(plain, None) as locked:
            if _has_bucket(locked):
                raise InvalidInput(
                    f"blocks of {str(folder)!r} are in a bucket, where the key would not reach them: export"
                    " its messages into a new memory"
                )
            _copy_rows(plain, None, folder / ENCRYPTED_FILE, keys)
            target = EncryptedObjects(FileObjects(folder / ENCRYPTED_BLOCKS), keys.files())
            _copy_blocks(FileObjects(folder / BLOCKS), target)
            sync_folder(folder)
            if not put_header(folder, header):
                raise StorageBusy(f"{str(folder)!r} was encrypted by somebody else meanwhile")
            _remove(_plain_files(folder), folder)
        return Converted(folder, True, _others(folder))


def decrypt_folder(folder: Path, key: str | bytes) -> Converted:
    """Write all that an encrypted folder keeps as plain files. Close it before, in every process."""
    with _converting(folder):
        keys = _keys(folder, key)
        _remove(_plain_files(folder), folder)
        source, plain = folder / ENCRYPTED_FILE, database_file(folder)
        with _write_locked(source, keys):
            _copy_rows(source, keys, plain, None)
            encrypted = EncryptedObjects(FileObjects(folder / ENCRYPTED_BLOCKS), keys.files())
            _copy_blocks(encrypted, FileObjects(folder / BLOCKS))
            sync_folder(folder)
            (folder / HEADER).unlink()
            sync_folder(folder)
            _remove(_encrypted_files(folder), folder)
        return Converted(folder, False, _others(folder))


def change_key(folder: Path, key: str | bytes, new_key: str | bytes) -> None:
    """Change the key that opens the folder.

    The folder's own key stays: the old key still opens it with an old copy of the header. To prevent that,
    decrypt the folder and encrypt it anew.
    """
    if not new_key:
        raise KeyMissing("give the new key, or set ZIBALDONE_NEW_KEY_COMMAND or ZIBALDONE_NEW_KEY")
    check_key(new_key)
    with _converting(folder):
        put_header(folder, wrap_keys(_keys(folder, key), new_key), over=True)


def finish_converting(folder: Path) -> None:
    """Delete what a conversion that was stopped has left in the other form: forgetting does not reach it.

    The keys of what was left encrypted are gone, or were never kept; but of a header there may be a copy.
    """
    is_encrypted = (folder / HEADER).exists()
    left = _plain_files(folder) if is_encrypted else _encrypted_files(folder)
    if not any(path.exists() for path in left):
        return
    with suppress(StorageBusy), _converting(folder):
        if (folder / HEADER).exists() == is_encrypted and memory_file(folder).exists():
            _remove(left, folder)


def _keys(folder: Path, key: str | bytes) -> FolderKeys:
    if not (folder / HEADER).exists():
        raise NotEncrypted(f"{str(folder)!r} is not encrypted")
    if not key:
        raise KeyMissing(f"{str(folder)!r} is encrypted: set ZIBALDONE_KEY_COMMAND or ZIBALDONE_KEY")
    check_key(key)
    return open_header(folder, key)


@contextmanager
def _converting(folder: Path) -> Iterator[None]:
    """Hold the folder's conversion lock; it is freed when the process ends."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise StorageUnusable(f"{str(folder)!r} is no folder that can be read") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise StorageBusy(f"{str(folder)!r} is being encrypted or decrypted: wait for that") from error
    except OSError as error:
        raise StorageUnusable(f"{str(folder)!r} could not be converted ({error}): run it again") from error
    finally:
        os.close(descriptor)


@contextmanager
def _write_locked(database: Path, keys: FolderKeys | None) -> Iterator[Any]:
    """Hold the database's write lock against all processes; database errors become storage errors."""
    driver = sqlcipher()
    connection = _opened(database, keys)
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield connection
    except driver.OperationalError as error:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise StorageBusy(
                f"{str(database)!r} is in use: close the memory, in every process, and try again"
            ) from error
        if name.startswith("SQLITE_FULL"):
            raise StorageFull(
                f"no space for a second copy of {str(database)!r}: nothing was changed"
            ) from error
        raise StorageUnusable(f"{str(database)!r} could not be converted: {error}") from error
    except driver.DatabaseError as error:
        raise StorageCorrupt(f"{str(database)!r} is damaged ({error}): restore a copy") from error
    finally:
        connection.close()


def _opened(database: Path, keys: FolderKeys | None) -> Any:
    connection = sqlcipher().connect(str(database), isolation_level=None)
    if keys is not None:
        connection.execute(f'PRAGMA key="{keys.sqlcipher_literal}"')
    connection.execute(f"PRAGMA busy_timeout={_WAIT_MS}")
    return connection


def _copy_rows(source: Path, source_keys: FolderKeys | None, to: Path, keys: FolderKeys | None) -> None:
    """Copy all tables into a new database, in one transaction; compare, sync, and keep the file mode."""
    make_private(to)
    connection = _opened(source, source_keys)
    try:
        key = "" if keys is None else keys.sqlcipher_literal
        connection.execute("ATTACH ? AS copy KEY ?", (str(to), key))
        connection.execute("PRAGMA copy.synchronous=FULL")
        connection.execute("PRAGMA copy.secure_delete=ON")
        purge_due = connection.execute("PRAGMA main.user_version").fetchone()[0]
        connection.execute("BEGIN")
        connection.execute("SELECT sqlcipher_export('copy')").fetchall()
        connection.execute(f"PRAGMA copy.user_version={purge_due:d}")
        connection.execute("COMMIT")
        faults = [row[0] for row in connection.execute("PRAGMA copy.integrity_check")]
        if faults != ["ok"] or _counts(connection, "main") != _counts(connection, "copy"):
            raise StorageCorrupt(f"the copy of {str(source)!r} does not agree with it: nothing was changed")
    finally:
        connection.close()
    for path in (to, *(to.with_name(to.name + end) for end in BESIDE[1:])):
        if path.exists():
            shutil.copymode(source, path)
            with path.open("rb") as file:
                os.fsync(file.fileno())


def _counts(connection: Any, schema: str) -> dict[str, int]:
    names = connection.execute(f"SELECT name FROM {schema}.sqlite_master WHERE type = 'table'")  # noqa: S608
    return {
        name: connection.execute(f'SELECT count(*) FROM {schema}."{name}"').fetchone()[0]  # noqa: S608
        for (name,) in names.fetchall()
    }


def _has_bucket(connection: Any) -> bool:
    table = connection.execute("SELECT name FROM sqlite_master WHERE name = 'bucket'").fetchone()
    return bool(table) and connection.execute("SELECT id FROM bucket").fetchone() is not None


def _copy_blocks(source: ObjectStore, to: ObjectStore) -> None:
    for key, _ in source.names():
        block = source.get(key)
        to.put(key, block)
        if to.get(key) != block:
            raise StorageCorrupt(f"the copy of block {key} does not agree with it: nothing was changed")


def _plain_files(folder: Path) -> list[Path]:
    plain = database_file(folder)
    files = [plain.with_name(plain.name + end) for end in BESIDE]
    return [*files, folder / BLOCKS, folder / INDEX, *folder.glob(f".{HEADER}.*")]


def _encrypted_files(folder: Path) -> list[Path]:
    files = [folder / (ENCRYPTED_FILE + end) for end in BESIDE]
    return [*files, folder / ENCRYPTED_BLOCKS, folder / ENCRYPTED_INDEX]


def _remove(paths: list[Path], folder: Path) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    sync_folder(folder)


def _others(folder: Path) -> tuple[str, ...]:
    plain = database_file(folder)
    ours = {name + end for name in (plain.name, ENCRYPTED_FILE) for end in BESIDE}
    ours |= {HEADER, BLOCKS, INDEX, ENCRYPTED_BLOCKS, ENCRYPTED_INDEX, RESERVE}
    return tuple(sorted(path.name for path in folder.iterdir() if path.name not in ours))
