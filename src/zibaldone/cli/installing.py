"""`zibaldone install PROGRAM`: set up a coding agent or an editor, show what is changed, and take it back."""

from __future__ import annotations

import difflib
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec

from zibaldone.cli import output as out
from zibaldone.cli.frame import CliCall, runs
from zibaldone.cli.install.edits import Change, put_in, taken_out
from zibaldone.cli.install.programs import PROGRAMS, Setting, plugin_folder
from zibaldone.cli.mcp import program_path, whole
from zibaldone.errors import InvalidInput

_PLUGIN, _MARKETPLACE = "zibaldone@zibaldone", "zibaldone"
_COMMAND_S = 120.0


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
    if program.has_plugins and setting.project:
        raise InvalidInput(f"a plugin of {program.shown} is for all projects: leave --project out")
    commands = _commands(removes=removes) if program.has_plugins and changes else []
    if commands and not dry and shutil.which(commands[0][0]) is None:
        raise InvalidInput(
            "there is no 'claude' to install the plugin: npm install -g @anthropic-ai/claude-code"
        )
    for change in changes:
        _show(change, whole=dry)
    for command in commands:
        out.write(f"$ {shlex.join(command)}")
    if not dry:
        for change in () if removes else changes:
            change.make()
        for command in commands:
            _run(command, may_fail=removes or "uninstall" in command)
        for change in changes if removes else ():
            change.make()
    state = f"{program.shown} {'knows nothing of this memory' if removes else 'has this memory'}"
    if dry:
        out.note("nothing was written: leave --dry-run out")
    else:
        out.note(state if changes or commands else f"nothing to change: {state}")
    if not removes:
        if find_spec("mcp") is None:
            out.note("its tools cannot be started yet: pip install 'zibaldone[mcp]'", "yellow")
        if program.next:
            out.note(program.next, "yellow")


def _show(change: Change, *, whole: bool) -> None:
    """Write what changes in a file, as a diff; a new one's name alone unless `whole`, and a deleted one's."""
    path = str(change.path)
    if change.before is None or change.after is None:
        out.write(f"{'new file' if change.before is None else 'deleted'}: {path}")
    if change.after is not None and (whole or change.before is not None):
        before = (change.before or "").splitlines()
        for line in difflib.unified_diff(before, change.after.splitlines(), path, path, n=2, lineterm=""):
            out.write(line)


def _commands(*, removes: bool) -> list[list[str]]:
    """The commands of Claude Code by which it takes a plugin in; of a changed one it first lets go."""
    plugin = ["claude", "plugin"]
    away = [*plugin, "uninstall", _PLUGIN]
    if removes:
        return [away, [*plugin, "marketplace", "remove", _MARKETPLACE]]
    added = [*plugin, "marketplace", "add", str(plugin_folder())]
    return [added, away, [*plugin, "install", _PLUGIN]]


def _run(command: Sequence[str], *, may_fail: bool) -> None:
    done = subprocess.run(  # noqa: S603 - Claude Code's own command
        command, capture_output=True, text=True, timeout=_COMMAND_S, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode and not may_fail:
        reason = " ".join((done.stderr or done.stdout).split())
        raise InvalidInput(f"{shlex.join(command)!r} failed ({reason}): run it by hand to see more")
