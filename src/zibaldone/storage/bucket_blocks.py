"""The bucket of a memory's blocks and saved indexes: how it is chosen, checked and noted.

The database names the bucket, once and for all processes; keys begin with an id of the memory, so that two
that share a prefix never sweep away each other's, and go on with a digest of the user's name.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, Row, func, select

from zibaldone.errors import InvalidInput, StorageCorrupt, StorageUnusable
from zibaldone.storage.bucket import Bucket, BucketUrl, bucket_url
from zibaldone.storage.database import Database
from zibaldone.storage.objects import BucketObjects, files_under
from zibaldone.storage.saved_indexes import SavedIndexes
from zibaldone.storage.schema import blocks
from zibaldone.storage.schema import bucket as places
from zibaldone.storage.schema import saved_indexes as table

_BLOCKS, _INDEXES, _SIGN = "blocks/", "index/", "memory"  # below which objects of each kind are


def use_bucket(database: Database, given: str | None) -> None:
    """Use the bucket that the memory has for blocks and saved indexes; one without blocks is given this.

    Raises InvalidInput where the memory has another bucket, or blocks elsewhere, MissingExtra, and where the
    bucket is new to the memory what `Bucket` raises.
    """
    wanted = None if given is None else bucket_url(given)
    with database.read() as connection:
        row = connection.execute(select(places)).first()
    if row is None and wanted is None:
        return
    if database.encrypted and database.keyring is None:
        raise InvalidInput(
            "objects of a bucket are not encrypted by the memory's key: leave blocks= and ZIBALDONE_BLOCKS"
            " out, let the bucket encrypt them and use a memory without a key, or begin one with user_keys="
        )
    if row is None:
        assert wanted is not None
        row = _begin(database, wanted)
    url = bucket_url(row.url)
    if wanted is not None and wanted.place != url.place:
        raise InvalidInput(
            f"the blocks of this memory are in {url.place}, not in {wanted.place}: leave blocks= and"
            " ZIBALDONE_BLOCKS out, or export its messages into a new memory"
        )
    if (files := files_under(database.saved.store)) is not None:
        shutil.rmtree(files.folder, ignore_errors=True)
    database.bucket = Bucket(wanted or url, row.id)
    database.blocks = database.sealed(BucketObjects(database.bucket, _BLOCKS))
    database.saved = SavedIndexes(database, database.sealed(BucketObjects(database.bucket, _INDEXES)))


def _begin(database: Database, url: BucketUrl) -> Row[Any]:
    """Record the bucket, unless another process was first, after checking that it overwrites no objects."""
    bucket = Bucket(url, secrets.token_hex(8))
    bucket.create(_SIGN, b"Blocks and saved indexes of a memory of zibaldone.\n")
    with suppress(StorageCorrupt):  # as it should
        bucket.create(_SIGN, b"another")
        raise StorageUnusable(f"{url.place} overwrites objects: it must honour If-None-Match")
    with database.write() as connection:
        if (row := connection.execute(select(places)).first()) is not None:
            bucket.delete([_SIGN])
            return row
        if connection.execute(select(blocks).limit(1)).first() is not None:
            bucket.delete([_SIGN])
            raise InvalidInput(
                f"{database.name} has blocks beside its rows: export its messages and import them into a new"
                " memory with blocks="
            )
        connection.execute(places.insert().values(id=bucket.folder, url=str(url)))
        database.saved.clear(connection)  # nobody would read, nor forget, them
        return connection.execute(select(places)).one()


def bucket_size_bytes(database: Database, connection: Connection) -> int:
    """Sum the sizes of all objects that rows name, in bytes."""
    if database.bucket is None:
        return 0
    sizes = (select(func.coalesce(func.sum(column), 0)) for column in (blocks.c.bytes, table.c.bytes))
    return sum(int(connection.execute(size).scalar_one()) for size in sizes)


def objects_of_nobody(database: Database, folders: Collection[str]) -> list[str]:
    """Find objects in these folders of the bucket that no row names."""
    if database.bucket is None:
        return []
    listed = [key for key, _ in database.bucket.list() if not set(folders).isdisjoint(key.split("/"))]
    with database.read() as connection:
        known = {_BLOCKS + key for key in connection.execute(select(blocks.c.block)).scalars()}
        known |= {_INDEXES + key for key in connection.execute(select(table.c.key)).scalars()}
    return [key for key in listed if key not in known]


def must_be_current(database: Database, connection: Connection) -> None:
    """Raise StorageUnusable where the memory was given a bucket since this process opened it."""
    row = connection.execute(select(places)).first()
    if row is not None and database.bucket is None:
        raise StorageUnusable(f"the blocks of this memory are in {row.url} by now: open it again")
