"""The database of a folder: one SQLite file in WAL mode that several processes may open.

Durability: `synchronous=FULL`, so a commit that returned survives a crash and a power cut.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, create_engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from zibaldone.core.fork_safety import start_anew_in_children
from zibaldone.errors import (
    ClosedMemory,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageUnusable,
)
from zibaldone.storage.bucket_blocks import bucket_size_bytes
from zibaldone.storage.columns import without_values
from zibaldone.storage.converting import finish_converting
from zibaldone.storage.database import Database
from zibaldone.storage.encrypted_pages import decrypted_pages
from zibaldone.storage.encryption import (
    FolderKeys,
    check_extra,
    check_key,
    folder_keys,
    sqlcipher,
)
from zibaldone.storage.folder_layout import (
    BLOCKS,
    ENCRYPTED_BLOCKS,
    ENCRYPTED_FILE,
    ENCRYPTED_INDEX,
    INDEX,
    RESERVE,
    database_file,
    make_private,
)
from zibaldone.storage.migrations import OURS, migrate
from zibaldone.storage.objects import EncryptedObjects, FileObjects, files_under
from zibaldone.storage.raw_files import pieces_read_apart
from zibaldone.storage.saved_indexes import SavedIndexes

_logger = logging.getLogger(__name__)
_PURGE_DUE = 1  # the value of SQLite's user_version while deleted text may still be in the files
_IS_FORGETTING = 'SELECT 1 FROM forgettings WHERE "user" = ?'
_ATTEMPT_S = 5.0  # one wait inside SQLite; the busy timeout is made of several
_PURGE_ATTEMPT_MS = 20  # the same in a purge, which holds the write lock while it waits for readers
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 0.3  # between its attempts, for others to write in
_RESERVE_BYTES = 8 * 2**20  # twice what SQLite's log takes before it is copied into the file
_LEAST_RESERVING_BYTES = 2**20  # of a database that is worth a reserve


class SqliteDatabase(Database):
    """The database of one folder. There is one writer at a time, for all users together."""

    shared = False
    remains = "another process still reads the files: closing it cleans them"

    def __init__(self, folder: Path, *, busy_timeout_s: float, key: str | bytes | None = None) -> None:
        super().__init__(busy_timeout_s)
        given = check_key(key)
        if given is not None:
            check_extra()  # before a folder is made
        self.folder = _prepare_folder(folder)
        plain = database_file(self.folder)
        keys = folder_keys(self.folder, given, is_plain=plain.exists())
        self.encrypted = keys is not None
        self.path = plain if keys is None else self.folder / ENCRYPTED_FILE
        self.name = str(self.path)
        self._log = self.path.with_name(f"{self.path.name}-wal")
        driver: Any = sqlite3
        if keys is None:
            self.blocks = FileObjects(self.folder / BLOCKS)
            self.saved = SavedIndexes(self, _index_files(self.folder / INDEX))
        else:
            driver, cipher = sqlcipher(), keys.files()
            self.blocks = EncryptedObjects(FileObjects(self.folder / ENCRYPTED_BLOCKS), cipher)
            indexes = _index_files(self.folder / ENCRYPTED_INDEX)
            self.saved = SavedIndexes(self, EncryptedObjects(indexes, cipher))
        finish_converting(self.folder)
        self._attempt_s = min(_ATTEMPT_S, busy_timeout_s)
        self._writing = threading.Lock()  # threads of one process queue here, fairly, and not in SQLite
        self._file: tuple[int, int] | None = None  # device and inode of the file that is open
        self._keys = keys
        self._driver_error: type[Exception] = driver.Error
        self._engine = create_engine(
            URL.create("sqlite", database=str(self.path)),
            module=driver,
            connect_args={"timeout": self._attempt_s, "check_same_thread": False},
            pool_size=8,
            max_overflow=24,
            pool_timeout=busy_timeout_s,
            pool_reset_on_return=None,  # transactions begin and end by our own statements
            hide_parameters=True,  # they are what users said, and an error is logged
        )
        event.listen(self._engine, "connect", partial(_configure, keys))
        start_anew_in_children(self)
        make_private(self.path)
        try:
            migrate(self.write)
            self._file = self._file_there()
            with suppress(StorageError):  # others may be reading: the next one to open tries again
                self.wipe()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def read(self, user: str | None = None) -> Iterator[Connection]:
        """See Database. The snapshot has the rows of all users."""
        while True:
            with self._transaction("BEGIN", user) as connection:
                if not self._is_forgetting(connection, user):
                    yield connection
                    return
            self._finish(user)

    @contextmanager
    def write(self, *users: str) -> Iterator[Connection]:
        """See Database."""
        while True:
            with self._write_transaction(*users) as connection:
                unfinished = [user for user in users if self._is_forgetting(connection, user)]
                if not unfinished:
                    yield connection
                    return
            for user in unfinished:
                self._finish(user)

    def step(self, user: str) -> AbstractContextManager[Connection]:
        """See Database."""
        return self._write_transaction(user)

    def _is_forgetting(self, connection: Connection, user: str | None) -> bool:
        if user is None or self.finish_forgetting is None:
            return False
        return _driver(connection).execute(_IS_FORGETTING, (user,)).fetchone() is not None

    def _finish(self, user: str | None) -> None:
        assert user is not None
        assert self.finish_forgetting is not None
        self.finish_forgetting(user)

    @contextmanager
    def _write_transaction(self, *users: str) -> Iterator[Connection]:
        if not self._writing.acquire(timeout=self._busy_timeout_s):
            raise self._busy_error()
        try:
            mine = users[0] if len(set(users)) == 1 else None  # the one lock is everybody's
            with self._transaction("BEGIN IMMEDIATE", mine, writes=True) as connection:
                yield connection
        finally:
            self._writing.release()

    def unlocked(self) -> AbstractContextManager[Connection]:
        """See Database."""
        return self.write()

    def now_us(self, connection: Connection) -> int:  # noqa: ARG002 - one machine, one clock
        """See Database."""
        return time.time_ns() // 1000

    @contextmanager
    def _transaction(self, begin: str, user: str | None, *, writes: bool = False) -> Iterator[Connection]:
        if self._closed:
            raise ClosedMemory("this memory was closed: open it again with Memory(path)")
        self._check_file()  # before a connection is made, which would make an empty database
        try:
            with without_values(), self._engine.connect() as connection:
                self._begin_on(connection, user, writes=writes)
                # SQLAlchemy's way takes ten times as long.
                _wait_for_others(partial(_driver(connection).execute, begin), self._busy_timeout_s)
                try:
                    yield connection
                    self._check_file(log=True)
                    _driver(connection).execute("COMMIT")
                    if self._closed:  # meanwhile, without this connection
                        connection.invalidate()
                except BaseException:
                    # SQLite itself rolls back when the disk is full; SQLAlchemy closes the connection when
                    # a statement is interrupted (KeyboardInterrupt).
                    if not connection.invalidated and _driver(connection).in_transaction:
                        _driver(connection).execute("ROLLBACK")
                        if self.keyring is not None:
                            self.keyring.erase_new_keys(connection.info)
                    # Whoever keeps the exception keeps its frames: an open cursor there keeps a connection
                    # at its snapshot, and that one can never write again.
                    connection.invalidate()
                    raise
        except DBAPIError as error:
            raise self._to_error(error.orig) from error
        except self._driver_error as error:  # of beginning and ending, which SQLAlchemy has no part in
            raise self._to_error(error) from error
        except PoolTimeout as error:
            raise self._busy_error() from error

    def _check_file(self, *, log: bool = False) -> None:
        """Raise StorageUnusable if the file or its `log` is gone: what is written would be lost."""
        if self._file is None:
            return
        if self._file_there() != self._file:
            what, fix = repr(self.name), "put the file back, or open"
        elif log and not self._log.exists():
            what, fix = f"the write-ahead log of {self.name!r}", "open"
        else:
            return
        raise StorageUnusable(
            f"{what} was deleted or replaced while it was open, and nothing of this call was stored:"
            f" {fix} the memory again with Memory(path)"
        )

    def _file_there(self) -> tuple[int, int] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def purge_is_due(self, connection: Connection) -> None:
        """See Database. If this process dies before purging, the next one to open the folder purges."""
        connection.exec_driver_sql(f"PRAGMA user_version={_PURGE_DUE}")

    def purge_waits(self) -> bool:
        """See Database."""
        with self._engine.connect() as connection:
            return bool(connection.exec_driver_sql("PRAGMA user_version").scalar() == _PURGE_DUE)

    def wipe(self) -> bool:
        """See Database."""
        return not self.purge_waits() or self.purge()

    def make_room(self) -> bool:
        """See Database. What the log holds is copied into the file, and the log begins anew."""
        try:
            (self.folder / RESERVE).unlink()
        except OSError:
            return False
        self._try(time.monotonic() + self._attempt_s, "PRAGMA wal_checkpoint(TRUNCATE)")
        return True

    def keep_reserve(self) -> bool:
        """See Database. As much as it takes must stay free beside it, for adds to go on with."""
        reserve = self.folder / RESERVE
        try:
            if not reserve.exists() and (
                sum(path.stat().st_size for path in (self.path, self._log)) >= _LEAST_RESERVING_BYTES
                and shutil.disk_usage(self.folder).free >= 2 * _RESERVE_BYTES
            ):
                part = reserve.with_suffix(".part")
                part.write_bytes(bytes(_RESERVE_BYTES))
                part.replace(reserve)
        except OSError as error:
            _logger.warning("no room is kept for a full disk: %s", error)
        return reserve.exists()

    def purge(self) -> bool:
        """Remove deleted text from the files: writes the database anew and empties the write-ahead log.

        secure_delete alone is not enough: where SQLite moved rows between pages, copies of them stay in the
        pages' unused space, and are not zeroed when the row itself is deleted. A VACUUM takes about 4 ms per
        megabyte. False when another process still reads an older snapshot, which keeps the log alive, or
        when there is no room for the copy. Others may write between two tries.
        """
        give_up = time.monotonic() + self._busy_timeout_s
        rewritten = self._try(give_up, "VACUUM", "PRAGMA user_version=0")
        emptied = self._try(give_up, "PRAGMA wal_checkpoint(TRUNCATE)")
        if rewritten and not emptied:
            self._try(time.monotonic() + _ATTEMPT_S, f"PRAGMA user_version={_PURGE_DUE}")
        return rewritten and emptied

    def _try(self, give_up: float, *statements: str) -> bool:
        """Run statements, retrying while other connections block them; False if out of time or space.

        The write lock is held for a short attempt at a time, since a reader may be slow.
        """
        left = list(statements)
        pause_s = _FIRST_PAUSE_S
        while True:
            with self._writing, self._engine.connect() as connection:
                connection.exec_driver_sql(f"PRAGMA busy_timeout={_PURGE_ATTEMPT_MS}").close()
                try:
                    while left:
                        outcome = connection.exec_driver_sql(left[0])
                        if outcome.returns_rows and outcome.one()[0]:  # 1: a checkpoint was blocked
                            break
                        del left[0]
                except DBAPIError as error:
                    if isinstance(typed := self._to_error(error.orig), StorageFull):
                        return False
                    if not _is_busy(error.orig):
                        raise typed from error
                finally:
                    if not connection.invalidated:  # as one is whose statement was interrupted
                        connection.exec_driver_sql(
                            f"PRAGMA busy_timeout={self._attempt_s * 1000:.0f}"
                        ).close()
            if not left or time.monotonic() >= give_up:
                return not left
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def faults(self) -> list[str]:
        """Return the faults that SQLite's integrity check finds; empty if the file is sound."""
        with self.read() as connection:
            rows = connection.execute(text("PRAGMA integrity_check")).scalars().all()
        return [row for row in rows if row != "ok"]

    def bytes_on_disk(self) -> int:
        """Size of all files of the folder, and of our objects in a bucket, in bytes."""
        with self.read() as connection:
            total = bucket_size_bytes(self, connection)
        for file in self.folder.rglob("*"):  # blocks are in folders of their own
            with contextlib.suppress(FileNotFoundError):  # the log goes when its last user closes it
                total += file.stat().st_size if file.is_file() else 0
        return total

    def decrypted(self, path: Path) -> Iterator[tuple[int, bytes]] | None:
        """See Database."""
        for store in (self.blocks, self.saved.store):
            files = files_under(store)
            if files and files is not store and files.folder in path.parents:
                return iter([(0, store.get(files.name_of(path)))])
        if self._keys is None or path.name not in (self.path.name, self._log.name):
            return None
        return decrypted_pages(pieces_read_apart(path), self._keys.page_key, is_log=path != self.path)

    def start_anew(self) -> None:
        """Drop the parent's connections and locks in a forked child."""
        _abandoned.append(self._engine.pool)
        self._engine.dispose(close=False)
        self._writing = threading.Lock()

    def close(self) -> None:
        """Close all connections; idempotent."""
        self._closed = True
        self._engine.dispose()

    def _to_error(self, error: BaseException | None) -> StorageError:
        """Turn the driver's error into one of ours."""
        name = getattr(error, "sqlite_errorname", "") or ""
        what, where = str(error)[:100], repr(self.name)
        if _is_busy(error):
            return self._busy_error()
        if name.startswith("SQLITE_FULL"):
            return StorageFull(f"no space left for {where}; nothing of this call was stored: free some space")
        if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
            return StorageUnusable(
                f"cannot write {where} ({what}): memory needs a folder that this process may write"
            )
        undecodable = what.startswith("Could not decode")  # the driver's own words; no code of SQLite's
        if undecodable or name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR_SHORT_READ")):
            what = what.partition(" with text ")[0]  # which may be anybody's
            return StorageCorrupt(
                f"{where} is damaged ({what}): restore a copy, or salvage it with"
                f" sqlite3 {self.path.name} .recover into a new folder"
            )
        if name.startswith("SQLITE_IOERR"):
            return StorageFull(f"the disk refused {where} ({what}, {name}): check its space and its health")
        return StorageError(f"{where}: {what}")


def _index_files(folder: Path) -> FileObjects:
    """Return the store of index files, which need not be durable: a torn one is detected and built anew."""
    return FileObjects(folder, ".index", durable=False)


def _prepare_folder(folder: Path) -> Path:
    try:
        folder = folder.expanduser().absolute()  # fixed now, so that a later chdir changes nothing
        if folder.exists() and not folder.is_dir():
            raise StorageUnusable(f"{str(folder)!r} is a file: give Memory a folder")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (UnicodeEncodeError, RuntimeError) as error:  # a lone surrogate; "~" of nobody
        raise StorageUnusable(f"{str(folder)!r} names no folder ({error}): give Memory another") from error
    except OSError as error:
        raise StorageUnusable(f"cannot make the folder {str(folder)!r} ({error.strerror})") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StorageUnusable(f"cannot write in {str(folder)!r}: memory needs a folder that it may write")
    return folder


def _configure(keys: FolderKeys | None, connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver must not begin transactions on its own
    cursor = connection.cursor()
    if keys is not None:
        cursor.execute(f'PRAGMA key="{keys.sqlcipher_literal}"')

    def use_log() -> None:
        if cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            tables = {name for (name,) in cursor.execute("SELECT name FROM sqlite_master")}
            if not tables or tables >= OURS:  # a foreign database is refused later, and not to be changed
                cursor.execute("PRAGMA journal_mode=WAL")

    _wait_for_others(use_log, _ATTEMPT_S)  # SQLite does not, when it changes the journal's mode
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA secure_delete=ON")  # what is deleted is overwritten with zeros
    cursor.execute("PRAGMA temp_store=MEMORY")  # no text in temporary files
    cursor.close()


def _wait_for_others(run: Callable[[], object], wait_s: float) -> None:
    """Run it again while others block it, for `wait_s` at most."""
    give_up = time.monotonic() + wait_s
    while True:
        try:
            run()
        except Exception as error:  # of either driver: they share no class
            if not _is_busy(error) or time.monotonic() >= give_up:
                raise
            time.sleep(random.uniform(0.001, 0.02))  # noqa: S311 - spreads waiters, guards nothing
        else:
            return


def _driver(connection: Connection) -> Any:
    """The connection of sqlite3, or of its twin with SQLCipher."""
    return connection.connection.driver_connection


def _is_busy(error: BaseException | None) -> bool:
    return (getattr(error, "sqlite_errorname", "") or "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


_abandoned: list[object] = []  # in a forked child: its parent's connections, which it must not even close
