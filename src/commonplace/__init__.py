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
)
from commonplace.forgetting import Receipt, Removed
from commonplace.log import Session
from commonplace.memory import Integrity, Memory, Stats, ViewStats
from commonplace.models import Embedder, StaticEmbedder
from commonplace.transfer import Imported
from commonplace.views.base import Counted

__all__ = [
    "AsyncMemory",
    "BlockMissing",
    "CeilingReached",
    "ChannelScore",
    "Citation",
    "ClosedMemory",
    "CommonplaceError",
    "Counted",
    "Decision",
    "Embedder",
    "Evidence",
    "IdConflict",
    "Imported",
    "Integrity",
    "InvalidImport",
    "InvalidInput",
    "InvalidMessage",
    "Memory",
    "Message",
    "MissingExtra",
    "ModelFailed",
    "ModelUnavailable",
    "NewerSchema",
    "QuestionOpen",
    "Recall",
    "Receipt",
    "Removed",
    "Scope",
    "Session",
    "StaticEmbedder",
    "Stats",
    "StorageBusy",
    "StorageCorrupt",
    "StorageError",
    "StorageFull",
    "StorageUnusable",
    "Trace",
    "UnknownName",
    "ViewStats",
    "ViewTrace",
]

__version__ = "0.1.0"
