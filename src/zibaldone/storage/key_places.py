"""Where keys of users lie: a folder or a bucket apart from the memory, so that no copy of one has both.

A key is written once, under a random number. To destroy it is to leave a mark that it was, and then to
overwrite and delete it: the mark is there first, so that whoever was stopped in between can go on.
"""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from zibaldone.errors import InvalidInput, StorageCorrupt, StorageUnusable
from zibaldone.storage.bucket import Bucket, bucket_url
from zibaldone.storage.encryption import put_header, sync_folder
from zibaldone.storage.folder_layout import HEADER, is_memory

_KEY, _MARK = ".key", ".destroyed"
_KEYS, _MARKS, _HEADERS = "keys/", "destroyed/", "master/"
_FOLDER = "user-keys"  # in a bucket, below the prefix that was given


class KeyPlace(Protocol):
    """Keeps wrapped keys by number (hexadecimal), and the header that holds what they are wrapped by."""

    name: str

    def header(self) -> str | None:
        """None where there is none yet."""

    def put_header(self, text: str, *, over: bool = False) -> bool:
        """Keep it, whole or not at all; False where there is one already. `over`: in its place."""

    def create(self, number: str, wrapped: bytes) -> None:
        """Afterwards it is durable."""

    def get(self, number: str) -> bytes | None:
        """None where there is none."""

    def mark(self, number: str) -> bytes | None:
        """What was left when it was destroyed; None where it was not."""

    def put_mark(self, number: str, mark: bytes) -> None:
        """Say, durably, that it is to be destroyed; nothing happens where that is said."""

    def erase(self, number: str) -> None:
        """Overwrite and delete it; nothing happens where there is none."""


class KeyFolder:
    """A file per key, in a folder of its own that is made with the first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.expanduser().absolute()
        self.name = str(self._folder)

    def keep_apart(self, memory: Path) -> None:
        """Raise InvalidInput for a folder in the memory's, one that has that inside, or is a memory."""
        own, other = self._folder.resolve(), memory.resolve()
        if own.is_relative_to(other) or other.is_relative_to(own) or is_memory(self._folder):
            raise InvalidInput(
                f"user_keys must lie apart from the memory, where no copy of it takes them along, and"
                f" {self.name!r} does not: give another folder"
            )

    def header(self) -> str | None:
        try:
            return (self._folder / HEADER).read_text(encoding="ascii")
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise StorageUnusable(f"{self.name!r} cannot be read: {error}") from error

    def put_header(self, text: str, *, over: bool = False) -> bool:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return put_header(self._folder, text, over=over)
        except OSError as error:
            raise StorageUnusable(f"{self.name!r} cannot be written: {error}") from error

    def create(self, number: str, wrapped: bytes) -> None:
        self._write(self._path(number, _KEY), wrapped)

    def get(self, number: str) -> bytes | None:
        return self._read(self._path(number, _KEY))

    def mark(self, number: str) -> bytes | None:
        return self._read(self._path(number, _MARK))

    def put_mark(self, number: str, mark: bytes) -> None:
        if self.mark(number) is None:
            self._write(self._path(number, _MARK), mark)

    def erase(self, number: str) -> None:
        self._must_be_there()
        path = self._path(number, _KEY)
        try:
            with path.open("r+b") as file:
                size = os.fstat(file.fileno()).st_size
                file.write(secrets.token_bytes(size))
                file.flush()
                os.fsync(file.fileno())
            path.unlink(missing_ok=True)
            sync_folder(path.parent)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StorageUnusable(f"a key in {self.name!r} cannot be destroyed: {error}") from error

    def _write(self, path: Path, data: bytes) -> None:
        """Beside, synced, renamed: whole or not there."""
        self._must_be_there()
        beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            with open(beside, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
            sync_folder(path.parent)
            sync_folder(self._folder)
        except OSError as error:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
            raise StorageUnusable(f"no key can be written in {self.name!r}: {error}") from error

    def _must_be_there(self) -> None:
        """Raise StorageUnusable for a disk that is not mounted: what is done below it is not done there."""
        if not (self._folder / HEADER).exists():
            raise StorageUnusable(f"the keys of users are not in {self.name!r} any more: is it mounted?")

    def _read(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageUnusable(f"a key in {self.name!r} cannot be read: {error}") from error

    def _path(self, number: str, ending: str) -> Path:
        return self._folder / number[:2] / (number + ending)


class KeyBucket:
    """An object per key. The bucket must keep no versions: an old version of a key is that key."""

    def __init__(self, url: str) -> None:
        """Raises InvalidInput and MissingExtra."""
        given = bucket_url(url)
        self._bucket = Bucket(given, _FOLDER)
        self.name = f"{given.place}/{_FOLDER}"

    def header(self) -> str | None:
        """The newest: an older one is left where changing it was stopped."""
        keys = [key for key, _, _ in self._bucket.list(_HEADERS)]
        return self._bucket.get(max(keys)).decode("ascii") if keys else None

    def put_header(self, text: str, *, over: bool = False) -> bool:
        before = [key for key, _, _ in self._bucket.list(_HEADERS)]
        if before and not over:
            return False
        # The first has a name that only one can take.
        name = f"{time.time_ns():020d}" if over else f"{0:020d}"
        try:
            self._bucket.create(_HEADERS + name, text.encode("ascii"))
        except StorageCorrupt:  # another process was first
            return False
        self._bucket.delete(before)
        return True

    def create(self, number: str, wrapped: bytes) -> None:
        self._bucket.create(_KEYS + number, wrapped)

    def get(self, number: str) -> bytes | None:
        return self._get(_KEYS + number)

    def mark(self, number: str) -> bytes | None:
        return self._get(_MARKS + number)

    def put_mark(self, number: str, mark: bytes) -> None:
        if self.mark(number) is None:
            with suppress(StorageCorrupt):  # another process was first
                self._bucket.create(_MARKS + number, mark)

    def erase(self, number: str) -> None:
        self._bucket.delete([_KEYS + number])

    def _get(self, key: str) -> bytes | None:
        try:
            return self._bucket.get(key)
        except KeyError:
            return None


def key_place(given: str | Path, memory: Path | None) -> KeyPlace:
    """The place that a path or a bucket's URL means; apart from the folder of the memory, if it has one."""
    if str(given).startswith("s3:/"):  # as a path it has lost a slash
        return KeyBucket("s3://" + str(given).removeprefix("s3:").lstrip("/"))
    place = KeyFolder(Path(given))
    if memory is not None:
        place.keep_apart(memory)
    return place
