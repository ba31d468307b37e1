"""The demo: its sample, its questions, and what a new user sees. The network is blocked in all tests."""

from __future__ import annotations

import io
import json
from collections import Counter
from datetime import datetime

import pytest
from rich.console import Console

from zibaldone import demo
from zibaldone.demo import sample, show

LINES = [json.loads(line) for line in sample.CONVERSATION.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The demo's figures and its output at 100 columns, run once."""
    console = Console(file=io.StringIO(), width=100)
    figures = demo.run(console, tmp_path_factory.mktemp("demo"))
    return figures, console.file.getvalue()


def test_sample_is_long_enough():
    """The sample has at least 240 turns in 30 sessions or so, over about seven months."""
    days = (datetime.fromisoformat(LINES[-1]["time"]) - datetime.fromisoformat(LINES[0]["time"])).days
    assert len(LINES) >= 240
    assert len({line["session"] for line in LINES}) >= 30
    assert 200 <= days <= 230


def test_sample_is_in_order():
    """Ids are unique, times rise, and every line has the keys of our export."""
    times = [datetime.fromisoformat(line["time"]) for line in LINES]
    assert times == sorted(times)
    assert max(Counter(line["id"] for line in LINES).values()) == 1
    assert {tuple(line) for line in LINES} == {("role", "name", "content", "time", "session", "id")}


def test_weekdays_of_the_sample_are_real():
    """A date that is named with its weekday has that weekday in the calendar."""
    named = [
        ("Tuesday 8 October", 2024),
        ("Saturday, 19 October", 2024),
        ("Tuesday 22 October", 2024),
        ("Tuesday 5 November", 2024),
        ("Saturday, 23 November", 2024),
        ("Saturday 14 December", 2024),
        ("Friday 20 December", 2024),
        ("Saturday 21 December", 2024),
    ]
    text = " ".join(line["content"] for line in LINES)
    for words, year in named:
        weekday, day, month = words.replace(",", "").split()
        assert words in text
        assert datetime.strptime(f"{day} {month} {year}", "%d %B %Y").strftime("%A") == weekday  # noqa: DTZ007


def test_questions_name_phrases_that_exist():
    """Each gold message exists and holds the phrase that its question names."""
    contents = {line["id"]: line["content"] for line in LINES}
    for question in sample.questions():
        for id_, phrase in question.evidence.items():
            assert phrase in contents[id_]


def test_questions_are_of_many_kinds():
    """There are ten questions, and exactly one has no answer in memory."""
    asked = sample.questions()
    assert len(asked) == 10
    assert [bool(question.evidence) for question in asked].count(False) == 1


def test_every_question_is_right(shown):
    """Every answer is recalled in full, and the question without an answer recalls nothing."""
    figures, output = shown
    assert figures.right == figures.questions == 10, output


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
    assert "24 Nov 2024" in output
    assert "#167" in output
    assert "Why not?" in output
    assert "dry run" in output


def test_a_second_run_in_the_same_folder_adds_nothing(tmp_path):
    """Running the demo twice in one folder imports the sample once."""
    console = Console(file=io.StringIO(), width=100)
    first = demo.run(console, tmp_path)
    second = demo.run(console, tmp_path)
    assert second.messages == first.messages == len(LINES)


def test_json_is_valid():
    """As JSON, the demo prints one object with the figures and every question."""
    console = Console(file=io.StringIO(), width=100)
    demo.run(console, as_json=True)
    printed = json.loads(console.file.getvalue())
    assert printed["right"] == 10
    assert len(printed["asked"]) == 10
