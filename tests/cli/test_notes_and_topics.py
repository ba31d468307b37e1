"""What views made, and notes, on the command line."""

import json
import re
import shlex

import pytest

TALK = ["I adopted a black cat named Moss.", "Moss the cat only eats salmon.", "I am allergic to walnuts."]
RULES = ["Always cite sources when I ask about history.", "I live in Porto.", "I'm allergic to walnuts."]


@pytest.fixture
def filled(add_all):
    """With some entries in CURRENT."""
    run = add_all(TALK)
    run("maintain", "--view", "topics")
    return run


def test_documents_are_listed_shown_and_exported(filled, tmp_path):
    """Each in a line, one as Markdown; as JSON one value and nothing else."""
    assert re.search(r"^CURRENT\t3\t\d+\tCURRENT", filled("build", "topics").stdout, re.MULTILINE)
    shown = filled("build", "topics", "show", "CURRENT").stdout
    assert shown.startswith("---\nid: CURRENT\n")
    assert TALK[2] in shown
    (line,) = json.loads(filled("build", "topics", "--json").stdout)
    assert (line["id"], line["entries"]) == ("CURRENT", 3)
    done = json.loads(filled("build", "topics", "export", tmp_path / "out", "--json").stdout)
    assert done == {"folder": str(tmp_path / "out"), "files": ["CURRENT.md", "index.md"]}


@pytest.mark.parametrize("words", ["{} build topics", "build {} topics", "build topics {}"])
def test_the_memory_is_named_anywhere(filled, tmp_path, words):
    """Before a group, in it, and at the end."""
    typed = words.format(f"--memory {tmp_path / 'memory'}").split()
    assert filled(*typed, ZIBALDONE_MEMORY="/nowhere").stdout == filled("build", "topics").stdout


def test_no_documents_yet(run):
    """An empty list says what to do."""
    run("add", "Hello.")
    assert "zibaldone maintain --view topics" in run("build", "topics").stderr
    assert json.loads(run("build", "topics", "--json").stdout) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("build topics show cats", "no topic document 'cats'; there is CURRENT"),
        ("build topics export . --user bea", "no user 'bea'"),
        ("notes pin 9.0", "no profile entry '9.0'"),
        ("notes edit 3.0 ' '", "retire the note instead"),
        ("notes --kind wish", "no kind 'wish'"),
    ],
)
def test_bad_input(filled, words, says):
    """The error names the fix, with the exit code of bad input."""
    done = filled(*shlex.split(words), code=2)
    assert done.stdout == ""
    assert says in done.stderr


def test_notes_are_listed(add_all):
    """Each in a line with its id; one kind alone where that is asked for."""
    run = add_all(RULES)
    listed = run("notes").stdout
    assert all(text in listed for text in (*RULES, "2.0"))
    facts = run("notes", "--kind", "fact").stdout
    assert RULES[1] in facts
    assert RULES[0] not in facts
    assert [entry["id"] for entry in json.loads(run("notes", "--json").stdout)] == ["1.0", "2.0", "3.0"]


def test_notes_are_corrected(add_all):
    """Pinned, edited and retired by id; what is retired is listed when all is asked for."""
    run = add_all(RULES)
    assert "pinned" in run("notes", "pin", "3.0").stdout
    assert "pinned" not in run("notes", "pin", "3.0", "--undo").stdout
    edited = json.loads(run("notes", "edit", "2.0", "I live in Braga.", "--json").stdout)
    assert edited["text"] == "I live in Braga."
    assert "retired" in run("notes", "delete", "1.0").stdout
    added = json.loads(run("notes", "add", "Ida is my sister.", "--kind", "person", "--json").stdout)
    assert (added["kind"], added["made_by"]) == ("person", "hand")
    assert RULES[0] not in run("notes").stdout
    assert RULES[0] in run("notes", "--all").stdout


def test_no_notes_yet(run):
    """A line on standard error, and an empty list as JSON."""
    run("add", "What is the time?")
    done = run("notes")
    assert done.stdout == ""
    assert "nothing yet" in done.stderr
    assert "need a chat model" in done.stderr
    assert json.loads(run("notes", "--json").stdout) == []
