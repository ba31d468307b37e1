"""Every file of the memory's folder and every object of its bucket, and what was exported, byte by byte."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from glob import escape
from pathlib import Path

from zibaldone.engine.verification.inflating import Inflating, inflated
from zibaldone.engine.verification.result import LookedAt
from zibaldone.engine.verification.wanted import Occurrence, Wanted
from zibaldone.errors import StorageError
from zibaldone.storage.database import Database
from zibaldone.storage.raw_files import OVERLAP_BYTES, pieces, pieces_read_apart

_PAGE_BYTES = 4096  # of a database; a leftover's place is told as finely as this
Where = tuple[str, bytes, Occurrence]


def look_through_folder(
    database: Database, own_folders: Iterable[str], of_user: Wanted, of_all: Wanted
) -> Iterator[tuple[LookedAt, list[Where]]]:
    """Each file, whatever it is: the database and its logs, blocks, indexes, what a crash left.

    A file in a folder of the user's (`own_folders` are their names) may say what the user's messages say, any
    other what anybody's do.
    """
    own = set(own_folders)
    for path in sorted(database.folder.rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        inside = path.relative_to(database.folder)
        needles = of_user if own.intersection(inside.parts[:-1]) else of_all
        is_open = path.name.startswith(Path(database.name).name)
        yield _look(_pieces(database, path, apart=is_open), inside.as_posix(), "file", needles)


def look_through_bucket(
    database: Database, own_folders: Iterable[str], of_user: Wanted, of_all: Wanted
) -> Iterator[tuple[LookedAt, list[Where]]]:
    """Each object of the memory, as the bucket lists them; what may stand where is as in files.

    Raises StorageError.
    """
    if database.bucket is None:
        return
    own = set(own_folders)
    for key, _, _ in database.bucket.list():
        try:
            data = database.bucket.get(key)
        except KeyError:  # deleted meanwhile
            continue
        needles = of_user if own.intersection(key.split("/")[:-1]) else of_all
        if database.keyring is not None:
            with suppress(ValueError, StorageError):
                data = database.keyring.decrypt(data, key.partition("/")[2])
        hits = list(_narrowed(f"object {key}", 0, data, needles)) if needles.first_in(data) else []
        texts = Inflating().feed(data, last=True)
        if hit := needles.first_in(texts):
            hits.append((f"object {key}, compressed", texts, hit))
        yield LookedAt("object", key, 0, len(data)), hits


def look_through_exports(paths: Iterable[Path], needles: Wanted) -> Iterator[tuple[LookedAt, list[Where]]]:
    """What was written elsewhere: files, folders, and beside a file what a crash left of writing it."""
    for path in paths:
        beside = path.parent.glob(f".{escape(path.name)}.*") if path.parent.is_dir() else ()
        inside = path.rglob("*") if path.is_dir() else [path]
        for file in sorted({*inside, *beside}):
            if file.is_file():
                yield _look(pieces(file), str(file), "export", needles)


def _pieces(database: Database, path: Path, *, apart: bool) -> Iterator[tuple[int, bytes]]:
    """Where the folder is encrypted, also as they were before; what a crash left may be neither."""
    yield from pieces_read_apart(path) if apart else pieces(path)
    with suppress(ValueError, FileNotFoundError, KeyError, StorageError):
        yield from database.decrypted(path) or ()


def _look(
    read: Iterable[tuple[int, bytes]], name: str, kind: str, needles: Wanted
) -> tuple[LookedAt, list[Where]]:
    size = 0
    hits: list[Where] = []

    def pieces_seen() -> Iterator[tuple[int, bytes]]:
        nonlocal size
        for begin, piece in read:
            size = max(size, begin + len(piece))
            if needles.first_in(piece) is not None:
                hits.extend(_narrowed(name, begin, piece, needles))
            yield begin, piece

    for begin, texts in inflated(pieces_seen()):
        if hit := needles.first_in(texts):
            hits.append((f"{name}, compressed about byte {begin}", texts, hit))
    return LookedAt("export" if kind == "export" else "file", name, 0, size), hits


def _narrowed(name: str, begin: int, piece: bytes, needles: Wanted) -> Iterator[Where]:
    """Page by page."""
    any_page = False
    for start in range(0, len(piece), _PAGE_BYTES):
        page = piece[max(0, start - OVERLAP_BYTES) : start + _PAGE_BYTES]
        if hit := needles.first_in(page):
            any_page = True
            end = min(start + _PAGE_BYTES, len(piece))
            yield f"{name}, bytes {begin + start} to {begin + end}", page, hit
    if not any_page and (hit := needles.first_in(piece)):
        yield f"{name}, bytes {begin} to {begin + len(piece)}", piece, hit
