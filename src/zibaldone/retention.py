"""Retention: how long messages stay, and how much less old ones count until then.

A rule names an age, and where it is wanted a session and roles: what is older goes in the next maintenance,
with a receipt, as if it was forgotten by hand. Decay is MemoryBank's forgetting curve (Zhong et al. 2023,
R = exp(-t / S)): it only puts old evidence behind newer one, unless deletion below some R is asked for.
Off unless somebody sets it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, and_, delete, not_, or_, select

from zibaldone import forgetting, log
from zibaldone.core import Evidence
from zibaldone.errors import InvalidInput, StorageCorrupt
from zibaldone.forgetting import Receipt, Selector
from zibaldone.storage.database import Database
from zibaldone.storage.schema import messages
from zibaldone.storage.schema import retention as table
from zibaldone.validation import key, number, shown
from zibaldone.views.base import ViewStore

_LONGEST_DAYS = 365_000
_RANKS = 60  # of reciprocal rank fusion: how little two neighbours in a ranking differ


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """What is older than so many days goes: all of it, or that of a session, or of roles."""

    days: float
    session: str | None = None
    roles: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        number("days", self.days, least=0, most=_LONGEST_DAYS)
        if self.session is not None:
            key("session", self.session)
        if isinstance(self.roles, str):
            raise InvalidInput(f"roles must be names, such as ('assistant',), not {shown(self.roles)}")
        object.__setattr__(self, "roles", tuple(key("a role", role) for role in self.roles))


@dataclass(frozen=True, slots=True)
class Retention:
    """What goes by itself, and what fades. By default nothing does."""

    rules: tuple[RetentionRule, ...] = ()
    decay_days: float | None = None  # S: evidence of that age counts 1/e of what it would; None: no decay
    forget_below: float | None = None  # R, 0 to 1: what has faded further goes; None: decay deletes nothing

    def __post_init__(self) -> None:
        rules = tuple(self.rules)
        if not all(isinstance(rule, RetentionRule) for rule in rules):
            raise InvalidInput(f"rules must be RetentionRules, not {shown(self.rules)}")
        object.__setattr__(self, "rules", rules)
        if self.decay_days is not None and not number(
            "decay_days", self.decay_days, least=0, most=_LONGEST_DAYS
        ):
            raise InvalidInput("decay_days must be above 0: None switches decay off")
        if self.forget_below is not None:
            number("forget_below", self.forget_below, least=0, most=1)
            if self.decay_days is None:
                raise InvalidInput("forget_below says how far decay may go: give decay_days, too")

    @property
    def deleting(self) -> tuple[RetentionRule, ...]:
        """All rules by which messages go, that of decay too."""
        if self.decay_days is None or not self.forget_below:
            return self.rules
        age = -self.decay_days * math.log(self.forget_below)
        return (*self.rules, RetentionRule(min(age, _LONGEST_DAYS)))


def of_user(connection: Connection, user: str, default: Retention) -> Retention:
    """What was set for the user, or else the default."""
    policy = connection.execute(select(table.c.policy).where(table.c.user == user)).scalar()
    return default if policy is None else _from_json(user, policy)


def set_for(connection: Connection, user: str, retention: Retention | None, now: datetime) -> None:
    """Note what holds for the user from now on; None: the default."""
    connection.execute(delete(table).where(table.c.user == user))
    if retention is not None:
        row = {"user": user, "policy": json.dumps(asdict(retention)), "set_us": log.to_us(now)}
        connection.execute(table.insert().values(**row))


def due(connection: Connection, default: Retention, now: datetime, only: str | None = None) -> list[str]:
    """Users, or the one given, who have messages that are to go."""
    c = messages.c
    rows = connection.execute(select(table.c.user, table.c.policy)).all()
    own = {row.user: _from_json(row.user, row.policy) for row in rows}
    waiting: set[str] = set()
    if default.deleting:
        query = select(c.user).where(_any(default.deleting, now)).distinct()
        query = query if only is None else query.where(c.user == only)
        waiting.update(name for name in connection.execute(query).scalars() if name not in own)
    for user, retention in own.items():
        if retention.deleting and only in (None, user):
            query = select(c.seq).where(c.user == user, _any(retention.deleting, now)).limit(1)
            if connection.execute(query).first() is not None:
                waiting.add(user)
    return sorted(waiting)


def apply(
    database: Database,
    views: Sequence[ViewStore],
    user: str,
    retention: Retention,
    now: datetime,
    *,
    dry_run: bool = False,
) -> Receipt | None:
    """Forget what is to go now; None where nothing is."""
    if not retention.deleting:
        return None
    c = messages.c
    with database.read() as connection:
        query = select(c.seq).where(c.user == user, _any(retention.deleting, now)).order_by(c.seq)
        seqs = tuple(connection.execute(query).scalars())
    if not seqs:
        return None
    return forgetting.forget(database, views, user, Selector(seqs=seqs), dry_run=dry_run, now=now)


def faded(candidates: Sequence[Evidence], decay_days: float | None, now: datetime) -> list[Evidence]:
    """Candidates, best first, with the old ones behind: by the reciprocal rank times R = exp(-age / S)."""
    if decay_days is None:
        return list(candidates)
    days = decay_days

    def weight(ranked: tuple[int, Evidence]) -> float:
        rank, unit = ranked
        age = max(0.0, (now - unit.time) / timedelta(days=1))
        return math.log(_RANKS + rank) + age / days  # -log of the product: it does not vanish

    return [unit for _, unit in sorted(enumerate(candidates, 1), key=weight)]


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
        rules = tuple(RetentionRule(r["days"], r["session"], tuple(r["roles"])) for r in given["rules"])
        return Retention(rules, given["decay_days"], given["forget_below"])
    except (ValueError, KeyError, TypeError, InvalidInput) as error:
        raise StorageCorrupt(
            f"the retention of user {user!r} is damaged: set it again with retain(user={user!r})"
        ) from error
