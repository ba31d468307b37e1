"""`python -m zibaldone.bench.growing FOLDER MESSAGES LAST VIEWS [PATH]`: one process that fills a memory.

It adds so many messages and maintains these views, at last those of the LAST ones view by view. Messages are
read as they are added, so that its memory is the engine's. Prints JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from sqlalchemy import Connection

from zibaldone.bench.cold import AT_FIRST
from zibaldone.bench.own_process import peak_megabytes
from zibaldone.bench.scale import USER, add, history, maintained_ms
from zibaldone.memory import Memory
from zibaldone.storage.database import Database


def main(folder: str, messages: str, last: str, views: str, path: str = "") -> None:
    """Add, maintain, report."""
    source, _ = history(Path(path) if path else None)
    stored = islice(source(), int(messages))
    chosen = views.split(",")
    with Memory(folder, chat=None, maintained=chosen) as memory:
        add_s = add(memory, islice(stored, int(messages) - int(last)), USER)
        writes = _timed_writes(memory._database)  # noqa: SLF001 - nobody else is to see it
        began = time.process_time()
        memory.maintain(user=USER)
        maintain_s = time.process_time() - began
        longest = max(writes, default=0.0)
        add_s += add(memory, stored, USER)
        writes.clear()
        last_ms = {view: maintained_ms(memory, view, int(last)) for view in chosen}
    print(
        json.dumps(
            {
                "add_s": add_s,
                "maintain_s": maintain_s,
                "last_ms": last_ms,
                "longest_write_ms": 1000 * max([longest, *writes]),
                "interpreter_bytes": AT_FIRST[0],
                "peak_megabytes": peak_megabytes(),
            }
        )
    )


def _timed_writes(database: Database) -> list[float]:
    """How many seconds each of its write transactions takes from now on, its commit included."""
    begin, seconds = database.write, list[float]()

    @contextmanager
    def write(*users: str) -> Iterator[Connection]:
        with begin(*users) as connection:
            began = time.perf_counter()
            yield connection
        seconds.append(time.perf_counter() - began)

    database.write = write  # type: ignore[method-assign]
    return seconds


if __name__ == "__main__":
    main(*sys.argv[1:])
