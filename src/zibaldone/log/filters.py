"""Filters of a recall, a search or a list of messages, and the operators of filters over metadata.

    {"app": "notes"}                           the key is there, with this very value
    {"n": {"$gte": 3, "$lt": 9}}               both
    {"tag": {"$in": ["a", "b"]}, "app": "x"}   both
    {"$or": [{"app": "x"}, {"n": {"$exists": False}}]}

They mean what they mean in MongoDB: `$ne`, `$nin` and `$not` let in messages without the key, and values of
different types are never in an order. A key is taken whole, dots included.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from zibaldone.core import AGENT
from zibaldone.core.validation import (
    MOST,
    Key,
    TimeLike,
    count,
    key,
    members,
    option,
    shown,
    to_json,
    to_time,
    type_of,
)
from zibaldone.errors import InvalidInput, TooMany

Metadata = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the metadata of a message."""

    holds: Callable[[Metadata], bool]
    needs: tuple[str, ...] = ()  # keys without which it cannot hold


def key_test(name: str, operator: str, value: Any) -> Condition:
    """A comparison of one key's value; without the key only `$ne`, `$nin` and `$exists` can hold."""
    absent = operator in ("$ne", "$nin") or (operator == "$exists" and not value)
    compare = _OPERATORS[operator]
    return Condition(lambda given: compare(name in given, given.get(name), value), () if absent else (name,))


def _every_part(parts: Sequence[Condition]) -> Condition:
    needed = dict.fromkeys(name for part in parts for name in part.needs)
    return Condition(lambda given: all(part.holds(given) for part in parts), tuple(needed))


def _negated(part: Condition) -> Condition:
    return Condition(lambda given: not part.holds(given))


@dataclass(frozen=True, slots=True)
class Narrowing:
    """A checked Filter without its session. Times are aware; `since` is in, `until` is not."""

    exclude_session: str | None = None
    exclude_seqs: frozenset[int] = frozenset()
    roles: frozenset[str] | None = None  # None: all
    since: datetime | None = None
    until: datetime | None = None
    metadata: Condition | None = None
    without_noise: bool = False  # of a list; a recall asks views that have none
    repeated: frozenset[str] = frozenset()  # contents of messages that whoever asks has before them already

    def __bool__(self) -> bool:
        """True if anything is left out."""
        return self != Narrowing()

    def elsewhere(self) -> Narrowing:
        """Return it for another user's messages: sessions and seqs are of one's own."""
        return replace(self, exclude_session=None, exclude_seqs=frozenset())


@dataclass(frozen=True, slots=True)
class Filter:
    """The limits of a recall, a search or a list of messages; None, or none: no limit.

    `session` is the only one, `exclude_session` and the messages `exclude_seqs` are left out. `since` is in,
    `until` is not. `metadata` has keys with their values, or with operators such as {"n": {"$gte": 3}};
    see the module. `agent` is the one that wrote a message: metadata's "agent".
    """

    session: Key | None = None
    exclude_session: Key | None = None
    roles: Sequence[str] | None = None
    since: TimeLike | None = None
    until: TimeLike | None = None
    metadata: Mapping[str, Any] | None = field(default=None, hash=False)
    agent: Key | None = None
    exclude_seqs: Collection[int] = field(default=(), hash=False)

    def scope_session(self) -> str | None:
        """The session, checked; None: all. Raises InvalidInput."""
        return None if self.session is None else key("session", self.session)

    def narrowing(self, *, repeated: Iterable[str] = (), without_noise: bool = False) -> Narrowing:
        """Check all but the session. Raises InvalidInput."""
        roles, metadata = self.roles, self.metadata
        if roles is not None and (isinstance(roles, str) or not isinstance(roles, Iterable)):
            raise InvalidInput(f"roles must be a list of roles, such as ['user'], not {shown(roles)}")
        is_empty = not metadata and isinstance(metadata, Mapping | None)
        conditions = [] if is_empty else [to_condition(metadata)]
        if self.agent is not None:
            conditions.append(key_test(AGENT, "$eq", key("agent", self.agent)))
        without = self.exclude_session
        narrowing = Narrowing(
            exclude_session=None if without is None else key("exclude_session", without),
            exclude_seqs=_seqs(self.exclude_seqs),
            roles=None if roles is None else frozenset(key("a role", one) for one in members("roles", roles)),
            since=None if self.since is None else to_time(self.since, "since"),
            until=None if self.until is None else to_time(self.until, "until"),
            metadata=_every_part(conditions) if conditions else None,
            repeated=frozenset(repeated),
            without_noise=without_noise,
        )
        if narrowing.since and narrowing.until and narrowing.since >= narrowing.until:
            raise InvalidInput(f"since ({narrowing.since}) must be before until ({narrowing.until})")
        return narrowing


_NO_FILTER = Filter()


def to_filter(given: Filter | None) -> Filter:
    """Check that it is a Filter; one without limits for None. Raises InvalidInput."""
    return option("filter", given, Filter) or _NO_FILTER


def _seqs(given: Collection[int]) -> frozenset[int]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidInput(f"exclude_seqs must be a list of seqs, such as [3, 4], not {shown(given)}")
    return frozenset(count("a seq", seq, least=0) for seq in members("exclude_seqs", given))


def to_condition(given: object) -> Condition:
    """A filter over metadata, checked. Raises InvalidInput that names the operators."""
    try:
        if _size(given) > MOST["metadata"]:
            raise TooMany(
                f"a filter of metadata can have at most {MOST['metadata']:,} keys and values in all"
            )
        condition = _every(given)
        to_json({"filter": given})  # what is no JSON can be in no metadata, and would never hold
    except RecursionError as error:
        raise InvalidInput("the filter of metadata is nested too deeply") from error
    return condition


def _size(given: object) -> int:
    if isinstance(given, Mapping):
        return len(given) + sum(map(_size, given.values()))
    return len(given) + sum(map(_size, given)) if isinstance(given, list | tuple) else 0


def _every(given: object) -> Condition:
    if not isinstance(given, Mapping):
        raise InvalidInput(f"metadata must be a mapping, not {type_of(given)}")
    return _every_part([_joined(name, value) for name, value in given.items()])


def _joined(name: object, value: object) -> Condition:
    """One item of a filter: a key with what its value must be, or an operator that joins filters."""
    if name in ("$and", "$or"):
        if not isinstance(value, list | tuple) or not value:
            raise InvalidInput(f"{name} needs a list of filters, not {shown(value)}")
        parts = [_every(part) for part in value]
        either = Condition(lambda given: any(part.holds(given) for part in parts))
        return _every_part(parts) if name == "$and" else either
    if name == "$not":
        return _negated(_every(value))
    if not isinstance(name, str):
        raise InvalidInput(f"a key of metadata is a string, not {type_of(name)}")
    if name.startswith("$"):
        raise _unknown(name)
    if not (isinstance(value, Mapping) and any(str(operator).startswith("$") for operator in value)):
        return key_test(name, "$eq", value)
    return _every_part([_compared(name, operator, operand) for operator, operand in value.items()])


def _compared(name: str, operator: object, operand: object) -> Condition:
    if operator == "$not":
        if not isinstance(operand, Mapping) or not operand:
            raise InvalidInput(
                f"$not of {name!r} needs operators, such as {{'$gt': 3}}, not {shown(operand)}"
            )
        return _negated(_every_part([_compared(name, inner, value) for inner, value in operand.items()]))
    if operator not in _OPERATORS:
        raise _unknown(operator)
    if operator in ("$in", "$nin") and not isinstance(operand, list | tuple):
        raise InvalidInput(f"{operator} of {name!r} needs a list, not {shown(operand)}")
    if operator == "$exists" and not isinstance(operand, bool):
        raise InvalidInput(f"$exists of {name!r} needs True or False, not {shown(operand)}")
    if operator in _ORDERS and not _is_ordered(operand):
        raise InvalidInput(f"{operator} of {name!r} needs a number or a string, not {shown(operand)}")
    return key_test(name, str(operator), operand)


def _unknown(operator: object) -> InvalidInput:
    known = ", ".join((*_OPERATORS, "$and", "$or", "$not"))
    return InvalidInput(f"no operator {shown(operator)} in a filter of metadata: there is {known}")


def _equal(left: object, right: object) -> bool:
    """As JSON: true is not 1, but 1 is 1.0, at any depth."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_equal(left[name], right[name]) for name in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_equal, left, right))
    return left == right


def _is_ordered(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[bool, Any, Any], bool]:
    def holds(_: bool, left: object, right: object) -> bool:  # noqa: FBT001 - all operators are called alike
        alike = isinstance(left, str) == isinstance(right, str)
        return _is_ordered(left) and alike and compare(left, right)

    return holds


_ORDERS: dict[str, Callable[[bool, Any, Any], bool]] = {
    "$gt": _ordered(lambda left, right: bool(left > right)),
    "$gte": _ordered(lambda left, right: bool(left >= right)),
    "$lt": _ordered(lambda left, right: bool(left < right)),
    "$lte": _ordered(lambda left, right: bool(left <= right)),
}
_OPERATORS: dict[str, Callable[[bool, Any, Any], bool]] = {
    "$eq": lambda there, left, right: there and _equal(left, right),
    "$ne": lambda there, left, right: not (there and _equal(left, right)),
    "$in": lambda there, left, values: there and any(_equal(left, right) for right in values),
    "$nin": lambda there, left, values: not (there and any(_equal(left, right) for right in values)),
    **_ORDERS,
    "$exists": lambda there, _, wanted: there == wanted,
}
