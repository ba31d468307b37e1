"""Drives the views forward: cursors, generations, transactions.

A view's output and its cursor are committed together. Whoever finds the cursor moved by somebody else, or
something forgotten meanwhile, throws its own work away and goes on from there.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, update

from zibaldone import log
from zibaldone.core import Message
from zibaldone.core.threads import side_by_side
from zibaldone.engine.forgetting import Receipt
from zibaldone.engine.generations import (
    building,
    cursor_of,
    drop,
    is_outdated,
    is_same_build,
    move_cursor,
    row_of,
    serving,
    standing,
    start,
    users_behind,
    users_beyond,
)
from zibaldone.engine.inspection import damage_is_named
from zibaldone.engine.leases import LeaseLost
from zibaldone.errors import ModelFailed, StorageError, ZibaldoneError
from zibaldone.models.meter import Usage
from zibaldone.storage.database import Database
from zibaldone.storage.schema import view_states
from zibaldone.text.bounds import as_read, is_long
from zibaldone.text.purgeable_cache import sweeping
from zibaldone.views.base import Counted, Generation, PrepareContext, RestingView, Stale, View

Check = Callable[[], None]  # called before each step and before its commit; raises to stop there
# Waits until nobody else maintains the user, calling a check meanwhile; gives what checks that this is so.
Hold = Callable[[str, Check], AbstractContextManager[Check]]
UNREAD = "unread"  # counted by a view that has left something for a better moment
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


def advance(
    database: Database, user: str, view: View, on_step: Callable[[int], None] = lambda _: None
) -> bool:
    """Bring the view to the end of the log, as far as the models let it.

    False when a model failed on the way: what was committed stays, and a later call goes on from there.
    """
    try:
        catch_up(database, user, view, on_step=on_step)
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
    check: Check = lambda: None,
) -> int:
    """Bring the view to the end of the log; a new fingerprint is built beside the old one first.

    Gives how many messages it read the beginning of alone, see text/bounds. What a killed rebuild has left is
    finished, or dropped where the settings are others by now. `on_step` gets the number of messages that were
    committed. Raises ModelFailed, also where another build was chosen
    over this view's: then only who has that one's models can go on.
    """
    cut_short = 0
    while True:
        with database.read(user) as connection:
            current = serving(connection, user, view)
            unfinished = building(connection, user, view)
            stale = current is not None and is_outdated(current, view)
            lags = (current.cursor if current else 0) < log.state(connection, user).last_seq
        if current is not None and not stale and current.fingerprint != view.fingerprint:
            if unfinished is not None:  # begun before the choice
                with database.write(user) as connection:
                    drop(connection, view, unfinished)
            if lags:
                raise OwnModelFailed(
                    f"the {view.name} view of user {user!r} is served by a build ({current.fingerprint}) that"
                    " was chosen over the one of these settings: open the memory with the models of that one,"
                    f" or rollback({view.name!r}, user={user!r})",
                    requests=0,
                )
            return cut_short
        if unfinished is not None and _is_rebuilding(database, user, view):
            unfinished = None  # a thread of this process is at it
        if stale or (unfinished is not None and unfinished.fingerprint == view.fingerprint):
            cut_short += rebuild(database, user, view, patient=patient, on_step=on_step, check=check)
        elif unfinished is not None:
            with database.write(user) as connection:
                drop(connection, view, unfinished)
        elif lags:
            read = _step(database, user, view, current, patient=patient, check=check)
            cut_short += read.cut_short
            on_step(read.messages)
        else:
            return cut_short


def rebuild(
    database: Database,
    user: str,
    view: View,
    *,
    patient: bool = False,
    on_step: Callable[[int], None] = lambda _: None,
    check: Check = lambda: None,
) -> int:
    """Make the view anew from the log; the old generation serves until the new one is complete.

    An interrupted rebuild of the same fingerprint goes on where it stopped. Gives the same as `catch_up`.
    Raises ModelFailed.
    """
    key = _rebuild_key(database, user, view)
    cut_short = 0

    def begin(connection: Connection) -> Generation | None:
        if not log.state(connection, user).last_seq:
            return None  # nobody of this name ever said anything
        unfinished = building(connection, user, view)
        if unfinished is not None and unfinished.fingerprint != view.fingerprint:
            drop(connection, view, unfinished)
            unfinished = None
        if unfinished is None:
            unfinished = start(connection, user, view, serving=False)
            view.drop(connection, unfinished)  # rows of no generation: its state was lost
            log.touch(connection, user)  # should this process die, a worker goes on
        return unfinished

    _rebuilding.update([key])
    try:
        unfinished = database.transact(begin, user)
        if unfinished is None:
            return cut_short
        while not _switch(database, view, unfinished):
            with database.read(user) as connection:
                latest = building(connection, user, view)
            if latest is None or not is_same_build(latest, unfinished):
                return cut_short  # another process finished or replaced this build
            read = _step(database, user, view, latest, patient=patient, check=check, at_once=True)
            cut_short += read.cut_short
            on_step(read.messages)
        return cut_short
    finally:
        _rebuilding.subtract([key])


def grow(
    database: Database,
    view: View,
    generation: Generation,
    *,
    on_step: Callable[[int], None] = lambda _: None,
    check: Check = lambda: None,
    at_once: bool = False,
) -> bool:
    """Bring a generation that stands beside the serving one to the end of the log; whether it is still there.

    In the steps of any maintenance: what a killed one has committed is not read again. A model that cannot be
    had is not replaced by offline answers: raises ModelFailed, and the next call goes on from there.
    """
    user = generation.user
    key = _rebuild_key(database, user, view, " beside")
    _rebuilding.update([key])
    try:
        while True:
            with database.read(user) as connection:
                latest = standing(connection, user, view, "beside")
                last_seq = log.state(connection, user).last_seq
            if latest is None or not is_same_build(latest, generation):
                return False  # dropped, or chosen, meanwhile
            if latest.cursor >= last_seq:
                return True
            on_step(_step(database, user, view, latest, patient=True, check=check, at_once=at_once).messages)
    finally:
        _rebuilding.subtract([key])


def is_growing(database: Database, user: str, view: View) -> bool:
    """True if a thread of this process is at it."""
    return _rebuilding[_rebuild_key(database, user, view, " beside")] > 0


_rebuilding: Counter[tuple[int, str, str, str]] = Counter()  # by process: a forked child rebuilds nothing


def _rebuild_key(database: Database, user: str, view: View, beside: str = "") -> tuple[int, str, str, str]:
    return os.getpid(), database.name, user, view.name + beside


def _is_rebuilding(database: Database, user: str, view: View) -> bool:
    return _rebuilding[_rebuild_key(database, user, view)] > 0


@dataclass(frozen=True, slots=True)
class _Read:
    """What one step has committed."""

    messages: int = 0
    cut_short: int = 0  # of these, those of which the beginning alone was read


@sweeping()
def _step(
    database: Database,
    user: str,
    view: View,
    generation: Generation | None,
    *,
    patient: bool,
    check: Check,
    at_once: bool = False,
) -> _Read:
    """Read one batch behind the cursor and commit it, unless somebody else did."""
    check()
    cursor = generation.cursor if generation else 0
    limit = min(BATCH_MESSAGES, view.batch_messages)
    with database.read(user) as connection:
        batch = log.read(connection, user, after=cursor, limit=limit)
        before = log.state(connection, user)
        end = batch[-1].seq if batch else before.last_seq
    batch = [message for message in batch if not message.is_noise]  # nobody said it: it is in the log alone
    cut_short = 0
    if not view.reads_whole:
        cut_short = sum(map(is_long, batch))
        batch = [as_read(message) for message in batch]
    basis = PrepareContext(user, generation, partial(database.read, user), patient, at_once)
    prepared = view.prepare(batch, basis) if batch else None
    check()
    try:
        committed = _commit(database, user, view, generation, batch, prepared, before.deletions, end)
    except Stale:
        return _Read()  # somebody put the view's storage in order meanwhile
    return _Read(committed, cut_short if committed else 0)


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

    def commit(connection: Connection) -> int:
        reading = generation
        if reading is None:
            if serving(connection, user, view) is not None:
                return 0
            reading = start(connection, user, view, serving=True)
            view.drop(connection, reading)  # rows of no generation: its state was lost
        elif cursor_of(connection, view, reading) != cursor:
            return 0
        if log.state(connection, user).deletions != deletions:
            return 0  # something was forgotten meanwhile: its text must not come back
        if batch:
            view.commit(connection, reading, batch, prepared)
        move_cursor(connection, view, reading, end)
        log.touch(connection, user)
        return len(batch)

    return database.transact(commit, user)


def _switch(database: Database, view: View, building: Generation) -> bool:
    """Let the new generation serve, if it has read the whole log; drops the old one."""

    def switch(connection: Connection) -> bool:
        cursor = cursor_of(connection, view, building)
        if cursor is None:
            return True
        if cursor < log.state(connection, building.user).last_seq:
            return False
        current = serving(connection, building.user, view)
        if current is not None and current.number == building.number:
            return True
        chosen_over = None
        if current is not None:
            drop(connection, view, current)
            if current.fingerprint == building.fingerprint:
                chosen_over = current.chosen_over  # it was mended: the choice stands
        switched = update(view_states).where(row_of(view, building))
        connection.execute(switched.values(serving=1, chosen_over=chosen_over))
        log.touch(connection, building.user, deleted=True)
        return True

    return database.transact(switch, building.user)


@dataclass(frozen=True, slots=True)
class Behind:
    """A view that could not be brought to the end of the log."""

    user: str
    view: str
    reason: str
    error: ZibaldoneError | None = field(default=None, compare=False, repr=False)


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
    forgotten: tuple[Receipt, ...] = ()  # what went by itself: see User.retain
    cut_short: int = (
        0  # messages of which a view read the beginning alone, each view's counted: see text/bounds
    )


def with_usage(report: Maintained, before: Usage, after: Usage) -> Maintained:
    """The report with what models were used for meanwhile."""
    return replace(
        report,
        model_calls=after.calls - before.calls,
        degraded=after.degraded - before.degraded,
        prompt_tokens=after.prompt_tokens - before.prompt_tokens,
        completion_tokens=after.completion_tokens - before.completion_tokens,
    )


class OwnModelFailed(ModelFailed):
    """A model that only builds of this user are made by is not here, or fails: nobody else need wait."""


class Stopped(Exception):
    """A maintenance was told to stop, between two steps."""


def maintain(
    database: Database,
    views: Sequence[View],
    users: Sequence[str],
    *,
    workers: int = 1,
    patient: bool = False,
    on_step: Callable[[int], None] = lambda _: None,
    check: Check = lambda: None,
    built_as: Callable[[str, View], View] = lambda _, view: view,
    hold: Hold | None = None,
) -> Maintained:
    """Bring the views of these users to the end of the log and put their storage in order.

    Users go side by side, in `workers` threads. With `patient` a model that cannot be had now leaves the view
    behind, to be tried again; without, offline answers stand in for it. A view whose model or storage fails
    is left behind and does not hold up the others. When it is interrupted, steps under way commit nothing.
    `built_as` gives the view with the models that a user's serving generation was made by; `hold` keeps
    others from the same work, as long as it runs.
    """
    read = cut_short = 0
    counting = threading.Lock()
    interrupted = threading.Event()

    def step(messages: int) -> None:
        nonlocal read
        with counting:
            read += messages
            on_step(messages)

    def check_both() -> None:
        if interrupted.is_set():
            raise Stopped
        check()

    def maintain_user(work: tuple[str, Sequence[View]]) -> tuple[list[tuple[str, Counted]], list[Behind]]:
        user, waiting = work
        while hold is not None:
            try:
                with hold(user, check_both) as check_held:
                    return maintain_held(user, waiting, check_held)
            except LeaseLost as error:
                _logger.warning("%s: it is waited for again", error)
        return maintain_held(user, waiting, lambda: None)

    def maintain_held(
        user: str, waiting: Sequence[View], check_held: Check
    ) -> tuple[list[tuple[str, Counted]], list[Behind]]:
        nonlocal cut_short
        done: list[tuple[str, Counted]] = []
        behind: list[Behind] = []

        def check_each() -> None:
            check_both()
            check_held()

        for view in (built_as(user, view) for view in waiting):
            try:
                with damage_is_named(database, user, [view]):
                    some = catch_up(database, user, view, patient=patient, on_step=step, check=check_each)
                    with counting:
                        cut_short += some
                    check_each()
                    done.extend((view.name, counted) for counted in _housekeep(database, user, view, patient))
            except (ModelFailed, StorageError) as error:
                _logger.warning("view %s lags behind for user %r: %s", view.name, user, error)
                behind.append(Behind(user, view.name, str(error), error))
        return done, behind

    try:
        outcomes = side_by_side(maintain_user, _work(database, views, users), workers, "maintain")
    except BaseException:
        interrupted.set()
        raise
    by_view: dict[str, Counter[str]] = {}
    for done, _ in outcomes:
        for name, counted in done:
            by_view.setdefault(name, Counter())[counted.kind] += counted.rows
    behind = tuple(lagging for _, views_behind in outcomes for lagging in views_behind)
    tended = tuple((name, tuple(Counted(*pair) for pair in kinds.items())) for name, kinds in by_view.items())
    return Maintained(len(users), read, tended, behind, cut_short=cut_short)


# By view and user: the version at which the view was put in order. Nobody need look again before it rises.
_settled: WeakKeyDictionary[View, dict[str, int]] = WeakKeyDictionary()


def _work(
    database: Database, views: Sequence[View], users: Sequence[str]
) -> list[tuple[str, Sequence[View]]]:
    """Whose views have something to read or to put in order: found in one look, not user by user."""
    only = users[0] if len(users) == 1 else None
    with database.read(only) as connection:
        versions = log.versions(connection, only)
        behind = {view.name: users_behind(connection, view, only) for view in views}
        tended = {
            view.name: users_beyond(connection, view, view.tended_from, only)
            for view in views
            if not _rests(view)
        }
        due = {view.name: view.due(connection, only) for view in views if not _rests(view)}
        work = [
            (
                user,
                [
                    view
                    for view in views
                    if user in behind[view.name]
                    or (
                        user in tended.get(view.name, ())
                        and (_settled.get(view, {}).get(user) != versions.get(user) or user in due[view.name])
                    )
                ],
            )
            for user in users
        ]
    return [(user, waiting) for user, waiting in work if waiting]


def _rests(view: View) -> bool:
    """True if its storage is never to be put in order: then nobody whom it has read need be looked at."""
    return getattr(type(view), "housekeep", None) is RestingView.housekeep


@sweeping()
def _housekeep(database: Database, user: str, view: View, patient: bool) -> tuple[Counted, ...]:  # noqa: FBT001
    if _rests(view):
        return ()
    with database.read(user) as connection:
        version = log.state(connection, user).version
        generation = serving(connection, user, view)
    done = () if generation is None else view.housekeep(database, generation, patient=patient)
    with database.read(user) as connection:
        left = any(counted.kind == UNREAD for counted in done)
        if not left and log.state(connection, user).version == version:
            _settled.setdefault(view, {})[user] = version
    return done
