"""The command line's way to the process that holds a memory, where there is one.

`zibaldone open --background` starts it (`cli/daemon`); it listens on a socket of the user's own, in the
runtime folder. This module imports next to nothing, so that asking takes a few hundredths of a second. Asked
are commands that only read, and read no standard input. The holder parses the arguments itself, and says so
when they mean another memory, another version or other settings than its own: then the command runs in this
process, as it does where there is no holder.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
from hashlib import sha256
from pathlib import Path

TYPE_CHECKING = False  # as `typing` has it, which takes a while to load
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

ANSWERED = frozenset(
    ("messages", "notes", "profile", "recall", "search", "sessions", "show", "timeline", "users")
)
SETTINGS = "ZIBALDONE_"  # variables that begin so say which models and embedder a memory has
OF_A_CALL = (
    "ZIBALDONE_MEMORY",
    "ZIBALDONE_USER",
    "ZIBALDONE_HOOKS",
)  # that each call may have otherwise
BEFORE = ("--memory", "--user", "-u")  # options of every command, which may stand before it
OF_A_TERMINAL = ("TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
OF_AGENTS = "agents"  # a second holder of a memory: the MCP server that a coding agent started
_LONGEST_PATH = 100  # bytes; a socket's address has room for 103 or so
_CONNECT_S, _ANSWER_S = 0.5, 120.0


def default_folder() -> Path:
    """Return the folder of the memory that no option names."""
    if data := _named("XDG_DATA_HOME"):
        return Path(data, "zibaldone", "memory")
    if "XDG_DATA_HOME" not in os.environ and (home := _named("HOME")):
        return Path(home, ".local", "share", "zibaldone", "memory")
    from platformdirs import user_data_dir

    return Path(user_data_dir("zibaldone")) / "memory"


def has_user_keys() -> bool:
    """True if the environment names a place of users' keys."""
    return bool(os.environ.get("ZIBALDONE_USER_KEYS", "").strip())


def runtime_folder() -> Path:
    """Return the folder of this user's sockets, which a holder makes, with rights for nobody else."""
    if (named := _named("XDG_RUNTIME_DIR")) and _is_private(named, stat.S_ISDIR):
        return Path(named, "zibaldone")
    import warnings

    from platformdirs import user_runtime_path

    with warnings.catch_warnings():  # that a shell names no runtime folder: there is one all the same
        warnings.simplefilter("ignore")
        return user_runtime_path("zibaldone")


def _named(variable: str) -> str:
    """The folder that a desktop's variable names on Linux; "": ask platformdirs, which takes long to load."""
    given = os.environ.get(variable, "")
    is_known = sys.platform == "linux" and not hasattr(sys, "getandroidapilevel")
    return given if is_known and given == given.strip() and given.startswith("/") else ""


def socket_of(folder: Path, kind: str = "") -> Path:
    """The address of the process that holds a memory, if one does; of its kind, "" or OF_AGENTS."""
    name = sha256(os.fsencode(folder.expanduser().resolve())).hexdigest()[:20] + kind
    return runtime_folder() / f"{name}.sock"


def is_too_long(address: Path) -> bool:
    """True if no socket can have this address."""
    return len(os.fsencode(address)) > _LONGEST_PATH


def answer(arguments: Sequence[str]) -> int | None:
    """Let the holder answer a command, and write what it wrote; the exit code, or None: nobody answered."""
    if _command_in(arguments) not in ANSWERED or not hasattr(socket, "AF_UNIX"):
        return None
    if sys.stdout is None or sys.stderr is None or sys.stdout.encoding.lower() != "utf-8":
        return None
    reply = ask(folder_meant(arguments), {"arguments": list(arguments), **circumstances()})
    if reply is None or "code" not in reply:
        return None
    for stream, text in reply["written"]:
        to = sys.stdout if stream == "out" else sys.stderr
        to.flush()
        to.buffer.write(text.encode("utf-8", "surrogateescape"))
        to.flush()
    return int(reply["code"])


def _command_in(arguments: Sequence[str]) -> str:
    """The command, behind the options that may stand before it."""
    words = iter(arguments)
    for word in words:
        if word in BEFORE:
            next(words, None)
        elif not word.startswith(tuple(f"{option}=" for option in BEFORE)):
            return word
    return ""


def ask(folder: Path, request: dict[str, Any], kind: str = "") -> dict[str, Any] | None:
    """Return the holder's reply to a request; None where no process holds the memory, or none came."""
    try:
        address = socket_of(folder, kind)
        if not is_ours(address):
            return None
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_CONNECT_S)
            connection.connect(str(address))
            connection.settimeout(_ANSWER_S)
            connection.sendall(json.dumps(request).encode() + b"\n")
            line = connection.makefile("rb").readline()
        reply = json.loads(line) if line.endswith(b"\n") else None
    except (OSError, ValueError, RuntimeError):  # gone, or no such home
        return None
    return reply if isinstance(reply, dict) else None


def is_ours(address: Path) -> bool:
    """True if there is a socket which nobody else can have put there."""
    return _is_private(address.parent, stat.S_ISDIR) and _is_private(address, stat.S_ISSOCK)


def _is_private(path: Path | str, is_of_kind: Callable[[int], bool]) -> bool:
    """True if it is there, this user's, and nobody else's."""
    try:
        state = os.lstat(path)
    except OSError:
        return False
    return is_of_kind(state.st_mode) and state.st_uid == os.getuid() and not state.st_mode & 0o077


def version() -> str:
    """Return this package's version; a holder of another one is not asked."""
    from zibaldone import __version__

    return __version__


def settings_of(environment: dict[str, str]) -> dict[str, str]:
    """The variables that decide which models a memory has."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(SETTINGS) and name not in OF_A_CALL
    }


def folder_meant(arguments: Sequence[str]) -> Path:
    """Guess the memory's folder from arguments that only the holder parses."""
    for place, word in enumerate(arguments):
        if word == "--":
            break
        if word == "--memory" and place + 1 < len(arguments):
            return Path(arguments[place + 1])
        if word.startswith("--memory="):
            return Path(word.partition("=")[2])
    named = os.environ.get("ZIBALDONE_MEMORY")
    return Path(named) if named else default_folder()


def circumstances() -> dict[str, Any]:
    """Describe whoever asks to a holder: settings, terminal, folder."""
    environment = dict(os.environ)
    shown = {name: environment[name] for name in (*OF_A_CALL, *OF_A_TERMINAL) if name in environment}
    if columns := _columns(environment):
        shown["COLUMNS"] = columns
    return {
        "version": version(),
        "settings": settings_of(environment),
        "environment": shown,
        "folder": os.getcwd(),  # noqa: PTH109 - what relative paths begin with
        "terminals": [name for name, stream in (("out", sys.stdout), ("err", sys.stderr)) if stream.isatty()],
    }


def _columns(environment: dict[str, str]) -> str | None:
    if "COLUMNS" in environment:
        return environment["COLUMNS"]
    for stream in (0, 1, 2):
        try:
            return str(os.get_terminal_size(stream).columns)
        except OSError:
            continue
    return None
