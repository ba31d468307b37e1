"""Bring views up to date with the log, batch by batch.

A view's output and its cursor are committed in one transaction. If another process moved the cursor or
something was forgotten meanwhile, the prepared batch is dropped and reading goes on from the new cursor.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, update

from zibaldone import log
from zibaldone.core import Message
from zibaldone.core.telemetry import Ordinary, operation, traced
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
from zibaldone.errors import ModelFailed, StorageError, ZibaldoneError
from zibaldone.models.meter import Usage
from zibaldone.storage.database import Database
from zibaldone.storage.schema import view_states
from zibaldone.text.bounds import as_read, is_long
from zibaldone.text.purgeable_cache import sweeping
from zibaldone.views.base import Counted, Generation, PrepareContext, RestingView, Stale, View

Check = Callable[[], None]  # called before each batch and before its commit; raises to stop there
# Called after each committed batch with the number of its messages, and of those that were cut short.
OnStep = Callable[[int, int], None]
UNREAD = "unread"  # kind of a count: housekeeping left something for a later call
_logger = logging.getLogger(__name__)


def commit_new(connection: Connection, user: str, view: View, seqs: Sequence[int], prepared: Any) -> bool:
    """Commit what was prepared of freshly appended messages in the transaction that appended them.

    Returns False without writing if the view lags behind or another fingerprint serves: call `advance` then.
    """
    generation = serving(connection, user, view)
    if prepared is not None and generation is None and seqs[0] == 1:
        generation = start(connection, user, view, serving=True)
    if prepared is None or generation is None or generation.fingerprint != view.fingerprint:
        return False
    if generation.cursor != seqs[0] - 1:
        return False
    view.commit(connection, generation, seqs, prepared)
    move_cursor(connection, view, generation, seqs[-1])
    return True


def advance(database: Database, user: str, view: View) -> bool:
    """Bring the view to the end of the log; False if a model failed on the way.

    Committed batches stay, and the next call continues after them.
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
    on_step: OnStep = lambda *_: None,
    check: Check = lambda: None,
) -> None:
    """Bring the view to the end of the log; with other settings than the serving build's, rebuild it first.

    Finishes an interrupted rebuild, or drops it if it has other settings. Raises ModelFailed, also if a build
    with other models was chosen over this view's and lags.
    """
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
            return
        if unfinished is not None and _rebuilding[_rebuild_key(database, user, view)] > 0:
            unfinished = None  # another thread of this process is building it
        if stale or (unfinished is not None and unfinished.fingerprint == view.fingerprint):
            rebuild(database, user, view, patient=patient, on_step=on_step, check=check)
        elif unfinished is not None:
            with database.write(user) as connection:
                drop(connection, view, unfinished)
        elif lags:
            on_step(*_step(database, user, view, current, patient=patient, check=check))
        else:
            return


def rebuild(
    database: Database,
    user: str,
    view: View,
    *,
    patient: bool = False,
    on_step: OnStep = lambda *_: None,
    check: Check = lambda: None,
) -> None:
    """Rebuild the view from the log; the old generation serves until the new one is complete.

    Continues an interrupted rebuild of the same fingerprint. Raises ModelFailed.
    """
    key = _rebuild_key(database, user, view)

    def begin(connection: Connection) -> Generation | None:
        if not log.state(connection, user).last_seq:
            return None  # the user has no messages
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
            return
        while not _switch(database, view, unfinished):
            with database.read(user) as connection:
                latest = building(connection, user, view)
            if latest is None or not is_same_build(latest, unfinished):
                return  # another process finished or replaced this build
            on_step(*_step(database, user, view, latest, patient=patient, check=check, at_once=True))
    finally:
        _rebuilding.subtract([key])


def grow(
    database: Database,
    view: View,
    generation: Generation,
    *,
    on_step: OnStep = lambda *_: None,
) -> None:
    """Bring a build beside the serving one to the end of the log, unless it is dropped or chosen meanwhile.

    A model that fails is not replaced by offline answers: raises ModelFailed, and the next call continues
    after the last committed batch.
    """
    user = generation.user
    while True:
        with database.read(user) as connection:
            latest = standing(connection, user, view, "beside")
            last_seq = log.state(connection, user).last_seq
        if latest is None or not is_same_build(latest, generation) or latest.cursor >= last_seq:
            return
        on_step(*_step(database, user, view, latest, patient=True, check=lambda: None, at_once=True))


_rebuilding: Counter[tuple[int, str, str, str]] = Counter()  # keyed by process id: forked children start at 0


def _rebuild_key(database: Database, user: str, view: View) -> tuple[int, str, str, str]:
    return os.getpid(), database.name, user, view.name


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
) -> tuple[int, int]:
    """Prepare and commit the batch after the cursor, unless another process did.

    Returns the number of its messages, and of those that were read only at their beginning.
    """
    check()
    cursor = generation.cursor if generation else 0
    with database.read(user) as connection:
        batch = log.read(connection, user, after=cursor, limit=view.batch_messages)
        before = log.state(connection, user)
        end = batch[-1].seq if batch else before.last_seq
    batch = [message for message in batch if not message.is_noise]  # in no view, only in the log
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
        return 0, 0  # housekeeping changed the view's storage meanwhile
    return committed, cut_short if committed else 0


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
    """Commit a batch and the cursor; returns the number of messages, 0 if another process was faster."""
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
            view.commit(connection, reading, [message.seq for message in batch], prepared)
        move_cursor(connection, view, reading, end)
        log.touch(connection, user)
        return len(batch)

    return database.transact(commit, user)


def _switch(database: Database, view: View, building: Generation) -> bool:
    """Let the new generation serve and drop the old one; False if it has not read the whole log yet."""

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
    """Result of a maintenance."""

    users: int
    messages: int  # read by at least one view
    tended: tuple[tuple[str, tuple[Counted, ...]], ...]  # housekeeping of each view
    behind: tuple[Behind, ...]
    model_calls: int = 0
    degraded: int = 0  # answers given offline because a model failed or a ceiling was reached
    prompt_tokens: int = 0
    completion_tokens: int = 0
    forgotten: tuple[Receipt, ...] = ()  # by retention
    cut_short: int = 0  # messages read only at their beginning (text/bounds), summed over the views


def with_usage(report: Maintained, before: Usage, after: Usage) -> Maintained:
    """Return the report with the use of models between two readings of the meter."""
    return replace(
        report,
        model_calls=after.calls - before.calls,
        degraded=after.degraded - before.degraded,
        prompt_tokens=after.prompt_tokens - before.prompt_tokens,
        completion_tokens=after.completion_tokens - before.completion_tokens,
    )


class OwnModelFailed(ModelFailed):
    """A model that only this user's build needs is missing or fails; other users are not affected."""


class Stopped(Ordinary):
    """A maintenance was told to stop between two batches."""


@traced(lambda done: {"zibaldone.messages": done.messages, "zibaldone.behind": len(done.behind)})
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
) -> Maintained:
    """Bring the views of these users to the end of the log, and do their housekeeping.

    Users are maintained in `workers` threads. With `patient`, a view whose model fails is left behind to be
    tried again; without, offline answers replace the model. A view whose model or storage fails does not hold
    up the others. When interrupted, batches under way are not committed. `built_as` returns the view with the
    models of the user's serving generation.
    """
    read = cut_short = 0
    counting = threading.Lock()
    interrupted = threading.Event()

    def step(read_by: Counter[str], view: str, messages: int, cut: int) -> None:
        nonlocal cut_short
        read_by[view] += messages
        with counting:
            cut_short += cut
            on_step(messages)

    def check_each() -> None:
        if interrupted.is_set():
            raise Stopped
        check()

    def maintain_user(work: tuple[str, Sequence[View]]) -> tuple[list[tuple[str, Counted]], list[Behind]]:
        nonlocal read
        user, waiting = work
        read_by: Counter[str] = Counter()
        done: list[tuple[str, Counted]] = []
        behind: list[Behind] = []

        for view in (built_as(user, view) for view in waiting):
            try:
                with (
                    operation("maintain.view", {"zibaldone.view": view.name}),
                    damage_is_named(database, user, [view]),
                ):
                    on_read = partial(step, read_by, view.name)
                    catch_up(database, user, view, patient=patient, on_step=on_read, check=check_each)
                    check_each()
                    done.extend((view.name, counted) for counted in _housekeep(database, user, view, patient))
            except (ModelFailed, StorageError) as error:
                _logger.warning("view %s lags behind for user %r: %s", view.name, user, error)
                behind.append(Behind(user, view.name, str(error), error))
        with counting:  # all views read up to the end, so the one furthest behind read what others did
            read += max(read_by.values(), default=0)
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


# By view and user: the version after the last housekeeping; none is needed before it rises.
_settled: WeakKeyDictionary[View, dict[str, int]] = WeakKeyDictionary()


def _work(
    database: Database, views: Sequence[View], users: Sequence[str]
) -> list[tuple[str, Sequence[View]]]:
    """Find the users with pending messages or housekeeping, and their views, in one read transaction."""
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
    """True if the view has no housekeeping."""
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
