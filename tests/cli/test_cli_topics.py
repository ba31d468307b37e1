"""zibaldone topics on the command line."""

import json
import re
import sys
from pathlib import Path

import pytest

TALK = ["I adopted a black cat named Moss.", "Moss the cat only eats salmon.", "I am allergic to walnuts."]


@pytest.fixture
def filled(run):
    """With some entries in CURRENT."""
    assert run("add", "--jsonl", text="\n".join(json.dumps({"content": one}) for one in TALK))[0] == 0
    assert run("maintain", "--view", "topics")[0] == 0
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


def test_list_and_show(filled):
    """Every document in a line, and one of them as Markdown."""
    code, out, _ = filled("topics", "list")
    assert code == 0
    assert re.search(r"^CURRENT\t3\t\d+\tCURRENT", out, re.MULTILINE)
    code, out, _ = filled("topics", "show", "CURRENT")
    assert code == 0
    assert out.startswith("---\nid: CURRENT\n")
    assert "I am allergic to walnuts." in out


def test_the_list_is_there_without_its_name(filled, tmp_path):
    """Options of every command stand before `build`, behind it and at the end."""
    listed = filled("topics", "list")[:2]
    memory = ("--memory", str(tmp_path / "memory"))
    for words in (
        ("topics",),
        ("build", "topics", *memory),
        ("build", *memory, "topics"),
        ("build", "topics", *memory, "list"),
    ):
        assert filled(*words)[:2] == listed
    assert filled("build", "--memory", str(tmp_path / "none"), "topics")[0] == 2


def test_as_json(filled, tmp_path):
    """Every command gives one value, and nothing else."""
    (line,) = json.loads(filled("topics", "list", "--json")[1])
    assert (line["id"], line["entries"]) == ("CURRENT", 3)
    assert "walnuts" in json.loads(filled("topics", "show", "CURRENT", "--json")[1])["text"]
    done = json.loads(filled("topics", "export", str(tmp_path / "out"), "--json")[1])
    assert done == {"folder": str(tmp_path / "out"), "files": ["CURRENT.md", "index.md"]}


def test_nothing_yet(run):
    """An empty list says what to do."""
    run("add", "Hello.")
    assert "zibaldone maintain --view topics" in run("topics", "list")[2]
    assert json.loads(run("topics", "list", "--json")[1]) == []


@pytest.mark.parametrize("name", ["VISUAL", "EDITOR"])
def test_edit(filled, editor, name):
    """The editor of the environment is given the document, and what it saves is taken over."""
    env = editor("text = text.replace('salmon', 'trout')", name=name)
    code, said, _ = filled("topics", "edit", "CURRENT", env=env)
    assert code == 0
    assert said.startswith("1 edit taken over\n")
    assert "trout" in filled("topics", "show", "CURRENT")[1]


def test_edit_without_a_change(filled, editor):
    """Is no edit, whether the file was saved or not."""
    for env in (editor(""), {"EDITOR": "true", "VISUAL": ""}):
        assert filled("topics", "edit", "CURRENT", env=env)[:2] == (0, "0 edits taken over\n")
    assert len(json.loads(filled("messages", "--json")[1])) == len(TALK)


def test_edit_that_leaves_nothing(filled, editor):
    """Takes nothing out."""
    before = filled("topics", "show", "CURRENT")[1]
    code, _, err = filled("topics", "edit", "CURRENT", env=editor("text = ''"))
    assert code == 2
    assert "empty: nothing was changed" in err
    assert "kept in" not in err
    assert filled("topics", "show", "CURRENT")[1] == before


@pytest.mark.wide
def test_edit_while_memory_goes_on(filled, editor, tmp_path):
    """A conflict is shown as a diff of both sides, and what was written is kept in a file."""
    later = (
        "from zibaldone import Memory\n"
        f"with Memory({str(tmp_path / 'memory')!r}) as memory:\n"
        "    memory.add('My sister Bea plays the bassoon.', user='me')\n"
        "    memory.maintain(user='me', views=['topics'])"
    )
    code, said, hint = filled(
        "topics", "edit", "CURRENT", env=editor("text = text.replace('salmon', 'trout')", later)
    )
    assert code == 1
    assert "as exported" in said
    assert "bassoon" in said
    kept = Path(re.search(r"what you wrote is kept in (\S+)", hint)[1])
    assert "trout" in kept.read_text()
    kept.unlink()
    assert "trout" not in filled("topics", "show", "CURRENT")[1]


def test_edit_that_is_not_utf_8(filled, editor):
    """What was saved in another encoding is refused by a line, and kept."""
    env = editor("file.write_bytes(b'caf\\xe9'); raise SystemExit")
    code, _, hint = filled("topics", "edit", "CURRENT", env=env)
    assert (code, "is not UTF-8 text" in hint) == (2, True)
    kept = Path(re.search(r"kept in (\S+)", hint)[1])
    assert kept.read_bytes() == b"caf\xe9"
    kept.unlink()


def test_an_editor_that_fails(filled):
    """Is named, with the fix."""
    code, _, hint = filled("topics", "edit", "CURRENT")
    assert code == 2
    assert "set $EDITOR" in hint


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["show", "cats"], "no topic document 'cats'; there is CURRENT"),
        (["edit", "cats"], "no topic document 'cats'"),
        (["export", ".", "--user", "bea"], "no user 'bea'"),
        (["list", "--user", ""], "user must be a non-empty string"),
    ],
)
def test_bad_input(filled, words, says):
    """The error names the fix, with the exit code of bad input."""
    code, _, hint = filled("topics", *words)
    assert code == 2
    assert says in hint


def test_of_one_user(filled, tmp_path):
    """Another user has documents of their own, and cannot export over somebody's."""
    filled("add", "I play the bassoon.", "--user", "bea")
    filled("maintain", "--view", "topics")
    assert "walnuts" not in filled("topics", "show", "CURRENT", "--user", "bea")[1]
    filled("topics", "export", str(tmp_path / "out"))
    code, _, hint = filled("topics", "export", str(tmp_path / "out"), "--user", "bea")
    assert code == 2
    assert "nor an export of user 'bea'" in hint
