"""Column types that check what they read: SQLite stores any value in any column, and so does damage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy

from zibaldone.errors import StorageCorrupt
from zibaldone.validation import shown


def _reader(kind: type, words: str) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if value is not None and type(value) is not kind:
            raise StorageCorrupt(
                f"the database is damaged: a row has {shown(value)} where {words} belongs: restore a copy, or"
                " where check_integrity() names a view make it anew with rebuild(user=..., view=...)"
            )
        return value

    return read


class CheckedBigInteger(sqlalchemy.BigInteger):
    """64 bits."""

    def result_processor(self, dialect: Any, coltype: object) -> Callable[[Any], Any]:  # noqa: ARG002
        """See sqlalchemy."""
        return _reader(int, "a whole number")


class CheckedInteger(sqlalchemy.Integer):
    """32 bits."""

    def result_processor(self, dialect: Any, coltype: object) -> Callable[[Any], Any]:  # noqa: ARG002
        """See sqlalchemy."""
        return _reader(int, "a whole number")


class CheckedText(sqlalchemy.Text):
    """Text of any length."""

    def result_processor(self, dialect: Any, coltype: object) -> Callable[[Any], Any]:  # noqa: ARG002
        """See sqlalchemy."""
        return _reader(str, "a text")


class CheckedBytes(sqlalchemy.LargeBinary):
    """Bytes."""

    def result_processor(self, dialect: Any, coltype: object) -> Callable[[Any], Any]:  # noqa: ARG002
        """See sqlalchemy."""
        return _reader(bytes, "a string of bytes")
