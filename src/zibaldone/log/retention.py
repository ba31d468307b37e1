"""Retention: how long messages stay. Off unless somebody sets it.

A rule names an age, and where it is wanted a session and roles: what is older goes in the next maintenance,
with a receipt, as if it was forgotten by hand.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, not_, or_, select, update
from sqlalchemy.exc import StatementError

from zibaldone import log
from zibaldone.core.validation import key, number, shown
from zibaldone.errors import InvalidInput, StorageCorrupt
from zibaldone.storage.columns import UNREADABLE, means
from zibaldone.storage.schema import messages
from zibaldone.storage.schema import retention as table

_LONGEST_DAYS = 365_000
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """Deletes messages older than `days`: all, or those of a session or of roles."""

    days: float
    session: str | None = None
    roles: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not number("days", self.days, least=0, most=_LONGEST_DAYS):
            raise InvalidInput("days must be above 0: forget(everything=True) deletes all, once")
        if self.session is not None:
            key("session", self.session)
        if isinstance(self.roles, str) or not isinstance(self.roles, Iterable):
            raise InvalidInput(f"roles must be names, such as ('assistant',), not {shown(self.roles)}")
        object.__setattr__(self, "roles", tuple(key("a role", role) for role in self.roles))


@dataclass(frozen=True, slots=True)
class Retention:
    """A policy: which messages are deleted with age. By default none is."""

    rules: tuple[RetentionRule, ...] = ()

    def __post_init__(self) -> None:
        rules = tuple(self.rules) if isinstance(self.rules, Iterable) else None
        if rules is None or not all(isinstance(rule, RetentionRule) for rule in rules):
            raise InvalidInput(f"rules must be a list of RetentionRules, not {shown(self.rules)}")
        object.__setattr__(self, "rules", rules)


# Made once: every recall asks it.
_POLICY = select(table.c.policy).where(table.c.user == bindparam("of"))


def of_user(connection: Connection, user: str, default: Retention) -> Retention:
    """Read the user's policy, or else the default."""
    policy = connection.execute(_POLICY, {"of": user}).scalar()
    return default if policy is None else _from_json(user, policy)


def set_for(connection: Connection, user: str, retention: Retention | None, now: datetime) -> None:
    """Note what holds for the user from now on; None: the default."""
    connection.execute(delete(table).where(table.c.user == user))
    if retention is not None:
        row = {"user": user, "policy": json.dumps(asdict(retention)), "set_us": log.to_us(now)}
        connection.execute(table.insert().values(**row))


def drop_named_sessions(connection: Connection, user: str) -> bool:
    """Take out rules that name a session, where none of the user's is left; whether there were any.

    Other rules hold for what comes. A policy that cannot be read goes whole: nobody knows what it names.
    """
    try:
        row = connection.execute(select(table.c.policy).where(table.c.user == user)).first()
        if row is None:
            return False
        retention = _from_json(user, row.policy)
    except UNREADABLE:
        connection.execute(delete(table).where(table.c.user == user))
        return True
    kept = replace(retention, rules=tuple(rule for rule in retention.rules if rule.session is None))
    if kept == retention:
        return False
    connection.execute(update(table).where(table.c.user == user).values(policy=json.dumps(asdict(kept))))
    return True


def due(connection: Connection, default: Retention, now: datetime, among: Sequence[str]) -> set[str]:
    """Return those of the users who have messages that are to go."""
    holding = policies(connection, default, among)
    return {user for user, policy in holding if _old(connection, user, policy, now, limit=1)}


def going(
    connection: Connection, holding: Iterable[tuple[str, Retention]], now: datetime
) -> dict[str, tuple[int, ...]]:
    """The seqs of what is to go now, by user; without users of whom nothing is."""
    seqs = {user: _old(connection, user, policy, now) for user, policy in holding}
    return {user: its for user, its in seqs.items() if its}


def policies(
    connection: Connection, default: Retention, among: Sequence[str] | None
) -> Iterator[tuple[str, Retention]]:
    """Yield what holds for users, or for those given, where it is not the default without rules.

    A policy that cannot be read holds nobody else up: nothing goes by it, and `faults` reports it.
    """
    own = _users(connection, among)
    names = (log.all_users(connection) if among is None else among) if default.rules else own
    for user in sorted(names):
        try:
            yield user, of_user(connection, user, default) if user in own else default
        except UNREADABLE as error:
            _logger.warning("nothing of user %r goes by it: %s", user, error)


def _users(connection: Connection, among: Sequence[str] | None = None) -> list[str]:
    """List users, or those of the given ones, who have a policy of their own."""
    query = select(table.c.user).order_by(table.c.user)
    query = query if among is None else query.where(table.c.user.in_(among))
    return list(connection.execute(query).scalars())


def _old(
    connection: Connection, user: str, policy: Retention, now: datetime, limit: int | None = None
) -> tuple[int, ...]:
    """The first seqs of the user's messages that are to go by a policy."""
    if not policy.rules:
        return ()
    means(connection, user)
    c = messages.c
    query = select(c.seq).where(c.user == user, _any(policy.rules, now)).order_by(c.seq).limit(limit)
    try:
        return tuple(connection.execute(query).scalars())
    except StatementError as error:  # a session's name cannot be sealed by a key that is gone
        if not isinstance(error.orig, UNREADABLE):
            raise
        _logger.warning("nothing of user %r goes: %s", user, error.orig)
        return ()


def faults(connection: Connection) -> list[str]:
    """Policies that cannot be read."""
    damaged = []
    for user in _users(connection):
        try:
            of_user(connection, user, Retention())
        except UNREADABLE as error:
            damaged.append(str(error))
    return damaged


def _any(rules: Sequence[RetentionRule], now: datetime) -> ColumnElement[bool]:
    return or_(*(_going(rule, now) for rule in rules))


def _going(rule: RetentionRule, now: datetime) -> ColumnElement[bool]:
    """Messages that a rule lets go. Items stay what they are until they are deleted, or named."""
    c = messages.c
    conditions: list[ColumnElement[bool]] = [c.time_us < log.to_us(now - timedelta(days=rule.days))]
    if rule.session is not None:
        conditions.append(c.session == rule.session)
    else:
        conditions.append(not_(c.session.startswith(log.ITEM_SESSIONS, autoescape=True)))
    if rule.roles:
        conditions.append(c.role.in_(rule.roles))
    return and_(*conditions)


def _from_json(user: str, policy: str) -> Retention:
    try:
        given = json.loads(policy)
        # Policies of earlier versions have more in them, which is left alone.
        return Retention(
            tuple(RetentionRule(r["days"], r["session"], tuple(r["roles"])) for r in given["rules"])
        )
    except (ValueError, KeyError, TypeError, InvalidInput) as error:
        raise StorageCorrupt(
            f"the retention of user {user!r} is damaged: set it again with user({user!r}).retain(policy), or"
            " retain(None) for the default"
        ) from error
