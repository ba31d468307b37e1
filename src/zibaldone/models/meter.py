"""What models are used for, and how much of it is allowed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime

from sqlalchemy import Connection, and_, func, select, update

from zibaldone.errors import CeilingReached, ClosedMemory, InvalidInput, StorageError
from zibaldone.fork_safety import start_anew_in_children
from zibaldone.storage.database import Database
from zibaldone.storage.schema import model_usage as table

_logger = logging.getLogger(__name__)
_Key = tuple[str, str, str, str]  # user, day, view, task


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Limits on what models may be used for; None: no limit. A day is one of UTC.

    A call that would go over one is not made: an offline answer stands in. Tokens are of prompt and answer.
    """

    tokens_per_call: int | None = 32_000
    calls_per_user_per_day: int | None = None
    tokens_per_user_per_day: int | None = None
    tokens_per_day: int | None = None  # of all users of the folder

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise InvalidInput(f"{one.name} must be a whole number from 0, or None, not {value!r}")


@dataclass(frozen=True, slots=True)
class Usage:
    """What one task of one view was used for, on one day, for one user."""

    user: str
    day: date
    view: str
    task: str
    calls: int  # requests sent, retries and repairs included
    degraded: int  # answers that were given offline instead
    prompt_tokens: int
    completion_tokens: int
    ms: int  # waited for the model


@dataclass(slots=True)
class _Figures:
    calls: int = 0
    degraded: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    ms: int = 0

    def add(self, other: _Figures) -> None:
        for name in _FIGURES:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(eq=False, frozen=True, slots=True)
class Reservation:
    """Room that a call under way holds: what it may cost at most."""

    user: str
    tokens: int


_FIGURES = ("calls", "degraded", "prompt_tokens", "completion_tokens", "ms")


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
        self._new()
        start_anew_in_children(self)

    def _new(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[_Key, _Figures] = {}  # not in the database (yet)
        self._reserved: set[Reservation] = set()  # of calls that are under way

    def start_anew(self) -> None:
        """In a forked child: what the parent has not written yet is the parent's to write."""
        self._new()

    @contextmanager
    def reserve(self, user: str, prompt_tokens: int, max_tokens: int) -> Iterator[Reservation]:
        """Room for one call, held until `record` is given it, or the block ends.

        Raises CeilingReached when the call may go over a ceiling; calls of other threads that are under way
        count as what they may cost at most.
        """
        reserved = Reservation(user, prompt_tokens + max_tokens)
        with self._lock:
            self._check(user, reserved.tokens)
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
        """Count, in place of what was `reserved`. Never call it in a write transaction of the same thread.

        In a read transaction of the same thread, what is counted is written at its end.
        """
        key = (user, self._today(), view, task)
        with self._lock:
            more = _Figures(calls, degraded, prompt_tokens, completion_tokens, ms)
            self._kept.setdefault(key, _Figures()).add(more)
            if reserved is not None:  # under one lock: a call that counts twice would take others' room
                self._reserved.discard(reserved)
        if self._database is not None and not self._database.after_read(self._flush):
            self._flush()

    def _flush(self) -> None:
        """Write what is kept. The database's lock is taken first: nobody waits for that with the meter's."""
        assert self._database is not None  # or nothing is ever to be written
        if not self._kept:
            return
        try:
            with ExitStack() as locked:
                with self._database.write() as connection:
                    locked.enter_context(self._lock)
                    for one, figures in self._kept.items():
                        _write(connection, one, figures)
                self._kept.clear()
        except (
            StorageError,
            ClosedMemory,
        ) as error:  # they go along with the next; a full disk must not stop a recall
            _logger.warning("usage of models is not written yet: %s", error)

    def usage(self, user: str | None = None, since: date | None = None) -> list[Usage]:
        """Per user, day, view and task, in that order; of one user or of all, from a day on."""
        query = select(table)
        if user is not None:
            query = query.where(table.c.user == user)
        total: dict[_Key, _Figures] = {}
        with self._lock:  # what is kept is written under it, and would be missed in between
            if self._database is not None:
                with self._database.read() as connection:
                    for row in connection.execute(query):
                        key = (row.user, row.day, row.view, row.task)
                        total[key] = _Figures(*(getattr(row, name) for name in _FIGURES))
            for key, figures in self._kept.items():
                if user is None or key[0] == user:
                    total.setdefault(key, _Figures()).add(figures)
        return [
            Usage(key[0], date.fromisoformat(key[1]), key[2], key[3], *(getattr(f, n) for n in _FIGURES))
            for key, f in sorted(total.items())
            if since is None or date.fromisoformat(key[1]) >= since
        ]

    def total(self, user: str | None = None) -> Usage:
        """All of one user, or of everybody, under the names "" and as of today."""
        found = self.usage(user)
        sums = (sum(getattr(one, name) for one in found) for name in _FIGURES)
        return Usage(user or "", date.fromisoformat(self._today()), "", "", *sums)

    def _check(self, user: str, tokens: int) -> None:
        limits = self.ceilings
        if limits.tokens_per_call is not None and tokens > limits.tokens_per_call:
            raise CeilingReached(
                f"the call may take {tokens} tokens; tokens_per_call is {limits.tokens_per_call}"
            )
        for name, whose, calls in (
            ("calls_per_user_per_day", user, True),
            ("tokens_per_user_per_day", user, False),
            ("tokens_per_day", None, False),
        ):
            limit = getattr(limits, name)
            if limit is None:
                continue
            spent = self._spent(whose)
            used = spent.calls if calls else spent.prompt_tokens + spent.completion_tokens
            more = 1 if calls else tokens
            if used + more > limit:
                what = "calls" if calls else "tokens"
                raise CeilingReached(f"{used} {what} of today are used or under way; {name} is {limit}")

    def _spent(self, user: str | None) -> _Figures:
        """Of today: what the database has, what waits to be written, what is under way."""
        today = self._today()
        spent = _Figures()
        if self._database is not None:
            query = select(*(func.coalesce(func.sum(table.c[name]), 0) for name in _FIGURES))
            query = query.where(table.c.day == today)
            if user is not None:
                query = query.where(table.c.user == user)
            with self._database.read() as connection:
                spent = _Figures(*connection.execute(query).one())
        for key, figures in self._kept.items():
            if key[1] == today and user in (None, key[0]):
                spent.add(figures)
        for one in self._reserved:
            if user in (None, one.user):
                spent.add(_Figures(calls=1, prompt_tokens=one.tokens))
        return spent

    def _today(self) -> str:
        return self._clock().astimezone(UTC).date().isoformat()


def _write(connection: Connection, key: _Key, figures: _Figures) -> None:
    c = table.c
    row = and_(c.user == key[0], c.day == key[1], c.view == key[2], c.task == key[3])
    more = {name: c[name] + getattr(figures, name) for name in _FIGURES}
    if not connection.execute(update(table).where(row).values(**more)).rowcount:
        values = {name: getattr(figures, name) for name in _FIGURES}
        connection.execute(table.insert().values(user=key[0], day=key[1], view=key[2], task=key[3], **values))
