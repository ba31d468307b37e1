"""The kv view: implements the view contract with the modules beside it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import Message
from zibaldone.errors import ForeignKV
from zibaldone.log import to_us
from zibaldone.search.question import Question
from zibaldone.search.ranker import Explanation
from zibaldone.storage.database import Database
from zibaldone.views.base import Counted, Generation, PrepareContext, Retrieved, TakeSnapshot
from zibaldone.views.kvcache.config import MemArt
from zibaldone.views.kvcache.model.encoding import BlockDraft, Encoder, SessionChain
from zibaldone.views.kvcache.model.turns import pieces
from zibaldone.views.kvcache.retrieve.fetching import Fetcher
from zibaldone.views.kvcache.storage import manifest
from zibaldone.views.kvcache.storage.manifest import KVBlock, Pool, PoolReader
from zibaldone.views.kvcache.storage.store import KVStore

_BATCH_MESSAGES = 64
_NO_TEXT = "keys and values answer in KVMemory.generate: recall the view 'messages' for text"
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PreparedBlocks:
    """Blocks of a batch of messages, before they have numbers."""

    drafts: tuple[BlockDraft, ...]
    replaced: tuple[int, ...] = ()  # numbers of blocks that grew (align="grid")


class KVView(KVStore):
    """MemArt: messages as blocks of keys without positions, which the model attends to again."""

    batch_messages = _BATCH_MESSAGES
    reads_whole = True
    tended_from = 0

    def __init__(
        self,
        root: Path,
        encoder: Encoder,
        fingerprint: str,
    ) -> None:
        super().__init__(root)
        self.encoder, self.fingerprint = encoder, fingerprint
        self.model_lock = encoder.tap.lock  # one forward pass at a time, whoever's
        self.fetcher = Fetcher(self, encoder)
        self._damaged: set[str] = set()  # users of whom something was found damaged

    @property
    def config(self) -> MemArt:
        return self.encoder.config

    def prepare(
        self,
        messages: Sequence[Message],
        basis: PrepareContext | None = None,
    ) -> PreparedBlocks | None:
        """Encode these messages, each behind those before it in its segment (Algorithm 1, lines 7-8)."""
        if basis is None:
            return None
        with basis.read() as connection:
            pool = manifest.pool(connection, basis.generation) if basis.generation else None
        reader = PoolReader(pool, basis.read) if pool is not None else None
        chains: dict[str, SessionChain] = {}  # by stream
        with self.model_lock:
            for message in messages:
                stream = self.config.stream_of(message.session)
                if stream not in chains:
                    chains[stream] = self._chain(reader, stream)
                assert message.time is not None
                ids = self.encoder.turn_ids(message)
                for piece in pieces(message.seq, ids, self.encoder.segment_tokens):
                    chains[stream].extend(piece, to_us(message.time))
        return prepared_of(list(chains.values()))

    def commit(
        self,
        connection: Connection,
        generation: Generation,
        seqs: Sequence[int],  # noqa: ARG002 - what was made of them is in `prepared`
        prepared: PreparedBlocks,
    ) -> None:
        """Append to the pool (Algorithm 1, lines 7-8): bytes into new files, then their rows."""
        pool = self._opened(connection, generation)
        old = manifest.fetch(connection, generation, prepared.replaced)
        manifest.remove(connection, generation, list(old.values()))
        if old:  # whoever holds an index has blocks that are no more
            log.touch(connection, generation.user, deleted=True)
        given = manifest.reserve_numbers(connection, pool, len(prepared.drafts))
        blocks, boxes = [], {}
        for number, draft in zip(given, prepared.drafts, strict=True):
            block = KVBlock(number, draft.session, draft.segment, draft.tile, draft.time_us)
            blocks.append(self.write(generation, block, draft.payload))
            boxes[number] = draft.boxes
        manifest.add(connection, generation, blocks, boxes)

    def retrieve(self, take_snapshot: TakeSnapshot, question: Question) -> Retrieved:  # noqa: ARG002
        """Retrieve nothing, and say so: keys are no text, and the messages view has the same messages."""
        return Retrieved((), 0, 0.0, Explanation.of_nothing(), _NO_TEXT)

    def pool(self, connection: Connection, generation: Generation | None) -> Pool | None:
        """The generation's pool; None without a generation. Raises ForeignKV if another model made it."""
        if generation is None:
            return None
        if generation.fingerprint != self.fingerprint:
            raise ForeignKV(
                f"the blocks of user {generation.user!r} were made by another model, dtype, tokenizer or"
                f" setting ({generation.fingerprint}), not by this one ({self.fingerprint}): remember() makes"
                " them anew"
            )
        return manifest.pool(connection, generation)

    def housekeep(
        self,
        database: Database,
        generation: Generation,
        *,
        patient: bool = False,  # noqa: ARG002
    ) -> tuple[Counted, ...]:
        """Encode blocks that forgetting left without keys, and clean up."""
        self.clean(database, generation.user)
        if generation.fingerprint != self.fingerprint:
            return ()
        if generation.user in self._damaged:
            self._damaged.discard(generation.user)
            self.heal(database, generation.user)
        self._remake(database, generation)
        self.clean(database, generation.user)
        return ()

    def waiting(self, connection: Connection, generation: Generation) -> bool:
        """True if blocks are to be encoded again because they had attended to forgotten messages."""
        return bool(manifest.unmade(connection, generation))

    def heal(self, database: Database, user: str) -> int:
        """Release blocks whose bytes are damaged, to be encoded again; returns how many."""
        with database.write() as connection:
            damaged = 0
            for pool in manifest.pools(connection, user):
                for block in self.damaged(connection, pool.generation):
                    manifest.set_keys(connection, pool.generation, block.number, None)
                    damaged += 1
            if damaged:
                log.touch(connection, user, deleted=True)
        if damaged:
            _logger.warning("%d KV blocks of user %r are damaged: they are encoded again", damaged, user)
            self.refresh(database, user, None)
        return damaged

    def due(self, connection: Connection, user: str | None = None) -> set[str]:
        """Users with blocks that are damaged or wait to be encoded again."""
        here = set(self._damaged) if user is None else self._damaged & {user}
        return here | manifest.users_with_unmade(connection, user)

    def faults(self, connection: Connection, generation: Generation) -> list[str]:
        if disagreements := super().faults(connection, generation):
            self._damaged.add(generation.user)  # the next `housekeep` mends what can be mended
        return disagreements

    def close(self) -> None:
        """Detach from the model."""
        self.encoder.tap.detach()

    def _chain(self, reader: PoolReader | None, stream: str) -> SessionChain:
        """The end of the stream's newest segment, where it goes on."""
        if reader is None:
            return SessionChain(self.encoder, stream)
        return self.fetcher.chain(reader, stream)

    def _opened(self, connection: Connection, generation: Generation) -> Pool:
        """The generation's pool, created if there is none."""
        pool = manifest.pool(connection, generation)
        if pool is not None:
            return pool
        encoder = self.encoder
        made = Pool(replace(generation, cursor=0), encoder.layout, self.config.align)
        manifest.open_pool(connection, made)
        return made

    def _remake(self, database: Database, generation: Generation) -> None:
        """Encode blocks that lost their keys to forgetting, and store them."""
        while True:
            with database.read() as connection:
                pool = manifest.pool(connection, generation)
                waiting = manifest.unmade(connection, generation) if pool else []
                rows = manifest.segment(connection, generation, *waiting[0]) if waiting else []
            if pool is None or not rows:
                return
            with self.model_lock:
                chain = self.fetcher.follow(pool, rows)
            drafts = {draft.tile.position: draft for draft in chain.drafts}
            made = [(block, drafts[block.tile.position]) for block in rows if block.crc is None]
            with database.write() as connection:
                now = manifest.fetch(connection, generation, [block.number for block, _ in made])
                same = [(block, draft) for block, draft in made if now.get(block.number) == block]
                if not same:
                    return  # somebody else did, or something was forgotten: the next housekeep goes on
                for block, draft in same:
                    crc = self.write(generation, block, draft.payload).crc
                    manifest.set_keys(connection, generation, block.number, crc, draft.boxes)
                log.touch(connection, generation.user, deleted=True)


def prepared_of(chains: Sequence[SessionChain]) -> PreparedBlocks:
    """Blocks of all chains in the order of the log, so that numbers do not depend on batches."""
    drafts = [draft for chain in chains for draft in chain.drafts]
    drafts.sort(key=lambda draft: (draft.tile.runs[0][0], draft.segment, draft.tile.position))
    return PreparedBlocks(tuple(drafts), tuple(number for chain in chains for number in chain.replaced))
