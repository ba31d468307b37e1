"""Column types that check the type of each value read: SQLite stores any value in any column.

PostgreSQL takes no NUL in a text and gives sums as decimals: what is written and read is the same in both.
Columns of users' words are sealed where the database has keys of its users: its dialect says so (`SEALS`), so
that a database without any runs as if there were no such thing.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, Protocol

import sqlalchemy
from sqlalchemy import Connection
from sqlalchemy.exc import StatementError
from sqlalchemy.sql import operators

from zibaldone.core.validation import shown
from zibaldone.errors import KeyDestroyed, KeyMissing, StorageCorrupt, ZibaldoneError

_ESCAPE = "\x1a"  # what stands for a NUL begins with it, and so does what stands for itself
_Convert = Callable[[Any], Any]
SEALS = "zibaldone_seals"  # an attribute of a dialect: the Seals of its database
# A prefix that stays in plain text in sealed names: it is memory's own, and searched by LIKE.
PLAIN_BEGINNING = "zibaldone:items/"
UNREADABLE = (StorageCorrupt, KeyDestroyed, KeyMissing)  # what opening a value of one user raises
_FIX = "restore a copy, or where admin.check() names a view make it anew with builds.rebuild(view, user=...)"
_EQUALITY = (operators.eq, operators.ne, operators.in_op, operators.not_in_op)


class Seals(Protocol):
    """The part of a Keyring that columns need; see Keyring."""

    def seal(self, data: bytes, *, findable: bool) -> bytes: ...

    def open(self, sealed: bytes) -> bytes: ...

    def means(self, connection: Connection, user: str) -> None: ...

    overhead_bytes: int


def without_nul(text: str) -> str:
    """Escape NULs, which PostgreSQL does not store; `with_nul` restores them.

    Character by character: what a text begins with, or has in it, its stored form has, too.
    """
    if "\0" not in text and _ESCAPE not in text:
        return text
    return text.replace(_ESCAPE, _ESCAPE + "1").replace("\0", _ESCAPE + "0")


def with_nul(stored: str) -> str:
    """Undo `without_nul`."""
    if _ESCAPE not in stored:
        return stored
    return stored.replace(_ESCAPE + "0", "\0").replace(_ESCAPE + "1", _ESCAPE)


def _reader(kind: type, words: str) -> _Convert:
    def read(value: Any) -> Any:
        if value is not None and type(value) is not kind:
            raise StorageCorrupt(
                f"the database is damaged: a row has {shown(value)} where {words} belongs: {_FIX}"
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
    """Text of any length, in the order of its characters' numbers."""

    impl = sqlalchemy.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Any) -> Any:
        """See sqlalchemy."""
        plain = dialect.name != "postgresql"  # SQLite has this order by default
        return dialect.type_descriptor(sqlalchemy.Text() if plain else sqlalchemy.Text(collation="C"))

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


class _Sealed(sqlalchemy.types.TypeDecorator[Any]):
    """Words of a user, sealed. `findable`: sealed deterministically, so that equality can be searched."""

    def __init__(self, *, findable: bool = False) -> None:
        super().__init__()
        self.findable = findable

    def bind_processor(self, dialect: Any) -> _Convert | None:
        """See sqlalchemy."""
        if (seals := _seals(dialect)) is None:
            return super().bind_processor(dialect)
        return lambda value: self._sealed(seals, value) if value else value

    def result_processor(self, dialect: Any, coltype: object) -> _Convert:
        """See sqlalchemy."""
        check, seals = super().result_processor(dialect, coltype), _seals(dialect)
        assert check is not None
        if seals is None:
            return check

        def read(value: Any) -> Any:
            try:
                return self._opened(seals, value) if check(value) else value
            except ValueError as error:
                raise StorageCorrupt(
                    "the database is damaged: what a user's key should open is not sealed by it"
                    f" ({error}): {_FIX}"
                ) from error

        return read

    def _sealed(self, seals: Seals, value: Any) -> Any:
        return seals.seal(value, findable=self.findable)

    def _opened(self, seals: Seals, stored: Any) -> Any:
        return seals.open(stored)


class SealedBytes(_Sealed, CheckedBytes):
    """Bytes derived from a user's words, such as vectors."""

    cache_ok = True


class SealedText(_Sealed, CheckedText):
    """Text of a user.

    Comparisons but by equality (LIKE, <, length) see the sealed form: callers check `seals_of` where that
    matters.
    """

    cache_ok = True

    def coerce_compared_value(self, op: Any, value: Any) -> Any:  # noqa: ARG002
        """See sqlalchemy."""
        return self if op in _EQUALITY else CheckedText()

    def _sealed(self, seals: Seals, value: str) -> str:
        if self.findable and value.startswith(PLAIN_BEGINNING):
            rest = value.removeprefix(PLAIN_BEGINNING)
            return PLAIN_BEGINNING + (self._sealed(seals, rest) if rest else "")
        sealed = seals.seal(value.encode("utf-8", "surrogatepass"), findable=self.findable)
        return binascii.b2a_base64(sealed, newline=False).decode("ascii")

    def _opened(self, seals: Seals, stored: str) -> str:
        if stored.startswith(PLAIN_BEGINNING):
            rest = stored.removeprefix(PLAIN_BEGINNING)
            return PLAIN_BEGINNING + (self._opened(seals, rest) if rest else "")
        return seals.open(binascii.a2b_base64(stored)).decode("utf-8", "surrogatepass")


def _seals(dialect: Any) -> Seals | None:
    seals: Seals | None = getattr(dialect, SEALS, None)
    return seals


def seals_of(connection: Connection) -> Seals | None:
    """Return the seals of the connection's database; None if words are stored in plain text."""
    return _seals(connection.dialect)


@contextmanager
def without_values() -> Iterator[None]:
    """Unwrap our errors from SQLAlchemy's, whose messages quote the values."""
    try:
        yield
    except StatementError as error:
        if isinstance(error.orig, ZibaldoneError):
            raise error.orig from None
        raise


def means(connection: Connection, user: str) -> None:
    """Set the user of the rows that come next, in a transaction of several users."""
    if (seals := seals_of(connection)) is not None:
        seals.means(connection, user)
