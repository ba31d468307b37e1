"""Settings of the kv view, by the paper's names."""

from __future__ import annotations

from dataclasses import asdict
from hashlib import blake2b
from typing import Annotated, Literal

from pydantic import Field

from zibaldone.errors import InvalidInput
from zibaldone.views.checked_settings import Count, Whole, settings

Normalization = Literal["softmax", "reciprocal_rank"]
Aggregation = Literal["max", "sum"]
Select = Literal["recall", "blocks", "per_layer"]
Asking = Literal["words", "all"]
Heads = Literal["each", "sum"]
Alignment = Literal["turn", "grid"]
Layers = Literal["calibrated", "all"] | Annotated[tuple[Whole, ...], Field(min_length=1)]
Codec = Literal["native", "int8"]

# Of these the stored blocks depend; the others may change from one question to the next.
_STORED = ("block_tokens", "align", "context_tokens", "segment_tokens", "codec")


@settings
class MemArt:
    """Settings of MemArt: PAPER follows the paper to the letter; the defaults are what works best.

    `select` says how memory is chosen: whole turns by text recall ("recall"), or single blocks by the model's
    attention, as in the paper: one set for all layers ("blocks"), or each layer its own in one pass
    ("per_layer").
    """

    # How blocks are made (section 3.2.1).
    block_tokens: Count = 16  # BS: tokens of a block at most
    align: Alignment = "turn"  # a message begins a new block; "grid": every BS tokens, as in the paper
    context_tokens: Whole | None = 128  # that a message is encoded behind; None: all of its segment
    segment_tokens: Count | None = 1024  # at which encoding starts afresh; None: half the model's window
    codec: Codec = "native"  # "int8" halves the pool
    # How they are chosen (section 3.2.2).
    select: Select = "recall"
    budget_tokens: Count = 512  # of selected whole turns, the newest ones included
    top_k: Count = 128  # with "blocks" and "per_layer"
    normalization: Normalization = "softmax"  # over blocks, per query token (Table 1)
    aggregation: Aggregation = "max"  # over query tokens (Table 1)
    asking: Asking = "words"  # which tokens ask: the question's own words; "all": name, date and marks too
    scaled: bool = True  # products are scaled as in the model's attention; the paper's are not
    heads: Heads = "each"  # every head asks for itself; "sum": scores are added over heads first
    layers: Layers = "calibrated"  # which ones score
    probe_tokens: Whole = 128  # of the newest turns, behind which the query is read; 0: none
    rescore: Whole = 8  # times k, or a tenth of all: scored again by their own keys; 0: boxes alone
    # How they are reused (section 3.2.3).
    pinned: bool = True  # the first token and the system prompt stand before a question, as before every turn

    def __post_init__(self) -> None:
        if self.select == "per_layer" and self.layers != "all":
            raise InvalidInput("select 'per_layer' needs layers='all': each layer chooses with its own keys")
        if self.whole_turns and self.align == "grid":
            raise InvalidInput(
                f"select {self.select!r} takes whole turns, which align='grid' does not keep apart"
            )

    @property
    def whole_turns(self) -> bool:
        """True if whole turns are selected, and not blocks."""
        return self.select == "recall"

    @property
    def stored(self) -> str:
        """Digest of the settings that stored blocks depend on."""
        values = {name: value for name, value in asdict(self).items() if name in _STORED}
        return blake2b(repr(sorted(values.items())).encode(), digest_size=8).hexdigest()


@settings
class Budget:
    """Bytes for blocks on the device and in main memory; other blocks are read from disk."""

    device_bytes: Whole = 1 << 30
    host_bytes: Whole = 2 << 30


BEST = MemArt()
# Fixed blocks of 16, boxes alone, heads added, all layers, one pass, nothing pinned, no recent turns.
PAPER = MemArt(
    align="grid",
    context_tokens=None,
    segment_tokens=None,
    asking="all",
    scaled=False,
    heads="sum",
    layers="all",
    probe_tokens=0,
    pinned=False,
    rescore=0,
    select="per_layer",
)
PRESETS = {"best": BEST, "paper": PAPER}
