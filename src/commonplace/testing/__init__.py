"""Fakes for tests of what stands on a memory, and a server that speaks the OpenAI protocol and misbehaves."""

from __future__ import annotations

from commonplace.testing.fakes import FailingEmbedder, FrozenClock, HashEmbedder, ScriptedModel
from commonplace.testing.server import FakeOpenAIServer, Misbehaviour

__all__ = [
    "FailingEmbedder",
    "FakeOpenAIServer",
    "FrozenClock",
    "HashEmbedder",
    "Misbehaviour",
    "ScriptedModel",
]
