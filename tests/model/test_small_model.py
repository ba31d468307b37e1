"""A weak model through every prompt: whatever it answers, nothing is lost and nothing is invented.

TURNS says how many messages (12), DATA of which file (the demo's conversation), RECORD a folder that
keeps the answers: a run that was stopped goes on there.
"""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from zibaldone import planner
from zibaldone.bench.outcome import Run
from zibaldone.bench.prompting.run import VIEWS, run
from zibaldone.bench.registry import PromptsOptions
from zibaldone.models import OpenAIChat
from zibaldone.models.base import ChatModel
from zibaldone.models.recorded import RecordedModel

pytestmark = [
    pytest.mark.enable_socket,
    pytest.mark.allow_hosts(["127.0.0.1", "localhost", "::1"]),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # torch's and Transformers' own
]


@pytest.mark.parametrize("view", VIEWS)
def test_a_weak_model_does_no_harm(
    view: str, small_model: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every message stays in the log and is read; what is found says nothing that no message says."""
    monkeypatch.setattr(planner, "PLAN_TIMEOUT_S", 900.0)  # nobody waits here as at a recall
    data = os.environ.get("DATA")
    options = PromptsOptions(
        path=Path(data) if data else None,
        views=(view,),
        talks=1,
        messages=int(os.environ.get("TURNS", "12")),
        gate=256,
        extraction=512,
        workers=1,
        refusals=True,
    )
    with closing(
        OpenAIChat("SmolLM2-135M-Instruct", base_url=small_model, api_key="none", timeout_s=900)
    ) as chat:
        folder = os.environ.get("RECORD")
        asked: ChatModel = RecordedModel(Path(folder) / view, chat) if folder else chat
        measured = run(options, Run("", tmp_path, chat=asked))
    with capsys.disabled():
        for row in measured.figures["tasks"]:  # type: ignore[attr-defined] # a list of rows
            print(
                f"\n{row.task}: {row.questions} asked, {row.valid} valid, {row.repaired} repaired,", end=" "
            )
            print(f"{row.degraded} degraded, {row.refused} of {row.parts} parts refused;", end=" ")
            print(f"{row.calls} calls, {row.prompt_tokens} + {row.completion_tokens} tokens")
        print(*measured.notes, sep="\n")
    (made,) = measured.figures["views"]  # type: ignore[misc] # of this one view
    assert made.unread == 0
    for audit in made.audits:
        assert (audit.lost, audit.faults, audit.invented) == (0, (), ())
