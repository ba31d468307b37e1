"""What can be set, named as the paper names it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Literal

from zibaldone.errors import InvalidInput
from zibaldone.validation import count, flag, shown

Normalization = Literal["softmax", "reciprocal_rank"]
Aggregation = Literal["max", "sum"]
Select = Literal["recall", "blocks", "per_layer"]
Asking = Literal["words", "all"]
Heads = Literal["each", "sum"]
Alignment = Literal["turn", "grid"]
Layers = Literal["calibrated", "all"] | tuple[int, ...]
Codec = Literal["native", "int8"]

_CHOICES = {
    "normalization": ("softmax", "reciprocal_rank"),
    "aggregation": ("max", "sum"),
    "select": ("recall", "blocks", "per_layer"),
    "asking": ("words", "all"),
    "heads": ("each", "sum"),
    "align": ("turn", "grid"),
    "codec": ("native", "int8"),
}
# Of these the stored blocks depend; the others may change from one question to the next.
_STORED = ("block_tokens", "align", "context_tokens", "segment_tokens", "codec")


@dataclass(frozen=True, slots=True)
class MemArt:
    """The settings of MemArt: the paper's to the letter in PAPER, what works best as they stand here.

    `select` says how memory is chosen: whole turns by text recall ("recall"), or single blocks by the model's
    attention, as in the paper: one set for all layers ("blocks"), or each layer its own in one pass
    ("per_layer").
    """

    # How blocks are made (section 3.2.1).
    block_tokens: int = 16  # BS: tokens of a block at most
    align: Alignment = "turn"  # a message begins a new block; "grid": every BS tokens, as in the paper
    context_tokens: int | None = 128  # that a message is encoded behind; None: all of its segment
    segment_tokens: int | None = 1024  # at which encoding starts afresh; None: half the model's window
    codec: Codec = "native"  # "int8" halves the pool
    # How they are chosen (section 3.2.2).
    select: Select = "recall"
    budget_tokens: int = 512  # of whole turns in sight, the newest ones counted
    top_k: int = 128  # with "blocks" and "per_layer"
    normalization: Normalization = "softmax"  # over blocks, per query token (Table 1)
    aggregation: Aggregation = "max"  # over query tokens (Table 1)
    asking: Asking = "words"  # which tokens ask: the question's own words; "all": name, date and marks too
    scaled: bool = True  # products are scaled as in the model's attention; the paper's are not
    heads: Heads = "each"  # every head asks for itself; "sum": scores are added over heads first
    layers: Layers = "calibrated"  # which ones score
    probe_tokens: int = 128  # of the newest turns, behind which the query is read; 0: none
    rescore: int = 8  # times k, or a tenth of all: candidates scored again by their own keys; 0: boxes alone
    # How they are reused (section 3.2.3).
    pinned: bool = True  # the first token and the system prompt stand before a question, as before every turn

    def __post_init__(self) -> None:
        """Raises InvalidInput for a value that cannot be."""
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise InvalidInput(
                    f"{name} must be one of {', '.join(choices)}, not {shown(getattr(self, name))}"
                )
        for name, least in (
            ("block_tokens", 1),
            ("budget_tokens", 1),
            ("top_k", 1),
            ("probe_tokens", 0),
            ("rescore", 0),
        ):
            count(name, getattr(self, name), least=least)
        for name in ("context_tokens", "segment_tokens"):
            if getattr(self, name) is not None:
                count(name, getattr(self, name), least=0 if name == "context_tokens" else 1)
        flag("pinned", self.pinned)
        if isinstance(self.layers, str):
            if self.layers not in ("calibrated", "all"):
                raise InvalidInput(f"layers must be 'calibrated', 'all' or numbers, not {shown(self.layers)}")
        elif not self.layers or any(
            isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in self.layers
        ):
            raise InvalidInput(f"layers must be numbers of layers from 0, not {shown(self.layers)}")
        if self.select == "per_layer" and self.layers != "all":
            raise InvalidInput("select 'per_layer' needs layers='all': each layer chooses with its own keys")
        if self.whole_turns and self.align == "grid":
            raise InvalidInput(
                f"select {self.select!r} takes whole turns, which align='grid' does not keep apart"
            )

    @property
    def whole_turns(self) -> bool:
        """True if whole turns are chosen, and not blocks."""
        return self.select == "recall"

    @property
    def stored(self) -> str:
        """A digest of what stored blocks depend on."""
        values = {name: value for name, value in asdict(self).items() if name in _STORED}
        return blake2b(repr(sorted(values.items())).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class Budget:
    """Room for blocks beside the model and in main memory; the rest is read from disk."""

    device_bytes: int = 1 << 30
    host_bytes: int = 2 << 30

    def __post_init__(self) -> None:
        """Raises InvalidInput for what is no number of bytes."""
        count("device_bytes", self.device_bytes, least=0)
        count("host_bytes", self.host_bytes, least=0)


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
