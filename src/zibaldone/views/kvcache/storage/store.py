"""The kv view without its model: so a message can be forgotten where no model is.

Imports no torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.errors import BlockMissing
from zibaldone.storage.database import Database
from zibaldone.views.base import Counted, Generation
from zibaldone.views.kvcache import NAME
from zibaldone.views.kvcache.model.turns import pieces_of, tiles
from zibaldone.views.kvcache.storage import manifest
from zibaldone.views.kvcache.storage.block_files import PoolFiles, checksum, folder_of, pool_name, remove
from zibaldone.views.kvcache.storage.manifest import KVBlock, Pool
from zibaldone.views.own_rows import counted

_KINDS = ("blocks", "tokens")


class KVStore:
    """Manifest and files. Implements the parts of the view contract that forgetting and counting need."""

    name = NAME

    def __init__(self, root: Path) -> None:
        """`root` is the folder of all pools; it is made when the first block is written."""
        self.root = root

    def files(self, pool: Pool) -> PoolFiles:
        folder = folder_of(self.root, pool.generation.user)
        name = pool_name(pool.generation.number, pool.generation.fingerprint)
        return PoolFiles(folder / name, pool.layout, pool.layers)

    def read(self, pool: Pool, block: KVBlock) -> bytes:
        """A block's payload, checked against its checksum.

        Raises BlockMissing when the block has moved since the row was read, or is torn: the next snapshot
        knows, or check_integrity does.
        """
        assert block.slot is not None
        data = self.files(pool).read(block.slot)
        if checksum(data) != block.crc:
            raise BlockMissing(
                f"KV block {block.number} is not in place {block.slot} any more, or is damaged"
            )
        return data

    def forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """Remove rows, token ids, boxes, keys and values; blocks that attended to them lose their keys.

        The places are overwritten by `refresh`, once this is committed.
        """
        lost = []
        for pool in manifest.pools(connection, user):
            retiled = self._retiled(connection, pool, frozenset(seqs))
            changed = set(seqs)
            for old, new in retiled:
                manifest.remove(connection, pool.generation, old)
                numbers = manifest.reserve_numbers(connection, pool, len(new))
                numbered = [replace(block, number=n) for block, n in zip(new, numbers, strict=True)]
                manifest.add(connection, pool.generation, numbered)
                changed |= {seq for block in new for seq in block.tile.seqs}
            manifest.forget_attended(connection, pool.generation, sorted(changed))
            if not manifest.last_seq(connection, pool.generation):
                manifest.drop(connection, pool.generation)
            lost += retiled
        return _counted(lost)

    def preview_forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        wanted = frozenset(seqs)
        pools = manifest.pools(connection, user)
        return _counted([one for pool in pools for one in self._retiled(connection, pool, wanted)])

    def clean(self, database: Database, user: str) -> None:
        """Overwrite all slots of forgotten blocks, and remove files that no row names."""
        with database.read(user) as connection:
            if not self._dirty(connection, user):
                return
        with database.write(user) as connection:
            kept = set()
            for pool in manifest.pools(connection, user):
                files = self.files(pool)
                kept.add(files.folder.name)
                slots, rows = manifest.erasures(connection, pool.generation)
                unsettled = self.unsettled(connection, pool)
                slots, rows = [*slots, *unsettled[0]], [*rows, *unsettled[1]]
                files.erase(slots, rows)
                files.settle()
                files.cut(manifest.last_slot(connection, pool.generation) + 1)
                manifest.erased(connection, pool.generation)
            folder = folder_of(self.root, user)
            for path in sorted(folder.iterdir()) if folder.is_dir() else []:
                if path.name not in kept:
                    remove(path)
            if folder.is_dir() and not kept:
                remove(folder)

    def clean_all(self, database: Database) -> None:
        """Overwrite what an earlier process has left, of every user."""
        if not self.root.is_dir():
            return
        remove(self.root / "left")  # where an engine left keys of what requests computed, once
        with database.read() as connection:
            users = log.all_users(connection)
        for user in users:
            self.clean(database, user)

    def refresh(self, database: Database, user: str, generation: Generation | None) -> None:  # noqa: ARG002
        """Overwrite what was forgotten."""
        self.clean(database, user)

    def drop(self, connection: Connection, generation: Generation) -> None:
        """Delete all rows of a generation; its files are removed by the next `clean`."""
        manifest.drop(connection, generation)

    def stats(self, connection: Connection, user: str) -> tuple[Counted, ...]:
        """Blocks and tokens of all generations."""
        pools = manifest.pools(connection, user)
        return counted(_KINDS, (manifest.totals(connection, pool.generation) for pool in pools))

    def faults(self, connection: Connection, generation: Generation) -> list[str]:
        """Disagreements of rows with the log, and of files with rows."""
        disagreements = manifest.faults(connection, generation)
        pool = manifest.pool(connection, generation)
        if pool is None:
            return disagreements
        disagreements += [
            f"the boxes of block {block.number} are torn" if boxes else f"block {block.number} is torn"
            for block, boxes in self.damaged(connection, pool)
        ]
        return disagreements

    def damaged(self, connection: Connection, pool: Pool) -> Iterator[tuple[KVBlock, bool]]:
        """Blocks whose bytes differ from what was written; True if their boxes do."""
        files = self.files(pool)
        for block in manifest.all_blocks(connection, pool.generation):
            if block.slot is None:
                continue
            boxes = [box for layer in files.layers for box in files.read_boxes(layer, [block.number - 1])]
            torn = checksum(b"".join(boxes)) != block.boxes_crc
            try:
                self.read(pool, block)
            except BlockMissing:
                yield block, torn
            else:
                if torn:
                    yield block, torn

    def unsettled(self, connection: Connection, pool: Pool) -> tuple[list[int], list[int]]:
        """(slots, rows) of an uncommitted write, which no row names."""
        slots, rows = self.files(pool).intended()
        if not slots and not rows:
            return [], []
        known = manifest.named(connection, pool.generation)
        return [slot for slot in slots if slot not in known[0]], [row for row in rows if row not in known[1]]

    def unnamed_bytes(self, connection: Connection, user: str) -> list[str]:
        """Places with data in the user's files that no row names, and no write is about to fill."""
        folder = folder_of(self.root, user)
        left = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
        places = []
        for pool in manifest.pools(connection, user):
            files = self.files(pool)
            left.discard(files.folder.name)
            intended = files.intended()
            for kind, filled, named, awaited in zip(
                ("slot", "row"),
                files.filled(),
                manifest.named(connection, pool.generation),
                intended,
                strict=True,
            ):
                places += [
                    f"{self.root.name}/{folder.name}/{files.folder.name}, {kind} {place}"
                    for place in sorted(filled - named - set(awaited))
                ]
        return [*places, *(f"{self.root.name}/{folder.name}/{name}" for name in sorted(left))]

    def _dirty(self, connection: Connection, user: str) -> bool:
        names = set()
        for pool in manifest.pools(connection, user):
            files = self.files(pool)
            names.add(files.folder.name)
            if any(manifest.erasures(connection, pool.generation)) or any(files.intended()):
                return True
        folder = folder_of(self.root, user)
        return folder.is_dir() and (not names or any(path.name not in names for path in folder.iterdir()))

    def _retiled(
        self, connection: Connection, pool: Pool, seqs: frozenset[int]
    ) -> list[tuple[list[KVBlock], list[KVBlock]]]:
        """For each segment that attended to these messages: (blocks that go, keyless ones instead).

        The closure: a segment's later messages saw the earlier ones, and a message that was generated saw
        those that were recalled for it.
        """
        generation = pool.generation
        tainted: dict[tuple[str, int], int] = {}  # by segment, the first position that goes
        seen: set[int] = set()
        waiting = set(seqs)
        while waiting:
            seen |= waiting
            reached: set[int] = set()
            for block in manifest.touching(connection, generation, sorted(waiting)):
                segment = block.place[:2]
                first = tainted.get(segment)
                if first is not None and first <= block.tile.position:
                    continue
                tainted[segment] = block.tile.position
                for other in manifest.segment(connection, generation, *segment):
                    if other.tile.position >= block.tile.position:
                        reached |= set(other.tile.seqs)
            reached |= manifest.attending(connection, generation, waiting | reached)
            waiting = reached - seen
        return [
            self._retile(connection, pool, segment, first, seqs) for segment, first in sorted(tainted.items())
        ]

    @staticmethod
    def _retile(
        connection: Connection, pool: Pool, segment: tuple[str, int], first: int, without: frozenset[int]
    ) -> tuple[list[KVBlock], list[KVBlock]]:
        every = manifest.segment(connection, pool.generation, *segment)
        old = [block for block in every if block.tile.position >= first]
        times = {seq: block.time_us for block in reversed(old) for seq, _ in block.tile.runs}
        stream = pieces_of([block.tile for block in old], without)
        fresh = tiles(stream, first, pool.layout.block_tokens, pool.align)
        new = [KVBlock(0, *segment, tile, times[tile.runs[0][0]]) for tile in fresh]
        return old, new


def _counted(retiled: Sequence[tuple[Sequence[KVBlock], Sequence[KVBlock]]]) -> tuple[Counted, ...]:
    """Numbers of blocks and tokens that go, of (blocks that go, those instead)."""
    tokens = (sum(b.tokens for b in old) - sum(b.tokens for b in new) for old, new in retiled)
    return counted(
        _KINDS, ((len(old) - len(new), fewer) for (old, new), fewer in zip(retiled, tokens, strict=True))
    )
