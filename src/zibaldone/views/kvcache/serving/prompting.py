"""A question for an engine that serves the pool's model."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

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


def prompt_of(view: KVView, reader: PoolReader | None, user: str, sought: Sought) -> KVPrompt:
    """Select memory, and lay out the prompt.

    Raises BlockMissing when a chosen block has just gone, and InvalidInput for settings that an engine has no
    place for.
    """
    if not view.config.whole_turns:
        raise InvalidInput("select 'per_layer' gives every layer its own memory, an engine has one for all")
    selection = select(view, reader, sought)
    blocks: tuple[KVBlock, ...] = ()
    scope = salt = None
    if reader is not None and selection.shown:
        blocks = placed(reader, selection.shown)
        path = card_path(view.root, view.fingerprint)
        if not path.is_file():
            with view.model_lock:
                card_of(view.encoder).write(path)
        generation = reader.pool.generation
        numbers = tuple(block.number for block in blocks)
        pool = generation.number, generation.fingerprint
        scope = KVScope(user, *pool, numbers, content_of(blocks))
        salt = scope.salt()
    memory = (token for block in blocks for token in block.tile.ids)
    return KVPrompt(
        ids=(*view.encoder.prefix_ids, *memory, *selection.ids),
        question_tokens=len(selection.ids),
        scope=scope,
        salt=salt,
        citations=cited(reader, user, seqs_of(blocks)),
        query=sought.query,
        now=sought.now,
        user=user,
        session=sought.session,
        blocks=blocks,
    )
