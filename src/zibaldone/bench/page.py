"""What a person waits for in the page: the server's answers, over one connection of the loopback.

The server is a process of its own, with a memory that was maintained and whose index is warm. Each question
is another one. Beside the times that went by there is the processor time that the server took, which other
work on the machine changes less.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

from zibaldone.bench.filled_memories import USER, FilledMemories
from zibaldone.bench.outcome import Measurement, Progress, Run, need
from zibaldone.bench.registry import PageOptions
from zibaldone.bench.serving.processes import ServerProcess, free_port
from zibaldone.bench.stats import percentile
from zibaldone.bench.table import Column, tabulate
from zibaldone.bench.workload import questions

_WARM_S = 120.0  # at most, for the first answers
_SERVE = "from zibaldone.cli.app import app; app()"


@dataclass(frozen=True, slots=True)
class PageRow:
    """One kind of request."""

    messages: int
    what: str
    requests: int
    p50_ms: float
    p95_ms: float
    processor_ms: float  # of the server, per request
    kilobytes: float  # of an answer


@dataclass(frozen=True, slots=True)
class _Wish:
    """What is asked for, and how often in all."""

    what: str
    path: Callable[[str], str]  # of a question
    is_fragment: bool


_WISHES = (
    _Wish("first page", lambda _: "/", is_fragment=False),
    _Wish("search, as one types", lambda question: f"/?q={quote(question)}", is_fragment=True),
    _Wish("recall beside it", lambda question: f"/recall?q={quote(question)}", is_fragment=True),
    _Wish("both as one page", lambda question: f"/?q={quote(question)}", is_fragment=False),
    _Wish("sessions", lambda _: "/sessions", is_fragment=False),
    _Wish("timeline", lambda _: "/timeline", is_fragment=False),
    _Wish("profile", lambda _: "/profile", is_fragment=False),
)


def run(options: PageOptions, run: Run) -> Measurement:
    """Fill, serve, ask."""
    need("starlette", "uvicorn", "jinja2")
    memories = FilledMemories(options.path, options.sizes, run)
    rows: list[PageRow] = []
    for folder, stored in memories:
        asks = questions(stored, options.requests * 3 + 1)
        with _server(folder, run.folder / "server.log") as server:
            rows += _measured(server, len(stored), asks, options.requests, run.progress)
    return Measurement({"page": rows}, [tabulate(f"the page: {memories.data}", _COLUMNS, rows)])


def _server(folder: Path, log: Path) -> ServerProcess:
    port = free_port()
    command = ["-c", _SERVE, "serve", "--memory", str(folder), "--port", str(port)]
    return ServerProcess(command, port, "/healthz", log)


def _measured(
    server: ServerProcess, size: int, asks: list[str], requests: int, progress: Progress
) -> Iterator[PageRow]:
    with closing(HTTPConnection("127.0.0.1", server.port, timeout=_WARM_S)) as connection:
        last = asks.pop()
        for wish in _WISHES:  # indexes are read when they are first needed
            _get(connection, wish, last)
        fresh = iter(asks)
        for place, wish in enumerate(_WISHES):
            progress(wish.what, place, len(_WISHES))
            times: list[float] = []
            sizes: list[int] = []
            before = server.cpu_s()
            for _ in range(requests):
                question = next(fresh) if "q=" in wish.path("") else ""
                start = time.perf_counter()
                sizes.append(_get(connection, wish, question))
                times.append(1000 * (time.perf_counter() - start))
            yield PageRow(
                messages=size,
                what=wish.what,
                requests=requests,
                p50_ms=percentile(times, 50),
                p95_ms=percentile(times, 95),
                processor_ms=1000 * (server.cpu_s() - before) / requests,
                kilobytes=sum(sizes) / requests / 1000,
            )


def _get(connection: HTTPConnection, wish: _Wish, question: str) -> int:
    """Bytes of the answer. Raises RuntimeError for one that is no page."""
    path = f"{wish.path(question)}{'&' if '?' in wish.path('') else '?'}user={USER}"
    connection.request("GET", path, headers={"HX-Request": "true"} if wish.is_fragment else {})
    response = connection.getresponse()
    body = response.read()
    if response.status != 200:
        raise RuntimeError(f"{path} answers {response.status}: {body[:200]!r}")
    return len(body)


_COLUMNS = (
    Column("messages", lambda row: row.messages, ","),
    Column("what", lambda row: row.what, left=True),
    Column("requests", lambda row: row.requests),
    Column("p50\nms", lambda row: row.p50_ms, ".1f"),
    Column("p95\nms", lambda row: row.p95_ms, ".1f"),
    Column("processor\nms", lambda row: row.processor_ms, ".1f"),
    Column("kB", lambda row: row.kilobytes, ".0f"),
)
