"""What the command line is given: the options that commands share, and standard input."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zibaldone.cli import output as out
from zibaldone.core import MYSELF as MYSELF
from zibaldone.errors import InvalidInput

if TYPE_CHECKING:
    from zibaldone.memory import Memory


def _default_folder() -> Path:
    from platformdirs import user_data_dir

    return Path(user_data_dir("zibaldone")) / "memory"


def given_path(text: str | Path) -> Path:
    """A path that names something: an empty one would mean the working directory."""
    if not str(text).strip():
        raise typer.BadParameter("a path cannot be empty")
    return Path(text)


Folder = Annotated[
    Path,
    typer.Option(
        "--memory",
        parser=given_path,
        metavar="PATH",
        envvar="ZIBALDONE_MEMORY",
        default_factory=_default_folder,
        show_default="a folder among the user's data",
        help="The memory's folder.",
    ),
]
User = Annotated[str, typer.Option("--user", "-u", envvar="ZIBALDONE_USER", help="Whose memory.")]
OptionalUser = Annotated[
    str | None,
    typer.Option("--user", "-u", envvar="ZIBALDONE_USER", help="Whose memory.", show_default=False),
]
InSession = Annotated[
    str | None, typer.Option("--session", "-s", help="Only this session.", show_default=False)
]
NotInSession = Annotated[
    str | None, typer.Option("--exclude-session", help="All but this session.", show_default=False)
]
Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--role", help="Only what this role said: user, assistant, ... (repeatable).", show_default=False
    ),
]
Since = Annotated[
    str | None, typer.Option("--since", help="Only from then on: ISO 8601.", show_default=False)
]
Until = Annotated[str | None, typer.Option("--until", help="Only before then: ISO 8601.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")]


def holds_memory(folder: Path) -> bool:
    """Whether there is a memory; also true where only opening it can say what is wrong with it."""
    from zibaldone.storage.database import database_file

    try:
        return database_file(folder.expanduser()).exists()
    except (OSError, RuntimeError):  # not allowed to look; "~" of nobody
        return True


def open_memory(folder: Path, *, create: bool = False, **options: Any) -> Memory:
    """The memory, with further options of its constructor.

    Only what writes may make a new one, lest a misspelt path looks like an empty memory.
    """
    from zibaldone.memory import Memory

    if not create and not holds_memory(folder):
        raise InvalidInput(f"no memory at {str(folder)!r}: import or add something first, or give --memory")
    return Memory(folder, **options)


def standard_input() -> str:
    """All of it. Raises InvalidInput when it is closed or not UTF-8."""
    if sys.stdin is None:
        raise InvalidInput("standard input is closed: give the text as an argument")
    if _is_terminal():
        out.note("reading standard input, to its end (Ctrl-D)")
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"standard input is not UTF-8 text: {error.reason} at byte {error.start}"
        ) from error


def json_lines(text: str) -> list[dict[str, Any]]:
    """A JSON object for each line that is not blank. Raises InvalidInput with the line."""
    given = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"line {number} of standard input is not JSON: {error}") from error
        if not isinstance(message, dict):
            raise InvalidInput(f"line {number} of standard input is not a JSON object: {line[:60]!r}")
        given.append(message)
    return given


def confirmed(what: str) -> bool:
    """Ask on the terminal. Raises InvalidInput where there is none."""
    out.note(what, "bold")
    if not _is_terminal():
        raise InvalidInput("there is no terminal to ask on: give --yes to forget, or --dry-run to look")
    if typer.confirm("Forget this for good?", err=True):
        return True
    out.note("nothing was forgotten")
    return False


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()  # None: closed when the process began
