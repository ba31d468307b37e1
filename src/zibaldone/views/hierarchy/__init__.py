"""The hierarchy view (xMemory): themes, semantics, episodes and messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zibaldone.core.on_demand import on_demand

if TYPE_CHECKING:
    from zibaldone.views.hierarchy.config import XMemory
    from zibaldone.views.hierarchy.nodes import Episode, Semantic, Statement
    from zibaldone.views.hierarchy.themes import Theme
    from zibaldone.views.hierarchy.view import HierarchyView

__all__ = ["Episode", "HierarchyView", "Semantic", "Statement", "Theme", "XMemory"]

__getattr__ = on_demand(
    __name__,
    {
        "config": ("XMemory",),
        "nodes": (
            "Episode",
            "Semantic",
            "Statement",
        ),
        "themes": ("Theme",),
        "view": ("HierarchyView",),
    },
)
