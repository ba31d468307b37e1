"""Models: embedders, tokenizers, rerankers and chat models."""

from __future__ import annotations

from zibaldone.models.asker import Asker, TaskAnswer
from zibaldone.models.base import ChatModel, ChatReply, ChatRequest, Embedder, Reranker, TokenLogprob, Turn
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
