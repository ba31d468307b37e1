"""Generations: which build of a view serves a user, how far it has read, and its rows in `view_states`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, and_, bindparam, delete, func, or_, select, update

from zibaldone import log
from zibaldone.storage.database import Database
from zibaldone.storage.schema import users, view_states
from zibaldone.views.base import Generation, Snapshot, TakeSnapshot, View, ViewStore

# Made once: it is asked several times in every recall.
_STATE = select(view_states.c.generation, view_states.c.fingerprint, view_states.c.cursor).where(
    view_states.c.user == bindparam("of"),
    view_states.c.view == bindparam("name"),
    view_states.c.serving == bindparam("is_serving"),
)


def serving(connection: Connection, user: str, view: ViewStore) -> Generation | None:
    """The generation that recall reads, whatever its fingerprint."""
    return _generation(connection, user, view, serving=True)


def snapshots(database: Database, user: str, view: ViewStore) -> TakeSnapshot:
    """What opens a short read transaction of the user's, with the view's serving generation in it."""

    @contextmanager
    def take() -> Iterator[Snapshot]:
        with database.read(user) as connection:
            yield Snapshot(connection, serving(connection, user, view))

    return take


def building(connection: Connection, user: str, view: ViewStore) -> Generation | None:
    """The generation that a rebuild is making, if there is one."""
    return _generation(connection, user, view, serving=False)


def _generation(connection: Connection, user: str, view: ViewStore, *, serving: bool) -> Generation | None:
    given = {"of": user, "name": view.name, "is_serving": int(serving)}
    row = connection.execute(_STATE, given).first()
    return Generation(user, row.generation, row.fingerprint, row.cursor) if row else None


def start(connection: Connection, user: str, view: View, *, serving: bool) -> Generation:
    """Begin a generation, under a number that none of the view has now."""
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
        )
    )
    return Generation(user, number, view.fingerprint, 0)


def drop(connection: Connection, view: View, generation: Generation) -> None:
    """Remove a generation, its rows and its state."""
    view.drop(connection, generation)
    connection.execute(delete(view_states).where(row_of(view, generation)))


def cursor_of(connection: Connection, view: View, generation: Generation) -> int | None:
    """How far the generation has read; None when it is there no more."""
    return connection.execute(select(view_states.c.cursor).where(row_of(view, generation))).scalar()


def move_cursor(connection: Connection, view: View, generation: Generation, cursor: int) -> None:
    """Note how far the generation has read."""
    connection.execute(update(view_states).where(row_of(view, generation)).values(cursor=cursor))


def row_of(view: View, generation: Generation) -> Any:
    """The generation's row; none once another model's build has taken its number."""
    c = view_states.c
    return and_(
        c.user == generation.user,
        c.view == view.name,
        c.generation == generation.number,
        c.fingerprint == generation.fingerprint,
    )


def lag(connection: Connection, user: str, view: View) -> int:
    """Messages of the user that the view has not read."""
    generation = serving(connection, user, view)
    if generation is not None and generation.fingerprint != view.fingerprint:
        return log.count(connection, user)
    return log.count(connection, user, after=generation.cursor if generation else 0)


def users_beyond(connection: Connection, view: ViewStore, cursor: int, user: str | None = None) -> set[str]:
    """Users, or the one given, of whom the view has read up to this seq, or further."""
    c = view_states.c
    query = select(c.user).where(c.view == view.name, c.serving == 1, c.cursor >= cursor)
    return set(connection.execute(query if user is None else query.where(c.user == user)).scalars())


def users_behind(connection: Connection, view: View, user: str | None = None) -> set[str]:
    """Users, or the one given, of whom the view has messages to read or a generation to build or to drop."""
    c = view_states.c
    served = and_(c.user == users.c.user, c.view == view.name, c.serving == 1)
    unread = or_(c.cursor.is_(None), c.cursor < users.c.next_seq - 1, c.fingerprint != view.fingerprint)
    late = select(users.c.user).outerjoin(view_states, served).where(users.c.next_seq > 1, unread)
    half_built = select(c.user).where(c.view == view.name, c.serving == 0)
    if user is not None:
        late, half_built = late.where(users.c.user == user), half_built.where(c.user == user)
    return set(connection.execute(late.union(half_built)).scalars())
