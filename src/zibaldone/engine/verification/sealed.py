"""What a destroyed key sealed, and is still somewhere: it says nothing to anybody, and is counted."""

from __future__ import annotations

import binascii
from collections.abc import Iterable, Iterator
from pathlib import Path

from zibaldone.storage.database import Database
from zibaldone.storage.keyring import beginnings
from zibaldone.storage.raw_files import pieces, pieces_read_apart


def sealed_by(database: Database, number: str, elsewhere: Iterable[Path]) -> int:
    """How many values of this key are in the memory's files and objects, and in these files and folders.

    In tables none is left, or else rows of the user are, which a verification lists. Files are read in pieces
    that overlap: a value where two meet counts twice.
    """
    raw = beginnings(number)
    marks = [*raw, *(binascii.b2a_base64(begin, newline=False) for begin in raw)]
    return sum(piece.count(mark) for piece in _pieces(database, elsewhere) for mark in marks)


def _pieces(database: Database, elsewhere: Iterable[Path]) -> Iterator[bytes]:
    for place in (database.folder, *elsewhere):
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file() and not path.is_symlink():
                is_open = path.name.startswith(Path(database.name).name)
                for _, piece in pieces_read_apart(path) if is_open else pieces(path):
                    yield piece
    if database.bucket is not None:
        for key, _, _ in database.bucket.list():
            yield database.bucket.get(key)
