"""The processes that are measured, and what they take of the machine."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from urllib.error import URLError
from urllib.request import urlopen

from zibaldone.bench.cold import resident_bytes
from zibaldone.bench.own_process import family, processor_seconds, stop

_STARTS_S = 60.0
_STOPS_S = 30.0


class ServerProcess:
    """A server in a process of its own, ready when the path answers; a context manager ends it."""

    def __init__(self, command: Sequence[str], port: int, ready: str, log: Path) -> None:
        """Raises RuntimeError when it does not come up, with the end of what it wrote into `log`."""
        self.port = port
        self._log = log
        with log.open("wb") as out:
            self._process = subprocess.Popen(  # noqa: S603 - our own modules
                [sys.executable, *command], stdout=out, stderr=subprocess.STDOUT
            )
        self._wait(f"http://127.0.0.1:{port}{ready}")

    def resident_bytes(self) -> int:
        """Resident memory now, of the processes that it started too."""
        return sum(resident_bytes(pid) for pid in family(self._process.pid))

    def cpu_s(self) -> float:
        """Seconds of the processor since it began, in its own code and the system's; 0 where nobody tells."""
        return processor_seconds(self._process)

    def stop(self) -> None:
        """As an operator does: it may finish what it is at."""
        stop(self._process, _STOPS_S)

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _wait(self, url: str) -> None:
        deadline = time.monotonic() + _STARTS_S
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                with urlopen(url, timeout=1):  # noqa: S310 - the loopback
                    return
            except (URLError, OSError):
                time.sleep(0.05)
        self.stop()
        written = self._log.read_text(encoding="utf-8", errors="replace")[-2000:]
        raise RuntimeError(f"the server at {url} does not come up; it wrote: {written}")


def free_port() -> int:
    """A port of the loopback that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
