"""The hierarchy view (xMemory): themes, semantics, episodes and messages."""

from commonplace.views.hierarchy.config import XMemory
from commonplace.views.hierarchy.inspecting import Theme
from commonplace.views.hierarchy.nodes import Episode, Semantic, Statement
from commonplace.views.hierarchy.view import HierarchyView

__all__ = ["Episode", "HierarchyView", "Semantic", "Statement", "Theme", "XMemory"]
