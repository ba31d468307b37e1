"""Getting blocks to the model from cache or disk, and encoding them again where a forgetting unmade them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from zibaldone.errors import BlockMissing
from zibaldone.views.kvcache.model.attention_hooks import Raw, RawKV
from zibaldone.views.kvcache.model.encoding import BlockDraft, Encoder, SessionChain, cut, joined, tokens_in
from zibaldone.views.kvcache.model.turns import pieces_of
from zibaldone.views.kvcache.storage import manifest
from zibaldone.views.kvcache.storage.block_cache import BlockCache, Key
from zibaldone.views.kvcache.storage.codec import decode
from zibaldone.views.kvcache.storage.manifest import KVBlock, Pool, PoolReader
from zibaldone.views.kvcache.storage.store import KVStore


class Fetcher:
    """Reads blocks of one model."""

    def __init__(self, store: KVStore, encoder: Encoder, cache: BlockCache) -> None:
        self._store, self._encoder, self._cache = store, encoder, cache

    def fetch(self, reader: PoolReader, blocks: Iterable[KVBlock]) -> tuple[Raw, ...]:
        """Keys and values of these blocks, on the device.

        Raises BlockMissing when one has just moved, or was forgotten or unmade.
        """
        return self._resident(reader.pool, placed(reader, blocks))

    def _resident(self, pool: Pool, blocks: Sequence[KVBlock]) -> tuple[Raw, ...]:
        """Fetch blocks that have a place."""
        return self._cache.get([(_key(pool, block), self._reader(pool, block)) for block in blocks])

    def remake(self, pool: Pool, blocks: Sequence[KVBlock]) -> list[tuple[KVBlock, BlockDraft, Raw]]:
        """Encode those of a segment's blocks again that have no place.

        Whole turns, each behind the context that it had at first: the model sees passes of the same shapes.
        So where the same kernels run (the same processor, number of threads and version of torch) the same
        bytes come out, and elsewhere keys and values within NOISE of the largest. Two kinds of block were
        made otherwise at first, and come back as what a pass over the log gives: those that an answer left,
        and, with align="grid" and a quantised pool, those that were quantised before they were full.
        """
        there = [block for block in blocks if block.crc is not None]
        raws = self._resident(pool, there)
        at_hand = {block.number: raw for block, raw in zip(there, raws, strict=True)}
        made: list[tuple[KVBlock, BlockDraft, Raw]] = []
        seen: list[Raw] = []  # whole blocks, as they are read back
        begun: list[Raw] = []  # of the block that the last piece ended in
        done, segment = 0, blocks[0].segment if blocks else 0
        waiting = deque(blocks)
        for piece in pieces_of([block.tile for block in blocks]):
            end = done + len(piece.ids)
            inside = [b for b in blocks if b.tile.position < end and b.tile.position + b.tokens > done]
            if all(block.crc is not None for block in inside):
                start = done - inside[0].tile.position
                whole = joined([at_hand[block.number] for block in inside])
                begun.append(_on_cpu(cut(whole, start, start + len(piece.ids))))
            else:
                before = [*seen, *begun]
                begun.append(self._encoder.encode(piece.ids, joined(before) if before else None, segment))
            done = end
            while waiting and waiting[0].tile.position + waiting[0].tokens <= done:
                block, rest = waiting.popleft(), joined(begun)
                back = cut(rest, 0, block.tokens)
                if block.crc is None:
                    draft, back = self._encoder.draft(
                        block.session, block.segment, block.tile, block.time_us, back
                    )
                    made.append((block, draft, back))
                seen.append(back)
                begun = [cut(rest, block.tokens)] if tokens_in(rest) > block.tokens else []
        return made

    def chain(self, reader: PoolReader, session: str) -> SessionChain:
        """Where the session's newest segment goes on. Raises BlockMissing when a block has just moved."""
        blocks = reader.look(manifest.last_segment, session)
        if not blocks:
            return SessionChain(self._encoder, session)
        last = blocks[-1]
        chain = SessionChain(self._encoder, session, last.segment)
        position = last.tile.position + last.tokens
        needed = max(self._encoder.context_tokens, self._encoder.config.block_tokens)
        made = {}
        if any(block.crc is None for block in blocks):
            made = {block.number: raw for block, _, raw in self.remake(reader.pool, blocks)}
        near = [b for b in blocks if b.tile.position + b.tokens > position - needed]
        read = iter(self._resident(reader.pool, [b for b in near if b.number not in made]))
        parts = [made[block.number] if block.number in made else _on_cpu(next(read)) for block in near]
        chain.resume(position, parts, (last.number, last.tile, last.time_us))
        return chain

    def _reader(self, pool: Pool, block: KVBlock) -> Callable[[], Raw]:
        return lambda: decode(self._store.read(pool.generation, block), block.tokens, pool.layout)


def placed(reader: PoolReader, blocks: Iterable[KVBlock]) -> tuple[KVBlock, ...]:
    """The blocks as they are now. Raises BlockMissing when one is gone, or waits to be encoded again."""
    numbers = [block.number for block in blocks]
    rows = reader.look(manifest.fetch, numbers)
    if gone := [number for number in numbers if number not in rows or rows[number].crc is None]:
        raise BlockMissing(f"{len(gone)} chosen KV blocks were forgotten meanwhile")
    return tuple(rows[number] for number in numbers)


def _key(pool: Pool, block: KVBlock) -> Key:
    made_by = pool.generation
    return made_by.user, made_by.number, made_by.fingerprint, block.number, block.crc


def _on_cpu(raw: Raw) -> Raw:
    return tuple(RawKV(kv.keys.cpu(), kv.values.cpu()) for kv in raw)
