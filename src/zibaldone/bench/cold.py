"""`python -m zibaldone.bench.cold FOLDER USER QUESTION`: one process that opens a memory and asks once.

The speed benchmark starts it to see what a cold start costs in time and resident memory. Prints JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

from zibaldone.memory import Memory


def resident_bytes(pid: int | None = None) -> int:
    """Resident memory of a process, or of this one, now.

    Where the system does not tell: the highest that this one has been, and 0 of another.
    """
    status = Path(f"/proc/{pid or 'self'}/status")
    if status.exists():
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    if pid is not None:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def main(folder: str, user: str, question: str) -> None:
    """Open, recall, report."""
    before = resident_bytes()
    start = time.perf_counter()
    with Memory(folder) as memory:
        memory.recall(question, user=user)
        recall_ms = (time.perf_counter() - start) * 1000
        print(
            json.dumps(
                {"recall_ms": recall_ms, "memory_bytes": resident_bytes(), "memory_before_bytes": before}
            )
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
