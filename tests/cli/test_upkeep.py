"""maintain, chunks, usage and rebuild on the command line."""

import json
import re

import pytest

from zibaldone.cli import output

FACTS = [f"Fact {i}: Otto repaired clock number {i} in cellar {i} on a Tuesday." for i in range(90)]


@pytest.fixture
def filled(add_all):
    """With enough to make some chunks of."""
    return add_all(FACTS)


@pytest.fixture
def of_two(add_all):
    """Of two users, maintained."""
    for user in ("ann", "bea"):
        facts = ["I live in Lisbon.", "I work at the harbour office.", "I live in Faro now."]
        run = add_all(facts, ZIBALDONE_USER=user)
    run("maintain")
    return run


def test_maintain_and_look(filled):
    """Maintaining makes chunks, which are listed, shown and recalled; a message is counted once."""
    done = filled("maintain", "--view", "chunks", "--view", "topics").stdout
    assert "read 90 messages of 1 user\n" in done
    assert "Otto repaired clock" in filled("build", "chunks").stdout
    chunk, *_ = json.loads(filled("build", "chunks", "--json").stdout)
    assert (chunk["items"][0]["sources"], chunk["made_by"]) == ([1], "offline")
    recalled = filled("recall", "clock number 7", "--view", "chunks", "--budget", "100").stdout
    assert "clock number 7" in recalled
    assert "view chunks: " in filled("admin", "stats").stdout
    filled("admin", "check")


@pytest.mark.parametrize(
    ("words", "tells"),
    [
        (("maintain", "--view", "chunks"), r"maintaining: \d+ %"),
        (("recall", "clock"), r"recall: \d+ s so far"),
    ],
)
def test_what_takes_long_tells_so_in_a_pipe(filled, monkeypatch, words, tells):
    """On standard error, every few seconds; nothing of it on standard output."""
    monkeypatch.setattr(output, "_WORTH_TELLING_S", 0.001)
    monkeypatch.setattr(output, "_LONGEST_SILENCE_S", 0.001)
    done = filled(*words)
    assert re.search(tells, done.stderr)
    assert not re.search(tells, done.stdout)


def test_as_json(filled):
    """Every figure by its name, and nothing else."""
    report = json.loads(filled("maintain", "--view", "chunks", "--json").stdout)
    assert (report["users"], report["messages"], report["behind"], report["model_calls"]) == (1, 90, [], 0)
    assert json.loads(filled("admin", "usage", "--json").stdout) == []


def test_what_recall_uses_is_maintained(filled):
    """Without a view's name; a second time nothing is left to read."""
    assert "read 90 messages of 1 user" in filled("maintain").stdout
    assert json.loads(filled("maintain", "--json").stdout)["messages"] == 0
    lags = {
        view["view"]: view["lag"] for view in json.loads(filled("admin", "stats", "--json").stdout)["views"]
    }
    assert {name for name, lag in lags.items() if not lag} == {"messages", "notes"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("maintain --user nobody", "no user 'nobody'"),
        ("maintain --view dreams", "no view 'dreams'"),
        ("build rebuild dreams", "no view 'dreams'"),
        ("build rebuild messages --user nobody", "no user 'nobody'"),
        ("build rebuild messages --diff --switch", "one thing at a time: --diff or --switch"),
        ("build rebuild messages --user ann --rollback", "is kept"),
    ],
)
def test_bad_input(of_two, words, says):
    """The error names the fix, with the exit code of bad input."""
    assert says in of_two(*words.split(), code=2).stderr


def test_from_a_build_to_a_rollback(of_two):
    """Each step in a command of its own, and so in a process of its own."""

    def ann(*words):
        return of_two("build", "rebuild", "notes", "--user", "ann", *words).stdout

    built = ann()
    assert "notes of ann: serving: build 1 (" in built
    assert "notes of ann: beside: build 2 (" in built
    assert ann("--diff") == "notes of ann: 3 the same, 0 added, 0 gone, 0 changed\n"
    assert "serving: build 2" in ann("--switch")
    assert "kept: build 2" in ann("--rollback")
    assert "build 2" not in ann("--discard")
    of_two("admin", "check")


def test_of_all_users_as_json(of_two):
    """Without a user it is everybody's, one after the other; at once nothing of the old one is kept."""

    def rebuild(*words):
        return json.loads(of_two("build", "rebuild", "messages", "--json", *words).stdout)

    built = rebuild()
    assert [(one["user"], one["standing"], one["other"]["unread"]) for one in built] == [
        ("ann", "beside", 0),
        ("bea", "beside", 0),
    ]
    diffs = rebuild("--diff")
    assert [(one["same"], one["added"], one["other_vectors"]) for one in diffs] == [(3, [], False)] * 2
    assert rebuild("--show") == built
    rebuild("--discard")
    (anew,) = rebuild("--at-once", "--user", "ann")
    assert (anew["serving"]["number"] > 1, anew["other"]) == (True, None)
