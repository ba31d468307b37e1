"""The topics view (Infini Memory): Markdown documents, one per topic, kept up to date."""

from zibaldone.views.topics.config import Consolidation
from zibaldone.views.topics.markdown.document import Document, Heading
from zibaldone.views.topics.markdown.entry import Entry
from zibaldone.views.topics.read.agent_tools import Toolset
from zibaldone.views.topics.view import TopicsView

__all__ = ["Consolidation", "Document", "Entry", "Heading", "Toolset", "TopicsView"]
