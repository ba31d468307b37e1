"""The table of programs that `zibaldone install` sets up: what each is told, and where."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from zibaldone.cli.hook import EVENTS
from zibaldone.cli.input import default_folder
from zibaldone.cli.install.edits import ConfigEdit, JsonMember, TomlTables, WholeFile
from zibaldone.cli.mcp import Entry, codex_lines, started

_HERE = Path(__file__).parent
_MARKETPLACE = _HERE / "marketplace"
_SKILL = Path("skills", "zibaldone", "SKILL.md")


@dataclass(frozen=True, slots=True)
class Setting:
    """Whom to tell of which memory."""

    program: str  # the command `zibaldone`, with its whole path
    options: list[str]  # --user and --memory
    project: bool  # this folder, and not all of the user's

    @property
    def server(self) -> Entry:
        return started(self.program, ["mcp", "serve", *self.options])

    def hook(self, *words: str) -> str:
        """The shell command of a hook; a host goes on whatever becomes of it."""
        return f"{shlex.join([self.program, 'hook', *words, *self.options])} || true"

    def at(self, in_project: str, of_user: Path) -> Path:
        return Path.cwd() / in_project if self.project else of_user


@dataclass(frozen=True, slots=True)
class Program:
    """A coding agent or an editor."""

    shown: str
    edits: Callable[[Setting], list[ConfigEdit]]
    next: str = ""  # what is left to do by hand
    has_plugins: bool = False  # which it installs itself, by `claude plugin`


def plugin_folder() -> Path:
    """Return the folder of the plugin for Claude Code, as it is installed from."""
    return default_folder().parent / "claude-code"


def _claude_code(setting: Setting) -> list[ConfigEdit]:
    edits: list[ConfigEdit] = []
    for path in sorted(path for path in _MARKETPLACE.rglob("*") if path.is_file()):
        text = path.read_text(encoding="utf-8")
        if path.name == ".mcp.json":
            text = json.dumps({"mcpServers": {"zibaldone": setting.server}}, indent=2) + "\n"
        elif path.name == "hooks.json":
            named = json.loads(text)
            for event, groups in named["hooks"].items():
                groups[0]["hooks"][0]["command"] = setting.hook(event, "--agent", "claude-code")
            text = json.dumps(named, indent=2) + "\n"
        edits.append(WholeFile(plugin_folder() / path.relative_to(_MARKETPLACE), text))
    return edits


def _codex(setting: Setting) -> list[ConfigEdit]:
    folder = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    lines = [codex_lines(setting.server)]
    for event in EVENTS:
        command = json.dumps(setting.hook(event, "--agent", "codex"))  # a JSON string is a TOML one, too
        table = f"[[hooks.{event}]]\n[[hooks.{event}.hooks]]"
        lines.append(f'{table}\ntype = "command"\ncommand = {command}\ntimeout = 30')
    skills = setting.at(".agents", Path.home() / ".agents")
    return [
        TomlTables(setting.at(".codex/config.toml", folder / "config.toml"), "\n\n".join(lines)),
        WholeFile(skills / _SKILL, _skill()),
    ]


def _opencode(setting: Setting) -> list[ConfigEdit]:
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "opencode"
    config = setting.at("opencode.json", folder / "opencode.json")
    if not config.exists() and config.with_suffix(".jsonc").exists():
        config = config.with_suffix(".jsonc")
    folder = setting.at(".opencode", folder)
    plugin = (_HERE / "opencode.js").read_text(encoding="utf-8")
    command = [setting.program, "hook", *setting.options]
    return [
        JsonMember(
            config,
            "mcp",
            {"type": "local", "command": [setting.program, *setting.server["args"]], "enabled": True},
        ),
        WholeFile(
            folder / "plugins" / "zibaldone.js", plugin.replace('["zibaldone", "hook"]', json.dumps(command))
        ),
        WholeFile(folder / _SKILL, _skill()),
    ]


def _cursor(setting: Setting) -> list[ConfigEdit]:
    path = setting.at(".cursor/mcp.json", Path.home() / ".cursor" / "mcp.json")
    return [JsonMember(path, "mcpServers", setting.server)]


def _vscode(setting: Setting) -> list[ConfigEdit]:
    from platformdirs import user_config_path

    folder = user_config_path("Code") / "User"
    path = setting.at(".vscode/mcp.json", folder / "mcp.json")
    return [JsonMember(path, "servers", {"type": "stdio", **setting.server})]


def _skill() -> str:
    return (_MARKETPLACE / "zibaldone" / _SKILL).read_text(encoding="utf-8")


PROGRAMS = {
    "claude-code": Program("Claude Code", _claude_code, has_plugins=True),
    "codex": Program(
        "Codex", _codex, "in codex, /hooks shows the three hooks: trust them once, or they do not run"
    ),
    "opencode": Program("opencode", _opencode),
    "cursor": Program("Cursor", _cursor, "it has no hooks of ours: its model asks the memory's tools itself"),
    "vscode": Program(
        "VS Code", _vscode, "it has no hooks of ours: its model asks the memory's tools itself"
    ),
}
