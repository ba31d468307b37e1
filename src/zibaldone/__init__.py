"""Memory for LLM agents: every message kept once, word for word, and remembered in several ways."""

from zibaldone.aio import AsyncMemory
from zibaldone.core import ChannelScore, Citation, Decision, Evidence, Message, Scope, Trace, ViewTrace
from zibaldone.documents import AsyncTopics, Topics, TopicsEdited, TopicsExported
from zibaldone.errors import (
    BlockMissing,
    CeilingReached,
    ClosedMemory,
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
    ZibaldoneError,
)
from zibaldone.forgetting import Receipt, Removed
from zibaldone.importers.base import NotImported
from zibaldone.imports import Imported, ImportInterrupted
from zibaldone.inspection import Integrity, Stats, ViewStats
from zibaldone.items import AsyncItems, ItemPut, Items, StoredItem
from zibaldone.log import Session
from zibaldone.maintenance import Behind, Maintained
from zibaldone.memory import Memory
from zibaldone.message_objects import Attachment
from zibaldone.models import (
    Ceilings,
    ChatModel,
    Embedder,
    OpenAIChat,
    OpenAIEmbedder,
    RecordedModel,
    StaticEmbedder,
    Usage,
)
from zibaldone.profile import AsyncProfile, Profile
from zibaldone.recalled import Recall
from zibaldone.views.base import Counted
from zibaldone.views.chunks import MemAttention, Past, StoredChunk
from zibaldone.views.chunks.storage.placement import Moved, Placement
from zibaldone.views.hierarchy import Episode, Semantic, Statement, Theme, XMemory
from zibaldone.views.profile import ProfileEntry
from zibaldone.views.topics import Consolidation, Document, Entry, Toolset

__all__ = [
    "AsyncItems",
    "AsyncMemory",
    "AsyncProfile",
    "AsyncTopics",
    "Attachment",
    "Behind",
    "BlockMissing",
    "CeilingReached",
    "Ceilings",
    "ChannelScore",
    "ChatModel",
    "Citation",
    "ClosedMemory",
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
    "ImportInterrupted",
    "Imported",
    "Integrity",
    "InvalidImport",
    "InvalidInput",
    "InvalidMessage",
    "ItemPut",
    "Items",
    "Maintained",
    "MemAttention",
    "Memory",
    "Message",
    "MissingExtra",
    "ModelFailed",
    "ModelUnavailable",
    "Moved",
    "NewerSchema",
    "NotImported",
    "OpenAIChat",
    "OpenAIEmbedder",
    "Past",
    "Placement",
    "Profile",
    "ProfileEntry",
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
    "StoredItem",
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
    "ZibaldoneError",
]

__version__ = "0.1.0"
