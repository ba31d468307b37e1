"""Messages in, topic documents out: what the tests of consolidation share."""

import json
from dataclasses import replace

import pytest
from topic_talk import SMALL

from zibaldone import Memory, Message
from zibaldone.testing import HashEmbedder, ScriptedModel


@pytest.fixture
def filed(opened):
    """A memory of messages in documents: CURRENT's window is long over.

    A model is told the task's name and inputs. Several lists are filed one after the other.
    """

    def filed(*said: list[Message], answers=None, **settings) -> Memory:
        model = None
        if answers is not None:
            model = ScriptedModel(lambda request: answers(request.task, json.loads(request.turns[1].content)))
        opened_before.append(len(opened_before))
        memory = opened(
            f"{opened_before[-1]}",
            chat=model,
            embedder=HashEmbedder(32),
            topics=replace(SMALL, **settings),
            maintained=["topics"],
        )
        for messages in said:
            memory.add(messages, user="ann")
            memory.maintain()
        return memory

    opened_before: list[int] = []
    return filed
