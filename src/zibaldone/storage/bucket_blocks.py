"""Blocks and saved indexes as objects of a bucket, and how a memory comes to have them there.

The database names the bucket, once and for all processes; keys begin with an id of the memory, so that two
that share a prefix never sweep away each other's, and go on with a digest of the user's name.
"""

from __future__ import annotations

import logging
import secrets
import shutil
import time
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, func, select, update

from zibaldone.errors import (
    InvalidInput,
    KeyDestroyed,
    KeyMissing,
    StorageCorrupt,
    StorageError,
    StorageUnusable,
)
from zibaldone.storage.block_store import BlockStore, LocalBlocks
from zibaldone.storage.bucket import Bucket, BucketUrl, bucket_url
from zibaldone.storage.columns import means
from zibaldone.storage.database import Database
from zibaldone.storage.saved_files import Arrays
from zibaldone.storage.schema import blocks
from zibaldone.storage.schema import bucket as places
from zibaldone.storage.schema import saved_objects as table

_BLOCKS, _INDEXES, _SIGN = "blocks/", "index/", "memory"
_GRACE_S = 3600.0  # an object that is being written for longer is a crash's
_REST_S = 15.0  # after a bucket did not answer, indexes are made from the rows for so long
_logger = logging.getLogger(__name__)


class BucketBlocks:
    """Objects below `blocks/`."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def get(self, key: str) -> bytes:
        return self._bucket.get(_BLOCKS + key)

    def put(self, key: str, data: bytes) -> None:
        """Only where no other is."""
        self._bucket.create(_BLOCKS + key, data)

    def delete(self, key: str) -> None:
        self._bucket.delete([_BLOCKS + key])

    def list(self, prefix: str = "") -> Iterator[tuple[str, float]]:
        for key, age_s, _ in self._bucket.list(_BLOCKS + prefix):
            yield key.removeprefix(_BLOCKS), age_s


@dataclass(frozen=True, slots=True)
class ObjectDraft:
    """An object that was written, and that no row says is current yet."""

    key: str


class BucketFiles:
    """Saved indexes as objects below `index/`, each with a row: forgetting and replacing are the rows'.

    A row is there before its object, and goes after it: what a crash leaves is known without looking.
    """

    def __init__(self, database: Database, bucket: Bucket) -> None:
        self._database, self._bucket = database, bucket
        self._not_before = 0.0

    def header(self, connection: Connection, user: str, name: str) -> bytes | None:
        data: bytes | None = connection.execute(select(table.c.header).where(_current(user, name))).scalar()
        return data

    def contents(self, connection: Connection, user: str, name: str) -> bytearray | None:
        """None, too, while the bucket does not answer."""
        key = connection.execute(select(table.c.key).where(_current(user, name))).scalar()
        if key is None or time.monotonic() < self._not_before:
            return None
        try:
            data = self._bucket.get(_INDEXES + key)
            keyring = self._database.keyring
            return bytearray(data if keyring is None else keyring.decrypt(data, key))
        except (ValueError, KeyDestroyed, KeyMissing) as error:
            _logger.warning("a saved index of user %r cannot be opened: %s", user, error)
            self._release(table.c.user == user, table.c.key == key)
        except KeyError:
            _logger.warning("a saved index of user %r is not in the bucket", user)
            self._release(
                table.c.user == user, table.c.key == key
            )  # an older snapshot's: another may be current
        except StorageError as error:
            self._not_before = time.monotonic() + _REST_S
            _logger.warning("a saved index of user %r is made from the rows instead: %s", user, error)
        return None

    @contextmanager
    def draft(self, user: str, name: str, arrays: Arrays, metadata: dict[str, str]) -> Iterator[ObjectDraft]:
        """Raises StorageError, too."""
        from safetensors.numpy import save

        data = save(dict(arrays), metadata)
        draft = ObjectDraft(f"{_digest(user)}/{name}-{uuid.uuid4().hex}")
        header = data[: 8 + int.from_bytes(data[:8], "little")]
        if self._database.keyring is not None:
            data = self._database.keyring.of_user(user).seal(data, draft.key.encode())
        with self._database.unlocked() as connection:
            means(connection, user)
            connection.execute(
                table.insert().values(
                    user=user,
                    key=draft.key,
                    name=name,
                    state="written",
                    since_us=self._database.now_us(connection),
                    bytes=len(data),
                    header=header,
                )
            )
        try:
            self._bucket.create(_INDEXES + draft.key, data)
            yield draft
        finally:
            with suppress(StorageError):  # whoever sweeps next knows of it
                with self._database.unlocked() as connection:
                    mine = update(table).where(table.c.user == user, table.c.key == draft.key)
                    connection.execute(mine.where(table.c.state == "written").values(state="released"))
                self.sweep(user)

    def publish(self, connection: Connection, user: str, name: str, draft: ObjectDraft) -> None:
        mine = update(table).where(table.c.user == user, table.c.key == draft.key, table.c.state == "written")
        connection.execute(update(table).where(_current(user, name)).values(state="released"))
        if not connection.execute(mine.values(state="current")).rowcount:
            raise OSError("it was swept away before it was whole")

    def discard(self, user: str, name: str) -> None:
        self._release(_current(user, name))

    def _release(self, *which: ColumnElement[bool]) -> None:
        with suppress(StorageError), self._database.unlocked() as connection:
            connection.execute(update(table).where(*which).values(state="released"))

    def drop(self, connection: Connection, user: str) -> None:
        """What is being written, too; the objects go with `sweep`."""
        connection.execute(update(table).where(table.c.user == user).values(state="released"))

    def clear(self, connection: Connection) -> None:
        """Everybody's."""
        connection.execute(update(table).values(state="released"))

    def sweep(self, user: str | None = None) -> None:
        c = table.c
        whose = [] if user is None else [c.user == user]
        with self._database.read(user) as connection:
            if connection.execute(select(c.key).where(c.state != "current", *whose).limit(1)).first() is None:
                return
        with self._database.unlocked() as connection:
            since_us = self._database.now_us(connection) - round(_GRACE_S * 1e6)
            left = and_(c.state == "written", c.since_us < since_us)
            connection.execute(update(table).where(left, *whose).values(state="released"))
            released = select(c.user, c.key).where(c.state == "released", *whose)
            gone = connection.execute(released).all()
        if not gone:
            return
        self._bucket.delete([_INDEXES + row.key for row in gone])
        with self._database.unlocked() as connection:
            for row in gone:
                connection.execute(delete(table).where(c.user == row.user, c.key == row.key))


def use_bucket(database: Database, given: str | None) -> None:
    """Let blocks and saved indexes be where the memory has them.

    One without blocks may be given a bucket. Raises InvalidInput where they are elsewhere, MissingExtra, and
    where the bucket is new to the memory what `Bucket` raises.
    """
    wanted = None if given is None else bucket_url(given)
    with database.read() as connection:
        row = connection.execute(select(places)).first()
    if row is not None and row.moving:
        _logger.warning("blocks are being moved to %s: 'zibaldone move-blocks' goes on, or --undo", row.url)
        if wanted is None:
            return
        raise InvalidInput(
            f"blocks of this memory are being moved to {row.url}: run 'zibaldone move-blocks' again until"
            " it is done, or with --undo, or leave blocks= and ZIBALDONE_BLOCKS out meanwhile"
        )
    if row is None and wanted is None:
        return
    must_be_plain(database)
    if row is None:
        assert wanted is not None
        row = _begin(database, wanted)
    url = bucket_url(row.url)
    if wanted is not None and wanted.place != url.place:
        raise InvalidInput(
            f"the blocks of this memory are in {url.place}, not in {wanted.place}: leave blocks= and"
            " ZIBALDONE_BLOCKS out, or export its messages into a new memory"
        )
    remove_folder_of(database.blocks)  # what a move that was killed at its end has left
    database.bucket = Bucket(wanted or url, row.id)
    database.blocks = database.sealed(BucketBlocks(database.bucket))
    database.saved = BucketFiles(database, database.bucket)


def must_be_plain(database: Database) -> None:
    """Raise InvalidInput for a memory with a key of its folder, where no keys of users seal its blocks."""
    if database.encrypted and database.keyring is None:
        raise InvalidInput(
            "objects of a bucket are not encrypted by the memory's key: leave blocks= and ZIBALDONE_BLOCKS"
            " out, let the bucket encrypt them and use a memory without a key, or begin one with user_keys="
        )


def remove_folder_of(store: BlockStore) -> None:
    """Delete the files of blocks that a bucket has by now, where there were any."""
    store = getattr(store, "inner", store)
    if isinstance(store, LocalBlocks):
        shutil.rmtree(store.folder, ignore_errors=True)


def _begin(database: Database, url: BucketUrl) -> Row[Any]:
    """Note the bucket, once it has shown that it takes an object, and only where none is."""
    bucket = new_folder(url)
    with database.write() as connection:
        if (row := connection.execute(select(places)).first()) is not None:  # another process was first
            bucket.delete([_SIGN])
            return row
        if connection.execute(select(blocks.c.block).limit(1)).first() is not None:
            bucket.delete([_SIGN])
            raise InvalidInput(
                "this memory has blocks already: 'zibaldone move-blocks' moves them to a bucket; leave"
                " blocks= and ZIBALDONE_BLOCKS out until then"
            )
        connection.execute(places.insert().values(id=bucket.folder, url=str(url), moving=0))
        database.saved.clear(connection)  # nobody would read, nor forget, them
        return connection.execute(select(places)).one()


def new_folder(url: BucketUrl) -> Bucket:
    """A new memory's place in the bucket, which has shown that it takes an object once."""
    bucket = Bucket(url, secrets.token_hex(8))
    bucket.create(_SIGN, b"Blocks and saved indexes of a memory of zibaldone.\n")
    try:
        bucket.create(_SIGN, b"another")
    except StorageCorrupt:
        return bucket  # as it should
    raise StorageUnusable(f"{url.place} overwrites objects: it must honour If-None-Match")


def bytes_in_bucket(database: Database, connection: Connection) -> int:
    """Size of all objects that rows name, in bytes."""
    if database.bucket is None:
        return 0
    sizes = (select(func.coalesce(func.sum(column), 0)) for column in (blocks.c.bytes, table.c.bytes))
    return sum(int(connection.execute(size).scalar_one()) for size in sizes)


def objects_of_nobody(database: Database, folders: Collection[str]) -> list[str]:
    """Keys of objects in these folders of the bucket that no row names, and that nobody is writing now."""
    if database.bucket is None:
        return []
    listed = [key for key, _, _ in database.bucket.list() if not set(folders).isdisjoint(key.split("/"))]
    with database.read() as connection:
        known = {_BLOCKS + key for key in connection.execute(select(blocks.c.block)).scalars()}
        known |= {_INDEXES + key for key in connection.execute(select(table.c.key)).scalars()}
    return [key for key in listed if key not in known]


def must_be_current(database: Database, connection: Connection) -> None:
    """Raise StorageUnusable where the memory was given a bucket since this process opened it."""
    row = connection.execute(select(places)).first()
    if row is not None and not row.moving and database.bucket is None:
        raise StorageUnusable(f"the blocks of this memory are in {row.url} by now: open it again")


def _current(user: str, name: str) -> ColumnElement[bool]:
    return and_(table.c.user == user, table.c.name == name, table.c.state == "current")


def _digest(user: str) -> str:
    return blake2b(user.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
