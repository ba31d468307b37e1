"""Views compared on a user's own log: questions that are made or given, systems, shares, the table."""

import json

import pytest

from zibaldone import InvalidInput, Message
from zibaldone.cli.compare.compare import compare
from zibaldone.cli.compare.evidence import is_found
from zibaldone.cli.compare.systems import Equipment, make_system
from zibaldone.models.static import shared_static_embedder
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
    """Ann's."""
    memory = opened(embedder=HashEmbedder())
    memory.add([{"content": text, "time": "2024-10-01T09:00:00Z"} for text in TALK], user="ann")
    return memory


def test_questions_are_made_of_what_one_message_says(memory):
    """Of days and of names; a day that two messages name is nobody's evidence."""
    comparison = compare(memory, "ann", systems=("bm25",), budgets_tokens=(60,))
    assert comparison.are_made
    assert comparison.questions == (
        ("day", "What was said about 5 November 2024?"),
        ("name", "Who or what is Davi?"),
        ("name", "Who or what is Utrecht?"),
        ("name", "Who or what is Susanna Clarke?"),
    )


def test_a_log_of_which_nothing_can_be_made(opened):
    """The error says what to give instead."""
    memory = opened(embedder=HashEmbedder())
    memory.add("so it goes", user="ann")
    with pytest.raises(InvalidInput, match="--questions FILE"):
        compare(memory, "ann")


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
        (row.system, row.budget_tokens): (row.by_kind["own"].value, row.by_kind["half"].value)
        for row in comparison.rows
    }
    assert shares["messages", 500] == (1.0, 1.0)
    assert shares["messages", 35] == (1.0, 0.5)
    assert all(row.tokens_mean <= row.budget_tokens for row in comparison.rows)
    assert {path.name for path in memory.path.iterdir()} == before
    assert len(memory.messages(user="ann")) == len(TALK)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "Invalid JSON"),
        ('{"question": "Who?", "evidence": 3}', "a valid array"),
        ('{"question": "Who?", "evidence": [77]}', "no message 77"),
        ('{"question": "Who?", "evidence": [" "]}', "pattern"),
        ('{"question": "Who?", "kind": 1}', "a valid string"),
    ],
)
def test_a_bad_line_is_named(memory, run, tmp_path, line, says):
    """With its number, and what it is to be."""
    memory.close()
    path = tmp_path / "q.jsonl"
    path.write_text(f'{{"question": "Who?"}}\n{line}\n')
    told = run("build", "compare", "--user", "ann", "--questions", path, code=2).stderr
    assert "q.jsonl, line 2 must be JSON such as" in told
    assert says in told


def test_on_the_command_line(memory, run):
    """A table, or every figure by its name; a system or a user of no name is told."""
    memory.close()
    ann = ("build", "compare", "--user", "ann", "--system", "bm25", "--budget", "60")
    head, row = run(*ann).stdout.splitlines()
    assert head.split("\t") == ["system", "budget", "evidence", "error", "day", "name", "tokens", "ms"]
    assert len(row.split("\t")) == len(head.split("\t"))
    figures = json.loads(run(*ann, "--json").stdout)
    assert [(row["system"], row["budget_tokens"]) for row in figures["rows"]] == [("bm25", 60)]
    for words, says in (
        (["--user", "ann", "--system", "magic"], "no system 'magic'"),
        (["--user", "ann", "--budget", "0"], "greater than or equal to 1"),
        (["--user", "bob"], "no user 'bob'"),
    ):
        assert says in run("build", "compare", *words, code=2).stderr


LONG = [Message(f"The soup of day {day} was fine, and the tea was warm.", name="Ben") for day in range(60)]
TURN = "I adopted a greyhound called Comet yesterday"  # adopted greyhound called comet yesterday


@pytest.fixture
def system(request, tmp_path):
    """One that has sixty-one turns in two takes, of which one speaks of a greyhound."""
    made = make_system(request.param, Equipment(shared_static_embedder(), tmp_path, floor=0.0))
    made.take(LONG)
    made.take([Message("My greyhound won a race in Linz.", name="Ben")])
    yield made
    made.close()


@pytest.mark.parametrize(
    "system", ["bm25", "bm25-user", "hybrid", "messages", "messages+chunks"], indirect=True
)
def test_a_system_finds_the_obvious_turn_within_its_budget(system):
    """The whole text counts, headers included, and the tokens reported are those of the text."""
    for budget in (1, 60, 300):
        recalled = system.recall("Whose greyhound won a race?", budget)
        assert recalled.tokens == shared_static_embedder().count([recalled.text])[0] <= budget
    assert "Ben: My greyhound won a race in Linz." in recalled.text
    assert is_found("My greyhound won a race in Linz.", recalled.units)


def test_baselines_of_people_know_no_assistant(tmp_path):
    """They stand for what somebody would write who remembers users."""
    tools = Equipment(shared_static_embedder(), tmp_path)
    for name, knows in (("bm25", True), ("bm25-user", False), ("hybrid", False)):
        system = make_system(name, tools)
        system.take([Message("Water the fern.", role="assistant"), Message("Thanks a lot!", role="user")])
        assert ("fern" in system.recall("the fern?", 300).text) == knows


@pytest.mark.parametrize(
    ("turn", "units", "found"),
    [
        (TURN, ["Ann: so, I ADOPTED a greyhound called comet yesterday! [image: a dog]"], True),
        (TURN, ["adopted greyhound called comet"], True),  # four fifths
        (TURN, ["adopted greyhound called"], False),
        (TURN, ["adopted greyhound", "called comet yesterday"], False),
        (TURN, [], False),
        ("Yes, I did", ["Ben: yes I did."], True),  # stop words alone count all
        ("So I did", ["Ann: cello soup"], False),
    ],
)
def test_a_turn_inside_one_unit_is_found(turn, units, found):
    """Names before it and captions behind it do no harm, nor case; words spread over units do."""
    assert is_found(turn, units) == found
