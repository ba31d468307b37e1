"""Getting blocks to the model from disk, and encoding them again where a forgetting unmade them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from zibaldone.errors import BlockMissing
from zibaldone.views.kvcache.model.attention_hooks import Raw
from zibaldone.views.kvcache.model.encoding import Encoder, SessionChain
from zibaldone.views.kvcache.model.turns import TurnPiece, pieces_of
from zibaldone.views.kvcache.storage import manifest
from zibaldone.views.kvcache.storage.codec import decode
from zibaldone.views.kvcache.storage.manifest import KVBlock, Pool, PoolReader
from zibaldone.views.kvcache.storage.store import KVStore


class Fetcher:
    """Reads blocks of one model."""

    def __init__(self, store: KVStore, encoder: Encoder) -> None:
        self._store, self._encoder = store, encoder

    def fetch(self, reader: PoolReader, blocks: Iterable[KVBlock]) -> tuple[Raw, ...]:
        """Keys and values of these blocks, on the CPU.

        Raises BlockMissing when one was forgotten or unmade.
        """
        return self._read(reader.pool, placed(reader, blocks))

    def follow(self, pool: Pool, blocks: Sequence[KVBlock]) -> SessionChain:
        """The end of a segment of these blocks; its drafts are those without keys, encoded again.

        Whole turns are encoded, each behind the context that it had at first: the model sees passes of the
        same shapes. So where the same kernels run (the same processor, number of threads and version of
        torch) the same bytes come out, and elsewhere keys and values within NOISE of the largest. Drafts
        begin with the turn of the first such block, on a grid with the segment; in a quantised grid, blocks
        that were quantised before they were full come back as what a pass over the log gives.
        """
        last = blocks[-1]
        first = next((b.tile.position for b in blocks if b.crc is None), last.tile.position + last.tokens)
        if pool.align == "grid" and any(block.crc is None for block in blocks):
            first = 0
        chain = SessionChain(self._encoder, last.session, last.segment)
        begun, again = 0, list[TurnPiece]()
        for piece in pieces_of([block.tile for block in blocks]):
            if again or begun + len(piece.ids) > first:
                again.append(piece)
            else:
                begun += len(piece.ids)
        needed = max(self._encoder.context_tokens, self._encoder.config.block_tokens)
        near = [b for b in blocks if begun - needed < b.tile.position + b.tokens <= begun]
        if near:
            chain.resume(begun, self._read(pool, near))
        for piece in again:
            chain.extend(piece, last.time_us)
        return chain

    def chain(self, reader: PoolReader, session: str) -> SessionChain:
        """Where the session's newest segment goes on. Raises BlockMissing when a block has just gone."""
        blocks = reader.look(manifest.last_segment, session)
        if not blocks:
            return SessionChain(self._encoder, session)
        chain = self.follow(reader.pool, blocks)
        chain.stored(blocks[-1].number, blocks[-1].tile, blocks[-1].time_us)
        return chain

    def _read(self, pool: Pool, blocks: Sequence[KVBlock]) -> tuple[Raw, ...]:
        """Keys and values of blocks that have a file."""
        return tuple(
            decode(self._store.read(pool.generation, block), block.tokens, pool.layout) for block in blocks
        )


def placed(reader: PoolReader, blocks: Iterable[KVBlock]) -> tuple[KVBlock, ...]:
    """The blocks as they are now. Raises BlockMissing when one is gone, or waits to be encoded again."""
    numbers = [block.number for block in blocks]
    rows = reader.look(manifest.fetch, numbers)
    if gone := [number for number in numbers if number not in rows or rows[number].crc is None]:
        raise BlockMissing(f"{len(gone)} chosen KV blocks were forgotten meanwhile")
    return tuple(rows[number] for number in numbers)
