"""Conversations through every prompt: what is counted, and what is held against the log."""

from __future__ import annotations

import json

import pytest

from zibaldone.bench.outcome import Run
from zibaldone.bench.prompting.run import run
from zibaldone.bench.prompting.talks import pieces_of
from zibaldone.bench.registry import PromptsOptions
from zibaldone.errors import InvalidInput
from zibaldone.models import RecordedModel
from zibaldone.testing import ScriptedModel


def test_pieces_begin_where_sessions_do() -> None:
    """And have the questions that they alone answer."""
    pieces = pieces_of(None, talks=3, messages=20)
    assert [len(piece.messages) for piece in pieces] == [20, 20, 20]
    starts = [piece.messages[0] for piece in pieces]
    assert len({message.session for message in starts}) == 3
    for piece in pieces:
        texts = " ".join(message.content for message in piece.messages)
        assert all(turn in texts for example in piece.questions for turn in example.evidence)


def test_a_model_that_copies_is_believed_and_counted(tmp_path) -> None:
    """Every message stays in the log and is read; nothing found says what no message says."""
    options = PromptsOptions(views=("chunks", "plan"), talks=1, messages=14, gate=300, copying=True)
    measured = run(options, Run("", tmp_path))
    chunks, plan = measured.figures["views"]
    (audit,) = chunks.audits
    assert (audit.lost, audit.faults, audit.invented) == (0, (), ())
    assert audit.cited >= 12
    assert chunks.calls == sum(row.calls for row in measured.figures["tasks"] if row.task[:6] == "chunks")
    assert chunks.per_raw_token > 1
    assert (plan.calls, plan.recall_calls) == (0, plan.recalls)


def test_a_model_that_raves_loses_nothing(tmp_path) -> None:
    """Its answers are counted as degraded, and the view is as whole as without it."""
    options = PromptsOptions(views=("chunks",), talks=1, messages=14, gate=300, refusals=True)
    measured = run(options, Run("", tmp_path, chat=ScriptedModel(lambda _: "Certainly!")))
    rows = {row.task: row for row in measured.figures["tasks"]}
    assert rows["chunks.compress"].degraded == rows["chunks.compress"].questions > 0
    (view,) = measured.figures["views"]
    assert (view.audits[0].lost, view.audits[0].invented) == (0, ())
    assert view.evidence == view.offline
    assert any("JSON" in note for note in measured.notes)


def test_open_questions_are_left_to_be_answered(tmp_path) -> None:
    """A view that waits is measured when they are."""
    recorded = RecordedModel(tmp_path / "pages", on_miss="leave_open")
    options = PromptsOptions(views=("profile",), talks=1, messages=6)
    (tmp_path / "work").mkdir()
    first = run(options, Run("", tmp_path / "work", chat=recorded))
    assert first.figures["views"][0].unread == 6
    assert "open" in first.notes[-1]
    lines = [json.dumps({"id": page.stem, "answer": {"entries": []}}) for page in recorded.open_questions()]
    (tmp_path / "pages" / "answers.jsonl").write_text("\n".join(lines))
    second = run(options, Run("", tmp_path / "work", chat=recorded))
    assert second.figures["views"][0].unread == 0
    assert [(row.task, row.valid) for row in second.figures["tasks"]] == [("profile.note", 1)]


def test_somebody_has_to_answer(tmp_path) -> None:
    """The error names the ways; a view of another name is refused."""
    with pytest.raises(InvalidInput, match="--copying"):
        run(PromptsOptions(), Run("", tmp_path))
    with pytest.raises(InvalidInput, match="chunks"):
        run(PromptsOptions(views=("x",), copying=True), Run("", tmp_path))
