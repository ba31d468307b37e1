"""Memory for LLM agents: every message kept once, word for word, and remembered in several ways.

What is imported here is public. Names are looked up when they are first used, so that what needs few of them
starts at once.
"""

from __future__ import annotations

from zibaldone.errors import *  # noqa: F403 - each of them is public

_ERRORS = [name for name in globals() if name[0].isupper()]
TYPE_CHECKING = False  # no name of `typing` is public here
if TYPE_CHECKING:
    from zibaldone.api.admin import Admin as Admin, AsyncAdmin as AsyncAdmin
    from zibaldone.api.aio import AsyncMemory as AsyncMemory
    from zibaldone.api.builds import AsyncBuilds as AsyncBuilds, Builds as Builds
    from zibaldone.api.config import Config as Config
    from zibaldone.api.documents import (
        AsyncTopics as AsyncTopics,
        Topics as Topics,
        TopicsEdited as TopicsEdited,
        TopicsExported as TopicsExported,
    )
    from zibaldone.api.items import (
        AsyncItems as AsyncItems,
        ItemPut as ItemPut,
        Items as Items,
        StoredItem as StoredItem,
    )
    from zibaldone.api.memory import Memory as Memory
    from zibaldone.api.profile import AsyncProfile as AsyncProfile, Profile as Profile
    from zibaldone.api.user import AsyncUser as AsyncUser, User as User
    from zibaldone.core import (
        ChannelScore as ChannelScore,
        Citation as Citation,
        Decision as Decision,
        Evidence as Evidence,
        Message as Message,
        Scope as Scope,
        Trace as Trace,
        ViewTrace as ViewTrace,
    )
    from zibaldone.engine.forgetting import Receipt as Receipt, Removed as Removed
    from zibaldone.engine.imports import Imported as Imported, ImportInterrupted as ImportInterrupted
    from zibaldone.engine.inspection import Integrity as Integrity, Stats as Stats, ViewStats as ViewStats
    from zibaldone.engine.maintenance import Behind as Behind, Maintained as Maintained
    from zibaldone.engine.rebuilding.builds import (
        Build as Build,
        BuildDiff as BuildDiff,
        BuildStatus as BuildStatus,
        ChangedContent as ChangedContent,
    )
    from zibaldone.engine.verification.receipts import (
        Leftover as Leftover,
        LookedAt as LookedAt,
        Verification as Verification,
    )
    from zibaldone.importers.base import NotImported as NotImported
    from zibaldone.log import Session as Session
    from zibaldone.log.audit import AuditEntry as AuditEntry
    from zibaldone.log.filters import Filter as Filter
    from zibaldone.log.grants import Grant as Grant
    from zibaldone.log.message_input import Attachment as Attachment
    from zibaldone.log.retention import Retention as Retention, RetentionRule as RetentionRule
    from zibaldone.models.base import ChatModel as ChatModel, Embedder as Embedder, Reranker as Reranker
    from zibaldone.models.meter import Ceilings as Ceilings, Usage as Usage
    from zibaldone.models.openai import OpenAIChat as OpenAIChat, OpenAIEmbedder as OpenAIEmbedder
    from zibaldone.models.recorded import RecordedModel as RecordedModel
    from zibaldone.models.static import StaticEmbedder as StaticEmbedder
    from zibaldone.recall.ask import Answer as Answer, Step as Step
    from zibaldone.recall.lookup import Lookup as Lookup
    from zibaldone.recall.result import Passages as Passages, Recall as Recall
    from zibaldone.storage.converting import (
        Converted as Converted,
        change_key as change_key,
        decrypt_folder as decrypt_folder,
        encrypt_folder as encrypt_folder,
    )
    from zibaldone.views.base import Content as Content, Counted as Counted
    from zibaldone.views.chunks.chunk import Past as Past, StoredChunk as StoredChunk
    from zibaldone.views.chunks.config import MemAttention as MemAttention, Placement as Placement
    from zibaldone.views.chunks.storage.placement import Moved as Moved
    from zibaldone.views.hierarchy.config import XMemory as XMemory
    from zibaldone.views.hierarchy.nodes import (
        Episode as Episode,
        Semantic as Semantic,
        Statement as Statement,
    )
    from zibaldone.views.hierarchy.themes import Theme as Theme
    from zibaldone.views.notes import UserNote as UserNote
    from zibaldone.views.topics.config import Consolidation as Consolidation
    from zibaldone.views.topics.markdown.document import Document as Document
    from zibaldone.views.topics.markdown.entry import Entry as Entry
    from zibaldone.views.topics.read.agent_tools import Toolset as Toolset

__version__ = "0.1.0"


def _homes() -> dict[str, str]:
    """The modules of the names that are imported above for type checkers, by name."""
    import ast

    source = __spec__.loader.get_source(__name__)  # type: ignore[union-attr]
    (for_types,) = (node for node in ast.parse(source).body if isinstance(node, ast.If))
    imports = (node for node in for_types.body if isinstance(node, ast.ImportFrom))
    return {alias.name: node.module or "" for node in imports for alias in node.names}


_HOME = _homes()
__all__ = sorted([*_ERRORS, *_HOME])


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = value  # the next time it is there
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
