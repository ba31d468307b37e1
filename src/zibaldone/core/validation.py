"""Checks of what a caller gives: each returns the value, or raises InvalidInput that names the fix."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from zibaldone.errors import InvalidInput, TooMany

T = TypeVar("T")
TimeLike = datetime | str | float | int
Key = str | int | UUID  # a user, session, agent or id as a caller has it; kept as text

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60
_SHORT.maxlevel = 3
_COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
EARLIEST, LATEST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)

# How many members a collection that a caller gives may have, by the argument's name; others _MOST.
MOST: Mapping[str, int] = {
    "messages": 100_000,  # of one add; an import has no end
    "exclude_seqs": 100_000,
    "seqs": 1_000_000,  # to be forgotten
    "texts": 100_000,  # to be looked for
    "metadata": 1_000,  # keys, operators and values of a filter, at any depth
    "shared": 16,  # memories recalled beside one's own: each is a recall
}
_MOST = 10_000


def members(what: str, given: Iterable[T]) -> list[T]:
    """List an iterable's members; raise TooMany for more than MOST allows."""
    taken = list(islice(given, MOST.get(what, _MOST) + 1))
    not_too_many(what, len(taken))
    return taken


def not_too_many(what: str, members: int) -> None:
    """Raise TooMany for more members than MOST allows."""
    if members > (most := MOST.get(what, _MOST)):
        raise TooMany(f"{what} can be at most {most:,} in one call: make several calls")


def keys(what: str, given: Iterable[Key]) -> frozenset[str]:
    """Check a list of names. Raises InvalidInput."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(f"{what} must be a list of names, not {shown(given)}")
    return frozenset(key(f"a name of {what}", name) for name in members(what, given))


def key(what: str, value: object) -> str:
    """A user, session, agent or id as text: one that is not empty and has no surrogates, a number, a UUID.

    It is never a path or SQL.
    """
    if isinstance(value, UUID) or (isinstance(value, int) and not isinstance(value, bool)):
        try:
            return str(value)
        except ValueError:  # more digits than Python writes
            raise InvalidInput(f"{what} {shown(value)} has too many digits") from None
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{what} must be a non-empty string, a whole number or a UUID, not {shown(value)}")
    if (at := surrogate_at(value)) is not None:
        raise InvalidInput(
            f"{what} {shown(value)} has a lone surrogate at character {at}: it is not valid text"
        )
    return str.__str__(value)  # a plain one: what it was made from may say of itself what it likes


def file_path(what: str, value: object) -> Path:
    """Check a path."""
    if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
        raise InvalidInput(f"{what} must be a path, not {shown(value)}")
    if surrogate_at(str(value)) is not None:
        raise InvalidInput(f"{what} {shown(value)} has a lone surrogate: it is not valid text")
    return Path(value)


def count(what: str, value: object, *, least: int) -> int:
    """Check a whole number."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**63:
        raise InvalidInput(f"{what} must be a whole number of at least {least}, not {shown(value)}")
    return value


def number(what: str, value: object, *, least: float, most: float) -> float:
    """Check a number that lies between two others."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise InvalidInput(f"{what} must be a number from {least:g} to {most:g}, not {shown(value)}")
    return value


def flag(what: str, value: object) -> bool:
    """Check a switch."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{what} must be True or False, not {shown(value)}")
    return value


def words(what: str, value: object) -> str:
    """Check a text to search for; lone surrogates become question marks."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be a string, not {shown(value)}")
    return value.encode(errors="replace").decode()


def whole_text(what: str, value: object) -> str:
    """Check a text to store; it must not have lone surrogates."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be a string, not {shown(value)}")
    if (at := surrogate_at(value)) is not None:
        raise InvalidInput(
            f"{what} has a lone surrogate (half of a character) at character {at}: repair it with"
            " text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')"
        )
    return value


def option(what: str, value: T, kind: type[Any]) -> T:
    """Check that a value is None or of a type."""
    if value is not None and not isinstance(value, kind):
        raise InvalidInput(f"{what} must be a {kind.__name__}, not {type_of(value)}")
    return value


def function(what: str, value: T, *, optional: bool = False) -> T:
    """Check that a value is callable."""
    if not callable(value) and not (optional and value is None):
        raise InvalidInput(f"{what} must be a function, not {type_of(value)}")
    return value


def to_time(value: TimeLike, what: str = "time") -> datetime:
    """An aware datetime from a datetime, an ISO 8601 string or epoch seconds; naive means UTC."""
    if isinstance(value, bool) or not isinstance(value, datetime | str | float | int):
        raise InvalidInput(
            f"{what} must be a datetime, an ISO 8601 string or epoch seconds, not {type_of(value)}"
        )
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError as error:
            raise InvalidInput(
                f"{what} {shown(value)} is not an ISO 8601 date and time, such as '2023-05-08T13:56'"
            ) from error
    elif not isinstance(value, datetime):
        if not EARLIEST.timestamp() <= value <= LATEST.timestamp():  # a NaN is not, either
            raise InvalidInput(
                f"{what} {shown(value)} is not epoch seconds: if it is milliseconds, divide by 1000"
            )
        value = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value)
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    offset = value.utcoffset() or timedelta()
    value = value.replace(tzinfo=timezone(offset) if offset else UTC)
    if not EARLIEST <= value <= LATEST:
        raise InvalidInput(f"{what} {value!s} is outside the years 1 to 9999")
    return value


def to_json(metadata: Mapping[str, Any]) -> str | None:
    """Metadata as JSON text; None when empty. Raises InvalidInput when it is not JSON."""
    if not metadata:
        return None
    try:
        encoded = _COMPACT.encode(metadata)
        encoded.encode()
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"metadata is not JSON ({error})") from error
    return encoded


def one_line(what: str, value: object) -> None:
    """Check a speaker's name or a role: a line break in it could forge another line."""
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{what} must be a non-empty string, not {shown(value)}")
    if key(what, value).splitlines() != [value]:
        raise InvalidInput(f"{what} {shown(value)} has a line break: a {what} stands in one line")


def surrogate_at(text: str) -> int | None:
    """Return the index of the first lone surrogate, which cannot be encoded; None if there is none."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None


def shown(value: object) -> str:
    """A short repr of anything, however large, deep or broken, for an error's sentence."""
    try:
        return _SHORT.repr(value)
    except Exception:  # noqa: BLE001 - a repr is anybody's code, and an int of 5000 digits has none
        return object.__repr__(value)


def type_of(value: object) -> str:
    """A value's type and a short repr, for an error's sentence."""
    return f"{type(value).__name__} ({shown(value)})" if value is not None else "None"


def to_seq_or_id(which: object) -> int | str:
    """Check which message is meant: a number is a seq, whatever else a key can be is an id."""
    if isinstance(which, int) and not isinstance(which, bool):
        return count("a seq", which, least=1)
    return key("a message's id", which)
