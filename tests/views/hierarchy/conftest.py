"""A memory with a hierarchy."""

from dataclasses import replace

import pytest
from hierarchy_talk import BYE, HASHED

from zibaldone import Memory, Message


@pytest.fixture
def told(opened):
    """A memory of what was said, by a model, maintained after each batch; a last message ends the talk."""

    def told(chat, said: list[Message], *, batch=100, ended=True, embedder=HASHED) -> Memory:
        made.append(len(made))
        options = {"embedder": embedder, "maintained": ["hierarchy"]}
        memory = opened(f"{made[-1]}", chat=chat, **options)
        messages = [replace(one, seq=0) for one in said]
        if ended:
            messages.append(BYE)
        for start in range(0, len(messages), batch):
            memory.add(messages[start : start + batch], user="ann")
            memory.maintain()
        return memory

    made: list[int] = []
    return told
