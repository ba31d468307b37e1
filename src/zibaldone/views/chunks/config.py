"""Settings of the chunks view; names are the paper's."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from zibaldone.views.checked_settings import Cosine, Count, Positive, settings

SHOWN_KEYWORDS = 16
_ALL_CHUNKS = 10**9


@settings
class MemAttention:
    """Settings of Akashic, sections 4.1 and 4.3. The defaults are ours where that is better; see `paper`."""

    chunk_gate_tokens: Count = 1024  # tau_c: raw tokens at which the active chunk is compacted
    top_p: Count = 5  # related chunks that a compaction or a query may read
    memory_budget_tokens: Count = 1536  # B_mem: most that one recall gets from this view
    candidates: Count = 40  # of which a model is shown the metadata; a lexical and dense cut leaves so many
    keywords: Count = 256  # kept of a chunk, for the lexical side; a model is shown the first SHOWN_KEYWORDS
    # The paper's namespace is (user, session): of compaction, and of a recall with Filter(session=...).
    # LoCoMo's sessions have about 700 tokens, so hardly any reaches the gate: by default a chunk may
    # span a user's sessions.
    scope: Literal["user", "session"] = "user"
    # The paper's model chooses at recall too. It is shown four times the tokens that a recall returns.
    recall_relevance: Literal["metadata", "model"] = "metadata"
    # The paper puts whole chunks into the prompt, "chunk": the most relevant first, until B_mem is full.
    recall_unit: Literal["item", "chunk"] = "item"
    relocation: bool = False  # chunks read together move into blocks of their own: Algorithm 2, lines 3 to 10

    @classmethod
    def paper(cls) -> MemAttention:
        """Make the paper's settings.

        Chunks stay in their session; a model selects among all chunks of the session that a recall's filter
        names, and of the user where it names none; chunks are read whole; the memory manager runs Algorithm 2
        whole, with `Placement.paper()`.
        """
        return cls(
            candidates=_ALL_CHUNKS,
            scope="session",
            recall_relevance="model",
            recall_unit="chunk",
            relocation=True,
        )

    @property
    def fingerprint(self) -> str:
        """Settings that decide what is stored; those of reading and of placement are left out."""
        reading = {"memory_budget_tokens", "recall_relevance", "recall_unit", "relocation"}
        return ",".join(f"{name}={value}" for name, value in asdict(self).items() if name not in reading)


@settings
class Placement:
    """Parameters of the memory manager; docs/decisions.md has the sweeps."""

    block_bytes: Count = 64 * 1024  # the paper names none
    gc_invalid_ratio: Positive = 0.3  # phi (Eq. 2) from which a block is collected: section 5.5's default
    staged_blocks: Positive = 4  # ours: blocks' worth of a namespace's records that may wait for company
    staged_by_affinity: bool = True  # ours: new blocks are of what is alike; else in the order of time
    tau_assoc: Cosine = (
        0.7  # section 5.5: cosine from which two chunks are co-located where no model is asked
    )

    @classmethod
    def paper(cls) -> Placement:
        """Make the paper's settings: full blocks in the order of time; phi of section 4 (5.5 says 0.3)."""
        return cls(gc_invalid_ratio=0.75, staged_blocks=1, staged_by_affinity=False)
