"""The command line.

Everything heavy is imported by the command that needs it, so that `zibaldone --help` answers at once.
"""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from zibaldone.api.operations import OPERATIONS
from zibaldone.cli import (  # noqa: F401 - they register their commands
    asking,
    comparing,
    forgetting,
    installing,
    mcp,
    messages,
    notes,
    serve,
    storing,
    upkeep,
)
from zibaldone.cli import output as out
from zibaldone.cli.commands import COMMANDS, SECTIONS
from zibaldone.cli.frame import MemoryBefore, UserBefore, add_commands
from zibaldone.cli.input import default_folder
from zibaldone.cli.output import BAD_INPUT, MODEL_FAILED, STORAGE_FAILED
from zibaldone.errors import MissingExtra, ModelFailed, StorageError, ZibaldoneError

_EPILOG = "Exit codes: 0 done; 1 nothing found; 2 bad input; 3 storage; 4 model, extra."
_OPTIONS = (
    ("--memory PATH", "The memory's folder or database; else ZIBALDONE_MEMORY."),
    ("-u, --user NAME", "Whose memory; else ZIBALDONE_USER, else me."),
    ("COMMAND --help", "All of a command; --version, --install-completion."),
)


class _Commands(TyperGroup):
    """The process border: errors that are raised on purpose become a line and an exit code."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write a screen of help: a line for each command, under headings."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        for heading, names in SECTIONS.items():
            helps = {name: self.commands[name].help or "" for name in names}
            with formatter.section(heading):
                formatter.write_dl([(name, re.split("[:;,.]", text)[0]) for name, text in helps.items()])
        with formatter.section("Options, before a command or behind it"):
            formatter.write_dl(_OPTIONS)
        self.format_epilog(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        from zibaldone.log.audit import acting  # which loads the database's library, and help needs none

        try:
            with acting("cli"):
                return super().invoke(ctx)
        except ZibaldoneError as error:
            out.note(f"error: {' '.join(str(error).split())}", "red")
            raise typer.Exit(_exit_code(error)) from error
        except OSError as error:  # of standard output: all others are one of ours by now
            if error.errno == errno.EPIPE:
                raise  # click knows: whoever read has gone
            out.give_up_standard_output()
            out.note(f"error: standard output cannot be written ({error.strerror})", "red")
            raise typer.Exit(BAD_INPUT) from error


def _exit_code(error: ZibaldoneError) -> int:
    if isinstance(error, ModelFailed | MissingExtra):
        return MODEL_FAILED
    return STORAGE_FAILED if isinstance(error, StorageError) else BAD_INPUT


app = typer.Typer(
    name="zibaldone",
    epilog=_EPILOG,
    cls=_Commands,
    pretty_exceptions_show_locals=False,
)


def _print_version(*, wanted: bool) -> None:
    if wanted:
        from zibaldone import __version__

        out.write(__version__)
        raise typer.Exit


@app.callback(invoke_without_command=True)
def guide(
    context: typer.Context,
    *,
    version: Annotated[  # noqa: ARG001 - its callback prints it
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version, and stop."
        ),
    ] = False,
    memory: MemoryBefore = None,
    user: UserBefore = None,  # noqa: ARG001 - commands look it up
) -> None:
    """Memory for LLM agents: every message word for word, and its source."""
    if context.invoked_subcommand is None:
        from zibaldone.cli.guide import guide_lines

        for line in guide_lines(memory or Path(os.environ.get("ZIBALDONE_MEMORY") or default_folder())):
            out.write(line)


add_commands(app, (*OPERATIONS, *COMMANDS))


@app.command()
def demo(
    *, folder: Annotated[Path | None, typer.Option("--folder", help="Keep the demo's memory here.")] = None
) -> None:
    """Ask ten questions to a sample of seven months."""
    from rich.console import Console

    from zibaldone.cli import demo as shown

    shown.run(Console(), folder)
