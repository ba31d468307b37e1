"""Column types that check what they read: SQLite stores any value in any column, and so does damage.

PostgreSQL takes no NUL in a text and gives sums as decimals: what is written and read is the same in both.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import sqlalchemy

from zibaldone.errors import StorageCorrupt
from zibaldone.validation import shown

_ESCAPE = "\x1a"  # what stands for a NUL begins with it, and so does what stands for itself
_Convert = Callable[[Any], Any]


def without_nul(text: str) -> str:
    """A text that PostgreSQL stores, from which `with_nul` makes the same text again.

    Character by character: what a text begins with, or has in it, its stored form has, too.
    """
    if "\0" not in text and _ESCAPE not in text:
        return text
    return text.replace(_ESCAPE, _ESCAPE + "1").replace("\0", _ESCAPE + "0")


def with_nul(stored: str) -> str:
    """The text of which `without_nul` made this."""
    if _ESCAPE not in stored:
        return stored
    return stored.replace(_ESCAPE + "0", "\0").replace(_ESCAPE + "1", _ESCAPE)


def _reader(kind: type, words: str) -> _Convert:
    def read(value: Any) -> Any:
        if value is not None and type(value) is not kind:
            raise StorageCorrupt(
                f"the database is damaged: a row has {shown(value)} where {words} belongs: restore a copy, or"
                " where check_integrity() names a view make it anew with rebuild(user=..., view=...)"
            )
        return value

    return read


class _Whole(sqlalchemy.types.TypeDecorator[int]):
    impl = sqlalchemy.Integer
    cache_ok = True

    def result_processor(self, dialect: Any, coltype: object) -> _Convert:  # noqa: ARG002
        check = _reader(int, "a whole number")
        if dialect.name != "postgresql":
            return check
        return lambda value: int(value) if isinstance(value, Decimal) else check(value)  # a sum


class CheckedBigInteger(_Whole):
    """64 bits."""

    impl = sqlalchemy.BigInteger
    cache_ok = True


class CheckedInteger(_Whole):
    """32 bits."""

    cache_ok = True


class CheckedText(sqlalchemy.types.TypeDecorator[str]):
    """Text of any length."""

    impl = sqlalchemy.Text
    cache_ok = True

    def bind_processor(self, dialect: Any) -> _Convert | None:
        """See sqlalchemy."""
        if dialect.name != "postgresql":
            return None
        return lambda value: without_nul(value) if isinstance(value, str) else value

    def result_processor(self, dialect: Any, coltype: object) -> _Convert:  # noqa: ARG002
        """See sqlalchemy."""
        check = _reader(str, "a text")
        if dialect.name != "postgresql":
            return check
        return lambda value: with_nul(value) if isinstance(value, str) else check(value)


class CheckedBytes(sqlalchemy.types.TypeDecorator[bytes]):
    """Bytes."""

    impl = sqlalchemy.LargeBinary
    cache_ok = True

    def result_processor(self, dialect: Any, coltype: object) -> _Convert:  # noqa: ARG002
        """See sqlalchemy."""
        return _reader(bytes, "a string of bytes")
