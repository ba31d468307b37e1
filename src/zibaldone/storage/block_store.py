"""Where blocks are kept: whole objects under keys, as files of a folder or as rows of the database."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, Protocol

from sqlalchemy import ColumnElement, Connection, delete, select

from zibaldone.errors import StorageFull, StorageUnusable
from zibaldone.storage.schema import stored_blocks as table
from zibaldone.storage.upsert import put

SUFFIX = ".block"
_UNFINISHED = ".part"
_UNFINISHED_FOR_S = 3600.0  # where files cannot be locked, an older unfinished one is a crash's
_OPENINGS = 20  # of a file whose folder others keep deleting


class BlockStore(Protocol):
    """Keeps whole blocks by key. Four operations, so that a bucket can do it.

    A block is written once and never changed. What a writer that died has left unfinished is no block: no
    operation shows it, and `list` removes it.
    """

    def get(self, key: str) -> bytes:
        """The block. Raises KeyError when there is none."""

    def put(self, key: str, data: bytes) -> None:
        """Publish a block: afterwards it is durable and whole, before it is not there."""

    def delete(self, key: str) -> None:
        """Remove a block; nothing happens when there is none."""

    def list(self, prefix: str = "") -> Iterator[tuple[str, float]]:
        """(key, age in seconds) of every block whose key begins so."""


class LocalBlocks:
    """A file per block in a folder, which is made when the first block is put."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, key: str) -> bytes:
        try:
            return self.path(key).read_bytes()
        except FileNotFoundError as error:
            raise KeyError(key) from error
        except OSError as error:
            raise StorageUnusable(f"block {key} cannot be read: {error.strerror}") from error

    def put(self, key: str, data: bytes) -> None:
        """Writes beside, syncs, renames, syncs the folders."""
        path = self.path(key)
        beside = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}{_UNFINISHED}")
        try:
            with _open_locked(beside) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                beside.replace(path)
            for folder in (path.parent, self.folder, self.folder.parent):
                _sync(folder)
        except OSError as error:
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StorageFull(f"no space left for a block in {str(self.folder)!r}") from error
            raise StorageUnusable(
                f"no block can be written in {str(self.folder)!r}: {error.strerror}"
            ) from error

    def delete(self, key: str) -> None:
        """Unlinks the file, and the folder of a user who has none left."""
        path = self.path(key)
        try:
            path.unlink(missing_ok=True)
            with contextlib.suppress(FileNotFoundError):  # the folder
                _sync(path.parent)  # what was forgotten does not come back with a power cut
        except OSError as error:
            raise StorageUnusable(f"block {key} cannot be deleted: {error.strerror}") from error
        with contextlib.suppress(OSError):  # not empty, or gone
            path.parent.rmdir()

    def list(self, prefix: str = "") -> Iterator[tuple[str, float]]:
        now = time.time()
        folder, slash, _ = prefix.partition("/")
        for path in sorted(self.folder.glob(f"{folder}/*" if slash else "*/*")):
            with contextlib.suppress(FileNotFoundError):
                age_s = now - path.stat().st_mtime
                key = f"{path.parent.name}/{path.name.removesuffix(SUFFIX)}"
                if path.name.endswith(_UNFINISHED):
                    _sweep(path, age_s)
                elif path.name.endswith(SUFFIX) and key.startswith(prefix):
                    yield key, age_s

    def path(self, key: str) -> Path:
        user, _, name = key.partition("/")
        return self.folder / user / f"{name}{SUFFIX}"


class MemoryBlocks:
    """A dictionary: the reference, and for what need not last."""

    def __init__(self) -> None:
        self._blocks: dict[str, tuple[bytes, float]] = {}

    def get(self, key: str) -> bytes:
        return self._blocks[key][0]

    def put(self, key: str, data: bytes) -> None:
        self._blocks[key] = (data, time.monotonic())

    def delete(self, key: str) -> None:
        self._blocks.pop(key, None)

    def list(self, prefix: str = "") -> Iterator[tuple[str, float]]:
        now = time.monotonic()
        for key, (_, since) in sorted(self._blocks.items()):
            if key.startswith(prefix):
                yield key, now - since


class TableBlocks:
    """Rows of the database, for whoever has no folder: each block is put, and deleted, by itself."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def get(self, key: str) -> bytes:
        with self._transaction() as connection:
            data: bytes | None = connection.execute(select(table.c.data).where(*_at(key))).scalar()
        if data is None:
            raise KeyError(key)
        return data

    def put(self, key: str, data: bytes) -> None:
        row = {"owner": key.partition("/")[0], "key": key, "data": data, "made_us": _now_us()}
        with self._transaction() as connection:
            put(connection, table, row)

    def delete(self, key: str) -> None:
        with self._transaction() as connection:
            connection.execute(delete(table).where(*_at(key)))

    def list(self, prefix: str = "") -> Iterator[tuple[str, float]]:
        owner, slash, _ = prefix.partition("/")
        query = select(table.c.key, table.c.made_us).order_by(table.c.owner, table.c.key)
        if slash:
            query = query.where(table.c.owner == owner)
        with self._transaction() as connection:
            rows = connection.execute(query).all()
        now_us = _now_us()
        for row in rows:
            if row.key.startswith(prefix):
                yield row.key, max(0.0, (now_us - row.made_us) / 1e6)


def _at(key: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return table.c.owner == key.partition("/")[0], table.c.key == key


def _now_us() -> int:
    return time.time_ns() // 1000


def _open_locked(path: Path) -> BinaryIO:
    """For writing, in a folder that is made.

    The lock is the writer's sign of life: it goes with the process, however that ends. `delete` may take the
    folder away again, as empty, and `_sweep` the file, as nobody's, before it is locked: then once more.
    """
    for _ in range(_OPENINGS):
        with contextlib.suppress(FileNotFoundError, FileExistsError):  # the latter: gone while mkdir looked
            path.parent.mkdir(parents=True, exist_ok=True)
            file = _private(path)
            with contextlib.suppress(OSError):  # a file system without locks: its age has to do
                fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file.fileno()).st_nlink:
                return file
            file.close()
    path.parent.mkdir(parents=True, exist_ok=True)
    return _private(path)


def _private(path: Path) -> BinaryIO:
    """A file that its owner alone may read."""
    return open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600))


def _sweep(path: Path, age_s: float) -> None:
    """Remove an unfinished file whose writer is no more, and the folder that has nothing else."""
    with path.open("rb+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        except OSError:
            if age_s <= _UNFINISHED_FOR_S:
                return
        path.unlink(missing_ok=True)
        _sync(path.parent)
    with contextlib.suppress(OSError):  # not empty, or gone
        path.parent.rmdir()


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
