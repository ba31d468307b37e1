"""A weak model through every prompt: whatever it answers, nothing is lost and nothing is invented.

TURNS says how many messages of the demo's conversation (12), RECORD a folder that keeps the answers: a run
that was stopped goes on there.
"""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from zibaldone import Config, Memory
from zibaldone.cli.demo.sample import CONVERSATION
from zibaldone.models.base import ChatModel
from zibaldone.models.openai import OpenAIChat
from zibaldone.models.recorded import RecordedModel
from zibaldone.views.chunks.config import MemAttention
from zibaldone.views.topics.config import Consolidation

pytestmark = [
    pytest.mark.enable_socket,
    pytest.mark.allow_hosts(["127.0.0.1", "localhost", "::1"]),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # torch's and Transformers' own
]


@pytest.mark.parametrize("view", ["chunks", "hierarchy", "topics"])
def test_a_weak_model_does_no_harm(view: str, small_model: str, tmp_path: Path) -> None:
    """Every message stays in the log and is read, and what is found cites messages that are there."""
    lines = CONVERSATION.read_text(encoding="utf-8").splitlines()[: int(os.environ.get("TURNS", "12"))]
    file = tmp_path / "talk.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    with closing(
        OpenAIChat("SmolLM2-135M-Instruct", base_url=small_model, api_key="none", timeout_s=900)
    ) as chat:
        folder = os.environ.get("RECORD")
        asked: ChatModel = RecordedModel(Path(folder) / view, chat) if folder else chat
        with Memory(
            tmp_path / "memory",
            chat=asked,
            config=Config(
                chunks=MemAttention(chunk_gate_tokens=256), topics=Consolidation(extraction_tokens=512)
            ),
        ) as memory:
            memory.user("ann").import_(file)
            before = memory.messages(user="ann")
            assert memory.maintain(user="ann", views=[view]).behind == ()
            assert memory.messages(user="ann") == before
            assert memory.admin.check().faults == ()
            seqs = {message.seq for message in before}
            for message in before:
                recalled = memory.recall(message.content, user="ann", views=[view])
                assert {citation.seq for citation in recalled.citations} <= seqs
            assert sum(task.calls for task in memory.admin.usage()) > 0
