"""The paper xMemory's tables as a command."""

import json
import sys

import pytest

from benchmarks import xmemory
from benchmarks.data import Conversation, Question
from zibaldone import Message


@pytest.mark.wide
def test_each_table_has_its_rows(paths, tmp_path, monkeypatch, capsys):
    """A row for each setting, with evidence and structure, and f beside them."""
    output = tmp_path / "out.json"
    words = ["xmemory", str(paths["locomo"]), "--tables", "4", "6", "f", "--output", str(output)]
    monkeypatch.setattr(sys, "argv", words)
    xmemory.main()
    written = json.loads(output.read_text())
    assert [row["setting"] for row in written["rows"]] == [*xmemory.TABLES["4"], *xmemory.TABLES["6"]]
    frozen, *_, full = written["rows"][len(xmemory.TABLES["4"]) :]
    assert full["over full"] == full["its error"] == 0.0
    naive = written["rows"][0]
    assert naive["over full"] == pytest.approx(naive["evidence"] - full["evidence"])
    assert frozen["reassigned"] == 0
    assert full["semantics"] == frozen["semantics"] > 0
    assert 0 <= full["evidence"] <= 1
    every = [each for each in written["figure 4"] if each["category"] == "all"]
    assert [each["1-hit"] for each in every] == [
        row["1-hit"] for row in written["rows"] if row["table"] == "4"
    ]
    assert {"guided", "default", "singletons"} <= written["f"][0].keys()
    assert "prefers singletons" in written["note"]
    assert "Table 6" in capsys.readouterr().out


def test_hits_are_by_category_of_question():
    """Figure 4: a category's mean over its questions, and that of all last."""
    kinds = ("multi-hop", "multi-hop", "temporal")
    shares = ((0.5, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.4, 0.0))
    asked = [xmemory.Asked(kind, 1.0, 9, own, 1, 9) for kind, own in zip(kinds, shares, strict=True)]
    multi, temporal, every = xmemory.hits("full", asked)
    assert (multi["category"], multi["questions"], multi["1-hit"], multi["multi-hit"]) == (
        "multi-hop",
        2,
        0.25,
        0.5,
    )
    assert temporal["2-hit"] == 0.4
    assert (every["category"], every["questions"]) == ("all", 3)


def test_a_block_is_counted_by_the_words_of_the_answer():
    """Blocks with one, two, and more of them; and how many it takes, best first, to have them all."""
    said = (
        "Comet is a greyhound.",
        "The greyhound came from Graz in May.",
        "It rained.",
        "Comet: Graz, in May",
    )
    messages = tuple(Message(text, seq=seq) for seq, text in enumerate(said, 1))
    question = Question(
        "q", "Where is the greyhound Comet from?", "k", None, 4, (2,), answers=("Graz in May",)
    )
    system = xmemory.NaiveRAG()
    system.take(messages)
    asked = xmemory.ask(Conversation("locomo", "c", messages, (question,)), question, system, 0)
    ranked = [unit.partition(": ")[2] for unit in system.recall(question.text, 0).units]
    assert asked.hits == (0.0, 0.5, 0.0)
    assert asked.blocks == min(ranked.index(said[1]), ranked.index(said[3])) + 1
    assert asked.evidence == 1.0
