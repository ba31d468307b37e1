"""Texts whose every slice of twelve bytes says which message it is from, to find traces of them in files."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

from sqlalchemy import Connection

from zibaldone.storage.schema import metadata

_ALPHABET = b"abcdefghijklmnopqrstuvwxyz234567"
_SERIAL = re.compile(rb"~([a-z2-7]{5})(?=~)")


class Traceable:
    """Makes such texts: a serial number of five letters, again and again, each between two marks."""

    def __init__(self, first: int = 0) -> None:
        self._numbers = itertools.count(first)

    def text(self, repeats: int) -> str:
        """A text of its own, of 6 * repeats + 1 characters."""
        number, letters = next(self._numbers), bytearray()
        for _ in range(5):
            number, digit = divmod(number, 32)
            letters.append(_ALPHABET[digit])
        return "~" + (letters.decode() + "~") * repeats


def serial(text: str) -> str:
    """What identifies the text."""
    return text[1:6]


def serials_in(connection: Connection) -> set[str]:
    """The serials of all texts of which some row of our tables has a slice, in whatever column."""
    values = (
        value.encode() if isinstance(value, str) else value
        for table in metadata.sorted_tables
        for row in connection.execute(table.select())
        for value in row
    )
    return {
        letters.decode() for value in values if isinstance(value, bytes) for letters in _SERIAL.findall(value)
    }


def serials(folder: Path) -> set[str]:
    """The serials of all texts of which some file of the folder has a slice of twelve bytes.

    To be called when no other process has the folder open: closing a file takes away the locks that SQLite
    holds on it in this process.
    """
    files = (path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return {found.decode() for data in files for found in _SERIAL.findall(data)}
