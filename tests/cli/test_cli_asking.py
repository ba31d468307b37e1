"""recall, search and ask on the command line: what is found, how it is narrowed and explained, and cited."""

import json
import shlex

import pytest

from misbehaving_server import MisbehavingServer, Misbehaviour

RENT = "The rent of the flat is 900 a month."
TALK = [
    {"session": "1", "name": "Ann", "content": RENT, "time": "2024-01-02T09:00"},
    {"session": "1", "role": "assistant", "content": "A rent of 900 it is.", "time": "2024-01-02T09:01"},
    {"session": "2", "name": "Ann", "content": "Rye bread needs no flat pan.", "time": "2024-02-03T10:00"},
    {"session": "3", "name": "Ann", "content": "The rent is 950 now.", "time": "2024-05-06T10:00"},
]
BOTH = pytest.mark.parametrize("command", ["recall", "search"])


@pytest.fixture
def filled(add_all):
    """On a memory of four messages."""
    return add_all(TALK)


@pytest.fixture
def cited(filled):
    """Runs a command with --json; the seqs that its passages cite, in their order."""

    def cited(command, *words):
        printed = json.loads(filled(command, *words, "--json").stdout)
        passages = printed["evidence"] if command == "recall" else printed
        return [seq for passage in passages for seq in passage["sources"]]

    return cited


def test_search_lists_passages(filled):
    """A row for each: rank, date, session, message, speaker, first words; best first."""
    best, *_ = filled("search", "rye bread").stdout.splitlines()[1:]
    assert best.split()[:5] == ["1", "2024-02-03", "2", "3", "Ann"]
    assert best.rstrip().endswith("Rye bread needs no flat pan.")


def test_search_says_when_nothing_is_clearly_about_the_query(filled):
    """The nearest three come with that remark, and the exit code is 1."""
    for number in range(8):
        filled("add", f"On day {number} we walked along the canal and counted {number} herons.")
    done = filled("search", "hydrocortisone", code=1)
    assert len(done.stdout.splitlines()) == 1 + 3
    assert "nothing found for user 'me' that is clearly about it" in done.stderr


def test_search_finds_the_words_of_a_title(add_all):
    """A session comes with a title that has all words of the query, though no message has them."""
    line = {"content": "Where do we sleep?", "session": "7", "metadata": {"title": "Holiday in Jutland"}}
    run = add_all([*TALK, line])
    assert "session 7 is titled 'Holiday in Jutland'" in run("search", "Jutland").stderr


def test_search_shows_the_first_words_of_what_is_long(filled):
    """A long passage is cut; in JSON it is whole."""
    long = "My cello teacher plays the cello in a quartet, and " + "the cello is " + "very " * 40 + "old."
    filled("add", long)
    asked = ("search", "Who plays the cello?", "-n", "1")
    (shown,) = filled(*asked).stdout.split("text")[1:]
    assert "in a quartet" in " ".join(shown.split())
    assert "…" in shown
    (passage,) = json.loads(filled(*asked, "--json").stdout)
    assert (passage["text"], passage["view"]) == (long, "messages")


def test_search_marks_what_no_longer_holds(filled):
    """With the mark of a recalled text."""
    for text in ("My landlord is Mr. Abel.", "My landlord is Ida Berg now."):
        filled("add", text, "--session", "homes")
    (old,) = (row for row in filled("search", "landlord").stdout.splitlines() if "Abel" in row)
    assert "no longer holds" in old
    assert "“My landlord is Ida Berg now.”]" in old


@BOTH
@pytest.mark.parametrize(
    ("narrower", "left"),
    [
        ("", {1, 2, 4}),
        ("--session 1", {1, 2}),
        ("--exclude-session 1", {4}),
        ("--role assistant", {2}),
        ("--role assistant --role user", {1, 2, 4}),
        ("--since 2024-03-01", {4}),
        ("--until 2024-03-01", {1, 2}),
        ("--since 2024-01-02T09:01 --until 2024-05-06T10:00 --role assistant", {2}),
    ],
)
def test_narrowing(cited, command, narrower, left):
    """By session, role and time: what is left out is not cited."""
    assert set(cited(command, "What is the rent?", *narrower.split())) - {3} == left


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("recall x --since yesterday", "since 'yesterday' is not an ISO 8601 date"),
        ("search x --since 2024-05-01 --until 2024-04-01", "must be before until"),
        ("search x --now soon", "now 'soon' is not an ISO 8601 date"),
        ("recall x --role ''", "a role"),
        ("search x -n 0", "limit must be a whole number of at least 1"),
        ("recall x --budget 0", "budget_tokens"),
        ("recall x --min-confidence 2", "min_confidence"),
        ("recall x --view none", "no view 'none'"),
    ],
)
def test_a_bad_option(filled, words, said):
    """Exit code 2, the reason on standard error, and nothing on standard output."""
    done = filled(*shlex.split(words), code=2)
    assert said in done.stderr
    assert done.stdout == ""


@BOTH
def test_nothing_left_is_nothing_found(filled, command):
    """Exit code 1, and JSON that is still JSON."""
    done = filled(command, "rent", "--since", "2030-01-01", "--json", code=1)
    printed = json.loads(done.stdout)
    assert not (printed["evidence"] if command == "recall" else printed)
    assert "nothing found for user 'me'" in done.stderr


def test_recall_writes_the_context_alone(filled):
    """Standard output is ready for a prompt; figures go to standard error."""
    done = filled("recall", "What is the rent?")
    assert f"Ann: {RENT}" in done.stdout
    assert "tokens" not in done.stdout
    assert "cites messages 1" in done.stderr
    assert "confidence 0." in done.stderr


def test_recall_as_json(filled):
    """The JSON has the text, its tokens, the confidence and what it cites; the trace comes with --why."""
    found = json.loads(filled("recall", "What is the rent?", "--json").stdout)
    assert RENT in found["text"]
    assert found["citations"][0]["seq"] == 1
    assert 0 < found["confidence"] <= 1
    assert "trace" not in found
    why = json.loads(filled("recall", "What is the rent?", "--json", "--why").stdout)
    assert why["trace"]["decisions"]


def test_why_shows_the_plan(filled):
    """The aim, the confidence, the tokens of each part, and what became of each candidate."""
    filled("maintain")
    shown = filled("recall", "How did the rent change over time?", "--budget", "120", "--why").stdout
    aim, columns, *parts = shown[shown.index("aim ") :].splitlines()
    assert aim.startswith("aim overview, confidence ")
    assert columns.split() == ["part", "budget", "tokens", "units"]
    (evidence,) = (part for part in parts if part.startswith("evidence"))
    _, room, tokens, units = evidence.split()
    assert 0 < int(tokens) <= int(room) <= 120
    assert int(units) > 0
    assert {"kept", "dropped"} & {row.split()[1] for row in parts if row and row[0].isdecimal()}


@pytest.fixture
def server():
    """A model that looks once and answers."""
    said = iter(({"queries": [{"query": "rent"}]}, {"answer": "900", "sources": [1]}))
    with MisbehavingServer(lambda _: next(said)) as running:
        yield running


@pytest.fixture
def ask(run, server):
    """Asks that model about a memory of one message."""
    model = {"MODEL": "m", "BASE_URL": server.base_url, "API_KEY": "k"}
    run("add", RENT, "--time", "2024-01-02T09:00")

    def ask(*words, code=0, **env):
        chat = {f"ZIBALDONE_CHAT_{name}": value for name, value in model.items()}
        return run("ask", *words, code=code, **{**chat, **env})

    return ask


@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
class TestAsk:
    """With a model on the loopback."""

    def test_an_answer_stands_above_its_sources(self, ask):
        """The looks, on standard error, only when they are asked for."""
        done = ask("What is the rent?", "--steps")
        assert done.stdout.startswith("900\n")
        assert f"[1] 2024-01-02, session default: {RENT}" in done.stdout
        for said in ("1. looks for 'rent'", "2. answers", "2 requests to the model"):
            assert said in done.stderr

    def test_json_has_all_of_it(self, ask):
        """The answer, the citations, the evidence and the steps."""
        printed = json.loads(ask("What is the rent?", "--json").stdout)
        assert (printed["text"], printed["known"], printed["marks"]) == ("900", True, [])
        assert printed["citations"][0]["seq"] == 1
        assert printed["evidence"]["evidence"][0]["text"] == RENT
        assert [len(step["queries"]) for step in printed["steps"]] == [0, 1, 0]

    def test_a_failing_model_leaves_what_was_recalled(self, ask, server):
        """With a line why, and the exit code of a model that failed."""
        server.always = Misbehaviour.UNAUTHORISED
        done = ask("What is the rent?", code=4)
        assert RENT in done.stdout
        assert "Incorrect API key" in done.stderr

    def test_what_memory_does_not_hold_has_its_own_exit_code(self, ask, server):
        """That of nothing found, with what the model says of it."""
        server.answer = lambda _: {"answer": "No cat is mentioned.", "known": False}
        assert "No cat is mentioned." in ask("What is my cat called?", code=1).stdout

    def test_without_a_model_the_setting_is_named(self, ask):
        """There is nothing that could answer."""
        assert "ZIBALDONE_CHAT_MODEL" in ask("What is the rent?", code=2, ZIBALDONE_CHAT_MODEL="").stderr
