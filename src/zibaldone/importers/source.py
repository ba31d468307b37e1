"""Sources of an import: a file, a folder, a ZIP archive (never unpacked to disk), or an open stream.

All of them are an `ImportSource`: files by name, read as streams. An archive is looked at before it is read:
one whose names leave its folder, or that holds far more than it weighs, is refused.
"""

from __future__ import annotations

import io
import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, Literal, cast

from zibaldone.errors import InvalidImport

MOST_FILES = 100_000
MOST_RATIO = 200  # unpacked by packed bytes, of an archive above the next figure
_RATIO_FROM = 32 * 2**20
_SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")  # of an archive; of an empty one
_SKIPPED = ("__MACOSX", ".git", ".obsidian", ".trash", "node_modules")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a source."""

    size_bytes: int
    open: Callable[[], AbstractContextManager[IO[bytes]]]


@dataclass(slots=True)
class ImportSource:
    """Files by their paths in it, with "/", and how much of them was read."""

    label: str  # what the person called it
    kind: Literal["file", "folder", "archive"]
    entries: dict[str, SourceFile]
    read_bytes: int = 0
    heads: dict[str, bytes] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Names of its files, in order."""
        return list(self.entries)

    @property
    def only(self) -> str | None:
        """Name of the single file; None for a folder or an archive."""
        return next(iter(self.entries)) if self.kind == "file" else None

    def named(self, *names: str) -> list[str]:
        """List the files with these names in any folder, the outermost first."""
        fits = [name for name in self.entries if PurePosixPath(name).name in names]
        return sorted(fits, key=lambda name: (name.count("/"), name))

    def where(self, name: str) -> str:
        """Return a file's name for errors."""
        return self.label if self.kind == "file" else f"{self.label}/{name}"

    def size_bytes(self, names: list[str]) -> int:
        """Sum the sizes of these files."""
        return sum(self.entries[name].size_bytes for name in names)

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """The bytes of one of its files. Raises InvalidImport, also while they are read."""
        try:
            with self.entries[name].open() as stream:
                yield cast("BinaryIO", _Counted(stream, self, self.where(name)))
        except OSError as error:
            raise InvalidImport(f"{self.where(name)}: cannot be read ({error.strerror or error})") from error

    def head(self, name: str, most: int) -> bytes:
        """Read the first bytes of a file, keep them, and do not count them as read."""
        known = self.heads.get(name)
        if known is None or len(known) < most:
            known = self.beginning(name, most)
            self.heads = {name: known}
        return known[:most]

    def beginning(self, name: str, most: int) -> bytes:
        """Read the first bytes of a file, and do not count them as read."""
        before = self.read_bytes
        with self.open(name) as stream:
            data = stream.read(most)
        self.read_bytes = before
        return data


class _Counted(io.RawIOBase):
    """A stream that counts the bytes read, and raises our errors."""

    def __init__(self, stream: IO[bytes], source: ImportSource, where: str) -> None:
        self._stream, self._source, self._where = stream, source, where

    def read(self, size: int = -1) -> bytes:
        try:
            data = self._stream.read(size)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise InvalidImport(
                f"{self._where}: cannot be unpacked ({error}): download it again, or unpack it yourself"
            ) from error
        self._source.read_bytes += len(data)
        return data


@contextmanager
def opened_source(given: str | Path | BinaryIO, label: str | None = None) -> Iterator[ImportSource]:
    """Open a path, or a stream of bytes, for the block; `label` is what errors call a stream.

    Raises InvalidImport for a missing one, or an unsafe archive.
    """
    with ExitStack() as stack:
        if isinstance(given, str | Path):
            yield _of_path(Path(given), stack)
        else:
            yield _of_stream(given, label or _name_of(given), stack)


def _of_path(path: Path, stack: ExitStack) -> ImportSource:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return ImportSource(str(path), "folder", _of_folder(path))
        if not stat.S_ISREG(mode):
            raise InvalidImport(f"{path}: is not a regular file: write what it gives into a file first")
        stream = stack.enter_context(path.open("rb"))
        return _of_bytes(stream, str(path), path.name, stack)
    except FileNotFoundError as error:
        raise InvalidImport(f"{path}: no such file") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        if isinstance(error, InvalidImport):
            raise
        raise InvalidImport(f"{str(path)!r}: cannot be read ({error})") from error


def _of_folder(folder: Path) -> dict[str, SourceFile]:
    entries = {}
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(files):
            path = Path(parent, name)
            if not path.is_file() or path.is_symlink():
                continue
            own = path.relative_to(folder).as_posix()
            entries[own] = SourceFile(path.stat().st_size, lambda path=path: path.open("rb"))  # type: ignore[misc]
            if len(entries) > MOST_FILES:
                raise InvalidImport(
                    f"{folder}: has more than {MOST_FILES} files: give the export's own folder"
                )
    return entries


def _of_stream(stream: BinaryIO, label: str, stack: ExitStack) -> ImportSource:
    """Open a stream as a source; one that cannot seek is copied to a temporary file."""
    if not (hasattr(stream, "seekable") and stream.seekable()):
        copy = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
        shutil.copyfileobj(stream, copy)
        stream = cast("BinaryIO", copy)
    return _of_bytes(stream, label, PurePosixPath(label).name or "file", stack)


def _of_bytes(stream: IO[bytes], label: str, name: str, stack: ExitStack) -> ImportSource:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    opening = stream.read(4)
    stream.seek(0)
    if opening in _SIGNATURES:
        return ImportSource(label, "archive", _of_archive(stream, label, size, stack))
    return ImportSource(label, "file", {name: SourceFile(size, lambda: _again(stream))})


@contextmanager
def _again(stream: IO[bytes]) -> Iterator[IO[bytes]]:
    """Rewind a stream, and leave it open."""
    stream.seek(0)
    yield stream


def _of_archive(stream: IO[bytes], label: str, size: int, stack: ExitStack) -> dict[str, SourceFile]:
    try:
        archive = stack.enter_context(zipfile.ZipFile(stream))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise InvalidImport(f"{label}: is a damaged ZIP archive ({error}): download it again") from error
    inside = [info for info in archive.infolist() if not info.is_dir()]
    if len(inside) > MOST_FILES:
        raise InvalidImport(f"{label}: has more than {MOST_FILES} files: unpack it, and give the folder")
    for info in inside:
        _check_entry(info, label)
    total = sum(info.file_size for info in inside)
    if total > max(_RATIO_FROM, MOST_RATIO * size):
        raise InvalidImport(
            f"{label}: says it holds {total} bytes in {size}: no export does. If it is one all the same,"
            " unpack it, and give the folder"
        )
    kept = [info for info in inside if PurePosixPath(info.filename).parts[0] not in _SKIPPED]
    return {
        info.filename: SourceFile(info.file_size, lambda info=info: archive.open(info))  # type: ignore[misc]
        for info in kept
    }


def _check_entry(info: zipfile.ZipInfo, label: str) -> None:
    """Raises InvalidImport for a file that no honest export holds."""
    path = PurePosixPath(info.filename.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or not path.parts or path.parts[0].endswith(":"):
        raise InvalidImport(f"{label}: holds a file {info.filename[:80]!r} that would lie outside of it")


def _name_of(stream: object) -> str:
    name = getattr(stream, "name", None)
    return name if isinstance(name, str) and name else "the given stream"
