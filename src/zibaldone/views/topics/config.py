"""Settings of the topics view; names are the paper's where it has one."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from zibaldone.errors import InvalidInput
from zibaldone.views.checked_settings import Cosine, Count, Whole, settings


@settings
class Consolidation:
    """Infini Memory, section 3.3. Tokens are the memory's tokenizer's, of what entries and headings say."""

    extraction_tokens: Count = 4096  # of messages that a model is shown at a time
    current_threshold_tokens: Count = 5000  # tau_tok of Eq. 1: at so many CURRENT is flushed
    # tau_time of Eq. 1, in the log's own time: a person who says little fills 5,000 tokens in seven weeks.
    current_window: Annotated[timedelta, Field(gt=timedelta(0))] = timedelta(days=90)
    split_tokens: Count = 5000  # a document above this is split
    merge_tokens: Count = 1000  # documents below this may be merged
    merge_most: Annotated[int, Field(ge=2)] = 4  # documents in one merge
    summary_tokens: Count = 100  # a summary's limit
    entry_tokens: Count = 256  # a longer sentence is cut into several entries
    plan_depth: Whole = 3  # how often an invalid plan is halved before its blocks become documents
    route_similarity: Cosine = 0.45  # cosine of summaries from which a block belongs to a document
    group_similarity: Cosine = 0.45  # cosine from which entries stand under one heading
    merge_similarity: Cosine = 0.35  # cosine of summaries from which small documents may be merged
    # How recall reads (section 3.4): H picks documents and adds heading blocks of others; A, where there is a
    # chat model, works with tools.
    reader: Literal["hybrid", "agentic"] = "hybrid"

    def __post_init__(self) -> None:
        if self.merge_tokens >= self.split_tokens:
            raise InvalidInput(
                f"merge_tokens must be below split_tokens, or what is split is merged again:"
                f" {self.merge_tokens} is not below {self.split_tokens}"
            )

    @classmethod
    def paper(cls) -> Consolidation:
        """Settings of section 4.1, with Infini Memory-A as reader; the paper gives no number for tau_time."""
        return cls(
            extraction_tokens=4096,
            current_threshold_tokens=5000,
            split_tokens=5000,
            merge_tokens=1000,
            reader="agentic",
        )

    @property
    def fingerprint(self) -> str:
        """Digest of the settings that decide what is stored; the choice of reader is left out."""
        stored = {name: value for name, value in asdict(self).items() if name != "reader"}
        return ",".join(f"{name}={value}" for name, value in stored.items())
