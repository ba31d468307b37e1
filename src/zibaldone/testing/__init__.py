"""Fakes for tests of what stands on a memory, and servers of the OpenAI and S3 protocols that misbehave."""

from __future__ import annotations

from zibaldone.testing.bucket import BucketMisbehaviour, FakeBucketServer
from zibaldone.testing.fakes import FailingEmbedder, FrozenClock, HangingModel, HashEmbedder, ScriptedModel
from zibaldone.testing.server import FakeOpenAIServer, Misbehaviour

__all__ = [
    "BucketMisbehaviour",
    "FailingEmbedder",
    "FakeBucketServer",
    "FakeOpenAIServer",
    "FrozenClock",
    "HangingModel",
    "HashEmbedder",
    "Misbehaviour",
    "ScriptedModel",
]
