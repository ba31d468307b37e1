"""Budgets: what was not used for longest goes first, and is encoded again when a question chooses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from zibaldone.storage.database import Database
from zibaldone.validation import count
from zibaldone.views.base import Generation
from zibaldone.views.kvcache.storage import free_slots, manifest
from zibaldone.views.kvcache.storage.manifest import KVBlock, Pool
from zibaldone.views.kvcache.storage.store import KVStore

_AT_ONCE = 64  # blocks that are moved in one transaction


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

    @property
    def bounded(self) -> bool:
        """Whether there is less room on disk than there is."""
        return self.user_bytes is not None or self.total_bytes is not None


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
    if not used and not budget.bounded:
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


def shrink(database: Database, store: KVStore, generation: Generation) -> int:
    """Move blocks from the end of a file of which half is free into that half; how many. `clean` cuts it.

    Who reads with an older snapshot meanwhile finds them gone, and reads again.
    """
    moved = 0
    while True:
        with database.write() as connection:
            pool = manifest.pool(connection, generation)
            end = free_slots.last_slot(connection, generation) + 1
            if pool is None or end <= 2 * manifest.resident(connection, generation):
                return moved
            last = [b for b in manifest.last_placed(connection, generation, _AT_ONCE) if store.whole(pool, b)]
            free = free_slots.first_free(connection, generation, len(last))
            pairs = [
                (b, slot) for b, slot in zip(last, free, strict=True) if b.slot is not None and slot < b.slot
            ]
            if not pairs:
                return moved
            files = store.files(pool)
            payloads = {slot: store.read(pool, block) for block, slot in pairs}
            files.write(payloads, {}, store.unsettled(connection, pool))
            for block, slot in pairs:
                manifest.place(connection, generation, replace(block, slot=slot))
            free_slots.erase(connection, generation, [b.slot for b, _ in pairs if b.slot is not None])
            moved += len(pairs)


def _coldest_of_all(connection: Connection, budget: Budget) -> list[tuple[Pool, KVBlock]]:
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
    coldest: list[tuple[Pool, KVBlock]] = []
    for _, _, place, block in sorted(cold, key=lambda one: one[:3]):
        if over <= 0:
            break
        coldest.append((held[place][0], block))
        over -= held[place][0].layout.stride_bytes
    return coldest


def _let_go(connection: Connection, pool: Pool, blocks: Sequence[KVBlock]) -> None:
    free_slots.erase(connection, pool.generation, [b.slot for b in blocks if b.slot is not None])
    for block in blocks:
        manifest.place(connection, pool.generation, replace(block, slot=None, crc=None))
