"""The two builds of a view: one serves; the other grows beside it, or is kept since it served.

    begin, grow      the second build, in the steps of a maintenance; the first serves, adds reach the log
    switch           when it has read the whole log: it serves, and the first is kept
    rollback         the two change places, whether or not the other one's models are at hand
    discard          the second build goes

Each is a transaction or a row of resumable ones: what a crash interrupts is done again, and never twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.engine import generations
from zibaldone.engine.maintenance import grow
from zibaldone.errors import InvalidInput
from zibaldone.storage.database import Database
from zibaldone.views.base import ComparedView, Generation, View, ViewStore


@dataclass(frozen=True, slots=True)
class Build:
    """One generation of a view, as its owner looks at it."""

    number: int
    fingerprint: str  # all that it depends on besides the log and the chat model: settings and embedder
    chat: str  # the name of the chat model that a rebuild was given; "" where none was, or not by a rebuild
    read_to: int  # the seq up to which it has read
    unread: int  # messages behind that


@dataclass(frozen=True, slots=True)
class BuildStatus:
    """What there is of a view of one user."""

    user: str
    view: str
    serving: Build | None  # None: the view has read nothing yet
    other: Build | None
    # Where the other one stands: "beside" until it is chosen, "kept" when it served before, "" where none is.
    standing: Literal["", "beside", "kept"] = ""


def builds(database: Database, user: str, view: ViewStore) -> BuildStatus:
    """What serves, and what stands beside it."""
    with database.read(user) as connection:
        other, standing = other_of(connection, user, view)
        return BuildStatus(
            user,
            view.name,
            _build(connection, generations.serving(connection, user, view)),
            _build(connection, other),
            standing,
        )


def other_of(
    connection: Connection, user: str, view: ViewStore
) -> tuple[Generation | None, Literal["", "beside", "kept"]]:
    """The generation that stands beside the serving one, and how."""
    if (beside := generations.standing(connection, user, view, "beside")) is not None:
        return beside, "beside"
    if (kept := generations.standing(connection, user, view, "kept")) is not None:
        return kept, "kept"
    return None, ""


def _build(connection: Connection, generation: Generation | None) -> Build | None:
    if generation is None:
        return None
    unread = log.count(connection, generation.user, after=generation.cursor)
    return Build(generation.number, generation.fingerprint, generation.chat, generation.cursor, unread)


def compared(view: View) -> ComparedView:
    """The view, if it can stand beside itself. Raises InvalidInput for the kv view."""
    if not isinstance(view, ComparedView):
        raise InvalidInput(
            f"two builds of the view {view.name!r} cannot stand side by side: it is a local model's keys and"
            f" values, nothing to compare; rebuild({view.name!r}, user=...) makes it anew"
        )
    return view


def begin(database: Database, user: str, view: View, chat: str) -> Generation | None:
    """The generation that grows beside the serving one; None for a user who never said anything.

    One that was begun with the same settings and chat model goes on; any other, and one that was kept, goes.
    """

    def begun(connection: Connection) -> Generation | None:
        if not log.state(connection, user).last_seq:
            return None
        kept = generations.standing(connection, user, view, "kept")
        beside = generations.standing(connection, user, view, "beside")
        if beside is not None and (beside.fingerprint, beside.chat) != (view.fingerprint, chat):
            generations.drop(connection, view, beside)
            beside = None
        if kept is not None:
            generations.drop(connection, view, kept)
        if beside is None:
            beside = generations.start(connection, user, view, serving=False, beside=True, chat=chat)
            view.drop(connection, beside)  # rows of no generation: its state was lost
        return beside

    return database.transact(begun, user)


def switch(
    database: Database, user: str, view: View, *, on_step: Callable[[int], None] = lambda _: None
) -> None:
    """Let what stands beside serve, when it has read what came meanwhile; the one that served is kept.

    Raises InvalidInput where nothing stands beside, and ModelFailed.
    """

    def chosen(connection: Connection) -> bool:
        latest = generations.standing(connection, user, view, "beside")
        if latest is None or beside is None or not generations.is_same_build(latest, beside):
            return False
        if latest.cursor < log.state(connection, user).last_seq:
            return False
        generations.set_serving(connection, view, latest, generations.serving(connection, user, view))
        log.touch(connection, user, deleted=True)
        return True

    while True:
        with database.read(user) as connection:
            beside = generations.standing(connection, user, view, "beside")
            last_seq = log.state(connection, user).last_seq
        if beside is None:
            raise InvalidInput(
                f"nothing stands beside the {view.name} view of user {user!r}:"
                f" rebuild({view.name!r}, user={user!r}, beside=True) makes it"
            )
        if beside.cursor < last_seq:
            grow(database, view, beside, on_step=on_step, at_once=True)
        if database.transact(chosen, user):
            return


def rollback(database: Database, user: str, view: View) -> None:
    """Let the kept build serve again; what served is kept in its place, so that a second rollback undoes it.

    What came since the switch it reads in the next maintenance; until then recall finds that by its words.
    Raises InvalidInput where none is kept.
    """

    def rolled_back(connection: Connection) -> None:
        kept = generations.standing(connection, user, view, "kept")
        if kept is None:
            raise InvalidInput(
                f"no earlier build of the {view.name} view of user {user!r} is kept: switch() keeps one until"
                " the next rebuild"
            )
        generations.set_serving(connection, view, kept, generations.serving(connection, user, view))
        log.touch(connection, user, deleted=True)

    database.transact(rolled_back, user)


def discard(database: Database, user: str, view: View) -> None:
    """Remove the build that does not serve. Raises InvalidInput where there is none."""

    def discarded(connection: Connection) -> None:
        other, _ = other_of(connection, user, view)
        if other is None:
            raise InvalidInput(f"only what serves is there of the {view.name} view of user {user!r}")
        generations.drop(connection, view, other)
        log.touch(connection, user)

    database.transact(discarded, user)
