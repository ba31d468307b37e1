"""Fakes for tests of what stands on a memory, and a server that speaks the OpenAI protocol and misbehaves."""

from __future__ import annotations

from zibaldone.testing.fakes import FailingEmbedder, FrozenClock, HashEmbedder, ScriptedModel
from zibaldone.testing.server import FakeOpenAIServer, Misbehaviour

__all__ = [
    "FailingEmbedder",
    "FakeOpenAIServer",
    "FrozenClock",
    "HashEmbedder",
    "Misbehaviour",
    "ScriptedModel",
]
