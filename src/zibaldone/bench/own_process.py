"""Processes that are measured: one that answers and ends, and those that run until they are stopped."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class ProcessUsage:
    """Of one process, from its start to its end."""

    seconds: float
    processor_seconds: float
    peak_megabytes: float  # resident memory, at its highest


def in_own_process(module: str, *arguments: str) -> tuple[dict[str, Any], ProcessUsage]:
    """Run `python -m MODULE ARGUMENTS`; the JSON object that it prints, and what it used.

    Its peak is what it answers as "peak_megabytes" (see `peak_megabytes`): what the system says of a process
    that has ended is no less than its parent had when it began.
    """
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", module, *arguments], stdout=subprocess.PIPE)  # noqa: S603
    assert process.stdout is not None
    with process.stdout as printed:
        answer = printed.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, answer
    answered: dict[str, Any] = json.loads(answer)
    used = ProcessUsage(seconds, usage.ru_utime + usage.ru_stime, answered.pop("peak_megabytes"))
    return answered, used


def processor_seconds(process: subprocess.Popen[bytes]) -> float:
    """What a running process, and those that it started, have used so far; 0 where nobody tells."""
    ticks = 0
    for pid in family(process.pid):
        if state := _state(pid):
            ticks += int(state[11]) + int(state[12])  # in its own code, and the system's
    return ticks / os.sysconf("SC_CLK_TCK")


def family(pid: int) -> list[int]:
    """A process, and those that it or these have started and that still run; itself where nobody tells."""
    parents = {
        int(entry.name): int(state[1])
        for entry in Path("/proc").glob("[0-9]*")
        if (state := _state(int(entry.name)))
    }
    members = [pid]
    for member in members:
        members += [child for child, parent in parents.items() if parent == member]
    return members


def is_running(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    state = _state(pid)
    return state is not None and state[0] != "Z"


def _state(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat behind the name, the state first; None for none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    return stat.rpartition(")")[2].split()


def stop(process: subprocess.Popen[bytes], seconds: float) -> None:
    """As an operator does: it may finish what it is at, and is killed where that takes longer."""
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def peak_megabytes() -> float:
    """Resident memory of this process, at its highest so far."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
