"""Models: what turns text into vectors and tokens, and what answers questions."""

from __future__ import annotations

from commonplace.models.asking import Answer, Asker
from commonplace.models.base import ChatModel, ChatReply, ChatRequest, Embedder, TokenLogprob, Turn
from commonplace.models.meter import Ceilings, Meter, Usage
from commonplace.models.openai import OpenAIChat, OpenAIEmbedder
from commonplace.models.recorded import RecordedModel
from commonplace.models.static import StaticEmbedder
from commonplace.models.task import Task

__all__ = [
    "Answer",
    "Asker",
    "Ceilings",
    "ChatModel",
    "ChatReply",
    "ChatRequest",
    "Embedder",
    "Meter",
    "OpenAIChat",
    "OpenAIEmbedder",
    "RecordedModel",
    "StaticEmbedder",
    "Task",
    "TokenLogprob",
    "Turn",
    "Usage",
]
