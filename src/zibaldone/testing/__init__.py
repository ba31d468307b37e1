"""Fakes for tests of what stands on a memory."""

from __future__ import annotations

from zibaldone.testing.fakes import FrozenClock, HashEmbedder, ScriptedModel
from zibaldone.testing.server import FakeOpenAIServer

__all__ = ["FakeOpenAIServer", "FrozenClock", "HashEmbedder", "ScriptedModel"]
