"""`python -m zibaldone.bench.cold FOLDER USER QUESTION`: one process that opens a memory and asks once.

Benchmarks start it to see what a cold start costs in time and resident memory. Without user and question it
reads pairs of them from standard input, as JSON, and asks each once. Prints JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path


def resident_bytes(pid: int | None = None, *, kind: str = "VmRSS") -> int:
    """Resident memory of a process, or of this one, now; of a `kind`, such as "RssFile": of mapped files.

    Where the system does not tell: the highest that this one has been, and 0 of another, or of a kind.
    """
    status = Path(f"/proc/{pid or 'self'}/status")
    if status.exists():
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(f"{kind}:"):
                return int(line.split()[1]) * 1024
    if pid is not None or kind != "VmRSS":
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


AT_FIRST = resident_bytes(), time.process_time()  # before what follows is imported

from zibaldone.memory import Memory  # noqa: E402


def main(folder: str, user: str, question: str) -> None:
    """Open, recall, report."""
    before, imported = resident_bytes(), time.process_time()
    start = time.perf_counter()
    with Memory(folder) as memory:
        mapped = resident_bytes(kind="RssFile")
        memory.recall(question, user=user)
        print(
            json.dumps(
                {
                    "recall_ms": (time.perf_counter() - start) * 1000,
                    "processor_ms": (time.process_time() - imported) * 1000,
                    "imports_ms": (imported - AT_FIRST[1]) * 1000,
                    "interpreter_bytes": AT_FIRST[0],
                    "memory_bytes": resident_bytes(),
                    "mapped_bytes": resident_bytes(kind="RssFile") - mapped,
                    "memory_before_bytes": before,
                }
            )
        )


def ask_each(folder: str, asks: list[tuple[str, str]]) -> None:
    """Open, recall of each user in turn, report."""
    imported = time.process_time()
    with Memory(folder) as memory:
        opened, opened_bytes = time.process_time(), resident_bytes()
        times = []
        for place, (user, question) in enumerate(asks):
            if place == 1:  # the first of a process pays for what all of them use
                began = time.process_time()
            start = time.perf_counter()
            memory.recall(question, user=user)
            times.append((time.perf_counter() - start) * 1000)
        used = (time.process_time() - began) / max(1, len(asks) - 1) if len(asks) > 1 else 0.0
        handles = Path("/proc/self/fd")
        opened_files = len(list(handles.iterdir())) if handles.exists() else 0
        print(
            json.dumps(
                {
                    "open_processor_ms": (opened - imported) * 1000,
                    "recalls_ms": times,
                    "recall_processor_ms": used * 1000,
                    "opened_bytes": opened_bytes,
                    "memory_bytes": resident_bytes(),
                    "handles": opened_files,
                }
            )
        )


if __name__ == "__main__":
    if len(sys.argv) > 2:
        main(*sys.argv[1:])
    else:
        ask_each(sys.argv[1], json.load(sys.stdin))
