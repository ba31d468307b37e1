"""Blocks: immutable objects of bounded size that hold records, and where they are kept.

magic "CPB1" | number of records | per record: id, offset, length, crc32 | crc32 of all this | data
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
import threading
import time
import uuid
import zlib
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Protocol

from zibaldone.errors import StorageCorrupt, StorageFull, StorageUnusable

_MAGIC = b"CPB1"
_COUNT = struct.Struct("<4sI")
_ENTRY = struct.Struct("<qIII")  # id, offset, length, crc32
_SUM = struct.Struct("<I")
FIX = "make the view anew from the log: memory.rebuild(user=..., view='chunks')"
_SUFFIX = ".block"
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


def new_key(user: str) -> str:
    """A key that nobody has: blocks of one user stand together, and a user's name is in no file's name."""
    return f"{prefix_of(user)}{uuid.uuid4().hex}"


def prefix_of(user: str) -> str:
    """With what the keys of a user's blocks begin."""
    return f"{blake2b(user.encode(), digest_size=8).hexdigest()}/"


def encode(records: Sequence[tuple[int, bytes]]) -> bytes:
    """A block of (id, data)."""
    head = bytearray(_COUNT.pack(_MAGIC, len(records)))
    offset = _COUNT.size + _ENTRY.size * len(records) + _SUM.size
    for number, data in records:
        head += _ENTRY.pack(number, offset, len(data), zlib.crc32(data))
        offset += len(data)
    head += _SUM.pack(zlib.crc32(head))
    return bytes(head) + b"".join(data for _, data in records)


def overhead(records: int) -> int:
    """Bytes of a block beside its records' data."""
    return _COUNT.size + _ENTRY.size * records + _SUM.size


def decode(block: bytes, key: str) -> list[tuple[int, bytes]]:
    """(id, data) by slot. Raises StorageCorrupt, which names the block, what of it is torn, and the fix."""
    if len(block) < _COUNT.size:
        raise _torn(key, "it ends in its header")
    magic, count = _COUNT.unpack_from(block)
    end = _COUNT.size + _ENTRY.size * count
    if magic != _MAGIC or len(block) < end + _SUM.size:
        raise _torn(key, "its header is not whole")
    if _SUM.unpack_from(block, end)[0] != zlib.crc32(block[:end]):
        raise _torn(key, "the checksum of its header is wrong")
    records = []
    for slot in range(count):
        number, offset, length, crc = _ENTRY.unpack_from(block, _COUNT.size + slot * _ENTRY.size)
        data = block[offset : offset + length]
        if len(data) < length or zlib.crc32(data) != crc:
            raise _torn(key, f"the checksum of slot {slot} is wrong")
        records.append((number, data))
    return records


def _torn(key: str, how: str) -> StorageCorrupt:
    return StorageCorrupt(f"block {key} is torn: {how}; {FIX}")


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
                key = f"{path.parent.name}/{path.name.removesuffix(_SUFFIX)}"
                if path.name.endswith(_UNFINISHED):
                    _sweep(path, age_s)
                elif path.name.endswith(_SUFFIX) and key.startswith(prefix):
                    yield key, age_s

    def path(self, key: str) -> Path:
        user, _, name = key.partition("/")
        return self.folder / user / f"{name}{_SUFFIX}"


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


def _open_locked(path: Path) -> BinaryIO:
    """For writing, in a folder that is made.

    The lock is the writer's sign of life: it goes with the process, however that ends. `delete` may take the
    folder away again, as empty, and `_sweep` the file, as nobody's, before it is locked: then once more.
    """
    for _ in range(_OPENINGS):
        with contextlib.suppress(FileNotFoundError, FileExistsError):  # the latter: gone while mkdir looked
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("wb")
            with contextlib.suppress(OSError):  # a file system without locks: its age has to do
                fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file.fileno()).st_nlink:
                return file
            file.close()
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("wb")


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
