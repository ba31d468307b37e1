"""The blocks of a memory moved into a bucket; stopped at any moment, one of the two places has them all.

    copy      the bucket is noted as one to which blocks are moved, and nobody reads it: every block is put
              there under its key, read back and compared
    switch    in one transaction, in which nobody else writes: what came meanwhile is copied, what went is
              deleted there, and from then on the bucket has the blocks

Then the first copies go: rows in that transaction, files after it, by whoever opens the memory next. Saved
indexes are made anew. What was copied and is forgotten before the switch is deleted by the switch: so a move
that was begun is to be finished, or undone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, select, update

from zibaldone.errors import InvalidInput, StorageCorrupt
from zibaldone.storage.bucket import Bucket, bucket_url
from zibaldone.storage.bucket_blocks import BLOCKS, check_not_encrypted, new_folder, remove_files
from zibaldone.storage.database import Database
from zibaldone.storage.objects import BucketObjects
from zibaldone.storage.schema import blocks, kv_pools, stored_objects
from zibaldone.storage.schema import bucket as places

Progress = Callable[[int, int], None]  # blocks done, blocks in all


@dataclass(frozen=True, slots=True)
class MovedBlocks:
    """The result of a move, or of undoing one."""

    url: str  # of the bucket
    blocks: int
    bytes: int


def move_blocks(database: Database, url: str, progress: Progress | None = None) -> MovedBlocks:
    """Move all blocks into a bucket such as "s3://bucket/prefix"; close the memory before, in every process.

    Stopped half way, it goes on when it is called again with the same bucket. Raises InvalidInput where that
    cannot be, StorageCorrupt for a block that is lost or arrives otherwise, and what the bucket raises.
    """
    wanted = bucket_url(url)
    check_not_encrypted(database)
    with database.read() as connection:
        row = connection.execute(select(places)).first()
        if connection.execute(select(kv_pools.c.user).limit(1)).first() is not None:
            raise InvalidInput(
                "this memory has keys and values of a local model, which are not used beside a bucket: leave"
                " its blocks where they are"
            )
    if row is None:
        row = _note(database, new_folder(wanted), str(wanted))
    there = bucket_url(row.url)
    if not row.moving:
        raise InvalidInput(f"the blocks of this memory are in {there.place} already")
    if there.place != wanted.place:
        raise InvalidInput(
            f"a move to {there.place} was begun: go on with that one, or undo it with 'zibaldone move-blocks"
            " --undo'"
        )
    bucket = Bucket(wanted, row.id)
    source, target = database.blocks, database.sealed(BucketObjects(bucket, BLOCKS))
    copied: dict[str, int] = {}

    def copy(key: str) -> None:
        data = source.get(key)
        target.put(key, data)  # raises where another stands there
        if target.get(key) != data:
            raise StorageCorrupt(f"{bucket.name}: block {key} is not what was sent: run it again")
        copied[key] = len(data)

    with database.read() as connection:
        keys = _keys(connection)
    for place, key in enumerate(keys):
        if progress:
            progress(place, len(keys))
        try:
            copy(key)
        except KeyError:  # it was moved or forgotten meanwhile, or it is lost: the switch sees which
            continue
    with database.write() as connection:
        switched = update(places).where(places.c.id == row.id, places.c.moving == 1).values(moving=0)
        if not connection.execute(switched).rowcount:
            if connection.execute(select(places).where(places.c.id == row.id)).first() is None:
                bucket.delete([key for key, _, _ in bucket.list()])
            raise InvalidInput("another process has done this move, or undone it: nothing was changed")
        now = dict.fromkeys(_keys(connection))
        for key in now:
            if key not in copied:
                try:
                    copy(key)
                except KeyError as error:
                    raise StorageCorrupt(
                        f"block {key} is lost: rebuild the view of chunks first, and run it again"
                    ) from error
        target.delete(*(key for key, _ in target.names() if key not in now))
        connection.execute(delete(blocks).where(blocks.c.released == 1))
        connection.execute(delete(stored_objects))
        database.saved.clear(connection)
    remove_files(database)
    if progress:
        progress(len(now), len(now))
    return MovedBlocks(there.place, len(now), sum(copied[key] for key in now))


def undo_move(database: Database) -> MovedBlocks:
    """Delete what a move that is not at its end has copied. Raises InvalidInput where none was begun."""
    with database.read() as connection:
        row = connection.execute(select(places).where(places.c.moving == 1)).first()
    if row is None:
        raise InvalidInput("no move of blocks was begun: there is nothing to undo")
    url = bucket_url(row.url)
    bucket = Bucket(url, row.id)
    with database.write() as connection:
        undone = delete(places).where(places.c.id == row.id, places.c.moving == 1)
        if not connection.execute(undone).rowcount:
            raise InvalidInput("another process has done this move, or undone it: nothing was changed")
        objects = list(bucket.list())
        bucket.delete([key for key, _, _ in objects])
    return MovedBlocks(url.place, len(objects), sum(size for _, _, size in objects))


def _note(database: Database, bucket: Bucket, url: str) -> Row[Any]:
    with database.write() as connection:
        if connection.execute(select(places)).first() is None:
            connection.execute(places.insert().values(id=bucket.folder, url=url, moving=1))
        return connection.execute(select(places)).one()


def _keys(connection: Connection) -> list[str]:
    """Return the keys of all blocks in use."""
    query = select(blocks.c.block).where(blocks.c.released == 0).order_by(blocks.c.user, blocks.c.block)
    return list(connection.execute(query).scalars())
