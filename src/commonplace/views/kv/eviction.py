"""Budgets: what was not used for longest goes first, and is encoded again when a question chooses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from commonplace.incoming import count
from commonplace.storage.database import Database
from commonplace.views.base import Generation
from commonplace.views.kv import manifest, places
from commonplace.views.kv.manifest import Block, Pool
from commonplace.views.kv.store import KVStore


@dataclass(frozen=True, slots=True)
class Budget:
    """How much room blocks may take; None: as much as there is. What has none is encoded again on demand."""

    user_bytes: int | None = None  # of one user's blocks on disk; boxes and keys that score come on top
    total_bytes: int | None = None  # of all users' blocks on disk
    device_bytes: int = 1 << 30  # of blocks kept beside the model
    host_bytes: int = 2 << 30  # of blocks kept in main memory

    def __post_init__(self) -> None:
        """Raises InvalidInput for what is no number of bytes."""
        for name in ("user_bytes", "total_bytes", "device_bytes", "host_bytes"):
            if getattr(self, name) is not None or name.startswith(("device", "host")):
                count(name, getattr(self, name), least=0)


def make_room(connection: Connection, pool: Pool, budget: Budget, blocks: int) -> int:
    """Evict of one user's pool so that so many more blocks stay inside the user's budget; how many went."""
    if budget.user_bytes is None:
        return 0
    most = budget.user_bytes // pool.layout.stride_bytes
    over = manifest.resident(connection, pool.generation) + blocks - most
    cold = manifest.coldest(connection, pool.generation, over) if over > 0 else []
    _let_go(connection, pool, cold)
    return len(cold)


def evict(
    database: Database, store: KVStore, budget: Budget, generation: Generation, used: Mapping[int, int]
) -> int:
    """Write down when blocks were used; over a budget, evict the coldest, whoever's they are. How many went.

    The places of other users' blocks are overwritten here, this user's by whoever calls.
    """
    if not used and budget.user_bytes is None and budget.total_bytes is None:
        return 0
    evicted, others = 0, set()
    with database.write() as connection:
        manifest.used(connection, generation, used)
        pool = manifest.pool(connection, generation)
        if pool is not None:
            evicted = make_room(connection, pool, budget, 0)
        for owner, block in _coldest_of_all(connection, budget):
            _let_go(connection, owner, [block])
            evicted += 1
            others.add(owner.generation.user)
    for user in sorted(others - {generation.user}):
        store.clean(database, user)
    return evicted


def _coldest_of_all(connection: Connection, budget: Budget) -> list[tuple[Pool, Block]]:
    """As many blocks as the pools of all users are over the whole budget, the coldest first."""
    if budget.total_bytes is None:
        return []
    held = manifest.residents(connection)
    over = sum(count * pool.layout.stride_bytes for pool, count in held) - budget.total_bytes
    if over <= 0:
        return []
    cold = [
        (block.used_us, block.time_us, place, block)
        for place, (pool, _) in enumerate(held)
        for block in manifest.coldest(connection, pool.generation, -(-over // pool.layout.stride_bytes))
    ]
    found: list[tuple[Pool, Block]] = []
    for _, _, place, block in sorted(cold, key=lambda one: one[:3]):
        if over <= 0:
            break
        found.append((held[place][0], block))
        over -= held[place][0].layout.stride_bytes
    return found


def _let_go(connection: Connection, pool: Pool, blocks: Sequence[Block]) -> None:
    places.erase(connection, pool.generation, [b.slot for b in blocks if b.slot is not None])
    for block in blocks:
        manifest.place(connection, pool.generation, replace(block, slot=None, crc=None))
