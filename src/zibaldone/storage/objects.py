"""The object store: whole objects by name, as files, as rows of the database, or in a bucket.

A name is OWNER/REST, where OWNER is a digest of a user's name (`owner_of`): no user's name is in a file's.
Blocks of chunks and saved indexes lie here. Keys of users do not (`key_places`): no copy may have both.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from glob import escape
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Protocol

from sqlalchemy import ColumnElement, Connection, delete, select

from zibaldone.errors import StorageCorrupt, StorageFull, StorageUnusable
from zibaldone.storage.bucket import Bucket
from zibaldone.storage.folder_layout import sync_folder
from zibaldone.storage.schema import stored_objects as table

_UNFINISHED = ".part"
_OPENINGS = 20  # of a file whose folder others keep deleting
_PART_BYTES = 1 << 20  # of a row
_MOST_ENCRYPTED = (1 << 31) - 1024  # bytes that AES-GCM takes at once


def owner_of(user: str) -> str:
    """Return the digest of a user's name that begins the names of their objects."""
    return blake2b(user.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class ObjectStore(ABC):
    """Keeps whole objects by name. An object is written once and never changed.

    What a writer that died has left unfinished is no object: no operation shows it.
    """

    @abstractmethod
    def get(self, name: str) -> bytes:
        """Return an object. Raises KeyError if there is none, and StorageError."""

    def own(self, name: str) -> bytearray | mmap.mmap:
        """Return a private copy of the object, which may be changed."""
        return bytearray(self.get(name))

    @abstractmethod
    def put(self, name: str, data: bytes) -> None:
        """Write an object atomically and durably."""

    @abstractmethod
    def delete(self, *names: str) -> None:
        """Delete objects durably; absent ones are ignored."""

    @abstractmethod
    def names(self, prefix: str = "") -> Iterator[tuple[str, float]]:
        """Yield (name, age in seconds) of every object with this prefix, in order."""


class FileObjects(ObjectStore):
    """A file per object. Those that are not `durable` may be torn by a power cut."""

    def __init__(self, folder: Path, suffix: str = ".block", *, durable: bool = True) -> None:
        self.folder = folder
        self._suffix, self._durable = suffix, durable

    def get(self, name: str) -> bytes:
        with self._reading(name):
            return self.path(name).read_bytes()

    def own(self, name: str) -> bytearray | mmap.mmap:
        """Map the file copy-on-write."""
        with self._reading(name), self.path(name).open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return bytearray()
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)

    @contextlib.contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise KeyError(name) from error
        except OSError as error:
            raise StorageUnusable(f"object {name} cannot be read: {error.strerror}") from error

    def put(self, name: str, data: bytes) -> None:
        """Write a temporary file, sync it, rename it, and sync the folders."""
        path = self.path(name)
        beside = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}{_UNFINISHED}")
        try:
            with _open_locked(beside) as file:
                file.write(data)
                file.flush()
                if self._durable:
                    os.fsync(file.fileno())
                beside.replace(path)
            for folder in (path.parent, self.folder, self.folder.parent) if self._durable else ():
                sync_folder(folder)
        except OSError as error:
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StorageFull(f"no space left for an object in {str(self.folder)!r}") from error
            raise StorageUnusable(
                f"no object can be written in {str(self.folder)!r}: {error.strerror}"
            ) from error

    def delete(self, *names: str) -> None:
        """Unlink the files, their unfinished writes, and the folder when it is empty."""
        for name in names:
            path = self.path(name)
            try:
                for beside in path.parent.glob(f"{escape(path.name)}.*{_UNFINISHED}"):
                    beside.unlink(missing_ok=True)
                path.unlink(missing_ok=True)
                with contextlib.suppress(FileNotFoundError):  # the folder
                    sync_folder(path.parent)  # what was forgotten does not come back with a power cut
            except OSError as error:
                raise StorageUnusable(f"object {name} cannot be deleted: {error.strerror}") from error
            with contextlib.suppress(OSError):  # not empty, or gone
                path.parent.rmdir()

    def names(self, prefix: str = "") -> Iterator[tuple[str, float]]:
        """Yield the objects, and remove unfinished files of writers that died."""
        now = time.time()
        folder, slash, _ = prefix.partition("/")
        for path in sorted(self.folder.glob(f"{folder}/*" if slash else "*/*")):
            with contextlib.suppress(FileNotFoundError):
                age_s = now - path.stat().st_mtime
                name = self.name_of(path)
                if path.name.endswith(_UNFINISHED):
                    _sweep(path)
                elif path.name.endswith(self._suffix) and name.startswith(prefix):
                    yield name, age_s

    def path(self, name: str) -> Path:
        owner, _, rest = name.partition("/")
        return self.folder / owner / f"{rest}{self._suffix}"

    def name_of(self, path: Path) -> str:
        return f"{path.parent.name}/{path.name.removesuffix(self._suffix)}"


class RowObjects(ObjectStore):
    """Objects as rows of the database, each written and deleted in a transaction of its own."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]], kind: str) -> None:
        """`kind` separates objects of different uses."""
        self._transaction, self._kind = transaction, kind

    def get(self, name: str) -> bytes:
        with self._transaction() as connection:
            query = select(table.c.data).where(*self._at(name)).order_by(table.c.part)
            parts = connection.execute(query).scalars().all()
        if not parts:
            raise KeyError(name)
        return b"".join(parts)

    def put(self, name: str, data: bytes) -> None:
        about = {"owner": name.partition("/")[0], "kind": self._kind, "name": name, "made_us": _now_us()}
        starts = range(0, max(len(data), 1), _PART_BYTES)
        rows = [{**about, "part": n, "data": data[at : at + _PART_BYTES]} for n, at in enumerate(starts)]
        with self._transaction() as connection:
            connection.execute(delete(table).where(*self._at(name)))
            connection.execute(table.insert(), rows)

    def delete(self, *names: str) -> None:
        with self._transaction() as connection:
            for name in names:
                connection.execute(delete(table).where(*self._at(name)))

    def names(self, prefix: str = "") -> Iterator[tuple[str, float]]:
        owner, slash, _ = prefix.partition("/")
        query = select(table.c.name, table.c.made_us).where(table.c.kind == self._kind, table.c.part == 0)
        if slash:
            query = query.where(table.c.owner == owner)
        with self._transaction() as connection:
            rows = connection.execute(query.order_by(table.c.owner, table.c.name)).all()
        now_us = _now_us()
        for row in rows:
            if row.name.startswith(prefix):
                yield row.name, max(0.0, (now_us - row.made_us) / 1e6)

    def _at(self, name: str) -> list[ColumnElement[bool]]:
        return [table.c.owner == name.partition("/")[0], table.c.kind == self._kind, table.c.name == name]


class BucketObjects(ObjectStore):
    """Objects of a bucket below a folder, written once and never overwritten."""

    def __init__(self, bucket: Bucket, folder: str) -> None:
        self._bucket, self._folder = bucket, folder

    def get(self, name: str) -> bytes:
        return self._bucket.get(self._folder + name)

    def put(self, name: str, data: bytes) -> None:
        self._bucket.create(self._folder + name, data)

    def delete(self, *names: str) -> None:
        self._bucket.delete([self._folder + name for name in names])

    def names(self, prefix: str = "") -> Iterator[tuple[str, float]]:
        for key, age_s in self._bucket.list(self._folder + prefix):
            yield key.removeprefix(self._folder), age_s


class Cipher(Protocol):
    """Encrypts data for a place; decrypting it for another place fails."""

    def encrypt(self, data: bytes, place: str) -> bytes: ...

    def decrypt(self, data: bytes, place: str) -> bytes:
        """Raises ValueError."""


class EncryptedObjects(ObjectStore):
    """Encrypts the objects of another store, each bound to its name."""

    def __init__(self, inner: ObjectStore, cipher: Cipher) -> None:
        self.inner, self._cipher = inner, cipher

    def get(self, name: str) -> bytes:
        """Return an object. Raises StorageCorrupt if it was changed, and KeyDestroyed."""
        data = self.inner.get(name)
        try:
            return self._cipher.decrypt(data, name)
        except ValueError as error:
            raise StorageCorrupt(
                f"object {name} is damaged ({error}): memory.builds.rebuild(user=..., view=...) makes"
                " its view anew"
            ) from error

    def put(self, name: str, data: bytes) -> None:
        if len(data) > _MOST_ENCRYPTED:
            raise StorageUnusable(f"object {name} is too large to be encrypted: {len(data)} bytes")
        self.inner.put(name, self._cipher.encrypt(data, name))

    def delete(self, *names: str) -> None:
        self.inner.delete(*names)

    def names(self, prefix: str = "") -> Iterator[tuple[str, float]]:
        return self.inner.names(prefix)


def files_under(store: ObjectStore) -> FileObjects | None:
    """Return the file store below any encryption; None if no objects are files."""
    while isinstance(store, EncryptedObjects):
        store = store.inner
    return store if isinstance(store, FileObjects) else None


def _now_us() -> int:
    return time.time_ns() // 1000


def _open_locked(path: Path) -> BinaryIO:
    """Open for writing, locked, creating the folder.

    The lock is the writer's sign of life: it goes with the process, however that ends. `delete` may take the
    folder away again, as empty, and `_sweep` the file, as nobody's, before it is locked: then once more.
    """
    for _ in range(_OPENINGS):
        with contextlib.suppress(FileNotFoundError, FileExistsError):  # the latter: gone while mkdir looked
            path.parent.mkdir(parents=True, exist_ok=True)
            file = _private(path)
            with contextlib.suppress(OSError):  # a file system without locks: nothing is swept there
                fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file.fileno()).st_nlink:
                return file
            file.close()
    path.parent.mkdir(parents=True, exist_ok=True)
    return _private(path)


def _private(path: Path) -> BinaryIO:
    """Open a file for writing with mode 0600."""
    return open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600))


def _sweep(path: Path) -> None:
    """Remove an unfinished file whose writer died, and its folder if empty."""
    with path.open("rb+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # somebody writes it
            return
        path.unlink(missing_ok=True)
        sync_folder(path.parent)
    with contextlib.suppress(OSError):  # not empty, or gone
        path.parent.rmdir()
