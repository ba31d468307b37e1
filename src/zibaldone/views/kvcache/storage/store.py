"""The kv view without its model: so a message can be forgotten where no model is.

Imports no torch.
"""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.errors import BlockMissing, StorageUnusable
from zibaldone.storage.database import Database
from zibaldone.storage.folder_layout import sync_folder
from zibaldone.storage.objects import FileObjects, owner_of
from zibaldone.views.base import Counted, Generation
from zibaldone.views.kvcache import NAME
from zibaldone.views.kvcache.model.turns import pieces_of, tiles
from zibaldone.views.kvcache.storage import manifest
from zibaldone.views.kvcache.storage.manifest import KVBlock, Pool
from zibaldone.views.own_rows import counted

_KINDS = ("blocks", "tokens")


class KVStore:
    """Manifest and files. Implements the parts of the view contract that forgetting and counting need."""

    name = NAME

    def __init__(self, root: Path) -> None:
        """`root` is the folder of all pools; it is made when the first block is written."""
        self.root = root
        # A power cut may tear a file: its checksum tells, and it is encoded again.
        self._objects = FileObjects(root, durable=False)

    def path(self, generation: Generation, block: KVBlock) -> Path:
        """File of a block's keys and values."""
        return self._objects.path(_name(generation, block.number, block.crc))

    def write(self, generation: Generation, block: KVBlock, payload: bytes) -> KVBlock:
        """Write a block's payload to a file that no row names yet; returns the block with its checksum.

        Raises StorageFull and StorageUnusable.
        """
        written = replace(block, crc=zlib.crc32(payload))
        self._objects.put(_name(generation, block.number, written.crc), payload)
        return written

    def read(self, generation: Generation, block: KVBlock) -> bytes:
        """A block's payload, checked.

        Raises BlockMissing when the block was forgotten since the row was read, or is torn: the next snapshot
        knows, or check_integrity does.
        """
        try:
            data = self._objects.get(_name(generation, block.number, block.crc))
        except KeyError as error:
            raise BlockMissing(f"KV block {block.number} is not there any more") from error
        if zlib.crc32(data) != block.crc:
            raise BlockMissing(f"KV block {block.number} is damaged")
        return data

    def forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """Remove rows, token ids, boxes, keys and values; blocks that attended to them lose their keys.

        The files are removed by `refresh`, once this is committed.
        """
        lost = []
        for pool in manifest.pools(connection, user):
            retiled = self._retiled(connection, pool, frozenset(seqs))
            for old, new in retiled:
                manifest.remove(connection, pool.generation, old)
                numbers = manifest.reserve_numbers(connection, pool, len(new))
                numbered = [replace(block, number=n) for block, n in zip(new, numbers, strict=True)]
                manifest.add(connection, pool.generation, numbered)
            if not manifest.last_seq(connection, pool.generation):
                manifest.drop(connection, pool.generation)
            lost += retiled
        return _counted(lost)

    def preview_forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        wanted = frozenset(seqs)
        pools = manifest.pools(connection, user)
        return _counted([one for pool in pools for one in self._retiled(connection, pool, wanted)])

    def clean(self, database: Database, user: str) -> None:
        """Remove files that no row names: of forgotten blocks, and of writes that were not committed."""
        with database.read(user) as connection:
            if not self._unnamed(connection, user):
                return
        folder = self._folder(user)
        with database.write(user) as connection:  # nobody is writing blocks, or cleaning, meanwhile
            if not (unnamed := self._unnamed(connection, user)):
                return
            for path in unnamed:
                _remove(path)
            sync_folder(folder)
            with suppress(OSError):  # of one that is not empty
                folder.rmdir()

    def clean_all(self, database: Database) -> None:
        """Remove what an earlier process has left, of every user."""
        if not self.root.is_dir():
            return
        with database.read() as connection:
            users = log.all_users(connection)
        for user in users:
            self.clean(database, user)

    def refresh(self, database: Database, user: str, generation: Generation | None) -> None:  # noqa: ARG002
        """Remove the files of what was forgotten."""
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
        damaged = self.damaged(connection, generation)
        return [
            *manifest.faults(connection, generation),
            *(f"block {block.number} is torn" for block in damaged),
        ]

    def damaged(self, connection: Connection, generation: Generation) -> list[KVBlock]:
        """Blocks whose bytes differ from what was written."""
        blocks = manifest.all_blocks(connection, generation)
        return [block for block in blocks if block.crc is not None and not self._whole(generation, block)]

    def unnamed_bytes(self, connection: Connection, user: str) -> list[str]:
        """Files of the user's that no row names."""
        return [path.relative_to(self.root.parent).as_posix() for path in self._unnamed(connection, user)]

    def _unnamed(self, connection: Connection, user: str) -> list[Path]:
        try:
            there = set(self._folder(user).iterdir())
        except FileNotFoundError:
            return []
        generations = [pool.generation for pool in manifest.pools(connection, user)]
        named = {
            self._objects.path(_name(generation, number, crc))
            for generation in generations
            for number, crc in manifest.written(connection, generation)
        }
        return sorted(there - named)

    def _folder(self, user: str) -> Path:
        return self.root / owner_of(user)

    def _whole(self, generation: Generation, block: KVBlock) -> bool:
        try:
            self.read(generation, block)
        except BlockMissing:
            return False
        return True

    def _retiled(
        self, connection: Connection, pool: Pool, seqs: frozenset[int]
    ) -> list[tuple[list[KVBlock], list[KVBlock]]]:
        """For each segment that has tokens of these messages: (blocks that go, keyless ones instead).

        Its later messages saw the earlier ones, and those of other segments did not.
        """
        firsts: dict[tuple[str, int], int] = {}  # by segment, the first position that goes
        for block in manifest.touching(connection, pool.generation, sorted(seqs)):
            segment, position = block.place[:2], block.tile.position
            firsts[segment] = min(position, firsts.get(segment, position))
        return [
            self._retile(connection, pool, segment, first, seqs) for segment, first in sorted(firsts.items())
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


def _name(generation: Generation, number: int, crc: int | None) -> str:
    """Name of what is written once: other bytes of the same block have another name."""
    return f"{owner_of(generation.user)}/{generation.number}-{number}-{crc or 0:08x}"


def _remove(path: Path) -> None:
    """Remove a file or a folder. Raises StorageUnusable."""
    try:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise StorageUnusable(f"{str(path)!r} cannot be removed: {error.strerror}") from error


def _counted(retiled: Sequence[tuple[Sequence[KVBlock], Sequence[KVBlock]]]) -> tuple[Counted, ...]:
    """Numbers of blocks and tokens that go, of (blocks that go, those instead)."""
    tokens = (sum(b.tokens for b in old) - sum(b.tokens for b in new) for old, new in retiled)
    return counted(
        _KINDS, ((len(old) - len(new), fewer) for (old, new), fewer in zip(retiled, tokens, strict=True))
    )
