"""`zibaldone install`: what programs are told, in files that are not ours, and how it is taken back."""

import json
import os
import re
import stat
import tomllib

import pytest

CODEX = '# mine\nmodel = "gpt"  # the good one\n\n[mcp_servers.other]\ncommand = "other"\n'
OPENCODE = '{\n\t"theme": "x",\n\t"mcp": {\n\t\t"other": {"type": 1}\n\t}\n}\n'
CURSOR = '{"mcpServers": {"other": {"command": "o", "args": ["{", "//"]}}, "a": [1,  2]}'
VSCODE = '{\r\n  "inputs": []\r\n}'
# Of each program: its file, in the user's home and in a project, what that may hold, and where ours is in it.
FILES = {
    "codex": (".codex/config.toml", ".codex/config.toml", CODEX, "mcp_servers"),
    "opencode": (".config/opencode/opencode.json", "opencode.json", OPENCODE, "mcp"),
    "cursor": (".cursor/mcp.json", ".cursor/mcp.json", CURSOR, "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", ".vscode/mcp.json", VSCODE, "servers"),
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
    """A configuration."""
    text = path.read_text(encoding="utf-8")
    return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)


@pytest.mark.parametrize("in_project", [False, True], ids=["user", "project"])
@pytest.mark.parametrize("program", FILES)
def test_others_entries_stay_and_ours_comes_and_goes(run, home, project, program, in_project):
    """Installing twice does once; removing takes ours alone away."""
    of_user, of_project, text, group = FILES[program]
    path = put(project, of_project, text) if in_project else put(home, of_user, text)
    others = read(path)
    options = ["--project"] if in_project else []

    assert str(path) in run("install", program, *options).stdout
    now = read(path)
    entry = now[group].pop("zibaldone")
    words = entry["command"] if program == "opencode" else [entry["command"], *entry["args"]]
    assert words[1:5] == ["mcp", "serve", "--user", "me"]
    assert now == {**now, **others}
    installed = (tree(home), tree(project))

    run("install", program, *options)
    assert (tree(home), tree(project)) == installed
    run("install", program, "--remove", *options)
    assert read(path) == others


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
    of_user, _, text, _ = FILES[program]
    path = put(home, of_user, text)
    others = read(path)
    run("install", program)
    now = path.read_bytes().decode()
    if program == "codex":
        path.write_text(f"late = 1\n{now}")
    else:
        path.write_text(now.replace("{", '{ "late": 1,', 1))
    run("install", program, "--remove")
    assert read(path) == {**others, "late": 1}


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("codex", "model = \n"),
        ("codex", '[mcp_servers.zibaldone]\ncommand = "by hand"\n'),
        ("codex", "hooks = { Stop = [] }\n"),
        ("opencode", '{"mcp": {'),
        ("opencode", '{"mcp": []}'),
        ("opencode", '{"mcp": {}} // a comment, which would be lost'),
        ("cursor", "[]"),
        ("cursor", '{"a": "\\ud800"}'),
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
    assert read(kept) == json.loads(CURSOR)


def test_another_memory_takes_the_place_of_the_first(run, home, project):
    """And what was there before both comes back."""
    put(home, ".cursor/mcp.json", CURSOR)
    run("install", "cursor", "--memory", "/one")
    run("install", "cursor", "--memory", "/two", "--user", "ann")
    args = read(home / ".cursor/mcp.json")["mcpServers"]["zibaldone"]["args"]
    assert args == ["mcp", "serve", "--user", "ann", "--memory", "/two"]
    run("install", "cursor", "--remove")
    assert read(home / ".cursor/mcp.json") == json.loads(CURSOR)


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
    """From a folder with the commands of this installation, which goes again."""
    put(home, "bin/claude", CLAUDE).chmod(0o755)
    monkeypatch.setenv("PATH", str(home / "bin"), prepend=os.pathsep)
    put(home, ".claude/settings.json", '{"a":1}')
    before = tree(home)

    def calls():
        path = home / "calls"
        words = [line.split()[1] for line in path.read_text(encoding="utf-8").splitlines()]
        path.unlink()
        return words

    run("install", "claude-code", "--memory", "/kept")
    plugin = home / ".local/share/zibaldone/claude-code/zibaldone"
    hooks = json.loads((plugin / "hooks/hooks.json").read_text(encoding="utf-8"))["hooks"]
    for event, groups in hooks.items():
        command = groups[0]["hooks"][0]["command"]
        assert re.search(
            rf"/zibaldone hook {event} --agent claude-code --user me --memory /kept \|\| true", command
        )
    assert calls() == ["marketplace", "uninstall", "install"]
    installed = tree(home)
    again = run("install", "claude-code", "--memory", "/kept")
    assert (again.stdout, "nothing to change" in again.stderr) == ("", True)
    assert tree(home) == installed
    run("install", "claude-code", "--remove")
    assert calls() == ["uninstall", "marketplace"]
    assert tree(home).keys() == before.keys()
    assert run("install", "claude-code", "--remove").stdout == ""


def test_without_claude_nothing_is_written(run, home, project, monkeypatch):
    """The error says where it is had."""
    monkeypatch.setenv("PATH", str(home))
    told = run("install", "claude-code", code=2).stderr
    assert "npm install -g @anthropic-ai/claude-code" in told
    assert tree(home) == {}
