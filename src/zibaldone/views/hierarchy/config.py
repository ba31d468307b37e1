"""Settings of the hierarchy view; names and values are the paper's where it gives any."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Literal

from pydantic import Field

from zibaldone.views.checked_settings import settings
from zibaldone.views.hierarchy.guided import Guided
from zibaldone.views.hierarchy.stage_one import StageOne
from zibaldone.views.hierarchy.stage_two import StageTwo
from zibaldone.views.hierarchy.themes import CAP


@settings
class XMemory:
    """Settings of sections 3.2 and 3.3; the switches are the ablations of section 5."""

    theme_cap: Annotated[int, Field(ge=2)] = CAP  # semantics per theme at most (appendix B.3)
    guided: Guided | None = None  # themes as the paper has them; None: made when they are looked at
    select: bool = True  # Stage I; False: the most similar semantics ("memory-only", "+UncSion")
    include: bool = True  # Stage II; False: sources of the semantics by rank ("memory-only", "+RepSel")
    reader: Literal["model", "offline"] = "model"  # whether Stage II asks a chat model, at every recall
    stage_one: StageOne = field(default_factory=StageOne)
    stage_two: StageTwo = field(default_factory=StageTwo)

    @staticmethod
    def paper() -> XMemory:
        """Return the paper's settings, where its text speaks; docs/papers.md has them row by row.

        Eqs. 1 to 3 keep up themes, which a model names. Stage I goes by plain cosines over themes, then over
        their semantics, along kNN graphs. Stage II asks about the episodes of these semantics alone, and
        admits none that does not help. A reader gets semantics and admitted episodes.
        """
        return XMemory(guided=Guided(), stage_two=StageTwo(similar=0, least=0))
