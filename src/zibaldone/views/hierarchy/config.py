"""What the hierarchy view can be set to; names and values are the paper's where it gives any."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from zibaldone.errors import InvalidInput
from zibaldone.validation import count, shown
from zibaldone.views.hierarchy.stage_one import StageOne
from zibaldone.views.hierarchy.stage_two import StageTwo
from zibaldone.views.hierarchy.themes import CAP


@dataclass(frozen=True, slots=True)
class XMemory:
    """Sections 3.2 and 3.3; the switches are the ablations of section 5."""

    theme_cap: int = CAP  # semantics per theme at most (appendix B.3)
    select: bool = True  # Stage I; False: the most similar semantics ("memory-only", "+UncSion")
    include: bool = True  # Stage II; False: sources of the semantics by rank ("memory-only", "+RepSel")
    reader: Literal["model", "offline"] = "model"  # whether Stage II asks a chat model, at every recall
    stage_one: StageOne = field(default_factory=StageOne)
    stage_two: StageTwo = field(default_factory=StageTwo)

    def __post_init__(self) -> None:
        """Raises InvalidInput for a value that cannot be."""
        count("theme_cap", self.theme_cap, least=2)
        for name in ("select", "include"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInput(f"{name} must be True or False, not {shown(getattr(self, name))}")

        if self.reader not in ("model", "offline"):
            raise InvalidInput(f'reader must be "model" or "offline", not {shown(self.reader)}')
