"""Room that is taken by the past: released blocks, and orphans of crashes.

A block goes through: published in the store; in the table, with live records; released, when the last of
them has moved on; deleted from the store; deleted from the table. A crash leaves it in one of these states,
and the next start goes on from there. Only a block in the store that is in no table yet may belong to a move
under way: it is an orphan when it is old, and is deleted inside a write transaction, when no move can be
committing.
"""

from __future__ import annotations

from sqlalchemy import Connection, delete, select, text

from zibaldone.storage.database import Database
from zibaldone.storage.schema import blocks
from zibaldone.views.chunks.storage.blocks import prefix_of
from zibaldone.views.chunks.storage.records import RecordStore

ORPHAN_AGE_S = 3600.0  # a move takes seconds


def release(database: Database, store: RecordStore, user: str | None = None) -> int:
    """Delete released blocks, of one user or of all, from the store and then from the table; how many."""
    query = select(blocks.c.user, blocks.c.block).where(blocks.c.released == 1)
    if user is not None:
        query = query.where(blocks.c.user == user)
    with database.read(user) as connection:
        rows = connection.execute(query).all()
    for row in rows:
        store.blocks.delete(row.block)
    if rows:
        with database.write(*{row.user for row in rows}) as connection:
            for row in rows:
                gone = delete(blocks).where(blocks.c.user == row.user, blocks.c.block == row.block)
                connection.execute(gone)
    return len(rows)


def users_with_released(connection: Connection, user: str | None = None) -> set[str]:
    """Users, or the one given, who have blocks that are to be deleted."""
    query = select(blocks.c.user).where(text("released = 1")).distinct()
    return set(connection.execute(query if user is None else query.where(blocks.c.user == user)).scalars())


def reclaim_orphans(
    database: Database, store: RecordStore, older_than_s: float = ORPHAN_AGE_S, user: str | None = None
) -> int:
    """Delete blocks, of one user or of all, that are in no table and too old to be under way; how many.

    With 0 seconds a move under way may find its block gone: it gives up, and nothing is lost.
    """
    prefix = "" if user is None else prefix_of(user)
    suspects = [key for key, age_s in store.blocks.names(prefix) if age_s >= older_than_s]
    if not suspects:
        return 0
    with database.read(user) as connection:
        known = set(connection.execute(select(blocks.c.block)).scalars())
    if known.issuperset(suspects):
        return 0
    with database.write(*([] if user is None else [user])) as connection:
        known = set(connection.execute(select(blocks.c.block)).scalars())
        orphans = [key for key in suspects if key not in known]
        for key in orphans:
            store.blocks.delete(key)
    return len(orphans)
