"""Drives the views forward: cursors, generations, transactions.

A view's output and its cursor are committed together. Whoever finds the cursor moved by somebody else, or
something forgotten meanwhile, throws its own work away and goes on from there.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, update

from zibaldone import log
from zibaldone.core import Message
from zibaldone.errors import ModelFailed
from zibaldone.generations import building, cursor_of, drop, move_cursor, row_of, serving, start
from zibaldone.inspection import damage_is_named
from zibaldone.models.meter import Usage
from zibaldone.storage.database import Database
from zibaldone.storage.schema import view_states
from zibaldone.views.base import Counted, Generation, PrepareContext, Stale, View

BATCH_MESSAGES = 512  # read, prepared and committed at a time: bounds memory and the time of a write lock
_logger = logging.getLogger(__name__)


def commit_new(
    connection: Connection, user: str, view: View, messages: Sequence[Message], prepared: Any
) -> bool:
    """Commit freshly appended messages in the transaction that appended them.

    False, and nothing is written, when the view lags behind or serves another fingerprint: `advance` will do.
    """
    generation = serving(connection, user, view)
    if prepared is not None and generation is None and messages[0].seq == 1:
        generation = start(connection, user, view, serving=True)
    if prepared is None or generation is None or generation.fingerprint != view.fingerprint:
        return False
    if generation.cursor != messages[0].seq - 1:
        return False
    view.commit(connection, generation, messages, prepared)
    move_cursor(connection, view, generation, messages[-1].seq)
    return True


def commit_first(
    connection: Connection, user: str, view: View, messages: Sequence[Message], prepared: Any
) -> None:
    """Begin the view's first generation with what was prepared of the log's first messages."""
    generation = start(connection, user, view, serving=True)
    view.commit(connection, generation, messages, prepared)
    move_cursor(connection, view, generation, messages[-1].seq)


def advance(database: Database, user: str, view: View) -> bool:
    """Bring the view to the end of the log, as far as the models let it.

    False when a model failed on the way: what was committed stays, and a later call goes on from there.
    """
    try:
        catch_up(database, user, view)
    except ModelFailed as error:
        _logger.warning("view %s lags behind for user %r: %s", view.name, user, error)
        return False
    return True


def catch_up(
    database: Database,
    user: str,
    view: View,
    *,
    patient: bool = False,
    on_step: Callable[[int], None] = lambda _: None,
) -> None:
    """Bring the view to the end of the log; a new fingerprint is built beside the old one first.

    `on_step` gets the number of messages that were committed, and may raise to stop between two steps.
    Raises ModelFailed.
    """
    while True:
        with database.read() as connection:
            current = serving(connection, user, view)
            stale = current is not None and current.fingerprint != view.fingerprint
            lags = (current.cursor if current else 0) < log.state(connection, user).last_seq
        if stale:
            rebuild(database, user, view, patient=patient)
        elif lags:
            on_step(_step(database, user, view, current, patient=patient))
        else:
            return


def rebuild(database: Database, user: str, view: View, *, patient: bool = False) -> None:
    """Make the view anew from the log; the old generation serves until the new one is complete.

    An interrupted rebuild of the same fingerprint goes on where it stopped. Raises ModelFailed.
    """
    with database.write() as connection:
        if not log.state(connection, user).last_seq:
            return  # nobody of this name ever said anything
        unfinished = building(connection, user, view)
        if unfinished is not None and unfinished.fingerprint != view.fingerprint:
            drop(connection, view, unfinished)
            unfinished = None
        if unfinished is None:
            unfinished = start(connection, user, view, serving=False)
    while not _switch(database, view, unfinished):
        with database.read() as connection:
            latest = building(connection, user, view)
        if latest is None or (latest.number, latest.fingerprint) != (
            unfinished.number,
            unfinished.fingerprint,
        ):
            return  # another process finished or replaced this build
        _step(database, user, view, latest, patient=patient)


def _step(database: Database, user: str, view: View, generation: Generation | None, *, patient: bool) -> int:
    """Read one batch behind the cursor and commit it, unless somebody else did; how many were committed."""
    cursor = generation.cursor if generation else 0
    limit = min(BATCH_MESSAGES, view.batch_messages)
    with database.read() as connection:
        batch = log.read(connection, user, after=cursor, limit=limit)
        before = log.state(connection, user)
        end = batch[-1].seq if batch else before.last_seq
    prepared = (
        view.prepare(batch, PrepareContext(user, generation, database.read, patient)) if batch else None
    )
    try:
        return _commit(database, user, view, generation, batch, prepared, before.deletions, end)
    except Stale:
        return 0  # somebody put the view's storage in order meanwhile


def _commit(
    database: Database,
    user: str,
    view: View,
    generation: Generation | None,
    batch: Sequence[Message],
    prepared: Any,
    deletions: int,
    end: int,
) -> int:
    """One batch and the cursor, unless somebody else was faster; how many messages were committed."""
    cursor = generation.cursor if generation else 0
    with database.write() as connection:
        if generation is None:
            if serving(connection, user, view) is not None:
                return 0
            generation = start(connection, user, view, serving=True)
        elif cursor_of(connection, view, generation) != cursor:
            return 0
        if log.state(connection, user).deletions != deletions:
            return 0  # something was forgotten meanwhile: its text must not come back
        if batch:
            view.commit(connection, generation, batch, prepared)
        move_cursor(connection, view, generation, end)
        log.touch(connection, user)
    return len(batch)


def _switch(database: Database, view: View, building: Generation) -> bool:
    """Let the new generation serve, if it has read the whole log; drops the old one."""
    with database.write() as connection:
        cursor = cursor_of(connection, view, building)
        if cursor is None:
            return True
        if cursor < log.state(connection, building.user).last_seq:
            return False
        current = serving(connection, building.user, view)
        if current is not None and current.number == building.number:
            return True
        if current is not None:
            drop(connection, view, current)
        connection.execute(update(view_states).where(row_of(view, building)).values(serving=1))
        log.touch(connection, building.user, deleted=True)
        return True


@dataclass(frozen=True, slots=True)
class Behind:
    """A view that could not be brought to the end of the log."""

    user: str
    view: str
    reason: str


@dataclass(frozen=True, slots=True)
class Maintained:
    """What a maintenance did."""

    users: int
    messages: int  # read by views, each view's counted
    tended: tuple[tuple[str, tuple[Counted, ...]], ...]  # by view, what was done to what it keeps
    behind: tuple[Behind, ...]
    model_calls: int = 0
    degraded: int = 0  # answers that were given offline because a model failed or a ceiling was reached
    prompt_tokens: int = 0
    completion_tokens: int = 0


def with_usage(report: Maintained, before: Usage, after: Usage) -> Maintained:
    """The report with what models were used for meanwhile."""
    return replace(
        report,
        model_calls=after.calls - before.calls,
        degraded=after.degraded - before.degraded,
        prompt_tokens=after.prompt_tokens - before.prompt_tokens,
        completion_tokens=after.completion_tokens - before.completion_tokens,
    )


def maintain(
    database: Database,
    views: Sequence[View],
    users: Sequence[str],
    *,
    workers: int = 1,
    patient: bool = False,
    on_step: Callable[[int], None] = lambda _: None,
) -> Maintained:
    """Bring the views of these users to the end of the log and put their storage in order.

    Users go side by side, in `workers` threads. With `patient` a model that cannot be had now leaves the view
    behind, to be tried again; without, offline answers stand in for it. Whoever fails does not hold up the
    others.
    """
    read = 0
    counting = threading.Lock()

    def step(messages: int) -> None:
        nonlocal read
        with counting:
            read += messages
            on_step(messages)

    def maintain_user(user: str) -> tuple[list[tuple[str, Counted]], list[Behind]]:
        tended: list[tuple[str, Counted]] = []
        behind: list[Behind] = []
        for view in views:
            try:
                with damage_is_named(database, user, [view]):
                    catch_up(database, user, view, patient=patient, on_step=step)
                    with database.read() as connection:
                        generation = serving(connection, user, view)
                    if generation is not None:
                        done = view.housekeep(database, generation, patient=patient)
                        tended.extend((view.name, counted) for counted in done)
            except ModelFailed as error:
                behind.append(Behind(user, view.name, str(error)))
        return tended, behind

    with ThreadPoolExecutor(max(1, workers), thread_name_prefix="zibaldone-maintain") as pool:
        done = list(pool.map(maintain_user, users))
    by_view: dict[str, Counter[str]] = {}
    for tended, _ in done:
        for name, counted in tended:
            by_view.setdefault(name, Counter())[counted.kind] += counted.rows
    behind = tuple(lagging for _, views_behind in done for lagging in views_behind)
    kept = tuple((name, tuple(Counted(*pair) for pair in kinds.items())) for name, kinds in by_view.items())
    return Maintained(len(users), read, kept, behind)
