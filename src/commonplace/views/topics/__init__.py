"""The topics view (Infini Memory): Markdown documents, one per topic, kept up to date."""

from commonplace.views.topics.config import Consolidation
from commonplace.views.topics.document import Document, Heading, Text
from commonplace.views.topics.entry import Entry
from commonplace.views.topics.toolset import Toolset
from commonplace.views.topics.view import TopicsView

__all__ = ["Consolidation", "Document", "Entry", "Heading", "Text", "Toolset", "TopicsView"]
