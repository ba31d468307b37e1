"""Processes that a test starts: who belongs to them, and whether they still run."""

from pathlib import Path


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
    """True if there is such a process that has not ended."""
    state = _state(pid)
    return state is not None and state[0] != "Z"


def _state(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat behind the name, the state first; None for none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    return stat.rpartition(")")[2].split()
