"""Settings of the chunks view; names are the paper's."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from zibaldone.views.checked_settings import Count, settings

SHOWN_KEYWORDS = 16


@settings
class MemAttention:
    """Settings of Akashic, sections 4.1 and 4.3; the last fields are our own."""

    chunk_gate_tokens: Count = 1024  # tau_c: raw tokens at which the active chunk is compacted
    top_p: Count = 5  # related chunks that a compaction or a query may read
    memory_budget_tokens: Count = 1536  # B_mem: most that one recall gets from this view
    candidates: Count = 40  # of which a model is shown the metadata; a lexical and dense cut leaves so many
    keywords: Count = 256  # kept of a chunk, for the lexical side; a model is shown the first SHOWN_KEYWORDS
    # The paper's namespace is (user, session). LoCoMo's sessions have about 700 tokens, so that hardly any
    # reaches the gate: by default a chunk may span a user's sessions.
    scope: Literal["user", "session"] = "user"
    # The paper's model chooses at recall too. It is shown four times the tokens that a recall returns.
    recall_relevance: Literal["metadata", "model"] = "metadata"

    @property
    def fingerprint(self) -> str:
        """Settings that decide what is stored; those of reading are left out."""
        reading = {"memory_budget_tokens", "recall_relevance"}
        return ",".join(f"{name}={value}" for name, value in asdict(self).items() if name not in reading)
