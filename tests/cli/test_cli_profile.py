"""zibaldone profile on the command line."""

import json

import pytest

TALK = ["Always cite sources when I ask about history.", "I live in Porto.", "I'm allergic to walnuts."]


@pytest.fixture
def filled(run):
    """With an entry of three kinds."""
    assert run("add", "--jsonl", text="\n".join(json.dumps({"content": one}) for one in TALK))[0] == 0
    return run


def test_entries_are_listed(filled):
    """Each in a line with its id; one kind alone where that is asked for."""
    code, out, _ = filled("profile")
    assert code == 0
    assert all(text in out for text in TALK)
    assert "2.0" in out
    code, out, _ = filled("profile", "--kind", "fact")
    assert TALK[1] in out
    assert TALK[0] not in out
    assert [entry["id"] for entry in json.loads(filled("profile", "--json")[1])] == ["1.0", "2.0", "3.0"]


def test_a_text_for_a_prompt(filled):
    """With a budget the text is written and nothing else."""
    _, out, _ = filled("profile", "--budget", "200")
    assert out.startswith("Standing instructions:\n- Always cite sources")
    both = json.loads(filled("profile", "--budget", "200", "--json")[1])
    assert both["text"] == out.rstrip("\n")
    assert len(both["entries"]) == 3


def test_corrections(filled):
    """Pinned, edited and retired by id; what is retired is listed when all is asked for."""
    assert "pinned" in filled("profile", "pin", "3.0")[1]
    assert filled("profile", "--budget", "30")[1].count("walnuts") == 1
    assert "pinned" not in filled("profile", "pin", "3.0", "--undo")[1]
    edited = json.loads(filled("profile", "edit", "2.0", "I live in Braga.", "--json")[1])
    assert edited["text"] == "I live in Braga."
    assert "retired" in filled("notes", "delete", "1.0")[1]
    added = json.loads(filled("notes", "add", "Ida is my sister.", "--kind", "person", "--json")[1])
    assert (added["kind"], added["made_by"]) == ("person", "hand")
    assert TALK[0] not in filled("profile")[1]
    assert TALK[0] in filled("profile", "--all")[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("profile", "pin", "9.0"), "no profile entry '9.0'"),
        (("profile", "edit", "1.0", " "), "retire the note instead"),
        (("profile", "--kind", "wish"), "no kind 'wish'"),
        (("profile", "--budget", "0"), "--budget"),
    ],
)
def test_bad_input_is_said(filled, words, said):
    """Exit code 2, and the reason."""
    code, out, err = filled(*words)
    assert code == 2
    assert out == ""
    assert said in err


def test_nothing_is_known_yet(filled):
    """A user without entries gets a line on standard error, and an empty list as JSON."""
    filled("add", "What is the time?", "--user", "ann")
    code, out, err = filled("profile", "--user", "ann")
    assert (code, out) == (0, "")
    assert "nothing yet" in err
    assert "need a chat model" in err
    assert json.loads(filled("profile", "--user", "ann", "--json")[1]) == []
