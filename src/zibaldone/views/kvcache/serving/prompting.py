"""A question for an engine that serves the pool's model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Any

import numpy as np

from zibaldone.errors import InvalidInput
from zibaldone.views.kvcache.generate.selection import Cited, Sought, cited, select, seqs_of
from zibaldone.views.kvcache.retrieve.fetching import placed
from zibaldone.views.kvcache.serving.model_card import card_of, card_path
from zibaldone.views.kvcache.serving.scheduling import KVScope, content_of
from zibaldone.views.kvcache.storage.manifest import KVBlock, PoolReader
from zibaldone.views.kvcache.view import KVView


@dataclass(frozen=True, slots=True)
class KVPrompt:
    """One question with its memory in front."""

    ids: tuple[int, ...]  # pinned prefix, memory, newest turns, question
    question_tokens: int  # at the end of these: what an engine has to compute
    scope: KVScope | None  # None: there is no memory to load
    salt: str | None
    citations: tuple[Cited, ...]  # the selected messages, in the order of the log
    query: str
    now: datetime
    user: str
    session: str | None
    blocks: tuple[KVBlock, ...]
    # Checksum of each block under this salt, by a digest of all tokens up to its end.
    checksums: Mapping[bytes, int | None] = field(default_factory=dict, repr=False)

    @property
    def memory_tokens(self) -> int:
        """Tokens whose keys are loaded, the pinned ones included."""
        return len(self.ids) - self.question_tokens

    @property
    def seqs(self) -> tuple[int, ...]:
        """Seqs of the selected messages."""
        return seqs_of(self.blocks)

    def body(self) -> dict[str, Any]:
        """Fields of a request to `/v1/completions`; model, max_tokens and the like are the caller's."""
        fields: dict[str, Any] = {"prompt": list(self.ids)}
        if self.scope is not None:
            fields |= {"kv_transfer_params": self.scope.params(), "cache_salt": self.salt}
        return fields


def prompt_of(
    view: KVView, reader: PoolReader | None, user: str, sought: Sought, after: KVPrompt | None = None
) -> KVPrompt:
    """Select memory, and lay out the prompt.

    It has the salt of the prompt `after` which it comes, so that an engine's prefix cache serves what both
    begin with; unless there, behind the same tokens, a block had the same tokens and another content.

    Raises BlockMissing when a chosen block has just gone, and InvalidInput for settings that an engine has no
    place for.
    """
    if not view.config.whole_turns:
        raise InvalidInput("select 'per_layer' gives every layer its own memory, an engine has one for all")
    selection = select(view, reader, sought)
    prefix = view.encoder.prefix_ids if view.config.pinned else ()
    blocks: tuple[KVBlock, ...] = ()
    scope = salt = None
    checksums: Mapping[bytes, int | None] = {}
    if reader is not None and selection.shown:
        blocks = placed(reader, selection.shown)
        path = card_path(view.root, view.fingerprint)
        if not path.is_file():
            with view.model_lock:
                card_of(view.encoder).write(path)
        generation = reader.pool.generation
        numbers = tuple(block.number for block in blocks)
        anchor, content, checksums = content_of(blocks), content_of(blocks), _checksums(blocks)
        if after is not None and after.scope is not None:
            both = {**checksums, **after.checksums}
            if both == {**after.checksums, **checksums}:
                anchor, checksums = after.scope.anchor, both
        pool = generation.number, generation.fingerprint
        scope = KVScope(user, *pool, bool(prefix), numbers, content, anchor)
        salt = scope.salt()
    memory = (token for block in blocks for token in block.tile.ids)
    return KVPrompt(
        ids=(*prefix, *memory, *selection.question.ids),
        question_tokens=len(selection.question.ids),
        scope=scope,
        salt=salt,
        citations=cited(reader, user, seqs_of(blocks)),
        query=sought.query,
        now=sought.now,
        user=user,
        session=sought.session,
        blocks=blocks,
        checksums=checksums,
    )


def _checksums(blocks: Sequence[KVBlock]) -> dict[bytes, int | None]:
    """Checksum of each block, by a digest of the memory's tokens up to its end."""
    tokens = blake2b(digest_size=16)
    by_digest: dict[bytes, int | None] = {}
    for block in blocks:
        tokens.update(np.asarray(block.tile.ids, dtype=np.int64).tobytes())
        by_digest[tokens.digest()] = block.crc
    return by_digest
