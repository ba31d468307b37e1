"""A strong model's answers to the bundled conversation, as they were recorded: `benchmarks/recordings`."""

import json

import pytest

from benchmarks import flips
from benchmarks.consolidation import RECORDINGS, VIEWS, consolidate, main
from benchmarks.data import demo_conversation
from zibaldone.models.recorded import RecordedModel

FOLDER = RECORDINGS / "bundled"
# A view's calls, and the tokens of requests and answers per token of the conversation.
CALLS = {"chunks": (26, 10.5), "topics": (13, 7.5), "hierarchy": (144, 17), "notes": (32, 17)}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.wide
def test_every_question_is_still_the_one_that_was_answered(view):
    """No answer is missing, none is refused, and none is left over: prompts and order are as recorded.

    Whoever changes them records anew: `python -m benchmarks.consolidation bundled ... --record`.
    """
    cost = consolidate(demo_conversation(), view, RecordedModel(FOLDER, on_miss="error"))
    calls, tokens = CALLS[view]
    assert (cost["calls"], cost["refused"]) == (calls, 0)
    assert float(cost["per raw token"]) < tokens
    listed = (FOLDER / f"answers-{view}.jsonl").read_text(encoding="utf-8").splitlines()
    assert len({json.loads(line)["id"] for line in listed}) == calls


@pytest.mark.wide
def test_the_command_replays_them(tmp_path, monkeypatch, capsys):
    """Without a model, from the folder alone."""
    monkeypatch.delenv("ZIBALDONE_CHAT_MODEL", raising=False)
    output = tmp_path / "out.json"
    path = RECORDINGS.parent / "felt" / "read.jsonl"
    words = ["bundled", str(path), "--views", "topics", "--record", str(FOLDER), "--output", str(output)]
    main(words)
    (row,) = json.loads(output.read_text())["rows"]
    assert (row["view"], row["calls"], row["refused"]) == ("topics", 13, 0)


@pytest.mark.parametrize(
    ("statement", "kind", "other"),
    [
        ("Ann is in Oslo.", "put in", "Ann is not in Oslo."),
        ("Ann does not eat fish.", "left out", "Ann does eat fish."),
        ("Ann can't swim.", "left out", "Ann ca swim."),
        ("Ann eats fish.", "", ""),
        ("Ann is not here, and not there.", "", ""),
    ],
)
def test_a_statement_is_turned(statement, kind, other):
    """By one "not", put in or left out; some cannot be."""
    assert flips.turned(statement) == (kind, other)


@pytest.mark.wide
def test_true_statements_stand_and_turned_ones_do_not(tmp_path, capsys):
    """Of those that the recorded model made."""
    flips.main(["--output", str(tmp_path / "out.json")])
    shares = {
        row["statements"]: float(row["share"])
        for row in json.loads((tmp_path / "out.json").read_text())["rows"]
    }
    assert shares["true"] < 0.02
    assert shares["not put in"] > 0.95
    assert shares["not left out"] > 0.8
