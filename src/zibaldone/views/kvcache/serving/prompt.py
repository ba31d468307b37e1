"""A question for an engine that serves the pool's model: tokens, and what says whose memory they are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from zibaldone.views.kvcache.generate.sight import Cited
from zibaldone.views.kvcache.serving.scope import KVScope
from zibaldone.views.kvcache.storage.manifest import KVBlock


@dataclass(frozen=True, slots=True)
class KVPrompt:
    """One question with its memory in front."""

    ids: tuple[int, ...]  # pinned prefix, memory, newest turns, question
    question_tokens: int  # at the end of these: what an engine has to compute
    scope: KVScope | None  # None: there is no memory to load
    salt: str | None
    citations: tuple[Cited, ...]  # the messages in sight, in the order of the log
    query: str
    now: datetime
    user: str
    session: str | None
    blocks: tuple[KVBlock, ...]
    deletions: int  # of the user's log when this was put together
    note: str = ""  # why turns were not chosen as the settings say

    @property
    def memory_tokens(self) -> int:
        """Tokens whose keys are loaded, the pinned ones among them."""
        return len(self.ids) - self.question_tokens

    @property
    def seqs(self) -> tuple[int, ...]:
        """Of the messages in sight."""
        return tuple(sorted({seq for block in self.blocks for seq in block.tile.seqs}))

    def body(self) -> dict[str, Any]:
        """Fields of a request to `/v1/completions`; model, max_tokens and the like are the caller's."""
        fields: dict[str, Any] = {"prompt": list(self.ids)}
        if self.scope is not None:
            fields |= {"kv_transfer_params": self.scope.params(), "cache_salt": self.salt}
        return fields
