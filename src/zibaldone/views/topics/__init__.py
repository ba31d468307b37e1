"""The topics view (Infini Memory): Markdown documents, one per topic, kept up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zibaldone.core.on_demand import on_demand

if TYPE_CHECKING:
    from zibaldone.views.topics.config import Consolidation
    from zibaldone.views.topics.markdown.document import Document, Heading
    from zibaldone.views.topics.markdown.entry import Entry
    from zibaldone.views.topics.read.agent_tools import Toolset
    from zibaldone.views.topics.view import TopicsView

__all__ = ["Consolidation", "Document", "Entry", "Heading", "Toolset", "TopicsView"]

__getattr__ = on_demand(
    __name__,
    {
        "config": ("Consolidation",),
        "markdown.document": (
            "Document",
            "Heading",
        ),
        "markdown.entry": ("Entry",),
        "read.agent_tools": ("Toolset",),
        "view": ("TopicsView",),
    },
)
