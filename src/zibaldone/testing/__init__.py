"""Fakes for tests of what stands on a memory, and a server of the OpenAI protocol that misbehaves."""

from __future__ import annotations

from zibaldone.testing.fakes import FailingEmbedder, FrozenClock, HangingModel, HashEmbedder, ScriptedModel
from zibaldone.testing.server import FakeOpenAIServer, Misbehaviour

__all__ = [
    "FailingEmbedder",
    "FakeOpenAIServer",
    "FrozenClock",
    "HangingModel",
    "HashEmbedder",
    "Misbehaviour",
    "ScriptedModel",
]
