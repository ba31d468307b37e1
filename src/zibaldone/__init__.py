"""Memory for LLM agents: every message kept once, word for word, and remembered in several ways.

Names are looked up when they are first used, so that what needs few of them starts at once.
"""

from __future__ import annotations

from zibaldone.errors import (
    BlockMissing,
    CeilingReached,
    ClosedMemory,
    ForeignKV,
    IdConflict,
    InvalidImport,
    InvalidInput,
    InvalidMessage,
    KeyDestroyed,
    KeyMissing,
    MissingExtra,
    ModelFailed,
    ModelUnavailable,
    NewerSchema,
    NotEncrypted,
    NotGranted,
    QuestionOpen,
    RecallGivenUp,
    StorageBusy,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageUnreachable,
    StorageUnusable,
    TooMany,
    UnknownName,
    UnsupportedModel,
    WrongKey,
    ZibaldoneError,
)

TYPE_CHECKING = False  # no name of `typing` is public here
if TYPE_CHECKING:
    from zibaldone.api.admin import Admin, AsyncAdmin
    from zibaldone.api.aio import AsyncMemory
    from zibaldone.api.builds import AsyncBuilds, Builds
    from zibaldone.api.config import Config
    from zibaldone.api.documents import AsyncTopics, Topics, TopicsEdited, TopicsExported
    from zibaldone.api.items import AsyncItems, ItemPut, Items, StoredItem
    from zibaldone.api.memory import Memory
    from zibaldone.api.profile import AsyncProfile, Profile
    from zibaldone.api.user import AsyncUser, User
    from zibaldone.core import ChannelScore, Citation, Decision, Evidence, Message, Scope, Trace, ViewTrace
    from zibaldone.engine.forgetting import Receipt, Removed
    from zibaldone.engine.imports import Imported, ImportInterrupted
    from zibaldone.engine.inspection import Integrity, Stats, ViewStats
    from zibaldone.engine.maintenance import Behind, Maintained
    from zibaldone.engine.rebuilding.builds import Build, BuildDiff, BuildStatus, ChangedContent
    from zibaldone.engine.verification.receipts import Leftover, LookedAt, Verification
    from zibaldone.importers.base import NotImported
    from zibaldone.log import Session
    from zibaldone.log.audit import AuditEntry
    from zibaldone.log.filters import Filter
    from zibaldone.log.grants import Grant
    from zibaldone.log.message_input import Attachment
    from zibaldone.log.retention import Retention, RetentionRule
    from zibaldone.models.base import ChatModel, Embedder, Reranker
    from zibaldone.models.meter import Ceilings, Usage
    from zibaldone.models.openai import OpenAIChat, OpenAIEmbedder
    from zibaldone.models.recorded import RecordedModel
    from zibaldone.models.static import StaticEmbedder
    from zibaldone.recall.ask import Answer, Step
    from zibaldone.recall.lookup import Lookup
    from zibaldone.recall.result import Passages, Recall
    from zibaldone.storage.converting import Converted, change_key, decrypt_folder, encrypt_folder
    from zibaldone.views.base import Content, Counted
    from zibaldone.views.chunks.chunk import Past, StoredChunk
    from zibaldone.views.chunks.config import MemAttention, Placement
    from zibaldone.views.chunks.storage.placement import Moved
    from zibaldone.views.hierarchy.config import XMemory
    from zibaldone.views.hierarchy.nodes import Episode, Semantic, Statement
    from zibaldone.views.hierarchy.themes import Theme
    from zibaldone.views.notes import UserNote
    from zibaldone.views.topics.config import Consolidation
    from zibaldone.views.topics.markdown.document import Document
    from zibaldone.views.topics.markdown.entry import Entry
    from zibaldone.views.topics.read.agent_tools import Toolset

__all__ = [
    "Admin",
    "Answer",
    "AsyncAdmin",
    "AsyncBuilds",
    "AsyncItems",
    "AsyncMemory",
    "AsyncProfile",
    "AsyncTopics",
    "AsyncUser",
    "Attachment",
    "AuditEntry",
    "Behind",
    "BlockMissing",
    "Build",
    "BuildDiff",
    "BuildStatus",
    "Builds",
    "CeilingReached",
    "Ceilings",
    "ChangedContent",
    "ChannelScore",
    "ChatModel",
    "Citation",
    "ClosedMemory",
    "Config",
    "Consolidation",
    "Content",
    "Converted",
    "Counted",
    "Decision",
    "Document",
    "Embedder",
    "Entry",
    "Episode",
    "Evidence",
    "Filter",
    "ForeignKV",
    "Grant",
    "IdConflict",
    "ImportInterrupted",
    "Imported",
    "Integrity",
    "InvalidImport",
    "InvalidInput",
    "InvalidMessage",
    "ItemPut",
    "Items",
    "KeyDestroyed",
    "KeyMissing",
    "Leftover",
    "LookedAt",
    "Lookup",
    "Maintained",
    "MemAttention",
    "Memory",
    "Message",
    "MissingExtra",
    "ModelFailed",
    "ModelUnavailable",
    "Moved",
    "NewerSchema",
    "NotEncrypted",
    "NotGranted",
    "NotImported",
    "OpenAIChat",
    "OpenAIEmbedder",
    "Passages",
    "Past",
    "Placement",
    "Profile",
    "QuestionOpen",
    "Recall",
    "RecallGivenUp",
    "Receipt",
    "RecordedModel",
    "Removed",
    "Reranker",
    "Retention",
    "RetentionRule",
    "Scope",
    "Semantic",
    "Session",
    "Statement",
    "StaticEmbedder",
    "Stats",
    "Step",
    "StorageBusy",
    "StorageCorrupt",
    "StorageError",
    "StorageFull",
    "StorageUnreachable",
    "StorageUnusable",
    "StoredChunk",
    "StoredItem",
    "Theme",
    "TooMany",
    "Toolset",
    "Topics",
    "TopicsEdited",
    "TopicsExported",
    "Trace",
    "UnknownName",
    "UnsupportedModel",
    "Usage",
    "User",
    "UserNote",
    "Verification",
    "ViewStats",
    "ViewTrace",
    "WrongKey",
    "XMemory",
    "ZibaldoneError",
    "change_key",
    "decrypt_folder",
    "encrypt_folder",
]

__version__ = "0.1.0"

_HOMES = {
    "api.admin": ("Admin", "AsyncAdmin"),
    "api.aio": ("AsyncMemory",),
    "api.builds": ("AsyncBuilds", "Builds"),
    "api.config": ("Config",),
    "api.user": ("AsyncUser", "User"),
    "recall.ask": ("Answer", "Step"),
    "recall.lookup": ("Lookup",),
    "log.audit": ("AuditEntry",),
    "log.filters": ("Filter",),
    "log.grants": ("Grant",),
    "core": ("ChannelScore", "Citation", "Decision", "Evidence", "Message", "Scope", "Trace", "ViewTrace"),
    "api.documents": ("AsyncTopics", "Topics", "TopicsEdited", "TopicsExported"),
    "engine.forgetting": ("Receipt", "Removed"),
    "importers.base": ("NotImported",),
    "engine.imports": ("Imported", "ImportInterrupted"),
    "engine.inspection": ("Integrity", "Stats", "ViewStats"),
    "api.items": ("AsyncItems", "ItemPut", "Items", "StoredItem"),
    "log": ("Session",),
    "engine.maintenance": ("Behind", "Maintained"),
    "api.memory": ("Memory",),
    "log.message_input": ("Attachment",),
    "models.base": ("ChatModel", "Embedder", "Reranker"),
    "models.meter": ("Ceilings", "Usage"),
    "models.openai": ("OpenAIChat", "OpenAIEmbedder"),
    "models.recorded": ("RecordedModel",),
    "models.static": ("StaticEmbedder",),
    "api.profile": ("AsyncProfile", "Profile"),
    "engine.rebuilding.builds": ("Build", "BuildDiff", "BuildStatus", "ChangedContent"),
    "recall.result": ("Passages", "Recall"),
    "log.retention": ("Retention", "RetentionRule"),
    "storage.converting": ("Converted", "change_key", "decrypt_folder", "encrypt_folder"),
    "engine.verification.receipts": ("Leftover", "LookedAt", "Verification"),
    "views.base": ("Content", "Counted"),
    "views.chunks.chunk": ("Past", "StoredChunk"),
    "views.chunks.config": ("MemAttention", "Placement"),
    "views.chunks.storage.placement": ("Moved",),
    "views.hierarchy.config": ("XMemory",),
    "views.hierarchy.nodes": ("Episode", "Semantic", "Statement"),
    "views.hierarchy.themes": ("Theme",),
    "views.notes": ("UserNote",),
    "views.topics.config": ("Consolidation",),
    "views.topics.markdown.document": ("Document",),
    "views.topics.markdown.entry": ("Entry",),
    "views.topics.read.agent_tools": ("Toolset",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import gc
    import threading
    from importlib import import_module

    # What modules make stays: looking through it is a tenth of the time they load in. One thread alone turns
    # it off, so that two cannot leave it so.
    pauses = gc.isenabled() and threading.current_thread() is threading.main_thread()
    if pauses:
        gc.disable()
    try:
        value: object = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    finally:
        if pauses:
            gc.enable()
    globals()[name] = value  # the next time it is there
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
