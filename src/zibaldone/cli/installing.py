"""`zibaldone install PROGRAM`: set up a coding agent or an editor, show what is changed, and take it back."""

from __future__ import annotations

import difflib
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from zibaldone.cli import output as out
from zibaldone.cli.frame import CliCall, runs
from zibaldone.cli.install.edits import BACKUP, Change, put_in, read, taken_out
from zibaldone.cli.install.programs import PROGRAMS, Setting, plugin_folder
from zibaldone.cli.mcp import program_path, whole
from zibaldone.errors import InvalidInput

_PLUGIN, _MARKETPLACE = "zibaldone@zibaldone", "zibaldone"
_COMMAND_S = 120.0
_DECLARED = ("enabledPlugins", "extraKnownMarketplaces")  # what Claude Code writes, and leaves empty


@runs("install")
def install(call: CliCall) -> None:
    """Set up a coding agent or an editor: memory's tools, and hooks that recall and store by themselves.

    Writes its configuration and shows each change. Twice does once; --remove takes all of it back.
    """
    name, removes, dry = call.given["program"], call.given["remove"], call.given["dry_run"]
    if name not in PROGRAMS:
        raise InvalidInput(f"no program {name!r}: there is {', '.join(PROGRAMS)}")
    program = PROGRAMS[name]
    options = ["--user", call.whose, "--memory", whole(call.folder)]
    setting = Setting(program_path(), options, project=call.given["project"])
    changes = [(taken_out if removes else put_in)(edit) for edit in program.edits(setting)]
    changes = [change for change in changes if change.before != change.after]
    commands: list[list[str]] = []
    if program.has_plugins and (changes or _has_plugin(setting) == removes):
        commands = _commands(setting, removes=removes, anew=bool(changes))
    if commands and not dry and shutil.which(commands[0][0]) is None:
        raise InvalidInput(
            "there is no 'claude' to install the plugin: npm install -g @anthropic-ai/claude-code"
        )
    for change in changes:
        _show(change, whole=dry)
    for command in commands:
        out.write(f"$ {shlex.join(command)}")
    if not dry:
        _make(setting, changes, commands, removes=removes)
    state = f"{program.shown} {'knows nothing of this memory' if removes else 'has this memory'}"
    if dry:
        out.note("nothing was written: leave --dry-run out")
    else:
        out.note(state if changes else f"nothing to change: {state}")
    if not removes:
        if find_spec("mcp") is None:
            out.note("its tools cannot be started yet: pip install 'zibaldone[mcp]'", "yellow")
        if program.next:
            out.note(program.next, "yellow")


def _show(change: Change, *, whole: bool = True) -> None:
    """Write what changes in a file, as a diff; a new one's name alone unless `whole`, and a deleted one's."""
    path = str(change.path)
    if change.before is None or change.after is None:
        out.write(f"{'new file' if change.before is None else 'deleted'}: {path}")
    if change.after is not None and (whole or change.before is not None):
        before = (change.before or "").splitlines()
        for line in difflib.unified_diff(before, change.after.splitlines(), path, path, n=2, lineterm=""):
            out.write(line)


def _commands(setting: Setting, *, removes: bool, anew: bool) -> list[list[str]]:
    """The commands of Claude Code by which it takes a plugin in; of a changed one it first lets go."""
    scope = ["--scope", "local" if setting.project else "user"]
    plugin = ["claude", "plugin"]
    away = [*plugin, "uninstall", _PLUGIN, *scope]
    if removes:
        return [away, [*plugin, "marketplace", "remove", _MARKETPLACE, *scope]]
    added = [*plugin, "marketplace", "add", str(plugin_folder()), *scope]
    return [added, *([away] if anew else []), [*plugin, "install", _PLUGIN, *scope]]


def _make(
    setting: Setting, changes: Sequence[Change], commands: Sequence[list[str]], *, removes: bool
) -> None:
    if commands:
        _check_json(_settings_at(setting))
    if not removes:
        for change in changes:
            change.make()
    if commands:
        _run_all(setting, commands, removes=removes)
    if removes and not (setting.project and commands and _PLUGIN in (read(_settings_of_user()) or "")):
        for change in changes:
            change.make()


def _run_all(setting: Setting, commands: Sequence[list[str]], *, removes: bool) -> None:
    """Let Claude Code install the plugin, or remove it, and show what it did to its settings.

    These are as they were once the plugin is removed, where nothing else has changed them.
    """
    settings = _settings_at(setting)
    kept = settings.with_name(settings.name + BACKUP)
    before = read(settings)
    if not removes and before is not None and _PLUGIN not in before:
        shutil.copy2(settings, kept)
    for command in commands:
        _run(command, may_fail=removes or "uninstall" in command)
    after = read(settings)
    if removes and after is not None:
        earlier = read(kept)
        left = {name: value for name, value in json.loads(after).items() if value or name not in _DECLARED}
        if left == json.loads(earlier or "{}"):
            after = earlier
        Change(settings, before, after).make()
        kept.unlink(missing_ok=True)
    if before != after:
        _show(Change(settings, before, after))


def _settings_at(setting: Setting) -> Path:
    return setting.at(".claude/settings.local.json", _settings_of_user())


def _check_json(settings: Path) -> None:
    """Raise InvalidInput for settings that Claude Code cannot read, before anything is changed."""
    try:
        json.loads(read(settings) or "{}")
    except ValueError as error:
        raise InvalidInput(
            f"{str(settings)!r} is not JSON ({error}). Mend it or move it away, and run this again;"
            " nothing was written"
        ) from error


def _settings_of_user() -> Path:
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / "settings.json"


def _has_plugin(setting: Setting) -> bool:
    return _PLUGIN in (read(_settings_at(setting)) or "")


def _run(command: Sequence[str], *, may_fail: bool) -> None:
    done = subprocess.run(  # noqa: S603 - Claude Code's own command
        command, capture_output=True, text=True, timeout=_COMMAND_S, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode and not may_fail:
        reason = " ".join((done.stderr or done.stdout).split())
        raise InvalidInput(f"{shlex.join(command)!r} failed ({reason}): run it by hand to see more")


@runs("hook")
def hook(call: CliCall) -> None:
    from zibaldone.cli.hook import answered

    event, agent, given = (call.given[name] for name in ("event", "agent", "given"))
    if text := answered(event, agent, given, user=call.whose, folder=call.folder):
        out.write(text)
