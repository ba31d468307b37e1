"""Settings of the kv view, by the paper's names."""

from __future__ import annotations

from dataclasses import asdict, replace
from hashlib import blake2b
from typing import Literal

from zibaldone.errors import InvalidInput
from zibaldone.views.checked_settings import Count, Whole, settings

Normalization = Literal["softmax", "reciprocal_rank"]
Aggregation = Literal["max", "sum"]
Select = Literal["recall", "per_layer"]
Alignment = Literal["turn", "grid"]
Codec = Literal["native", "int8"]

# Of these the stored blocks depend; the others may change from one question to the next.
_STORED = ("block_tokens", "context_tokens", "segment_tokens", "codec")


@settings
class MemArt:
    """Settings of MemArt. `MemArt.paper()` follows the paper to the letter; the defaults are what works best.

    `select`: what stands before a question. "recall": whole turns, as text recall ranks them. "per_layer", as
    Algorithm 1: each layer's own blocks, of one grid over all messages whose first begins with the prefix.
    """

    # How blocks are made (section 3.2.1).
    block_tokens: Count = 16  # BS: tokens of a block at most
    context_tokens: Whole | None = 128  # that a message is encoded behind; None: all of its segment
    segment_tokens: Count | None = 1024  # at which encoding starts afresh; None: half the model's window
    codec: Codec = "native"  # "int8" halves the pool
    # How they are chosen (section 3.2.2).
    select: Select = "recall"
    budget_tokens: Count = 512  # with "recall": of whole turns, the newest ones included
    recent_tokens: Whole = 128  # with "recall": of the session's newest turns, right before the question
    top_k: Count = 128  # with "per_layer": blocks of a layer, unless a call says how many tokens
    normalization: Normalization = "softmax"  # over blocks, per query token (Table 1)
    aggregation: Aggregation = "max"  # over query tokens (Table 1)

    def __post_init__(self) -> None:
        if self.select == "per_layer" and self.context_tokens is not None:
            raise InvalidInput("select 'per_layer' encodes behind the whole segment: set context_tokens=None")

    @classmethod
    def paper(cls, model: Literal["llama", "qwen"] = "llama") -> MemArt:
        """Section 4.2: k = 128, Softmax-Max for Llama-3.1-8B; k = 256, RR-Max for Qwen-2.5-7B."""
        if model not in ("llama", "qwen"):
            raise InvalidInput(f"model must be 'llama' or 'qwen', not {model!r}")
        llama = cls(context_tokens=None, segment_tokens=None, select="per_layer")
        return llama if model == "llama" else replace(llama, top_k=256, normalization="reciprocal_rank")

    @property
    def whole_turns(self) -> bool:
        """True if whole turns are selected, and not blocks."""
        return self.select == "recall"

    @property
    def memory_tokens(self) -> int:
        """Tokens of memory before a question, unless a call says otherwise."""
        return self.budget_tokens if self.whole_turns else self.top_k * self.block_tokens

    @property
    def align(self) -> Alignment:
        """Where a block begins: with every message, or every `block_tokens` of the stream."""
        return "turn" if self.whole_turns else "grid"

    def stream_of(self, session: str) -> str:
        """Name of the stream of tokens that a session's messages are encoded in: one for all on a grid."""
        return session if self.whole_turns else ""

    @property
    def stored(self) -> str:
        """Digest of the settings that stored blocks depend on."""
        values = {name: value for name, value in asdict(self).items() if name in _STORED}
        values["align"] = self.align
        return blake2b(repr(sorted(values.items())).encode(), digest_size=8).hexdigest()
