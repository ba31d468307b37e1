"""The page of the four papers: what its rows name exists (commands: tests/test_docs_examples.py)."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("| ").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| in the paper")
]
SPANS = [span for row in ROWS for span in re.findall(r"`([^`]+)`", " ".join(row))]
PATHS = sorted({path for span in SPANS for path in re.findall(r"(?:tests/)?[\w/]+/\w+\.(?:py|md)\b", span)})


@pytest.mark.parametrize("path", PATHS)
def test_each_file_exists(path):
    """A row's file is there, named from the root, from the package or from its views."""
    assert any((ROOT / base / path).is_file() for base in ("", "src/zibaldone", "src/zibaldone/views")), path


@pytest.mark.parametrize(
    "row", [row for row in ROWS if "benchmarks/results/" in " ".join(row)], ids=lambda row: row[0]
)
def test_a_row_that_names_results_has_the_command_that_made_them(row):
    """Its command makes these figures, on this many questions, and not others."""
    spans = re.findall(r"`([^`]+)`", " ".join(row))
    files = [ROOT / span for span in spans if span.startswith("benchmarks/results/")]
    made = [json.loads(file.read_text(encoding="utf-8"))["command"] for file in files]
    assert set(made) <= set(spans)


def test_each_row_is_whole():
    """A row has its five cells."""
    assert [row for row in ROWS if len(row) != 5 or not all(row)] == []
