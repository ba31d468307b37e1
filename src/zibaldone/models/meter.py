"""Usage of models, and ceilings on it."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, select, update

from zibaldone.core.fork_safety import start_anew_in_children
from zibaldone.core.validation import count
from zibaldone.errors import CeilingReached, ClosedMemory, StorageError
from zibaldone.storage.database import Database
from zibaldone.storage.schema import model_usage as table

_logger = logging.getLogger(__name__)
_Key = tuple[str, str, str, str]  # user, day, view, task


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Limits on the usage of models; None: no limit. Days are in UTC.

    A call that would go over one is not made: an offline answer stands in. Tokens are of prompt and answer.
    """

    tokens_per_call: int | None = 32_000
    calls_per_user_per_day: int | None = None
    tokens_per_user_per_day: int | None = None
    tokens_per_day: int | None = None  # of all users of the folder

    def __post_init__(self) -> None:
        for ceiling in fields(self):
            if (value := getattr(self, ceiling.name)) is not None:
                count(ceiling.name, value, least=0)


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage of models by one task of one view, on one day, for one user."""

    user: str
    day: date
    view: str
    task: str
    calls: int  # requests sent, retries and repairs included
    degraded: int  # answers that were given offline instead
    prompt_tokens: int
    completion_tokens: int
    ms: int  # waited for the model


_FIGURES = ("calls", "degraded", "prompt_tokens", "completion_tokens", "ms")
_Figures = Counter[str]  # by the names above


@dataclass(eq=False, frozen=True, slots=True)
class Reservation:
    """The most that a call in progress may cost, held against the ceilings."""

    user: str
    tokens: int
    requests: int | None  # that it may send; None: no ceiling is set on calls


class Meter:
    """Counts in the database, so that ceilings hold over processes and days. Safe to share among threads."""

    def __init__(
        self,
        database: Database | None,
        ceilings: Ceilings = Ceilings(),
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Without a database the figures live as long as the meter."""
        self.ceilings = ceilings
        self._database, self._clock = database, clock
        self.start_anew()
        start_anew_in_children(self)

    def start_anew(self) -> None:
        """Begin without figures, in a forked child too: the parent writes those that it has."""
        self._lock = threading.Lock()
        self._kept: dict[_Key, _Figures] = {}  # not in the database (yet)
        self._flushes = 0
        self._reserved: set[Reservation] = set()  # of calls that are under way

    @contextmanager
    def reserve(
        self, user: str, prompt_tokens: int, max_tokens: int, most_requests: int = 1
    ) -> Iterator[Reservation]:
        """Reserve room for one call, held until `record` is given it, or the block ends.

        Raises CeilingReached if the call may exceed a ceiling; calls in progress in other threads count with
        their most possible cost. Under a ceiling of calls, retries count too: the reservation allows at most
        half of the requests that are left.
        """
        limits, tokens = self.ceilings, prompt_tokens + max_tokens
        if limits.tokens_per_call is not None and tokens > limits.tokens_per_call:
            raise CeilingReached(
                f"the call may take {tokens} tokens; tokens_per_call is {limits.tokens_per_call}"
            )
        requests = None
        with self._spent_today(user) as (mine, everybody):
            for name, spent, more, what in (
                ("calls_per_user_per_day", mine["calls"], 1, "calls"),
                ("tokens_per_user_per_day", _tokens(mine), tokens, "tokens"),
                ("tokens_per_day", _tokens(everybody), tokens, "tokens"),
            ):
                limit = getattr(limits, name)
                if limit is not None and spent + more > limit:
                    raise CeilingReached(f"{spent} {what} of today are used or under way; {name} is {limit}")
            if limits.calls_per_user_per_day is not None:
                left = limits.calls_per_user_per_day - mine["calls"]
                requests = min(most_requests, max(1, left // 2))
            reserved = Reservation(user, tokens, requests)
            self._reserved.add(reserved)
        try:
            yield reserved
        finally:
            with self._lock:
                self._reserved.discard(reserved)

    def record(
        self,
        user: str,
        view: str,
        task: str,
        *,
        calls: int = 0,
        degraded: int = 0,
        prompt_tokens: int = 0,
        completion_tokens: int = 0,
        ms: int = 0,
        reserved: Reservation | None = None,
    ) -> None:
        """Record usage in place of `reserved`. Never call it inside a transaction of this thread."""
        key = (user, self._today(), view, task)
        with self._lock:
            kept = self._kept.setdefault(key, Counter())
            kept.update(
                dict(zip(_FIGURES, (calls, degraded, prompt_tokens, completion_tokens, ms), strict=True))
            )
            if reserved is not None:  # under one lock: a call that counts twice would take others' room
                self._reserved.discard(reserved)
        if self._database is not None:
            self._flush()

    def _flush(self) -> None:
        """Write the kept figures. The database's lock is taken before the meter's."""
        assert self._database is not None  # or nothing is ever to be written
        if not self._kept:
            return
        try:
            with ExitStack() as locked:
                users = {key[0] for key in list(self._kept)}
                with self._database.write(*users) as connection:
                    locked.enter_context(self._lock)
                    written = [key for key in self._kept if key[0] in users]
                    for key in written:
                        _write(connection, key, self._kept[key])
                for key in written:
                    del self._kept[key]
                self._flushes += 1
        except (StorageError, ClosedMemory) as error:  # they go along with the next: no recall stops for it
            _logger.warning("usage of models is not written yet: %s", error)

    @contextmanager
    def _counted(self, *where: ColumnElement[bool], is_wanted: bool = True) -> Iterator[dict[_Key, _Figures]]:
        """Yield the figures of the database with `where`, and all that it does not have, with the lock held.

        No connection is taken with the lock held: the holder of the last one may be waiting for the lock.
        """
        while True:
            flushes, rows = self._flushes, list[Row[Any]]()
            if self._database is not None and is_wanted:
                with self._database.read() as connection:
                    rows = list(connection.execute(select(table).where(*where)))
            with self._lock:
                if is_wanted and flushes != self._flushes:
                    continue
                counted: dict[_Key, _Figures] = {
                    (row.user, row.day, row.view, row.task): Counter({n: getattr(row, n) for n in _FIGURES})
                    for row in rows
                }
                for key, figures in self._kept.items():
                    counted.setdefault(key, Counter()).update(figures)
                yield counted
                return

    def usage(self, user: str | None = None) -> list[Usage]:
        """Per user, day, view and task, in that order; of one user or of all."""
        with self._counted(*(() if user is None else (table.c.user == user,))) as counted:
            return [
                Usage(key[0], date.fromisoformat(key[1]), key[2], key[3], **{n: figures[n] for n in _FIGURES})
                for key, figures in sorted(counted.items())
                if user is None or key[0] == user
            ]

    def total(self, user: str | None = None) -> Usage:
        """Sum the usage of one user, or of all, with view and task "" and today's day."""
        lines = self.usage(user)
        sums = {name: sum(getattr(line, name) for line in lines) for name in _FIGURES}
        return Usage(user or "", date.fromisoformat(self._today()), "", "", **sums)

    @contextmanager
    def _spent_today(self, user: str) -> Iterator[tuple[_Figures, _Figures]]:
        """Yield today's usage of the user and of all users, reserved calls included, with the lock held."""
        today, mine, everybody = self._today(), Counter[str](), Counter[str]()
        limits = self.ceilings
        daily = (limits.calls_per_user_per_day, limits.tokens_per_user_per_day, limits.tokens_per_day)
        where = [table.c.day == today]
        if limits.tokens_per_day is None:
            where.append(table.c.user == user)
        with self._counted(*where, is_wanted=any(limit is not None for limit in daily)) as counted:
            costs = [(key[0], figures) for key, figures in counted.items() if key[1] == today]
            under_way = (
                (call.user, Counter(calls=call.requests or 1, prompt_tokens=call.tokens))
                for call in self._reserved
            )
            for whose, figures in (*costs, *under_way):
                everybody.update(figures)
                if whose == user:
                    mine.update(figures)
            yield mine, everybody

    def _today(self) -> str:
        return self._clock().astimezone(UTC).date().isoformat()


def _tokens(figures: _Figures) -> int:
    return figures["prompt_tokens"] + figures["completion_tokens"]


def _write(connection: Connection, key: _Key, figures: _Figures) -> None:
    c = table.c
    row = and_(c.user == key[0], c.day == key[1], c.view == key[2], c.task == key[3])
    more = {name: c[name] + figures[name] for name in _FIGURES}
    if not connection.execute(update(table).where(row).values(**more)).rowcount:
        values = {name: figures[name] for name in _FIGURES}
        connection.execute(table.insert().values(user=key[0], day=key[1], view=key[2], task=key[3], **values))
