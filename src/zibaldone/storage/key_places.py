"""The store of users' keys: a folder or a bucket apart from the memory, so that no copy has both.

A key is written once, under a random number. Destroying it first leaves a mark, then overwrites and deletes
the key: whoever finds the mark after a crash can finish.
"""

from __future__ import annotations

import os
import secrets
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path

from zibaldone.errors import InvalidInput, StorageCorrupt, StorageUnusable
from zibaldone.storage.bucket import Bucket, bucket_url
from zibaldone.storage.encryption import put_header
from zibaldone.storage.folder_layout import HEADER, is_memory
from zibaldone.storage.objects import BucketObjects, FileObjects, ObjectStore

_HEADERS = "master/"  # keys of a bucket's headers begin with it
_FOLDER = "user-keys"  # in a bucket, below the given prefix


class KeyPlace(ABC):
    """Keeps wrapped keys by number (hexadecimal), and the header with the key that wraps them."""

    def __init__(self, name: str, keys: ObjectStore, marks: ObjectStore) -> None:
        self.name, self._keys, self._marks = name, keys, marks

    @abstractmethod
    def header(self) -> str | None:
        """Return the header's text; None if there is none yet."""

    @abstractmethod
    def put_header(self, text: str, *, over: bool = False) -> bool:
        """Write the header, whole or not at all; False if there is one. With `over`, replace it."""

    def create(self, number: str, wrapped: bytes) -> None:
        """Write a new key durably."""
        self._check_mounted()
        self._keys.put(self._object(number), wrapped)

    def get(self, number: str) -> bytes | None:
        """Return the wrapped key; None if there is none."""
        return self._get(self._keys, number)

    def mark(self, number: str) -> bytes | None:
        """Return the mark that the key's destruction left; None if it was not destroyed."""
        return self._get(self._marks, number)

    def put_mark(self, number: str, mark: bytes) -> None:
        """Record durably that a key is to be destroyed; a no-op if it is recorded already."""
        self._check_mounted()
        if self.mark(number) is None:
            with suppress(StorageCorrupt):  # another process was first
                self._marks.put(self._object(number), mark)

    def erase(self, number: str) -> None:
        """Overwrite and delete a key; a no-op if there is none."""
        self._keys.delete(self._object(number))

    def _object(self, number: str) -> str:
        return number

    def _check_mounted(self) -> None:  # noqa: B027 - a bucket has nothing to mount
        """Raise StorageUnusable if the header is gone: the disk may not be mounted."""

    def _get(self, store: ObjectStore, number: str) -> bytes | None:
        try:
            return store.get(self._object(number))
        except KeyError:
            return None


class KeyFolder(KeyPlace):
    """A file per key, in a folder that is created with the header."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.expanduser().absolute()
        keys, marks = FileObjects(self._folder, ".key"), FileObjects(self._folder, ".destroyed")
        super().__init__(str(self._folder), keys, marks)
        self._files = keys

    def keep_apart(self, memory: Path) -> None:
        """Raise InvalidInput for a folder inside the memory's, around it, or that is a memory."""
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

    def erase(self, number: str) -> None:
        self._check_mounted()
        try:
            with self._files.path(self._object(number)).open("r+b") as file:
                file.write(secrets.token_bytes(os.fstat(file.fileno()).st_size))
                file.flush()
                os.fsync(file.fileno())
        except FileNotFoundError:
            return
        except OSError as error:
            raise StorageUnusable(f"a key in {self.name!r} cannot be destroyed: {error}") from error
        super().erase(number)

    def _check_mounted(self) -> None:
        if not (self._folder / HEADER).exists():
            raise StorageUnusable(f"the keys of users are not in {self.name!r} any more: is it mounted?")

    def _object(self, number: str) -> str:
        return f"{number[:2]}/{number}"


class KeyBucket(KeyPlace):
    """An object per key. The bucket must not keep versions: an old version of a key is that key."""

    def __init__(self, url: str) -> None:
        """Raise InvalidInput and MissingExtra."""
        given = bucket_url(url)
        self._bucket = bucket = Bucket(given, _FOLDER)
        name = f"{given.place}/{_FOLDER}"
        super().__init__(name, BucketObjects(bucket, "keys/"), BucketObjects(bucket, "destroyed/"))

    def header(self) -> str | None:
        """Return the newest header: an interrupted change leaves an older one too."""
        keys = [key for key, _ in self._bucket.list(_HEADERS)]
        return self._bucket.get(max(keys)).decode("ascii") if keys else None

    def put_header(self, text: str, *, over: bool = False) -> bool:
        before = [key for key, _ in self._bucket.list(_HEADERS)]
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


def key_place(given: str | Path, memory: Path | None) -> KeyPlace:
    """Open the key store at a path or a bucket's URL; a path must lie apart from the memory's folder."""
    if str(given).startswith("s3:/"):  # as a path it has lost a slash
        return KeyBucket("s3://" + str(given).removeprefix("s3:").lstrip("/"))
    place = KeyFolder(Path(given))
    if memory is not None:
        place.keep_apart(memory)
    return place
