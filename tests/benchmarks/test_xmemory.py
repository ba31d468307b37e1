"""The paper xMemory's tables as a command."""

import json
import sys

from benchmarks import xmemory
from benchmarks.data import load


def test_each_table_has_its_rows(paths, tmp_path, monkeypatch, capsys):
    """A row for each setting, with evidence and structure, and f beside them."""
    output = tmp_path / "out.json"
    words = ["xmemory", str(paths["locomo"]), "--tables", "6", "f", "--output", str(output)]
    monkeypatch.setattr(sys, "argv", words)
    xmemory.main()
    written = json.loads(output.read_text())
    assert [row["setting"] for row in written["rows"]] == list(xmemory.TABLES["6"])
    frozen, *_, full = written["rows"]
    assert frozen["reassigned"] == 0
    assert full["semantics"] == frozen["semantics"] > 0
    assert 0 <= full["evidence"] <= 1
    assert {"guided", "default", "singletons"} <= written["f"][0].keys()
    assert "prefers singletons" in written["note"]
    assert "Table 6" in capsys.readouterr().out


def test_a_block_is_counted_by_the_words_of_the_answer(paths):
    """Naive RAG over a few messages: each is a block, and those with all words are the first so many."""
    (talk,) = load("locomo", paths["locomo"])
    system = xmemory.NaiveRAG()
    system.take(talk.messages)
    question = next(one for one in talk.questions if one.known and one.answers)
    asked = xmemory.ask(talk, question, system, 0)
    assert asked.evidence is not None
    assert asked.hits is None or 0 < sum(asked.hits) <= 1
    assert (asked.blocks is None) == (asked.block_tokens is None)
