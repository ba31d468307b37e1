"""While the hierarchy asks a model or an embedder, no transaction is open and nobody waits."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager

import pytest
from test_hierarchy_tasks import GOOD

from zibaldone import Config, Memory
from zibaldone.models.base import ChatReply, TokenLogprob
from zibaldone.storage.database import Database
from zibaldone.testing import HashEmbedder, ScriptedModel

open_here = threading.local()


@pytest.fixture(autouse=True)
def counted(monkeypatch):
    """Every transaction says in its thread that it is open."""
    for name in ("read", "write"):
        whole = getattr(Database, name)

        @contextmanager
        def transaction(self, *args, whole=whole, **kwargs):
            with whole(self, *args, **kwargs) as connection:
                open_here.depth = getattr(open_here, "depth", 0) + 1
                try:
                    yield connection
                finally:
                    open_here.depth -= 1

        monkeypatch.setattr(Database, name, transaction)


def held() -> bool:
    return getattr(open_here, "depth", 0) > 0


class Embedding(HashEmbedder):
    """Notes whether anything was held while it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[bool] = []

    def embed(self, texts):
        """As hashed."""
        self.calls.append(held())
        return super().embed(texts)


def test_no_transaction_is_open_while_anybody_is_asked(tmp_path):
    """Neither in a maintenance, nor in a recall, nor when what a forgetting left is told anew."""
    asked: list[tuple[str, bool]] = []

    def answer(request):
        task = request.task.removeprefix("hierarchy.")
        asked.append((task, held()))
        if task == "draft_answer":
            return ChatReply("yes", logprobs=(TokenLogprob("yes", -0.5, ()),))
        given = json.loads(request.turns[1].content)
        if task == "distil":
            first = given["messages"][0]
            return {
                "statements": [{"text": f"{first['speaker']}: {first['text']}", "sources": [first["seq"]]}]
            }
        if task == "episodes":
            return {"starts": []}
        return GOOD[task](given)

    embedder = Embedding()
    views = ["messages", "hierarchy"]
    with Memory(
        tmp_path / "m", embedder=embedder, chat=ScriptedModel(answer), config=Config(maintained=views)
    ) as memory:
        for day in (1, 2, 3):
            talk = [
                {
                    "name": "Ann",
                    "content": f"I adopted {pet} today.",
                    "time": f"2024-01-0{day}T09:0{turn}:00Z",
                }
                for turn, pet in enumerate(("Rex the dog", "Tom the cat", "Kim the bird", "Lou the carp"))
            ]
            memory.add(talk, user="ann", session=str(day))
        memory.maintain()
        memory.recall("Which dog did Ann adopt?", user="ann", views=["hierarchy"])
        memory.forget(user="ann", seqs=[1])
        memory.maintain()
    assert {"narrate", "distil", "draft_answer"} <= {task for task, _ in asked}
    assert embedder.calls
    assert not any(embedder.calls)
    assert not any(was_held for _, was_held in asked)
