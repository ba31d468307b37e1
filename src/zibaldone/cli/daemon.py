"""The process that holds a memory for the command line: its index stays, so that a recall takes little time.

`cli/client` is the other end. What comes over the socket is a command line. It is run here as it would be
there, with the memory that is open already, and what it writes goes back: the same answer, byte for byte.
"""

from __future__ import annotations

import fcntl
import io
import json
import logging
import os
import signal
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from zibaldone.api import settings
from zibaldone.cli import client as holder
from zibaldone.cli.input import MemoryElsewhere, lent
from zibaldone.core.child_process import started
from zibaldone.errors import InvalidInput, ZibaldoneError

if TYPE_CHECKING:
    from zibaldone.api.memory import Memory

_LONGEST_REQUEST = 2**20  # bytes
_REQUEST_S, _START_S, _STOP_S, _LOOK_S = 2.0, 120.0, 30.0, 0.05
_FOLDER_LOOK_S = 2.0  # from one look at whether the folder is still there to the next
_WARMED_USERS = 4
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HoldingStatus:
    """A process that holds a memory."""

    folder: str
    pid: int
    since: str  # ISO 8601
    version: str
    answered: int  # commands
    warm: bool  # whether the indexes are in memory


@contextmanager
def held(memory: Memory, program: Callable[..., Any], kind: str = "") -> Iterator[None]:
    """Answer command lines about this memory, in a thread, until the block ends.

    `program` is the whole command line: it runs the `args` that it is given, and raises SystemExit. While
    it does, `sys.stdout` and `sys.stderr` of the process are the command's. To be ended, the process is sent
    SIGTERM. Raises InvalidInput where another one holds the memory for the command line.
    """
    address = holder.socket_of(memory.path, kind)
    _make_private(address.parent)
    if holder.is_too_long(address):
        raise InvalidInput(
            f"{str(address)!r} is too long for a socket: set XDG_RUNTIME_DIR to a shorter path"
        )
    with _locked(address.with_suffix(".lock"), memory.path):
        address.unlink(missing_ok=True)  # of a process that was killed
        before = os.umask(0o177)
        try:
            server = _HoldingServer(str(address), memory, program)
        finally:
            os.umask(before)
        threads = [
            threading.Thread(target=work, name=f"zibaldone-{name}", daemon=True)
            for name, work in (("holding", server.serve_forever), ("warming", server.warm))
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            address.unlink(missing_ok=True)


@contextmanager
def held_if_free(memory: Memory, program: Callable[..., Any], kind: str = "") -> Iterator[None]:
    """As `held`, for a process that has other things to do, too, and does them where another one holds it."""
    with ExitStack() as stack:
        with suppress(InvalidInput):
            stack.enter_context(held(memory, program, kind))
        yield


def status(folder: Path) -> HoldingStatus | None:
    """The process that holds a memory for the command line; None where none does."""
    reply = holder.ask(folder, {"ask": "status"})
    return None if reply is None else HoldingStatus(**reply)


def stop(folder: Path) -> HoldingStatus | None:
    """End that process, once it has answered; what it was. None where there was none.

    Raises InvalidInput when it does not end.
    """
    reply = holder.ask(folder, {"ask": "stop"})
    if reply is None:
        return None
    ended = time.monotonic() + _STOP_S
    address = holder.socket_of(folder)
    while address.exists():
        if time.monotonic() > ended:
            raise InvalidInput(f"process {reply['pid']} has not ended yet: end it with 'kill {reply['pid']}'")
        time.sleep(_LOOK_S)
    return HoldingStatus(**reply)


def start(folder: Path, command: Sequence[str]) -> HoldingStatus:
    """Run `zibaldone COMMAND`, which is to hold the memory, as a process of its own; returns when it answers.

    What it writes goes to a file beside its socket. Raises InvalidInput, with the last line of that, when it
    ends or does not answer.
    """
    address = holder.socket_of(folder)
    _make_private(address.parent)
    log = address.with_suffix(".log")
    with open(log, "wb", opener=_private) as written:
        process = started(
            ["-m", "zibaldone", *command],
            also=settings.read_by_others(folder),
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=written,
            start_new_session=True,
        )
    ended = time.monotonic() + _START_S
    while (running := status(folder)) is None or running.pid != process.pid:
        if process.poll() is not None or time.monotonic() > ended:
            lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
            last = next((line for line in reversed(lines) if line.strip()), "it says nothing")
            raise InvalidInput(last.removeprefix("error: "))
        time.sleep(_LOOK_S)
    return running


class _HoldingServer(socketserver.UnixStreamServer):
    """Answer one request at a time: a line of JSON, and a line of JSON back."""

    def __init__(self, address: str, memory: Memory, program: Callable[..., Any]) -> None:
        super().__init__(address, _Handler)
        self._memory, self._program = memory, program
        self._database = _identity(memory.path)
        self._since = datetime.now(UTC)
        self._answered = 0
        self._settings = holder.settings_of(dict(os.environ))
        self._warm = self._ending = False
        self._next_look = 0.0  # at whether the folder is there

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002
        """Log a request that was cut off or makes no sense, and go on with the next."""
        _logger.info("a request was not answered (%s)", type(sys.exception()).__name__)

    def service_actions(self) -> None:
        """Between requests: end where the folder was deleted, or another one is in its place."""
        if time.monotonic() >= self._next_look and not self._ending:
            self._next_look = time.monotonic() + _FOLDER_LOOK_S
            if not self._is_the_same_folder():
                self._end()

    def warm(self) -> None:
        """Have the indexes of the first users in memory before anybody asks."""
        with suppress(ZibaldoneError):
            for user in self._memory.users()[:_WARMED_USERS]:
                self._memory.user(user).preload()
        self._warm = True

    def reply(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Build the reply to a request; one without "code" tells the client to run its command itself."""
        if request.get("ask") == "stop":
            self._end()
        if "ask" in request:
            return asdict(self._status())
        if self._ending:
            return {"elsewhere": "about to end"}
        if not self._is_the_same_folder():
            self._end()
            return {"elsewhere": "the folder is another one by now"}
        if (request["version"], request["settings"]) != (holder.version(), self._settings):
            return {"elsewhere": "another version, or other settings"}
        return self._run(request)

    def _end(self) -> None:
        self._ending = True
        os.kill(os.getpid(), signal.SIGTERM)

    def _status(self) -> HoldingStatus:
        return HoldingStatus(
            folder=str(self._memory.path),
            pid=os.getpid(),
            since=self._since.isoformat(timespec="seconds"),
            version=holder.version(),
            answered=self._answered,
            warm=self._warm,
        )

    def _is_the_same_folder(self) -> bool:
        with suppress(OSError):
            return _identity(self._memory.path) == self._database
        return False

    def _run(self, request: Mapping[str, Any]) -> dict[str, Any]:
        written: list[tuple[str, str]] = []
        out, err = (_Stream(name, written, name in request["terminals"]) for name in ("out", "err"))
        try:
            with (
                _environment(request["environment"]),
                redirect_stdout(out),
                redirect_stderr(err),
                lent(self._memory, Path(request["folder"])),
            ):
                self._program(args=request["arguments"], prog_name="zibaldone")
        except SystemExit as end:
            self._answered += 1
            return {"code": end.code or 0, "written": written}
        except MemoryElsewhere:
            return {"elsewhere": "another memory"}
        except Exception as error:  # noqa: BLE001 - the asker runs it, and says what is wrong
            return {"elsewhere": type(error).__name__}
        return {"elsewhere": "it did not end"}


def _identity(folder: Path) -> list[tuple[int, int]]:
    """Return device and inode of the database, and of the header that its key opens."""
    from zibaldone.storage.folder_layout import HEADER, memory_file

    header = folder / HEADER
    states = [path.stat() for path in (memory_file(folder), *([header] if header.exists() else []))]
    return [(state.st_dev, state.st_ino) for state in states]


class _Handler(socketserver.StreamRequestHandler):
    timeout = _REQUEST_S  # for a request to come, and for its answer to be taken

    def handle(self) -> None:
        """Read, answer."""
        request = json.loads(self.rfile.readline(_LONGEST_REQUEST))
        reply = cast("_HoldingServer", self.server).reply(request)
        self.wfile.write(json.dumps(reply).encode() + b"\n")


class _Stream(io.TextIOWrapper):
    """A standard stream of the asker's: what is written is kept with its name, in order."""

    def __init__(self, name: str, written: list[tuple[str, str]], is_terminal: bool) -> None:  # noqa: FBT001
        super().__init__(_Kept(name, written), encoding="utf-8", newline="\n", write_through=True)
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        """True if the asker's is one."""
        return self._is_terminal


class _Kept(io.BytesIO):
    def __init__(self, name: str, written: list[tuple[str, str]]) -> None:
        super().__init__()
        self._name, self._written = name, written

    def write(self, given: Any) -> int:
        """Keep it."""
        self._written.append((self._name, bytes(given).decode("utf-8", "surrogateescape")))
        return len(given)


@contextmanager
def _environment(of_the_asker: Mapping[str, str]) -> Iterator[None]:
    """The asker's terminal and user, for as long as its command runs."""
    names = (*holder.OF_A_CALL, *holder.OF_A_TERMINAL, "COLUMNS")
    before = {name: os.environ.pop(name, None) for name in names}
    os.environ.update({name: str(value) for name, value in of_the_asker.items() if name in names})
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@contextmanager
def _locked(path: Path, folder: Path) -> Iterator[None]:
    """The lock of whoever holds this memory; the system gives it back when the process ends."""
    with open(path, "ab", opener=_private) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InvalidInput(
                f"another process holds {str(folder)!r} already: 'zibaldone open --status' shows it"
            ) from error
        yield


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _make_private(folder: Path) -> None:
    """The folder of sockets, which is to be this user's and nobody else's."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.lstat()
    except OSError as error:
        raise InvalidInput(
            f"{str(folder)!r} cannot be made ({error.strerror}): set XDG_RUNTIME_DIR"
        ) from error
    if state.st_uid != os.getuid() or state.st_mode & 0o077 or folder.is_symlink():
        raise InvalidInput(f"{str(folder)!r} is open to others: set XDG_RUNTIME_DIR to a folder of your own")
