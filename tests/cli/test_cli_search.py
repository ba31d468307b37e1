"""zibaldone search, and how zibaldone recall is narrowed and explained, on the command line."""

import json

import pytest
from typer.testing import CliRunner

from zibaldone.cli.app import app

TALK = [
    {
        "session": "1",
        "name": "Ann",
        "content": "The rent of the flat is 900 a month.",
        "time": "2024-01-02T09:00",
    },
    {"session": "1", "role": "assistant", "content": "A rent of 900 it is.", "time": "2024-01-02T09:01"},
    {"session": "2", "name": "Ann", "content": "Rye bread needs no flat pan.", "time": "2024-02-03T10:00"},
    {"session": "3", "name": "Ann", "content": "The rent is 950 now.", "time": "2024-05-06T10:00"},
]
BOTH = pytest.mark.parametrize("command", ["recall", "search"])


@pytest.fixture
def run(tmp_path):
    """Runs a command on a folder of one's own that holds four messages."""
    runner = CliRunner(env={"ZIBALDONE_MEMORY": str(tmp_path / "memory"), "ZIBALDONE_USER": "ann"})

    def run(*words, code=0, text=None):
        done = runner.invoke(app, list(words), input=text)
        assert done.exit_code == code, done.output
        assert "Traceback" not in done.output
        return done

    run("add", "--jsonl", text="\n".join(map(json.dumps, TALK)))
    return run


@pytest.fixture
def cited(run):
    """Runs a command with --json; the seqs that its passages cite, in their order."""

    def cited(command, *words):
        printed = json.loads(run(command, *words, "--json").stdout)
        passages = printed["evidence"] if command == "recall" else printed
        return [seq for passage in passages for seq in passage["sources"]]

    return cited


def test_search_lists_passages(run):
    """A row for each: rank, date, session, message, speaker, first words; best first."""
    best, *_ = run("search", "rye bread").stdout.splitlines()[1:]
    assert best.split()[:5] == ["1", "2024-02-03", "2", "3", "Ann"]
    assert best.rstrip().endswith("Rye bread needs no flat pan.")


def test_search_says_when_nothing_is_clearly_about_the_query(run):
    """The nearest three come with that remark, and the exit code is 1."""
    for number in range(8):
        run("add", f"On day {number} we walked along the canal and counted {number} herons.")
    done = run("search", "hydrocortisone", code=1)
    assert len(done.stdout.splitlines()) == 1 + 3
    assert "nothing found for user 'ann' that is clearly about it" in done.stderr


def test_search_finds_the_words_of_a_title(run):
    """A session comes with a title that has all words of the query, though no message has them."""
    line = {"content": "Where do we sleep?", "session": "7", "metadata": {"title": "Holiday in Jutland"}}
    run("add", "--jsonl", text=json.dumps(line))
    assert "session 7 is titled 'Holiday in Jutland'" in run("search", "Jutland").stderr


def test_search_shows_the_first_words_of_what_is_long(run):
    """A long passage is cut; in JSON it is whole."""
    long = "My cello teacher plays the cello in a quartet, and " + "the cello is " + "very " * 40 + "old."
    run("add", long)
    (shown,) = run("search", "Who plays the cello?", "-n", "1").stdout.split("text")[1:]
    assert "in a quartet" in " ".join(shown.split())
    assert "…" in shown
    (passage,) = json.loads(run("search", "Who plays the cello?", "-n", "1", "--json").stdout)
    assert passage["text"] == long
    assert passage["view"] == "messages"


def test_search_marks_what_no_longer_holds(run):
    """With the mark of a recalled text."""
    run("add", "My landlord is Mr. Abel.", "--session", "homes")
    run("add", "My landlord is Ida Berg now.", "--session", "homes")
    (old,) = (row for row in run("search", "landlord").stdout.splitlines() if "Abel" in row)
    assert "no longer holds" in old
    assert "“My landlord is Ida Berg now.”]" in old


@BOTH
@pytest.mark.parametrize(
    ("narrower", "left"),
    [
        ((), {1, 2, 4}),
        (("--session", "1"), {1, 2}),
        (("--exclude-session", "1"), {4}),
        (("--role", "assistant"), {2}),
        (("--role", "assistant", "--role", "user"), {1, 2, 4}),
        (("--since", "2024-03-01"), {4}),
        (("--until", "2024-03-01"), {1, 2}),
        (("--since", "2024-01-02T09:01", "--until", "2024-05-06T10:00", "--role", "assistant"), {2}),
    ],
)
def test_narrowing(cited, command, narrower, left):
    """By session, role and time: what is left out is not cited."""
    assert set(cited(command, "What is the rent?", *narrower)) - {3} == left


@BOTH
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--since", "yesterday"), "since 'yesterday' is not an ISO 8601 date"),
        (("--until", "soon"), "until 'soon' is not an ISO 8601 date"),
        (("--since", "2024-05-01", "--until", "2024-04-01"), "must be before until"),
        (("--role", ""), "a role"),
        (("--exclude-session", ""), "exclude_session"),
    ],
)
def test_bad_narrowing_is_refused(run, command, words, reason):
    """Exit code 2, the reason on standard error, and nothing on standard output."""
    done = run(command, "rent", *words, code=2)
    assert reason in done.stderr
    assert done.stdout == ""


def test_a_limit_below_one_is_refused(run):
    """Exit code 2, and the reason."""
    assert "limit must be a whole number of at least 1" in run("search", "rent", "-n", "0", code=2).stderr


@BOTH
def test_nothing_left_is_nothing_found(run, command):
    """Exit code 1, and JSON that is still JSON."""
    done = run(command, "rent", "--since", "2030-01-01", "--json", code=1)
    printed = json.loads(done.stdout)
    assert not (printed["evidence"] if command == "recall" else printed)
    assert "nothing found for user 'ann'" in done.stderr


def test_why_shows_the_plan(run):
    """The aim, the confidence, the tokens of each part, and what became of each candidate."""
    run("maintain")
    shown = run("recall", "How did the rent change over time?", "--budget", "120", "--why").stdout
    aim, columns, *parts = shown[shown.index("aim ") :].splitlines()
    assert aim.startswith("aim overview, confidence ")
    assert columns.split() == ["part", "budget", "tokens", "units"]
    assert {part.split()[0] for part in parts if part} >= {"evidence"}
    (evidence,) = (part for part in parts if part.startswith("evidence"))
    _, room, tokens, units = evidence.split()
    assert 0 < int(tokens) <= int(room) <= 120
    assert int(units) > 0
    assert {"kept", "dropped"} & {row.split()[1] for row in parts if row and row[0].isdecimal()}


def test_confidence_is_said(run):
    """In the JSON, with the figures, and where nothing was recalled."""
    printed = json.loads(run("recall", "What is the rent?", "--json").stdout)
    assert 0 < printed["confidence"] <= 1
    assert f"confidence {printed['confidence']:.2f}" in run("recall", "What is the rent?").stderr
    assert "(confidence 0." in run("recall", "zebra quantum", "--min-confidence", "1", code=1).stderr
