"""Input of the command line: the options that commands share, the memory, and standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer
from platformdirs import user_data_path

from zibaldone.cli import output as out
from zibaldone.core import MYSELF as MYSELF
from zibaldone.errors import InvalidInput, UnknownName

if TYPE_CHECKING:
    from zibaldone.api.memory import Memory


def default_folder() -> Path:
    """Return the folder of the memory that no option names."""
    return user_data_path("zibaldone") / "memory"


def given_path(text: str | Path) -> Path:
    """A path that names something, or a URL: an empty one would mean the working directory."""
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
        default_factory=default_folder,
        show_default="a folder among the user's data",
        help="The memory's folder, or the URL of a PostgreSQL database.",
    ),
]
_USER = typer.Option("--user", "-u", envvar="ZIBALDONE_USER", help="Whose memory.")
User = Annotated[str, _USER]
OptionalUser = Annotated[str | None, _USER]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")]


def holds_memory(folder: Path) -> bool:
    """True if there is a memory; also true where only opening it can say what is wrong with it."""
    from zibaldone.storage.opening import is_there

    try:
        return is_there(folder)
    except (OSError, RuntimeError):  # not allowed to look; "~" of nobody
        return True


def open_memory(folder: Path, *, create: bool = False, **options: Any) -> Memory:
    """The memory, with further options of its constructor; on a terminal its folder is said.

    Only what writes may make a new one, lest a misspelt path looks like an empty memory.
    """
    out.say_folder(folder)
    if not create and not holds_memory(folder):
        raise InvalidInput(f"no memory at {str(folder)!r}: import or add something first, or give --memory")
    from zibaldone.api.memory import Memory

    return Memory.from_env(folder, **options)


def check_user(opened: Memory, user: str | None) -> None:
    """Raise UnknownName for a user of whom nothing was ever stored; None is everybody."""
    from zibaldone.core.validation import key

    if user is None or key("user", user) in (users := opened.users()):
        return
    hint = likely(user, users) or f"give --user, one of {out.some(users, 5)}" if users else "it is empty"
    raise UnknownName(f"no user {user!r} in {opened.admin.place}: {hint}")


def whole_session(opened: Memory, user: str, name: str | None) -> str | None:
    """A session by its name, or by how its name or its title begins, where that is one session's alone.

    Raises UnknownName, which names what might be meant.
    """
    if name is None or not name:
        return name
    held = opened.user(user).sessions()
    names = [session.session for session in held]
    if name in names:
        return name
    meant = [session for session in names if session.startswith(name)] or [
        session.session for session in held if session.title.casefold().startswith(name.casefold())
    ]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise UnknownName(f"session {name!r} is one of {len(meant)}: {out.some(meant, 5)}")
    hint = likely(name, names) or "'zibaldone sessions' lists them"
    raise UnknownName(f"no session {name!r} of user {user!r}: {hint}")


def likely(name: str, names: list[str]) -> str:
    """A question for whoever misspelt a name; empty where none is like it."""
    from difflib import get_close_matches

    by_letters = {known.casefold(): known for known in reversed(names)}
    best = get_close_matches(name.casefold(), by_letters, 1)
    return f"did you mean {by_letters[best[0]]!r}?" if best else ""


def standard_input() -> str:
    """Read all of standard input. Raises InvalidInput when it is closed or not UTF-8."""
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


def standard_input_file() -> BinaryIO:
    """Return standard input as a stream of bytes. Raises InvalidInput when it is closed."""
    if sys.stdin is None:
        raise InvalidInput("standard input is closed: give a file")
    return sys.stdin.buffer


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
