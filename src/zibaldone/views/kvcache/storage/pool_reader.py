"""A pool's rows for who works with the model: each look is a short transaction of its own.

A model may be slow or hang, so none of its passes runs inside a transaction: others' writing and forgetting
would wait for it. What changed between two looks is gone from the later one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection

from zibaldone.errors import BlockMissing
from zibaldone.views.kvcache.storage import manifest
from zibaldone.views.kvcache.storage.manifest import KVBlock, Pool

R = TypeVar("R")
Read = Callable[[], AbstractContextManager[Connection]]  # opens a read transaction

_READS = 3  # of what may just have moved


def read_again(read: Callable[[], R]) -> R:
    """Do `read`, which looks at rows anew, again when a block moved after it had. Raises BlockMissing."""
    for _ in range(_READS - 1):
        try:
            return read()
        except BlockMissing:
            continue
    return read()


@dataclass(frozen=True, slots=True)
class PoolReader:
    """What a pool's rows say now."""

    pool: Pool
    read: Read

    def again(self, blocks: Iterable[KVBlock]) -> list[KVBlock]:
        """These blocks as they are now, in the same order; without those that are gone."""
        numbers = [block.number for block in blocks]
        with self.read() as connection:
            rows = manifest.fetch(connection, self.pool.generation, numbers)
        return [rows[number] for number in numbers if number in rows]

    def segment(self, session: str, number: int) -> list[KVBlock]:
        """A segment's blocks in their order."""
        with self.read() as connection:
            return manifest.segment(connection, self.pool.generation, session, number)

    def last_segment(self, session: str) -> list[KVBlock]:
        """The blocks of a session's newest segment; none when there is none."""
        with self.read() as connection:
            number = manifest.last_segment(connection, self.pool.generation, session)
            return manifest.segment(connection, self.pool.generation, session, number)

    def turns(self, seqs: Sequence[int]) -> dict[int, list[KVBlock]]:
        """By seq, the blocks of these messages in their order; without those that are gone."""
        with self.read() as connection:
            return manifest.of_turns(connection, self.pool.generation, seqs)

    def newest(self, session: str | None, limit: int) -> list[KVBlock]:
        """The last blocks that were made, of a session or of all; in the order of the log."""
        with self.read() as connection:
            return manifest.newest(connection, self.pool.generation, session, limit)
