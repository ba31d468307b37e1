"""Infini Memory's tables: each makes its rows, and leaves those of the others."""

import json
import sys

import pytest

from benchmarks import infini


@pytest.fixture
def made(monkeypatch, tmp_path, paths):
    """Make a table; all rows that the file has afterwards."""
    monkeypatch.delenv("ZIBALDONE_CHAT_MODEL", raising=False)

    def make(table, data, *options):
        output = tmp_path / "out.json"
        words = ["infini", table, str(paths[data]), "--output", str(output), *map(str, options)]
        monkeypatch.setattr(sys, "argv", words)
        infini.main()
        return json.loads(output.read_text())["rows"]

    return make


def test_tables(made):
    """A row for each variant that needs no model, with how it was measured."""
    rows = made("table1", "mab")
    assert [(row["variant"], row["data"], row["measure"]) for row in rows] == [("H", "sh", "answer in text")]
    rows = made("table2", "longmemeval")
    found = [row for row in rows if (row["table"], row["measure"]) == ("table2", "evidence")]
    assert [row["variant"] for row in found] == ["H", "summary-only", "H without split and merge"]
    assert [row["theirs"] for row in found] == ["76.0", "41.7", "69.3"]
    again = made("table1", "mab")
    assert again == rows


def test_mixing(made):
    """Of documents beside shuffled ones."""
    own, shuffled = made("mixing", "locomo")
    assert own["documents"] == shuffled["documents"]


def test_without_a_model_questions_are_left_open(made, tmp_path):
    """Pages for what the recordings do not answer, and no rows before all is answered."""
    with pytest.raises(SystemExit, match="questions are open"):
        made("table1", "mab", "--record", tmp_path / "answers", "--offline", "--variants", "H")
    assert list((tmp_path / "answers").glob("topics.pick_documents/*.md"))
    assert not (tmp_path / "out.json").exists()
