"""maintain, chunks and usage on the command line."""

import json
import re

import pytest

from zibaldone.cli import output

FACTS = [f"Fact {i}: Otto repaired clock number {i} in cellar {i} on a Tuesday." for i in range(90)]


@pytest.fixture
def filled(run):
    """With enough to make some chunks of."""
    lines = "\n".join(json.dumps({"content": fact}) for fact in FACTS)
    assert run("add", "-", "--jsonl", text=lines)[0] == 0
    return run


def test_maintain_and_look(filled):
    """Maintaining makes chunks, which are listed, shown and recalled."""
    code, out, _ = filled("maintain", "--view", "chunks")
    assert code == 0
    assert "read 90 messages of 1 user" in out
    code, out, _ = filled("chunks")
    assert "Otto repaired clock" in out
    code, out, _ = filled("chunks", "1")
    assert out.startswith("chunk 1, ")
    assert "[1] user: Fact 0: Otto repaired clock number 0" in out
    assert "made by offline" in out
    code, out, _ = filled("recall", "clock number 7", "--view", "chunks", "--budget", "100")
    assert "clock number 7" in out
    assert "view chunks: " in filled("stats")[1]
    assert filled("check")[0] == 0


def test_a_message_is_counted_once(filled):
    """However many views read it."""
    assert "read 90 messages of 1 user\n" in filled("maintain", "--view", "chunks", "--view", "topics")[1]


@pytest.mark.parametrize(
    ("words", "tells"),
    [
        (("maintain", "--view", "chunks"), r"maintaining: \d+ % of \d+"),
        (("recall", "clock"), r"recall: \d+ s so far"),
    ],
)
def test_what_takes_long_tells_so_in_a_pipe(filled, monkeypatch, words, tells):
    """On standard error, every few seconds; nothing of it on standard output."""
    monkeypatch.setattr(output, "_WORTH_TELLING_S", 0.001)
    _, out, err = filled(*words)
    assert re.search(tells, err)
    assert not re.search(tells, out)


def test_as_json(filled):
    """Every figure by its name, and nothing else."""
    report = json.loads(filled("maintain", "--view", "chunks", "--json")[1])
    assert (report["users"], report["messages"], report["behind"], report["model_calls"]) == (1, 90, [], 0)
    chunks = json.loads(filled("chunks", "--json")[1])
    assert chunks[0]["items"][0]["sources"] == [1]
    assert json.loads(filled("chunks", "--history", "--json")[1]) == []
    assert json.loads(filled("usage", "--json")[1]) == []
    assert json.loads(filled("maintain", "--view", "chunks", "--json")[1])["messages"] == 0


def test_what_recall_uses_is_maintained(filled):
    """Without a view's name: profile, timeline and updates, once each."""
    assert "read 90 messages of 1 user" in filled("maintain")[1]
    assert json.loads(filled("maintain", "--json")[1])["messages"] == 0
    lags = {view["view"]: view["lag"] for view in json.loads(filled("stats", "--json")[1])["views"]}
    assert {name for name, lag in lags.items() if not lag} == {"messages", "notes"}


def test_nothing_yet(run):
    """An empty list says what to do."""
    run("add", "Hello.")
    assert "zibaldone maintain" in run("chunks")[2]
    assert "no model was used" in run("usage")[2]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["maintain", "--user", "nobody"], "no user 'nobody'"),
        (["maintain", "--view", "dreams"], "no view 'dreams'"),
        (["maintain", "--on-miss", "ask"], "--record DIR"),
        (["chunks", "77"], "no chunk 77"),
    ],
)
def test_bad_input(filled, words, says):
    """The error names the fix, with the exit code of bad input."""
    code, _, err = filled(*words)
    assert code == 2
    assert says in err


def test_questions_left_open_and_answered(filled, tmp_path):
    """Without a model, --record leaves questions in the folder and says which; then the run goes on."""
    folder = tmp_path / "questions"
    code, _, err = filled("maintain", "--view", "chunks", "--record", str(folder))
    assert code == 4
    assert "nobody has answered" in err
    (path, *_) = sorted(folder.rglob("*.md"))
    assert "Otto repaired clock number" in path.read_text()
    assert filled("chunks", "--json")[1].strip() == "[]"
    code, out, _ = filled("maintain", "--view", "chunks", "--record", str(folder), "--on-miss", "offline")
    assert code == 0
    assert "answered offline instead" in out
    assert json.loads(filled("usage", "--json")[1])[0]["degraded"] > 0
    assert "compress" in filled("usage")[1]
