"""The process that `zibaldone open` starts in the background: begin it, show it, end it."""

from __future__ import annotations

from typing import Annotated

import typer

from zibaldone.cli import output as out
from zibaldone.cli.input import Folder
from zibaldone.cli.output import NOTHING_FOUND

Background = Annotated[
    bool, typer.Option("--background", help="As a process of its own, until it is told to --stop.")
]
Stop = Annotated[bool, typer.Option("--stop", help="End that process.")]
Status = Annotated[bool, typer.Option("--status", help="Show that process; exit code 1: there is none.")]


def in_background(folder: Folder, command: list[str], *, stop: bool, status: bool, as_json: bool) -> None:
    """Start `zibaldone COMMAND` as the process that holds a memory; or end, or show, the one that does."""
    from zibaldone.cli import daemon as holding

    if stop or status:
        running = holding.stop(folder) if stop else holding.status(folder)
    else:
        running = holding.status(folder) or holding.start(
            folder, [*command, "--memory", str(folder.expanduser().resolve())]
        )
    if as_json:
        out.write_json(running)
    elif running:
        out.write(f"{'stopped' if stop else 'running'}: process {running.pid}, holding {running.folder}")
    if running is None:
        out.note(f"no process holds {folder}")
        raise typer.Exit(NOTHING_FOUND)
    if not (stop or as_json):
        out.note(
            f"since {running.since}, {out.count(running.answered, 'command')} answered; end it with --stop"
        )
