"""Memory for LLM agents: every message kept once, word for word, and remembered in several ways."""

from commonplace.aio import AsyncMemory
from commonplace.core import (
    ChannelScore,
    Citation,
    Decision,
    Evidence,
    Message,
    Recall,
    Scope,
    Trace,
    ViewTrace,
)
from commonplace.errors import (
    BlockMissing,
    CeilingReached,
    ClosedMemory,
    CommonplaceError,
    ForeignKV,
    IdConflict,
    InvalidImport,
    InvalidInput,
    InvalidMessage,
    MissingExtra,
    ModelFailed,
    ModelUnavailable,
    NewerSchema,
    QuestionOpen,
    StorageBusy,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageUnusable,
    UnknownName,
    UnsupportedModel,
)
from commonplace.forgetting import Receipt, Removed
from commonplace.inspection import Integrity, Stats, ViewStats
from commonplace.log import Session
from commonplace.maintenance import Behind, Maintained
from commonplace.memory import Memory
from commonplace.models import (
    Ceilings,
    ChatModel,
    Embedder,
    OpenAIChat,
    OpenAIEmbedder,
    RecordedModel,
    StaticEmbedder,
    Usage,
)
from commonplace.storage.placement import Moved, Placement
from commonplace.topics import AsyncTopics, Topics, TopicsEdited, TopicsExported
from commonplace.transfer import Imported
from commonplace.views.base import Counted
from commonplace.views.chunks import MemAttention, Past, StoredChunk
from commonplace.views.hierarchy import Episode, Semantic, Statement, Theme, XMemory
from commonplace.views.topics import Consolidation, Document, Entry, Toolset

__all__ = [
    "AsyncMemory",
    "AsyncTopics",
    "Behind",
    "BlockMissing",
    "CeilingReached",
    "Ceilings",
    "ChannelScore",
    "ChatModel",
    "Citation",
    "ClosedMemory",
    "CommonplaceError",
    "Consolidation",
    "Counted",
    "Decision",
    "Document",
    "Embedder",
    "Entry",
    "Episode",
    "Evidence",
    "ForeignKV",
    "IdConflict",
    "Imported",
    "Integrity",
    "InvalidImport",
    "InvalidInput",
    "InvalidMessage",
    "Maintained",
    "MemAttention",
    "Memory",
    "Message",
    "MissingExtra",
    "ModelFailed",
    "ModelUnavailable",
    "Moved",
    "NewerSchema",
    "OpenAIChat",
    "OpenAIEmbedder",
    "Past",
    "Placement",
    "QuestionOpen",
    "Recall",
    "Receipt",
    "RecordedModel",
    "Removed",
    "Scope",
    "Semantic",
    "Session",
    "Statement",
    "StaticEmbedder",
    "Stats",
    "StorageBusy",
    "StorageCorrupt",
    "StorageError",
    "StorageFull",
    "StorageUnusable",
    "StoredChunk",
    "Theme",
    "Toolset",
    "Topics",
    "TopicsEdited",
    "TopicsExported",
    "Trace",
    "UnknownName",
    "UnsupportedModel",
    "Usage",
    "ViewStats",
    "ViewTrace",
    "XMemory",
]

__version__ = "0.1.0"
