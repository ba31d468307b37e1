"""The builds of a view: one serves, another grows beside it or is kept since it served; and their diff.

    begin, grow      build the second one in steps of maintenance, while the first serves
    switch           let it serve once it has read the whole log, and keep the first
    rollback         exchange the two, whether or not the other one's models are available
    discard          remove the second build

Each is a transaction or a series of resumable ones: what a crash interrupts is done again, and never twice.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.engine import generations
from zibaldone.engine.maintenance import OnStep, grow
from zibaldone.errors import InvalidInput
from zibaldone.storage.database import Database
from zibaldone.views.base import ComparedView, Content, Generation, Snapshot, TakeSnapshot, View, ViewStore


@dataclass(frozen=True, slots=True)
class Build:
    """One generation of a view."""

    number: int
    fingerprint: str  # of the settings and the embedder
    chat: str  # name of the chat model that a rebuild was given; "" if none
    read_to: int  # last seq that it has read
    unread: int  # messages after that


@dataclass(frozen=True, slots=True)
class BuildStatus:
    """The builds of one user's view."""

    user: str
    view: str
    serving: Build | None  # None: the view has read nothing yet
    other: Build | None
    # State of the other one: "beside" until it is chosen, "kept" if it served before, "" if there is none.
    standing: Literal["", "beside", "kept"] = ""


def builds(database: Database, user: str, view: ViewStore) -> BuildStatus:
    """Read the builds of a user's view."""
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
    """Return the generation that does not serve, and its state."""
    state: generations.Standing
    for state in ("beside", "kept"):
        if (other := generations.standing(connection, user, view, state)) is not None:
            return other, state
    return None, ""


def _build(connection: Connection, generation: Generation | None) -> Build | None:
    if generation is None:
        return None
    unread = log.count(connection, generation.user, after=generation.cursor)
    return Build(generation.number, generation.fingerprint, generation.chat, generation.cursor, unread)


def compared(view: View) -> ComparedView:
    """Check that two builds of a view can be compared. Raises InvalidInput for the kv view."""
    if not isinstance(view, ComparedView):
        raise InvalidInput(
            f"two builds of the view {view.name!r} cannot stand side by side: it is a local model's keys and"
            f" values, nothing to compare; rebuild({view.name!r}, user=...) makes it anew"
        )
    return view


def begin(database: Database, user: str, view: View, chat: str) -> Generation | None:
    """Begin a build beside the serving one, or return the unfinished one; None for a user without messages.

    One of the same settings and chat model is continued; any other, and a kept one, is dropped.
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


def switch(database: Database, user: str, view: View, *, on_step: OnStep = lambda *_: None) -> None:
    """Let the build beside serve, after it has read the rest of the log; keep the one that served.

    Raises InvalidInput if there is none beside, and ModelFailed.
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
            grow(database, view, beside, on_step=on_step)
        if database.transact(chosen, user):
            return


def rollback(database: Database, user: str, view: View) -> None:
    """Exchange the serving build and the kept one; a second rollback undoes it.

    The next maintenance reads the messages that came since the switch; until then recall finds them by their
    words. Raises InvalidInput if none is kept.
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
    """Remove the build that does not serve. Raises InvalidInput if there is none."""

    def discarded(connection: Connection) -> None:
        other, _ = other_of(connection, user, view)
        if other is None:
            raise InvalidInput(f"only what serves is there of the {view.name} view of user {user!r}")
        generations.drop(connection, view, other)
        log.touch(connection, user)

    database.transact(discarded, user)


@dataclass(frozen=True, slots=True)
class ChangedContent:
    """Contents of both builds that begin in the same message, with other words or sources."""

    before: Content
    after: Content


@dataclass(frozen=True, slots=True)
class BuildDiff:
    """Differences of two builds, over the messages that both have read, in the order of their sources."""

    user: str
    view: str
    serving: Build
    other: Build
    same: int  # number of contents with equal words and sources
    added: tuple[Content, ...]  # only in the other one
    gone: tuple[Content, ...]  # only in the serving one
    changed: tuple[ChangedContent, ...]
    other_vectors: bool  # True if the settings or the embedder differ, and so all vectors


def diff(database: Database, user: str, view: ComparedView) -> BuildDiff:
    """Compare the other build with the serving one. Raises InvalidInput unless there are two."""
    with database.read(user) as connection:
        serving = generations.serving(connection, user, view)
        other, _ = other_of(connection, user, view)
    if serving is None or other is None:
        raise InvalidInput(
            f"there are no two builds of the {view.name} view of user {user!r}:"
            f" rebuild({view.name!r}, user={user!r}, beside=True) makes the second"
        )
    read_by_both = min(serving.cursor, other.cursor)
    before, after = (
        [
            content
            for content in view.contents(_opener(database, generation))
            if content.sources[-1] <= read_by_both
        ]
        for generation in (serving, other)
    )
    old, new = Counter(before), Counter(after)
    same = (old & new).total()
    changed = sorted(_pairs(old - new, new - old), key=lambda pair: (pair.before, pair.after))
    gone = old - new - Counter(pair.before for pair in changed)
    added = new - old - Counter(pair.after for pair in changed)
    now = builds(database, user, view)
    if now.serving is None or now.other is None:  # discarded meanwhile
        return diff(database, user, view)
    return BuildDiff(
        user,
        view.name,
        now.serving,
        now.other,
        same,
        tuple(sorted(added.elements())),
        tuple(sorted(gone.elements())),
        tuple(changed),
        serving.fingerprint != other.fingerprint,
    )


def _opener(database: Database, generation: Generation) -> TakeSnapshot:
    @contextmanager
    def take() -> Iterator[Snapshot]:
        with database.read(generation.user) as connection:
            yield Snapshot(connection, generation, log.state(connection, generation.user))

    return take


def _pairs(gone: Counter[Content], added: Counter[Content]) -> Iterator[ChangedContent]:
    """Pair contents of one kind that begin in the same message; each is used once."""
    waiting: dict[tuple[str, int], list[Content]] = defaultdict(list)
    for old in sorted(gone.elements()):
        waiting[old.kind, old.sources[0]].append(old)
    for new in sorted(added.elements()):
        if candidates := waiting[new.kind, new.sources[0]]:
            yield ChangedContent(candidates.pop(0), new)
