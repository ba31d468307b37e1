"""Records of some owners over a database and a block store in which one may interfere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from sqlalchemy import select

from bucket_server import FakeBucketServer
from zibaldone import Moved, Placement
from zibaldone.storage.bucket_blocks import use_bucket
from zibaldone.storage.opening import open_database
from zibaldone.storage.schema import blocks, records
from zibaldone.views.base import Generation
from zibaldone.views.chunks.storage.placement import arrange, move
from zibaldone.views.chunks.storage.records import Record, RecordStore, reclaim_orphans, release

ANN = Generation("ann", 1, "", 0)
BOB = Generation("bob", 1, "", 0)

Affinity = Callable[[Sequence[int]], np.ndarray]  # of ids, to likeness of each pair (n, n)
NINE = {n: f"record {n} ".encode() * 3 for n in range(1, 10)}  # three to a block


class Crash(BaseException):
    """The process dies here: nobody catches it."""


def strangers(ids: Sequence[int]) -> np.ndarray:
    """No record is like another."""
    return np.zeros((len(ids), len(ids)), dtype=np.float32)


def companions(*groups: Sequence[int]) -> Affinity:
    """Records of a group are alike, and no others are."""

    def similarity(ids: Sequence[int]) -> np.ndarray:
        together = strangers(ids)
        for group in groups:
            rows = [row for row, number in enumerate(ids) if number in group]
            together[np.ix_(rows, rows)] = 1
        return together

    return similarity


def die() -> None:
    """A hook."""
    raise Crash


class Watched:
    """A block store that calls hooks; each hook is called once and taken away before."""

    def __init__(self, inner) -> None:
        self.inner = inner
        self.reads = 0
        self.hooks: dict[str, Callable[[], object]] = {}

    def get(self, key: str) -> bytes:
        """Counted."""
        self.reads += 1
        return self.inner.get(key)

    def put(self, key: str, data: bytes) -> None:
        """Hooks before and after."""
        self._at("before put")
        self.inner.put(key, data)
        self._at("after put")

    def delete(self, key: str) -> None:
        """Hooks before and after."""
        self._at("before delete")
        self.inner.delete(key)
        self._at("after delete")

    def names(self, prefix: str = "") -> Iterator[tuple[str, float]]:
        """As it is."""
        return self.inner.names(prefix)

    def _at(self, moment: str) -> None:
        if (hook := self.hooks.pop(moment, None)) is not None:
            hook()


class RecordsRig:
    """One folder; placement of tiny blocks unless told otherwise, in files unless in a bucket."""

    def __init__(
        self, folder: Path, placement: Placement | None = None, bucket: FakeBucketServer | None = None
    ) -> None:
        self.folder, self.bucket = folder, bucket
        self.database = open_database(folder, busy_timeout_s=5.0)
        if bucket is not None:
            use_bucket(self.database, bucket.url)
        self.blocks = Watched(self.database.blocks)
        self.store = RecordStore(self.blocks)
        self.placement = placement or Placement(block_bytes=170)

    def restart(self) -> None:
        """What the next start does after a crash, when it knows to be alone."""
        release(self.database, self.store)
        reclaim_orphans(self.database, self.store, 0)

    def stage(self, given: dict[int, bytes], owner: Generation = ANN, namespace: str = "s") -> None:
        """Time is the id."""
        with self.database.write() as connection:
            self.store.stage(connection, owner, [Record(n, namespace, n, d) for n, d in given.items()])

    def remove(self, ids: Sequence[int], owner: Generation = ANN) -> None:
        """Tombstones."""
        with self.database.write() as connection:
            self.store.remove(connection, owner, ids)

    def expel(self, ids: Sequence[int], owner: Generation = ANN) -> None:
        """Forgetting as a view does it: expel, commit, release."""
        with self.database.write() as connection:
            self.store.expel(connection, owner, ids)
        release(self.database, self.store)

    def flush(self, owner: Generation = ANN) -> Moved:
        """All that is staged, in the order of time."""
        everything = Placement(self.placement.block_bytes, gc_invalid_ratio=2, staged_blocks=0)
        return arrange(self.database, self.store, everything, owner, strangers)

    def repack(self, groups: Sequence[Sequence[int]], owner: Generation = ANN) -> int:
        """Put what of these groups is in blocks into blocks of their own; how many are released then."""
        released = 0
        for group in groups:
            with self.database.read() as connection:
                placed = [one for one in self.store.places(connection, owner) if one.id in group]
            for namespace in sorted({record.namespace for record in placed}):
                those = [record for record in placed if record.namespace == namespace and record.block]
                released += move(self.database, self.store, owner, [those]).blocks_released
        return released

    def collect(self, similarity: Affinity | None = None, owner: Generation = ANN) -> Moved:
        """What has reached the threshold; nothing is alike unless told otherwise."""
        return arrange(self.database, self.store, self.placement, owner, similarity or strangers)

    def data(self, owner: Generation = ANN) -> dict[int, bytes]:
        """All that the owner has."""
        with self.database.read() as connection:
            ids = [record.id for record in self.store.places(connection, owner)]
            return self.store.fetch(connection, owner, ids)

    def places(self, owner: Generation = ANN) -> dict[int, str | None]:
        """Block by record."""
        with self.database.read() as connection:
            return {record.id: record.block for record in self.store.places(connection, owner)}

    def slots(self, owner: Generation = ANN) -> dict[int, tuple[str | None, int | None]]:
        """Block and slot by record, of all generations."""
        with self.database.read() as connection:
            query = select(records).where(records.c.user == owner.user)
            return {row.id: (row.block, row.slot) for row in connection.execute(query)}

    def faults(self, owner: Generation = ANN) -> list[str]:
        """What the check finds."""
        with self.database.read() as connection:
            return self.store.faults(connection, owner)

    def is_in_a_file(self, data: bytes) -> bool:
        """True if any file, or object, has these bytes."""
        return any(data in content for content in self._contents())

    def _contents(self) -> list[bytes]:
        if self.bucket is not None:
            return [data for key, (data, _) in self.bucket.objects.items() if "/blocks/" in key]
        return [path.read_bytes() for path in (self.folder / "blocks").rglob("*") if path.is_file()]

    def cut(self, key: str) -> None:
        """A block loses its last byte."""
        data = self.blocks.get(key)[:-1]
        self.blocks.delete(key)
        self.blocks.put(key, data)

    def rows(self) -> set[str]:
        """Blocks that the table knows."""
        with self.database.read() as connection:
            return set(connection.execute(select(blocks.c.block)).scalars())

    def stored(self) -> set[str]:
        """Blocks that the store has."""
        return {key for key, _ in self.blocks.names()}
