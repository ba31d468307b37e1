"""Generations of a view: which one serves a user, how far each has read, and their rows in `view_states`.

At most one other generation exists beside the serving one until a person chooses: "beside" if it has not
served yet, "kept" if it has. Forgetting and checks include both. A generation that replaces the serving one
as soon as it is complete (another fingerprint, a repair) has neither state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from sqlalchemy import Connection, and_, bindparam, delete, func, or_, select, update

from zibaldone import log
from zibaldone.core.deadline import NO_DEADLINE, Deadline
from zibaldone.storage.database import Database
from zibaldone.storage.schema import users, view_states
from zibaldone.views.base import Generation, Snapshot, TakeSnapshot, View, ViewStore

Standing = Literal["beside", "kept"]

# Built once: they are executed in every add, and several times in every recall.
_COLUMNS = [
    view_states.c[name] for name in ("user", "generation", "fingerprint", "cursor", "chosen_over", "chat")
]
_STATE = select(*_COLUMNS).where(
    view_states.c.user == bindparam("of"),
    view_states.c.view == bindparam("name"),
    view_states.c.serving == bindparam("is_serving"),
    view_states.c.standing == bindparam("stands"),
)
_MOVED = (
    update(view_states)
    .where(
        view_states.c.user == bindparam("of"),
        view_states.c.view == bindparam("name"),
        view_states.c.generation == bindparam("number"),
    )
    .values(cursor=bindparam("to"))
)


def serving(connection: Connection, user: str, view: ViewStore) -> Generation | None:
    """Return the generation that recall reads, whatever its fingerprint."""
    return _generation(connection, user, view, serving=True)


def snapshots(
    database: Database, user: str, view: ViewStore, deadline: Deadline = NO_DEADLINE
) -> TakeSnapshot:
    """Return a function that opens a short read transaction on the user's serving generation.

    Raises RecallGivenUp after the deadline.
    """

    @contextmanager
    def take() -> Iterator[Snapshot]:
        deadline.check()
        with database.read(user) as connection:
            yield Snapshot(connection, serving(connection, user, view), log.state(connection, user))

    return take


def building(connection: Connection, user: str, view: ViewStore) -> Generation | None:
    """Return the generation that will serve as soon as it is complete, if any."""
    return _generation(connection, user, view, serving=False)


def standing(connection: Connection, user: str, view: ViewStore, how: Standing) -> Generation | None:
    """Return the generation in this state, if any."""
    return _generation(connection, user, view, serving=False, standing=how)


def _generation(
    connection: Connection, user: str, view: ViewStore, *, serving: bool, standing: str = ""
) -> Generation | None:
    given = {"of": user, "name": view.name, "is_serving": int(serving), "stands": standing}
    row = connection.execute(_STATE, given).first()
    return _of_row(row) if row else None


def _of_row(row: Any) -> Generation:
    return Generation(row.user, row.generation, row.fingerprint, row.cursor, row.chosen_over, row.chat)


def start(
    connection: Connection, user: str, view: View, *, serving: bool, beside: bool = False, chat: str = ""
) -> Generation:
    """Begin a generation under an unused number; with `beside` it waits to be chosen."""
    c = view_states.c
    taken = select(func.max(c.generation)).where(c.user == user, c.view == view.name)
    number = (connection.execute(taken).scalar() or 0) + 1
    connection.execute(
        view_states.insert().values(
            user=user,
            view=view.name,
            generation=number,
            fingerprint=view.fingerprint,
            cursor=0,
            serving=int(serving),
            standing="beside" if beside else "",
            chat=chat,
        )
    )
    return Generation(user, number, view.fingerprint, 0, chat=chat)


def set_serving(connection: Connection, view: View, generation: Generation, over: Generation | None) -> None:
    """Let a generation serve by choice, and keep the one that served (`over`).

    `chosen_over` records the other fingerprint, so that maintenance does not rebuild for it. If only the chat
    model differs, the earlier choice stays recorded.
    """
    chosen_over = None
    if over is not None:
        kept = update(view_states).where(row_of(view, over))
        connection.execute(kept.values(serving=0, standing="kept", chosen_over=None))
        is_other = over.fingerprint != generation.fingerprint
        chosen_over = over.fingerprint if is_other else over.chosen_over
    chosen = update(view_states).where(row_of(view, generation))
    connection.execute(chosen.values(serving=1, standing="", chosen_over=chosen_over))


def drop(connection: Connection, view: View, generation: Generation) -> None:
    """Remove a generation, its rows and its state."""
    view.drop(connection, generation)
    connection.execute(delete(view_states).where(row_of(view, generation)))


def cursor_of(connection: Connection, view: View, generation: Generation) -> int | None:
    """Return the last seq that the generation has read; None if it was dropped."""
    return connection.execute(select(view_states.c.cursor).where(row_of(view, generation))).scalar()


def move_cursor(connection: Connection, view: View, generation: Generation, cursor: int) -> None:
    """Set the last seq that the generation has read; call where it was found in this transaction."""
    which = {"of": generation.user, "name": view.name, "number": generation.number}
    connection.execute(_MOVED, {**which, "to": cursor})


def row_of(view: View, generation: Generation) -> Any:
    """Match the generation's row, but not a later build under the same number."""
    c = view_states.c
    return and_(
        c.user == generation.user,
        c.view == view.name,
        c.generation == generation.number,
        c.fingerprint == generation.fingerprint,
        c.chat == generation.chat,
    )


def is_same_build(first: Generation, second: Generation) -> bool:
    """True if both are one build; numbers alone do not say so, as a discarded one is reused."""
    return (first.number, first.fingerprint, first.chat) == (second.number, second.fingerprint, second.chat)


def is_outdated(generation: Generation, view: View) -> bool:
    """True if the view has other settings than the generation, which was not chosen over them."""
    return view.fingerprint not in (generation.fingerprint, generation.chosen_over)


def lag(connection: Connection, user: str, view: View) -> int:
    """Count messages of the user that the view has not read."""
    generation = serving(connection, user, view)
    if generation is not None and is_outdated(generation, view):
        return log.count(connection, user)
    return log.count(connection, user, after=generation.cursor if generation else 0)


def users_beyond(connection: Connection, view: ViewStore, cursor: int, user: str | None = None) -> set[str]:
    """Return users (or the one given) of whom the view has read this seq."""
    c = view_states.c
    query = select(c.user).where(c.view == view.name, c.serving == 1, c.cursor >= cursor)
    return set(connection.execute(query if user is None else query.where(c.user == user)).scalars())


def users_behind(
    connection: Connection, view: View, user: str | None = None, *, among: Sequence[str] | None = None
) -> set[str]:
    """Return users (all, one, or some) with messages to read or a generation to build or drop."""
    c = view_states.c
    is_chosen = and_(c.chosen_over.is_not(None), c.chosen_over == view.fingerprint)
    outdated = and_(c.fingerprint != view.fingerprint, ~is_chosen)
    served = and_(c.user == users.c.user, c.view == view.name, c.serving == 1)
    unread = or_(c.cursor.is_(None), c.cursor < users.c.next_seq - 1, outdated)
    late = select(users.c.user).outerjoin(view_states, served).where(users.c.next_seq > 1, unread)
    half_built = select(c.user).where(c.view == view.name, c.serving == 0, c.standing == "")
    among = among if user is None else [user]
    if among is not None:
        late, half_built = late.where(users.c.user.in_(among)), half_built.where(c.user.in_(among))
    return set(connection.execute(late.union(half_built)).scalars())
