"""The hierarchy view (xMemory): themes, semantics, episodes and messages."""

from zibaldone.views.hierarchy.config import XMemory
from zibaldone.views.hierarchy.nodes import Episode, Semantic, Statement
from zibaldone.views.hierarchy.themes import Theme
from zibaldone.views.hierarchy.view import HierarchyView

__all__ = ["Episode", "HierarchyView", "Semantic", "Statement", "Theme", "XMemory"]
