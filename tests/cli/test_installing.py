"""`zibaldone install`: what programs are told, in files that are not ours, and how it is taken back."""

import json
import os
import re
import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone.cli.install.edits import JsonMember

CODEX = '# mine\nmodel = "gpt"  # the good one\n\n[mcp_servers.other]\ncommand = "other"\n'
OPENCODE = (
    '{\n\t// mine\n\t"theme": "x", /* dark */\n\t"mcp": {\n\t\t"other": {"type": 1}, // theirs\n\t},\n}\n'
)
CURSOR = '{"mcpServers": {"other": {"command": "o", "args": ["{", "//"]}}, "a": [1,  2]}'
VSCODE = '{\r\n  "inputs": []\r\n}'
# Of each program: its file, in the user's home and in a project, what that may hold, and where ours is in it.
FILES = {
    "codex": (".codex/config.toml", ".codex/config.toml", CODEX, ("mcp_servers", "zibaldone")),
    "opencode": (".config/opencode/opencode.json", "opencode.json", OPENCODE, ("mcp", "zibaldone")),
    "cursor": (".cursor/mcp.json", ".cursor/mcp.json", CURSOR, ("mcpServers", "zibaldone")),
    "vscode": (".config/Code/User/mcp.json", ".vscode/mcp.json", VSCODE, ("servers", "zibaldone")),
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The home of a user who has none of the programs' variables set."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The folder where commands are typed."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return project


def tree(folder):
    """Every file below a folder with its bytes."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def put(folder, name, text):
    """A file of somebody else's, with these very bytes."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def read(path):
    """A configuration, without comments and trailing commas."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".toml":
        return tomllib.loads(text)
    return json.loads(re.sub(r",(\s*[}\]])", r"\1", re.sub(r'(?<!")//(?!").*|/\*.*?\*/', "", text)))


@pytest.mark.parametrize("in_project", [False, True], ids=["user", "project"])
@pytest.mark.parametrize("program", FILES)
def test_others_entries_stay_and_ours_comes_and_goes(run, home, project, program, in_project):
    """Comments and order too; installing twice does once; removing gives every byte back."""
    of_user, of_project, text, keys = FILES[program]
    path = put(project, of_project, text) if in_project else put(home, of_user, text)
    before = (tree(home), tree(project))
    options = ["--project"] if in_project else []

    shown = run("install", program, *options).stdout
    assert str(path) in shown
    assert "zibaldone" in shown
    entry = read(path)[keys[0]][keys[1]]
    assert [*_words(entry)][1:5] == ["mcp", "serve", "--user", "me"]
    assert is_inserted(path.read_bytes().decode(), text)
    installed = (tree(home), tree(project))

    run("install", program, *options)
    assert (tree(home), tree(project)) == installed
    run("install", program, "--remove", *options)
    assert (tree(home), tree(project)) == before


def is_inserted(now, before):
    """True if one piece was put into a text, and nothing else done to it."""
    return any(now.startswith(before[:at]) and now.endswith(before[at:]) for at in range(len(before)))


def _words(entry):
    command = entry["command"]
    return command if isinstance(command, list) else [command, *entry["args"]]


@pytest.mark.parametrize("program", FILES)
def test_files_that_were_not_there_go_again(run, home, project, program):
    """No empty folder is left either."""
    run("install", program)
    assert (home / FILES[program][0]).exists()
    run("install", program, "--remove")
    assert list(home.rglob("*")) == []


@pytest.mark.parametrize("program", FILES)
def test_what_others_added_meanwhile_stays(run, home, project, program):
    """Then ours alone is cut out, wherever it stands by then."""
    of_user, _, text, keys = FILES[program]
    path = put(home, of_user, text)
    run("install", program)
    now = path.read_bytes().decode()
    if program == "codex":
        now += '\n[mcp_servers.late]\ncommand = "late"\n'
    else:
        now = now.replace("{", '{ "late": 1,', 1)
    path.write_bytes(now.encode())
    expected = read(path)
    del expected[keys[0]][keys[1]]
    expected.pop("hooks", None)
    run("install", program, "--remove")
    assert {name: value for name, value in read(path).items() if value != {}} == {
        name: value for name, value in expected.items() if value != {}
    }
    assert "mine" in text or "mine" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("codex", "model = \n"),
        ("codex", '[mcp_servers.zibaldone]\ncommand = "by hand"\n'),
        ("codex", "hooks = { Stop = [] }\n"),
        ("opencode", '{"mcp": {'),
        ("opencode", '{"mcp": []}'),
        ("cursor", "[]"),
        ("vscode", '{"servers": "\udc80"}'),
    ],
)
def test_a_file_that_cannot_be_changed_is_named_and_nothing_is_written(run, home, project, program, text):
    """Also where another file of the program could have been written before it."""
    path = home / FILES[program][0]
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    before = tree(home)
    told = run("install", program, code=2).stderr
    assert str(path) in told
    assert "nothing was written" in told
    assert tree(home) == before


def test_a_dry_run_shows_and_writes_nothing(run, home, project):
    """The same lines that are written without it."""
    put(home, ".cursor/mcp.json", CURSOR)
    before = tree(home)
    would = run("install", "cursor", "--dry-run").stdout
    assert tree(home) == before
    assert run("install", "cursor").stdout == would
    assert '+    "zibaldone": {' in would


def test_a_link_is_followed_and_rights_are_kept(run, home, project):
    """As people have who keep their configuration in a repository."""
    kept = put(home, "dotfiles/mcp.json", CURSOR)
    kept.chmod(0o600)
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").symlink_to(kept)
    run("install", "cursor")
    assert (home / ".cursor" / "mcp.json").is_symlink()
    assert "zibaldone" in read(kept)["mcpServers"]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    run("install", "cursor", "--remove")
    assert kept.read_text(encoding="utf-8") == CURSOR


def test_another_memory_takes_the_place_of_the_first(run, home, project):
    """And what was there before both comes back."""
    put(home, ".cursor/mcp.json", CURSOR)
    run("install", "cursor", "--memory", "/one")
    run("install", "cursor", "--memory", "/two", "--user", "ann")
    args = read(home / ".cursor/mcp.json")["mcpServers"]["zibaldone"]["args"]
    assert args == ["mcp", "serve", "--user", "ann", "--memory", "/two"]
    run("install", "cursor", "--remove")
    assert (home / ".cursor/mcp.json").read_text(encoding="utf-8") == CURSOR


def test_a_program_of_another_name_is_told_of_those_there_are(run, home):
    """And nothing is written."""
    told = run("install", "emacs", code=2).stderr
    assert "claude-code, codex, opencode, cursor, vscode" in told


CLAUDE = """#!/bin/sh
settings="$HOME/.claude/settings.json"
echo "$@" >> "$HOME/calls"
case "$*" in
  *"plugin install"*) echo '{"a":1, "enabledPlugins": {"zibaldone@zibaldone": true}}' > "$settings";;
  *uninstall*) echo '{"enabledPlugins": {}, "a": 1}' > "$settings";;
esac
"""


def test_claude_code_installs_the_plugin_itself(run, home, project, monkeypatch):
    """From a folder with the commands of this installation; its settings are as they were afterwards."""
    put(home, "bin/claude", CLAUDE).chmod(0o755)
    monkeypatch.setenv("PATH", f"{home / 'bin'}:{os.environ['PATH']}")
    settings = put(home, ".claude/settings.json", '{"a":1}')
    before = tree(home)
    run("install", "claude-code", "--memory", "/kept")
    plugin = home / ".local/share/zibaldone/claude-code/zibaldone"
    hooks = json.loads((plugin / "hooks/hooks.json").read_text(encoding="utf-8"))["hooks"]
    for event, groups in hooks.items():
        command = groups[0]["hooks"][0]["command"]
        assert re.search(
            rf"/zibaldone hook {event} --agent claude-code --user me --memory /kept \|\| true", command
        )
    assert "zibaldone@zibaldone" in settings.read_text(encoding="utf-8")
    calls = home / "calls"
    assert [line.split()[1] for line in calls.read_text(encoding="utf-8").splitlines()] == [
        "marketplace",
        "uninstall",
        "install",
    ]
    calls.unlink()
    installed = tree(home)
    again = run("install", "claude-code", "--memory", "/kept")
    assert (again.stdout, "nothing to change" in again.stderr) == ("", True)
    assert tree(home) == installed
    run("install", "claude-code", "--remove")
    calls.unlink()
    assert tree(home) == before
    assert run("install", "claude-code", "--remove").stdout == ""
    assert tree(home) == before


def test_broken_settings_of_claude_code_are_left_as_they_are(run, home, project, monkeypatch):
    """Installing and removing name the file, and write nothing at all."""
    put(home, "bin/claude", CLAUDE).chmod(0o755)
    monkeypatch.setenv("PATH", str(home / "bin"), prepend=os.pathsep)
    put(home, ".claude/settings.json", '{broken "zibaldone@zibaldone"')
    before = tree(home)
    for more in ([], ["--remove"]):
        told = run("install", "claude-code", *more, code=2).stderr
        assert "settings.json' is not JSON" in told
    assert tree(home) == before


def test_without_claude_nothing_is_written(run, home, project, monkeypatch):
    """The error says where it is had."""
    monkeypatch.setenv("PATH", str(home))
    told = run("install", "claude-code", code=2).stderr
    assert "npm install -g @anthropic-ai/claude-code" in told
    assert tree(home) == {}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('a"\\/*,:{}[] \n', max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('ab"/*,', max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from(["a", "mcp", "//", "z,"]), VALUES, max_size=4)


@given(OBJECTS, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_any_json_has_ours_beside_what_it_had(outer, indent, commented):
    """And has just that again afterwards."""
    if not isinstance(outer.get("mcp", {}), dict):
        outer["mcp"] = {}
    outer.get("mcp", {}).pop("zibaldone", None)
    text = json.dumps(outer, indent=indent)
    if commented:
        text = "// ,{\n" + text + "/* } */"
    edit = JsonMember(Path("x.json"), ("mcp", "zibaldone"), {"command": "z"})
    put = edit.put(text)
    assert edit.ours(put) == {"command": "z"}
    assert edit.put(put) == put
    bare = put.removeprefix("// ,{\n").removesuffix("/* } */") if commented else put
    assert json.loads(bare) == {**outer, "mcp": {**outer.get("mcp", {}), "zibaldone": {"command": "z"}}}
    cut = edit.cut(put)
    bare = cut.removeprefix("// ,{\n").removesuffix("/* } */") if commented else cut
    assert json.loads(bare) == {"mcp": {}, **outer}
