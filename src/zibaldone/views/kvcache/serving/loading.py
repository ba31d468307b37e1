"""From what a request says of memory to what is read for it: rows of the manifest against the request.

This runs where an engine schedules. Imports no torch; workers read the files that a plan names, and no
database.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from zibaldone.errors import BlockMissing, ForeignKV, InvalidInput
from zibaldone.storage.folder_layout import database_file
from zibaldone.storage.sqlite import SqliteDatabase
from zibaldone.views.base import Generation
from zibaldone.views.kvcache.serving.scope import FIX, KVScope
from zibaldone.views.kvcache.storage import manifest
from zibaldone.views.kvcache.storage.layout import BlockLayout
from zibaldone.views.kvcache.storage.store import FOLDER, KVStore

Serving = Callable[[Connection, str, KVStore], Generation | None]


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """Where a block's bytes are."""

    slot: int
    checksum: int
    tokens: int


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """What stands at the beginning of a request's prompt, and need not be computed."""

    files: Path  # the folder of the pool
    layout: BlockLayout
    card: Path
    prefix_tokens: int  # pinned ones, whose keys are on the card
    blocks: tuple[PlacedBlock, ...]

    @property
    def tokens(self) -> int:
        return self.prefix_tokens + sum(block.tokens for block in self.blocks)


class MemoryFolder:
    """A memory's folder, for who serves its blocks and has no model of ours."""

    def __init__(self, folder: Path, serving: Serving, *, busy_timeout_s: float = 5.0) -> None:
        """`serving` says which generation serves a user (generations.serving).

        Raises InvalidInput for a folder that holds no memory: an engine makes none.
        """
        if not database_file(folder).is_file():
            raise InvalidInput(
                f"{str(folder)!r} holds no memory: give the folder of the Memory whose blocks are served"
            )
        self._serving = serving
        self._database = SqliteDatabase(folder, busy_timeout_s=busy_timeout_s)
        self.store = KVStore(self._database.folder / FOLDER)

    def close(self) -> None:
        self._database.close()

    def plan(
        self, scope: KVScope, prompt: Sequence[int], salt: str | None, prefix: Sequence[int], card: Path
    ) -> LoadPlan:
        """Hold a request against the pool that it names; blocks that have no place end the plan before them.

        Whoever asks has to know the text: the prompt must begin with the very tokens of the blocks, and the
        blocks must be of the user that the scope names. Raises InvalidInput, ForeignKV or BlockMissing for
        what is to be computed instead; the message names the fix.
        """
        with self._database.read(scope.user) as connection:
            generation = self._serving(connection, scope.user, self.store)
            pool = manifest.pool(connection, generation) if generation is not None else None
            rows = manifest.fetch(connection, generation, scope.blocks) if generation is not None else {}
        if generation is None or pool is None:
            raise InvalidInput(f"user {scope.user!r} has no blocks in this folder: {FIX}")
        if (generation.number, generation.fingerprint) != (scope.generation, scope.fingerprint):
            raise ForeignKV(
                f"the blocks of user {scope.user!r} have been made anew since the request was put together:"
                " call KVMemory.prompt() again"
            )
        if gone := [number for number in scope.blocks if number not in rows]:
            raise BlockMissing(
                f"blocks {gone[:5]} of user {scope.user!r} are gone since the request was put together: call"
                " KVMemory.prompt() again"
            )
        blocks = [rows[number] for number in scope.blocks]
        pinned = tuple(prefix) if scope.pinned else ()
        ids = (*pinned, *(token for block in blocks for token in block.tile.ids))
        if tuple(prompt[: len(ids)]) != ids or len(prompt) <= len(ids):
            raise InvalidInput(
                f"the prompt does not begin with the tokens of user {scope.user!r}'s blocks, or has none"
                f" behind them: {FIX}"
            )
        if salt != scope.salt(block.crc for block in blocks):
            raise InvalidInput(
                f"cache_salt is not that of these blocks, so prefixes would be mixed up: {FIX}"
            )
        placed = []
        for block in blocks:
            if block.slot is None or block.crc is None:
                break
            placed.append(PlacedBlock(block.slot, block.crc, block.tokens))
        return LoadPlan(self.store.files(pool).folder, pool.layout, card, len(pinned), tuple(placed))
