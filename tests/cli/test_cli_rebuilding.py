"""rebuild on the command line."""

import json

import pytest

FACTS = ["I live in Lisbon.", "I work at the harbour office.", "I live in Faro now."]


@pytest.fixture
def filled(run, opened):
    """Of two users, maintained."""
    with opened() as memory:
        for user in ("ann", "bea"):
            memory.add(FACTS, user=user)
        memory.maintain()
    return run


def test_from_a_build_to_a_rollback(filled):
    """Each step in a command of its own, and so in a process of its own."""
    ann = ("rebuild", "notes", "--user", "ann")
    code, out, _ = filled(*ann)
    assert code == 0
    assert "notes of ann: serving: build 1 (" in out
    assert "notes of ann: beside: build 2 (" in out
    code, out, _ = filled(*ann, "--diff")
    assert (code, out) == (0, "notes of ann: 3 the same, 0 added, 0 gone, 0 changed\n")
    assert "serving: build 2" in filled(*ann, "--switch")[1]
    assert "kept: build 2" in filled(*ann, "--rollback")[1]
    assert "build 2" not in filled(*ann, "--discard")[1]
    assert filled("check")[0] == 0


def test_of_all_users_as_json(filled):
    """Without a user it is everybody's, one after the other."""
    built = json.loads(filled("rebuild", "messages", "--json")[1])
    assert [(one["user"], one["standing"], one["other"]["unread"]) for one in built] == [
        ("ann", "beside", 0),
        ("bea", "beside", 0),
    ]
    diffs = json.loads(filled("rebuild", "messages", "--diff", "--json")[1])
    assert [(one["same"], one["added"], one["other_vectors"]) for one in diffs] == [(3, [], False)] * 2
    assert json.loads(filled("rebuild", "messages", "--show", "--json")[1]) == built


def test_at_once(filled):
    """What mends damage takes the old one's place, and nothing is kept."""
    (built,) = json.loads(filled("rebuild", "messages", "--at-once", "--user", "ann", "--json")[1])
    assert (built["serving"]["number"], built["other"]) == (2, None)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["dreams"], "no view 'dreams'"),
        (["messages", "--user", "nobody"], "no user 'nobody'"),
        (["messages", "--diff", "--switch"], "one thing at a time: --diff or --switch"),
        (["messages", "--user", "ann", "--rollback"], "is kept"),
    ],
)
def test_bad_input(filled, words, says):
    """The error names the fix, with the exit code of bad input."""
    code, _, err = filled("rebuild", *words)
    assert code == 2
    assert says in err
