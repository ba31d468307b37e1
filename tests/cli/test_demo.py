"""The demo: its sample, its questions, and what a new user sees. The network is blocked in all tests."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest
from rich.console import Console

from zibaldone.api.memory import Memory
from zibaldone.cli import demo
from zibaldone.cli.demo import sample, show

FELT = Path(__file__).parents[2] / "benchmarks" / "felt" / "demo.jsonl"
HARD = {json.loads(line)["question"] for line in FELT.read_text(encoding="utf-8").splitlines()}
# Since the ranker was refitted the passage that explains it has no room any more (docs/decisions.md).
MISSED = {"How did you explain pinball loss to me?"}
LINES = [json.loads(line) for line in sample.CONVERSATION.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the demo runs."""
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def shown(folder):
    """The demo's figures and its output at 100 columns, run once."""
    console = Console(file=io.StringIO(), width=100)
    figures = demo.run(console, folder)
    return figures, console.file.getvalue()


def test_sample_is_in_order():
    """Ids are unique, times rise, and every line has the keys of our export."""
    times = [datetime.fromisoformat(line["time"]) for line in LINES]
    assert times == sorted(times)
    assert max(Counter(line["id"] for line in LINES).values()) == 1
    assert {tuple(line) for line in LINES} == {("role", "name", "content", "time", "session", "id")}


def test_questions_name_phrases_that_exist():
    """Each gold message exists and holds the phrase that its question names."""
    contents = {line["id"]: line["content"] for line in LINES}
    for question in sample.questions():
        for id_, phrase in question.evidence.items():
            assert phrase in contents[id_]


def test_questions_are_of_many_kinds():
    """There are ten questions: two have no answer in memory, three or more are hard ones of the felt set."""
    asked = sample.questions()
    assert len(asked) == 10
    assert [bool(question.evidence) for question in asked].count(False) == 2
    assert len(HARD.intersection(question.question for question in asked)) >= 3


def test_plain_questions_are_right(shown):
    """All are recalled in full but the one that is known to be missed; no answer recalls nothing."""
    figures, output = shown
    assert set(figures.missed) <= HARD | MISSED, output
    assert figures.right + len(figures.missed) == figures.questions == 10


def test_what_is_missed_is_said(shown):
    """At least one hard question is missed and one is not; a miss says so where it happens and at the end."""
    figures, output = shown
    asked_hard = HARD.intersection(question.question for question in sample.questions())
    assert 0 < len(figures.missed) < len(asked_hard), "ask harder questions"
    *questions, end = output.split("Ask why, and delete")
    blocks = re.split(r"\n\d+\. ", questions[0].partition("Something changes")[0])[1:]
    for block in blocks:
        assert ("misses: " in block) == block.startswith(figures.missed), block
    assert all(question in end for question in figures.missed)
    assert f"{figures.right} of 10" in end


def test_a_second_run_in_the_same_folder_adds_nothing(folder, shown):
    """And finds the same."""
    again = demo.run(Console(file=io.StringIO(), width=100), folder)
    assert (again.messages, again.missed) == (shown[0].messages, shown[0].missed)
    with Memory(folder) as memory:
        assert [message.id for message in memory.messages(user=sample.USER)] == [line["id"] for line in LINES]


def test_recall_costs_a_fraction(shown):
    """A recall keeps to its budget, which is far below the tokens of the full context."""
    figures, _ = shown
    assert figures.mean_tokens <= demo.BUDGET_TOKENS
    assert figures.full_tokens > 20 * figures.mean_tokens


def test_output_fits_and_says_what_next(shown):
    """The output keeps to 100 columns and ends with the two commands for one's own export."""
    _, output = shown
    assert max(len(line) for line in output.splitlines()) <= 100
    assert output.rstrip().endswith(show.NEXT)
    assert "zibaldone import" in show.NEXT
    assert "zibaldone recall" in show.NEXT


def test_output_cites_and_explains(shown):
    """A passage shows its date and citation; a why_not sentence and a dry run are shown as well."""
    _, output = shown
    assert "20 Feb 2025" in output
    assert "#275" in output
    assert re.search(r"Why not\?.*\n.*\nMessage \d+ (was dropped|is not among)", output)
    assert "dry run" in output


def test_output_shows_overlays_and_confidence(shown):
    """What is always known, what no longer holds with what took its place, and how sure recall is."""
    _, output = shown
    assert "✓" in next(
        line for line in output.splitlines() if "Always known: " in line and "hazelnuts" in line
    )
    change = " ".join(output.partition("Something changes")[2].partition("Ask why")[0].split())
    assert "no longer holds, since Tue 8 Apr 2025: “My boss is Saskia now" in change
    assert change.count("My boss is Saskia now") == 3
    assert len(re.findall(r"confidence [01]\.\d\d", output)) >= 10
