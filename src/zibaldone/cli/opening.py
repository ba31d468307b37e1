"""`zibaldone open`: hold a memory, so that commands need not load it each time."""

from __future__ import annotations

import signal
import threading
from typing import Annotated

import typer

from zibaldone.cli import output as out
from zibaldone.cli.input import AsJson, Folder, open_memory
from zibaldone.cli.output import NOTHING_FOUND
from zibaldone.errors import InvalidInput

Background = Annotated[
    bool, typer.Option("--background", help="As a process of its own, until it is told to --stop.")
]
Stop = Annotated[bool, typer.Option("--stop", help="End that process.")]
Status = Annotated[bool, typer.Option("--status", help="Show that process; exit code 1: there is none.")]


def open_(
    context: typer.Context,
    *,
    background: Background = False,
    stop: Stop = False,
    status: Status = False,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Hold the memory: commands ask this process, and take a tenth of a second."""
    if background + stop + status > 1:
        raise InvalidInput("give one of --background, --stop and --status")
    if stop or status or background:
        in_background(memory, ["open"], stop=stop, status=status, as_json=as_json)
        return
    from zibaldone.cli.holding import held

    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    signal.signal(signal.SIGINT, lambda *_: ended.set())
    program = context.find_root().command
    with open_memory(memory, background=True) as opened, held(opened, program):
        out.note(f"holding {opened.path} for the command line, until Ctrl-C")
        ended.wait()


def in_background(folder: Folder, command: list[str], *, stop: bool, status: bool, as_json: bool) -> None:
    """Start `zibaldone COMMAND` as the process that holds a memory; or end, or show, the one that does."""
    from zibaldone.cli import holding

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
