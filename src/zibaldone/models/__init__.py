"""Models: embedders, tokenizers, rerankers and chat models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zibaldone.core.on_demand import on_demand

if TYPE_CHECKING:
    from zibaldone.models.asker import Asker, TaskAnswer
    from zibaldone.models.base import (
        ChatModel,
        ChatReply,
        ChatRequest,
        Embedder,
        Reranker,
        TokenLogprob,
        Turn,
    )
    from zibaldone.models.meter import Ceilings, Meter, Prices, Usage
    from zibaldone.models.openai import OpenAIChat, OpenAIEmbedder
    from zibaldone.models.recorded import RecordedModel
    from zibaldone.models.static import StaticEmbedder
    from zibaldone.models.task import Task

__all__ = [
    "Asker",
    "Ceilings",
    "ChatModel",
    "ChatReply",
    "ChatRequest",
    "Embedder",
    "Meter",
    "OpenAIChat",
    "OpenAIEmbedder",
    "Prices",
    "RecordedModel",
    "Reranker",
    "StaticEmbedder",
    "Task",
    "TaskAnswer",
    "TokenLogprob",
    "Turn",
    "Usage",
]

__getattr__ = on_demand(
    __name__,
    {
        "asker": ("Asker", "TaskAnswer"),
        "base": ("ChatModel", "ChatReply", "ChatRequest", "Embedder", "Reranker", "TokenLogprob", "Turn"),
        "meter": ("Ceilings", "Meter", "Prices", "Usage"),
        "openai": ("OpenAIChat", "OpenAIEmbedder"),
        "recorded": ("RecordedModel",),
        "static": ("StaticEmbedder",),
        "task": ("Task",),
    },
)
