"""Views compared on a user's own log: questions that are made or given, shares, the table, the drawing."""

import json

import pytest

from zibaldone import InvalidInput
from zibaldone.bench.own.compare import compare
from zibaldone.bench.own.plot import plot
from zibaldone.bench.own.questions import made_questions, read_questions
from zibaldone.testing import HashEmbedder

TALK = [
    "My brother Davi is in Utrecht with his wife.",
    "The dentist is on 5 November 2024, in the morning.",
    "We met Susanna Clarke at the fair.",
    "On 7 November 2024 the fair begins.",
    "The fair of 7 November 2024 was moved.",
    "It rained again, and the roof leaks above the kitchen.",
]


@pytest.fixture
def memory(opened):
    """Ann's, with a profile."""
    memory = opened(embedder=HashEmbedder())
    memory.add([{"content": text, "time": "2024-10-01T09:00:00Z"} for text in TALK], user="ann")
    memory.maintain()
    return memory


def made(memory, **options):
    """(kind, question, what is wanted) of Ann's."""
    questions = made_questions(memory, "ann", memory.messages(user="ann"), **options)
    return [(example.category, example.question, *example.evidence) for example in questions]


def test_questions_are_made_of_what_one_message_says(memory):
    """Of the profile, of days and of names; a day that two messages name is nobody's evidence."""
    assert made(memory) == [
        ("known", "What do you know about my brother Davi?", TALK[0]),
        ("day", "What was said about 5 November 2024?", TALK[1]),
        ("name", "Who or what is Davi?", TALK[0]),
        ("name", "Who or what is Utrecht?", TALK[0]),
        ("name", "Who or what is Susanna Clarke?", TALK[2]),
    ]
    assert [question for kind, question, _ in made(memory, most=1) if kind == "name"] == [
        "Who or what is Davi?"
    ]


def test_a_log_of_which_nothing_can_be_made(opened):
    """The error says what to give instead."""
    memory = opened(embedder=HashEmbedder())
    memory.add("so it goes", user="ann")
    with pytest.raises(InvalidInput, match="--questions FILE"):
        made_questions(memory, "ann", memory.messages(user="ann"))


def test_a_comparison_says_what_each_system_recalls(memory, tmp_path):
    """The share of the evidence by kind, within the budget; no copy of the log is left."""
    questions = tmp_path / "questions.jsonl"
    given = [
        {"question": "Does the roof leak?", "evidence": [6]},
        {"question": "Who lives in Utrecht?", "evidence": ["brother Davi", "Susanna Clarke"], "kind": "half"},
        {"question": "What is this?"},
    ]
    questions.write_text("\n".join(json.dumps(line) for line in given) + "\n")
    before = {path.name for path in memory.path.iterdir()}
    comparison = compare(
        memory, "ann", questions=questions, systems=("bm25", "messages"), budgets_tokens=(35, 500)
    )
    shares = {
        (row.system, row.budget_tokens): (row.by_category["own"].value, row.by_category["half"].value)
        for row in comparison.rows
    }
    assert shares["messages", 500] == (1.0, 1.0)
    assert shares["messages", 35] == (1.0, 0.5)
    assert all(row.tokens_mean <= row.budget_tokens for row in comparison.rows)
    assert not comparison.are_made
    assert {path.name for path in memory.path.iterdir()} == before
    assert len(memory.messages(user="ann")) == len(TALK)


def test_a_drawing_of_recall_against_tokens(memory, tmp_path):
    """A PNG; without any share there is nothing to draw."""
    comparison = compare(memory, "ann", systems=("bm25",), budgets_tokens=(50, 100))
    plot(comparison.rows, "log of ann", tmp_path / "recall.png")
    assert (tmp_path / "recall.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidInput, match="no recall to be drawn"):
        plot([], "log of ann", tmp_path / "none.png")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2 is not JSON"),
        ("[]", "line 2 must be an object"),
        ('{"question": "Who?", "evidence": 3}', "must be a list"),
        ('{"question": "Who?", "evidence": [77]}', "77 is neither a seq"),
        ('{"question": "Who?", "kind": 1}', "kind must be a word"),
    ],
)
def test_a_bad_line_is_named(memory, tmp_path, line, says):
    """With its number."""
    path = tmp_path / "q.jsonl"
    path.write_text(f'{{"question": "Who?"}}\n{line}\n')
    with pytest.raises(InvalidInput, match=says):
        read_questions(path, "ann", memory.messages(user="ann"))


def test_on_the_command_line(memory, run, tmp_path):
    """The benchmarks' table, or every figure by its name; a system or a user of no name is told."""
    memory.close()
    ann = ("compare", "--user", "ann", "--system", "bm25", "--budget", "60")
    code, out, _ = run(*ann, "--list")
    assert code == 0
    assert "log of ann: share of the evidence recalled (5 questions)" in " ".join(out.split())
    assert "day: What was said about 5 November 2024?" in out
    figures = json.loads(run(*ann, "--json")[1])
    assert [(row["system"], row["budget_tokens"]) for row in figures["rows"]] == [("bm25", 60)]
    for words, says in (
        (["--user", "ann", "--system", "magic"], "no benchmark system 'magic'"),
        (["--user", "ann", "--budget", "0"], "numbers above 0"),
        (["--user", "bob"], "no user 'bob'"),
    ):
        code, _, err = run("compare", *words)
        assert code == 2
        assert says in err
