"""What the chunks view can be set to; the names are the paper's."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from zibaldone.errors import InvalidInput
from zibaldone.validation import shown

SHOWN_KEYWORDS = 16
_CHOICES = {
    "scope": ("user", "session"),
    "recall_relevance": ("metadata", "model"),
}


@dataclass(frozen=True, slots=True)
class MemAttention:
    """Akashic, sections 4.1 and 4.3; the last fields are our own."""

    chunk_gate_tokens: int = 1024  # tau_c: raw tokens at which the active chunk is compacted
    top_p: int = 5  # related chunks that a compaction or a query may read
    memory_budget_tokens: int = 1536  # B_mem: most that one recall gets from this view
    candidates: int = 40  # of which a model is shown the metadata; a lexical and dense cut leaves so many
    keywords: int = 256  # kept of a chunk, for the lexical side; a model is shown the first SHOWN_KEYWORDS
    # The paper's namespace is (user, session). LoCoMo's sessions have about 700 tokens, so that hardly any
    # reaches the gate: by default a chunk may span a user's sessions.
    scope: Literal["user", "session"] = "user"
    # The paper's model chooses at recall too. It is shown four times the tokens that a recall returns.
    recall_relevance: Literal["metadata", "model"] = "metadata"

    def __post_init__(self) -> None:
        for name in ("chunk_gate_tokens", "top_p", "memory_budget_tokens", "candidates", "keywords"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidInput(f"{name} must be a whole number above 0, not {shown(value)}")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise InvalidInput(
                    f"{name} must be one of {', '.join(choices)}, not {shown(getattr(self, name))}"
                )

    @property
    def fingerprint(self) -> str:
        """All that decides what is stored; what only reading uses is left out."""
        reading = {"memory_budget_tokens", "recall_relevance"}
        return ",".join(f"{name}={value}" for name, value in asdict(self).items() if name not in reading)
