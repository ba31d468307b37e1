"""Where a user's saved indexes are: files of the folder, rows of a database without one, or objects.

They are derived, and hold words of messages: they go in the transaction that forgets one of them, and are put
there in one, so that whoever writes them sees whether anything was forgotten meanwhile.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Connection, delete, select

from zibaldone.storage.folder_layout import INDEX
from zibaldone.storage.schema import saved_files as table

SAVED = "saved files"  # in a connection's info: those of its database
_SUFFIX = ".index"
_PART_BYTES = 1 << 20  # of a row
Arrays = Mapping[str, Any]  # of numpy, which is loaded when something is saved


class SavedFiles(Protocol):
    """One file per user and name, in the format of safetensors: whole, or not there."""

    def header(self, connection: Connection, user: str, name: str) -> bytes | None:
        """Its first bytes, up to the arrays at least; None where there is none that can be read."""

    def contents(self, connection: Connection, user: str, name: str) -> bytearray | mmap.mmap | None:
        """All of it, which may lie in the file, and be changed without changing that."""

    def draft(self, user: str, name: str, arrays: Arrays, metadata: dict[str, str]) -> Any:
        """A context with what `publish` takes, gone afterwards.

        Raises OSError, SafetensorError and StorageError.
        """

    def publish(self, connection: Connection, user: str, name: str, draft: Any) -> None:
        """Put a draft in the file's place. Raises OSError."""

    def discard(self, user: str, name: str) -> None:
        """Leave a damaged one to be made anew."""

    def drop(self, connection: Connection, user: str) -> None:
        """Remove all of the user's."""

    def clear(self, connection: Connection) -> None:
        """Remove everybody's."""

    def sweep(self, user: str | None = None) -> None:
        """After a transaction that removed some, of this user or of anybody: no byte of them is left.

        Raises StorageError; the next call goes on. Nothing is to be done where removing does it.
        """


def files_of(connection: Connection) -> SavedFiles:
    """Those of the database that the connection is of."""
    files: SavedFiles = connection.info[SAVED]
    return files


class FolderFiles:
    """Files below `index/`, which are mapped into memory."""

    def __init__(self, folder: Path, name: str = INDEX) -> None:
        self._folder = folder / name

    def header(self, connection: Connection, user: str, name: str) -> bytes | None:  # noqa: ARG002
        try:
            with self.path(user, name).open("rb") as file:
                size = file.read(8)
                return size + file.read(int.from_bytes(size, "little"))
        except (OSError, OverflowError, MemoryError):
            return None

    def contents(self, connection: Connection, user: str, name: str) -> mmap.mmap | None:  # noqa: ARG002
        try:
            with self.path(user, name).open("rb") as file:
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        except (OSError, ValueError):
            return None

    @contextmanager
    def draft(self, user: str, name: str, arrays: Arrays, metadata: dict[str, str]) -> Iterator[Path]:
        from safetensors.numpy import save_file

        with self.part(user, name) as part:
            save_file(dict(arrays), part, metadata=metadata)
            yield part

    @contextmanager
    def part(self, user: str, name: str) -> Iterator[Path]:
        """An empty file beside the one of this name, gone afterwards unless it was published."""
        folder = self.path(user, name).parent
        folder.mkdir(parents=True, exist_ok=True)
        locked = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(locked, fcntl.LOCK_SH)  # so that no sweep takes it
            descriptor, path = tempfile.mkstemp(dir=folder, suffix=".part")
            os.close(descriptor)
            part = Path(path)
            try:
                yield part
            finally:
                part.unlink(missing_ok=True)
        finally:
            os.close(locked)

    def publish(self, connection: Connection, user: str, name: str, draft: Path) -> None:  # noqa: ARG002
        draft.replace(self.path(user, name))

    def discard(self, user: str, name: str) -> None:
        self.path(user, name).unlink(missing_ok=True)

    def drop(self, connection: Connection, user: str) -> None:  # noqa: ARG002
        shutil.rmtree(self.path(user, "any").parent, ignore_errors=True)

    def clear(self, connection: Connection) -> None:  # noqa: ARG002
        shutil.rmtree(self._folder, ignore_errors=True)

    def sweep(self, user: str | None = None) -> None:
        """Files are gone when they are dropped; what somebody was writing who was killed goes now."""
        with suppress(OSError):  # there is no folder
            for folder in list(self._folder.iterdir()) if user is None else [self.path(user, "any").parent]:
                _sweep(folder)

    def path(self, user: str, name: str) -> Path:
        """Of a file; the user's name is in no file's name."""
        digest = blake2b(user.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        return self._folder / digest / (name + _SUFFIX)


def _sweep(folder: Path) -> None:
    with suppress(OSError):  # somebody is writing there now, or has dropped it
        locked = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for path in folder.iterdir():
                if path.suffix != _SUFFIX:
                    path.unlink()
        finally:
            os.close(locked)


class TableFiles:
    """Rows: whichever machine makes them, all have them, and forgetting reaches them all."""

    def header(self, connection: Connection, user: str, name: str) -> bytes | None:
        query = select(table.c.data).where(*_of(user, name), table.c.part == 0)
        data: bytes | None = connection.execute(query).scalar()
        return data

    def contents(self, connection: Connection, user: str, name: str) -> bytearray | None:
        query = select(table.c.data).where(*_of(user, name)).order_by(table.c.part)
        return bytearray().join(connection.execute(query).scalars()) or None

    @contextmanager
    def draft(self, user: str, name: str, arrays: Arrays, metadata: dict[str, str]) -> Iterator[bytes]:  # noqa: ARG002
        from safetensors.numpy import save

        yield save(dict(arrays), metadata)

    def publish(self, connection: Connection, user: str, name: str, draft: bytes) -> None:
        connection.execute(delete(table).where(*_of(user, name)))
        begin = 8 + int.from_bytes(draft[:8], "little")
        cuts = [0, *range(begin, len(draft), _PART_BYTES), len(draft)]
        for part, (start, end) in enumerate(pairwise(cuts)):
            connection.execute(table.insert().values(user=user, name=name, part=part, data=draft[start:end]))

    def discard(self, user: str, name: str) -> None:
        """The next one that is saved takes its place."""

    def drop(self, connection: Connection, user: str) -> None:
        connection.execute(delete(table).where(table.c.user == user))

    def clear(self, connection: Connection) -> None:
        connection.execute(delete(table))

    def sweep(self, user: str | None = None) -> None:
        """Rows go in the transaction."""


def _of(user: str, name: str) -> list[Any]:
    return [table.c.user == user, table.c.name == name]
