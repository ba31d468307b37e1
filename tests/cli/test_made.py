"""What views made, on the command line: topic documents and notes."""

import json
import re
import sys
from pathlib import Path

import pytest

TALK = ["I adopted a black cat named Moss.", "Moss the cat only eats salmon.", "I am allergic to walnuts."]
RULES = ["Always cite sources when I ask about history.", "I live in Porto.", "I'm allergic to walnuts."]


@pytest.fixture
def filled(add_all):
    """With some entries in CURRENT."""
    run = add_all(TALK)
    run("maintain", "--view", "topics")
    return run


@pytest.fixture
def editor(tmp_path):
    """An environment whose editor runs a line of Python on `text`, and `later` before it saves."""

    def editor(line, later="", name="VISUAL"):
        script = tmp_path / "editor.py"
        script.write_text(
            "import sys, pathlib\nfile = pathlib.Path(sys.argv[1])\ntext = file.read_text()\n"
            f"{line}\n{later}\nfile.write_text(text)\n"
        )
        return {"VISUAL": "", "EDITOR": "false", name: f'"{sys.executable}" "{script}"'}

    return editor


def kept_in(hint):
    """The text of the file that what was written is kept in, which goes."""
    kept = Path(re.search(r"kept in (\S+)", hint)[1])
    text = kept.read_bytes()
    kept.unlink()
    return text


def test_documents_are_listed_shown_and_exported(filled, tmp_path):
    """Each in a line, one as Markdown; as JSON one value and nothing else."""
    assert re.search(r"^CURRENT\t3\t\d+\tCURRENT", filled("topics", "list").stdout, re.MULTILINE)
    shown = filled("topics", "show", "CURRENT").stdout
    assert shown.startswith("---\nid: CURRENT\n")
    assert TALK[2] in shown
    (line,) = json.loads(filled("topics", "list", "--json").stdout)
    assert (line["id"], line["entries"]) == ("CURRENT", 3)
    assert "walnuts" in json.loads(filled("topics", "show", "CURRENT", "--json").stdout)["text"]
    done = json.loads(filled("topics", "export", tmp_path / "out", "--json").stdout)
    assert done == {"folder": str(tmp_path / "out"), "files": ["CURRENT.md", "index.md"]}


@pytest.mark.parametrize(
    "words", ["topics", "build topics {}", "build {} topics", "build topics {} list"], ids=str
)
def test_the_list_is_there_without_its_name(filled, tmp_path, words):
    """Options of every command stand before `build`, behind it and at the end."""
    typed = words.format(f"--memory {tmp_path / 'memory'}").split()
    assert filled(*typed).stdout == filled("topics", "list").stdout
    filled("build", "--memory", tmp_path / "none", "topics", code=2)


def test_no_documents_yet(run):
    """An empty list says what to do."""
    run("add", "Hello.")
    assert "zibaldone maintain --view topics" in run("topics", "list").stderr
    assert json.loads(run("topics", "list", "--json").stdout) == []


@pytest.mark.parametrize("name", ["VISUAL", "EDITOR"])
def test_edit(filled, editor, name):
    """The editor of the environment is given the document, and what it saves is taken over."""
    env = editor("text = text.replace('salmon', 'trout')", name=name)
    assert filled("topics", "edit", "CURRENT", **env).stdout.startswith("1 edit taken over\n")
    assert "trout" in filled("topics", "show", "CURRENT").stdout


def test_edit_without_a_change(filled, editor):
    """Is no edit, whether the file was saved or not."""
    for env in (editor(""), {"EDITOR": "true", "VISUAL": ""}):
        assert filled("topics", "edit", "CURRENT", **env).stdout == "0 edits taken over\n"
    assert len(json.loads(filled("messages", "--json").stdout)) == len(TALK)


def test_edit_that_is_refused(filled, editor):
    """A document with nothing left, another encoding, an editor that fails: the work is kept, if any."""
    before = filled("topics", "show", "CURRENT").stdout
    emptied = filled("topics", "edit", "CURRENT", code=2, **editor("text = ''")).stderr
    assert "empty: nothing was changed" in emptied
    assert "kept in" not in emptied
    latin = editor("file.write_bytes(b'caf\\xe9'); raise SystemExit")
    refused = filled("topics", "edit", "CURRENT", code=2, **latin).stderr
    assert "is not UTF-8 text" in refused
    assert kept_in(refused) == b"caf\xe9"
    assert "set $EDITOR" in filled("topics", "edit", "CURRENT", code=2).stderr
    assert filled("topics", "show", "CURRENT").stdout == before


@pytest.mark.wide
def test_edit_while_memory_goes_on(filled, editor, tmp_path):
    """A conflict is shown as a diff of both sides, and what was written is kept in a file."""
    later = (
        "from zibaldone import Memory\n"
        f"with Memory({str(tmp_path / 'memory')!r}) as memory:\n"
        "    memory.add('My sister Bea plays the bassoon.', user='me')\n"
        "    memory.maintain(user='me', views=['topics'])"
    )
    env = editor("text = text.replace('salmon', 'trout')", later)
    done = filled("topics", "edit", "CURRENT", code=1, **env)
    assert "as exported" in done.stdout
    assert "bassoon" in done.stdout
    assert b"trout" in kept_in(done.stderr)
    assert "trout" not in filled("topics", "show", "CURRENT").stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["topics", "show", "cats"], "no topic document 'cats'; there is CURRENT"),
        (["topics", "edit", "cats"], "no topic document 'cats'"),
        (["topics", "export", ".", "--user", "bea"], "no user 'bea'"),
        (["topics", "list", "--user", ""], "user must be a non-empty string"),
        (["profile", "pin", "9.0"], "no profile entry '9.0'"),
        (["profile", "edit", "3.0", " "], "retire the note instead"),
        (["profile", "--kind", "wish"], "no kind 'wish'"),
        (["profile", "--budget", "0"], "--budget"),
    ],
)
def test_bad_input(filled, words, says):
    """The error names the fix, with the exit code of bad input."""
    done = filled(*words, code=2)
    assert done.stdout == ""
    assert says in done.stderr


def test_of_one_user(filled, tmp_path):
    """Another user has documents of their own, and cannot export over somebody's."""
    filled("add", "I play the bassoon.", "--user", "bea")
    filled("maintain", "--view", "topics")
    assert "walnuts" not in filled("topics", "show", "CURRENT", "--user", "bea").stdout
    filled("topics", "export", tmp_path / "out")
    refused = filled("topics", "export", tmp_path / "out", "--user", "bea", code=2)
    assert "nor an export of user 'bea'" in refused.stderr


def test_notes_are_listed(add_all):
    """Each in a line with its id; one kind alone, or a text for a prompt, where that is asked for."""
    run = add_all(RULES)
    listed = run("profile").stdout
    assert all(text in listed for text in (*RULES, "2.0"))
    facts = run("profile", "--kind", "fact").stdout
    assert RULES[1] in facts
    assert RULES[0] not in facts
    assert [entry["id"] for entry in json.loads(run("profile", "--json").stdout)] == ["1.0", "2.0", "3.0"]
    text = run("profile", "--budget", "200").stdout
    assert text.startswith("Standing instructions:\n- Always cite sources")
    both = json.loads(run("profile", "--budget", "200", "--json").stdout)
    assert (both["text"], len(both["entries"])) == (text.rstrip("\n"), 3)


def test_notes_are_corrected(add_all):
    """Pinned, edited and retired by id; what is retired is listed when all is asked for."""
    run = add_all(RULES)
    assert "pinned" in run("profile", "pin", "3.0").stdout
    assert run("profile", "--budget", "30").stdout.count("walnuts") == 1
    assert "pinned" not in run("profile", "pin", "3.0", "--undo").stdout
    edited = json.loads(run("profile", "edit", "2.0", "I live in Braga.", "--json").stdout)
    assert edited["text"] == "I live in Braga."
    assert "retired" in run("notes", "delete", "1.0").stdout
    added = json.loads(run("notes", "add", "Ida is my sister.", "--kind", "person", "--json").stdout)
    assert (added["kind"], added["made_by"]) == ("person", "hand")
    assert RULES[0] not in run("profile").stdout
    assert RULES[0] in run("profile", "--all").stdout


def test_no_notes_yet(run):
    """A line on standard error, and an empty list as JSON."""
    run("add", "What is the time?")
    done = run("profile")
    assert done.stdout == ""
    assert "nothing yet" in done.stderr
    assert "need a chat model" in done.stderr
    assert json.loads(run("profile", "--json").stdout) == []
