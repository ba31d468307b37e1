"""What consolidation of the topics view can be set to; the names are the paper's where it has one."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from datetime import timedelta
from typing import Literal

from zibaldone.errors import InvalidInput
from zibaldone.validation import shown

READERS = ("hybrid", "agentic")


@dataclass(frozen=True, slots=True)
class Consolidation:
    """Infini Memory, section 3.3. Tokens are the memory's tokenizer's, of what entries and headings say."""

    extraction_tokens: int = 4096  # of messages that a model is shown at a time
    current_threshold_tokens: int = 5000  # tau_tok of Eq. 1: at so many CURRENT is flushed
    # tau_time of Eq. 1, in the log's own time. A day: what was talked about in one go is consolidated
    # together, and what was said yesterday is filed by the next time that somebody speaks.
    current_window: timedelta = timedelta(days=1)
    split_tokens: int = 5000  # a document above this is split
    merge_tokens: int = 1000  # documents below this may be merged
    merge_most: int = 4  # documents in one merge; at least 2
    summary_tokens: int = 100  # a summary's limit
    entry_tokens: int = 256  # a longer sentence is cut into several entries
    plan_depth: int = 3  # how often an invalid plan is halved before its blocks become documents
    route_similarity: float = 0.35  # cosine of centroids from which a block belongs to a document
    group_similarity: float = 0.45  # cosine from which entries stand under one heading
    merge_similarity: float = 0.1  # cosine of centroids from which small documents are merged offline
    # How recall reads (section 3.4): H picks documents and adds heading blocks of others; A, where there is a
    # chat model, works with tools.
    reader: Literal["hybrid", "agentic"] = "hybrid"

    def __post_init__(self) -> None:
        for setting in fields(self):
            value = getattr(self, setting.name)
            if setting.name == "current_window":
                if not isinstance(value, timedelta) or value <= timedelta(0):
                    raise InvalidInput(f"current_window must be a timedelta above 0, not {shown(value)}")
            elif setting.name == "reader":
                if value not in READERS:
                    raise InvalidInput(f"reader must be one of {', '.join(READERS)}, not {shown(value)}")
            elif setting.name.endswith("_similarity"):
                if isinstance(value, bool) or not isinstance(value, int | float) or not -1 <= value <= 1:
                    raise InvalidInput(f"{setting.name} must be a cosine from -1 to 1, not {shown(value)}")
            else:
                self._check_count(setting.name, value)
        if self.merge_tokens >= self.split_tokens:
            raise InvalidInput(
                f"merge_tokens must be below split_tokens, or what is split is merged again:"
                f" {self.merge_tokens} is not below {self.split_tokens}"
            )

    def _check_count(self, name: str, value: object) -> None:
        least = {"plan_depth": 0, "merge_most": 2}.get(name, 1)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InvalidInput(f"{name} must be a whole number from {least}, not {shown(value)}")

    @property
    def fingerprint(self) -> str:
        """All that decides what is stored; who reads is left out."""
        stored = {name: value for name, value in asdict(self).items() if name != "reader"}
        return ",".join(f"{name}={value}" for name, value in stored.items())
