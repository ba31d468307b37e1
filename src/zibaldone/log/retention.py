"""Retention: how long messages stay. Off unless somebody sets it.

A rule names an age, and where it is wanted a session and roles: what is older goes in the next maintenance,
with a receipt, as if it was forgotten by hand.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, not_, or_, select, update
from sqlalchemy.exc import StatementError

from zibaldone import log
from zibaldone.core.validation import key, number, shown
from zibaldone.errors import InvalidInput, StorageCorrupt
from zibaldone.storage.columns import UNREADABLE, means, seals_of
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


def due(
    connection: Connection, default: Retention, now: datetime, among: Sequence[str] | None = None
) -> dict[str, Retention]:
    """Users, or those given, who have messages that are to go, in their order, with what holds for them.

    A damaged policy holds nobody else up: nothing goes by it, and check_integrity reports it.
    """
    policies = _policies(connection, among)
    own = {user for user, _ in policies}
    waiting: dict[str, Retention] = {}
    if default.rules:
        names = log.all_users(connection) if among is None else among
        others = (name for name in names if name not in own)
        waiting |= {name: default for name in others if _has_old(connection, name, default, now)}
    for user, policy in policies:
        try:
            retention = _from_json(user, policy)
        except StorageCorrupt as error:
            _logger.warning("nothing goes by it: %s", error)
            continue
        if retention.rules and _has_old(connection, user, retention, now):
            waiting[user] = retention
    return dict(sorted(waiting.items()))


def _policies(connection: Connection, among: Sequence[str] | None = None) -> list[tuple[str, str]]:
    """Read the policies of users, or of those given, in their order; "" for one that no key opens."""
    query = select(table.c.user, table.c.policy).order_by(table.c.user)
    query = query if among is None else query.where(table.c.user.in_(among))
    if seals_of(connection) is None:
        return [(row.user, row.policy) for row in connection.execute(query)]
    policies = []
    for user in connection.execute(query.with_only_columns(table.c.user)).scalars().all():
        try:
            policies.append((user, connection.execute(_POLICY, {"of": user}).scalar() or ""))
        except UNREADABLE as error:
            _logger.warning("the retention of user %r cannot be read: %s", user, error)
            policies.append((user, ""))
    return policies


def _has_old(connection: Connection, user: str, policy: Retention, now: datetime) -> bool:
    means(connection, user)
    old = select(messages.c.seq).where(messages.c.user == user, _any(policy.rules, now)).limit(1)
    try:
        return connection.execute(old).first() is not None
    except StatementError as error:  # a session's name cannot be sealed by a key that is gone
        if not isinstance(error.orig, UNREADABLE):
            raise
        _logger.warning("nothing of user %r goes: %s", user, error.orig)
        return False


def faults(connection: Connection) -> list[str]:
    """Policies that cannot be read."""
    damaged = []
    for user, policy in _policies(connection):
        try:
            _from_json(user, policy)
        except StorageCorrupt as error:
            damaged.append(str(error))
    return damaged


def going(
    connection: Connection, policies: Mapping[str, Retention], now: datetime
) -> dict[str, tuple[int, ...]]:
    """The seqs of what is to go now, by user; without users of whom nothing is."""
    c = messages.c
    seqs: dict[str, tuple[int, ...]] = {}
    for user, retention in policies.items():
        if retention.rules:
            means(connection, user)
            query = select(c.seq).where(c.user == user, _any(retention.rules, now)).order_by(c.seq)
            if old := tuple(connection.execute(query).scalars()):
                seqs[user] = old
    return seqs


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
