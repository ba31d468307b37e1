"""The figures of the speed benchmark, as JSON and as a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from rich.table import Table

from zibaldone.bench.report import Provenance
from zibaldone.bench.stats import growth_exponent

GROWING = (
    "add_one_ms",
    "add_batch_ms",
    "recall_p50_ms",
    "embed_query_ms",
    "product_ms",
    "memory_bytes",
    "disk_bytes",
    "cold_recall_ms",
)


@dataclass(frozen=True, slots=True)
class Speed:
    """One size. Times are medians unless they say otherwise; `bare_` and others name a yardstick."""

    messages: int
    add_one_ms: float
    bare_insert_one_ms: float
    embed_one_ms: float  # the message's embedding
    add_batch_ms: float  # a call of `batch` messages
    bare_insert_batch_ms: float
    embed_batch_ms: float
    batch: int
    recall_p50_ms: float
    recall_p95_ms: float
    embed_query_ms: float
    product_ms: float  # (messages, d) float32 @ (d,)
    memory_bytes: int  # resident in a new process after its first recall
    memory_before_bytes: int  # in the same process with everything imported, before it opened the folder
    disk_bytes: int
    bare_disk_bytes: int  # of the bare SQLite file
    text_bytes: int  # UTF-8 of the messages' contents
    cold_recall_ms: float  # open the folder and answer the first recall, in a new process
    cold_process_ms: float  # the same with the interpreter's start and all imports

    @property
    def add_one_ratio(self) -> float:
        """To the bare insert and the embedding together."""
        return self.add_one_ms / (self.bare_insert_one_ms + self.embed_one_ms)

    @property
    def add_batch_ratio(self) -> float:
        """To the bare insert and the embedding together."""
        return self.add_batch_ms / (self.bare_insert_batch_ms + self.embed_batch_ms)

    @property
    def recall_ratio(self) -> float:
        """To the query's embedding and the product together."""
        return self.recall_p50_ms / (self.embed_query_ms + self.product_ms)


@dataclass(frozen=True, slots=True)
class SpeedReport:
    """All sizes, and how each cost grows: the e of cost ~ messages ** e."""

    provenance: Provenance
    data: str
    results: tuple[Speed, ...]
    growth: dict[str, float | None]


def make_report(results: Sequence[Speed], provenance: Provenance, data: str) -> SpeedReport:
    """With the growth exponents, which are those of the two largest sizes: below, fixed costs hide them."""
    largest = sorted(results, key=lambda one: one.messages)[-2:]
    sizes = [one.messages for one in largest]
    growth = {name: growth_exponent(sizes, [getattr(one, name) for one in largest]) for name in GROWING}
    return SpeedReport(provenance, data, tuple(results), growth)


def to_json(report: SpeedReport) -> str:
    """Every field, and the ratios."""
    ratios = [
        {name: getattr(one, name) for name in ("add_one_ratio", "add_batch_ratio", "recall_ratio")}
        for one in report.results
    ]
    whole = asdict(report)
    whole["results"] = [{**one, **more} for one, more in zip(whole["results"], ratios, strict=True)]
    return json.dumps(whole, ensure_ascii=False, indent=1)


def table(report: SpeedReport) -> Table:
    """A row per figure, a column per size, the yardsticks indented under what they measure."""
    results, growth = report.results, report.growth
    shown = Table(title="speed, medians", title_justify="left", box=None)
    shown.add_column("", no_wrap=True)
    for one in results:
        shown.add_column(f"{one.messages:,}", justify="right", no_wrap=True)
    shown.add_column("growth", justify="right", no_wrap=True)

    def row(label: str, figure: Callable[[Speed], float], form: str, grows: str = "") -> None:
        exponent = growth.get(grows)
        shown.add_row(
            label,
            *(format(figure(one), form) for one in results),
            "" if exponent is None else f"{exponent:.2f}",
        )

    batch = results[0].batch
    row("add one message, ms", lambda s: s.add_one_ms, ".2f", "add_one_ms")
    row("  bare SQLite insert", lambda s: s.bare_insert_one_ms, ".2f")
    row("  its embedding", lambda s: s.embed_one_ms, ".2f")
    row("  ratio to both", lambda s: s.add_one_ratio, ".1f")
    row(f"add {batch} messages, ms", lambda s: s.add_batch_ms, ".1f", "add_batch_ms")
    row("  bare SQLite insert", lambda s: s.bare_insert_batch_ms, ".1f")
    row("  their embedding", lambda s: s.embed_batch_ms, ".1f")
    row("  ratio to both", lambda s: s.add_batch_ratio, ".1f")
    row("recall p50, ms", lambda s: s.recall_p50_ms, ".1f", "recall_p50_ms")
    row("recall p95, ms", lambda s: s.recall_p95_ms, ".1f")
    row("  embedding of the question", lambda s: s.embed_query_ms, ".2f", "embed_query_ms")
    row("  matrix-vector product", lambda s: s.product_ms, ".2f", "product_ms")
    row("  ratio to both", lambda s: s.recall_ratio, ".1f")
    row("cold open to first recall, ms", lambda s: s.cold_recall_ms, ".0f", "cold_recall_ms")
    row("  with Python and imports", lambda s: s.cold_process_ms, ".0f")
    row("resident memory, MB", lambda s: s.memory_bytes / 1e6, ".0f", "memory_bytes")
    row("  before opening", lambda s: s.memory_before_bytes / 1e6, ".0f")
    row("bytes on disk, MB", lambda s: s.disk_bytes / 1e6, ".1f", "disk_bytes")
    row("  bare SQLite file", lambda s: s.bare_disk_bytes / 1e6, ".1f")
    row("  text alone", lambda s: s.text_bytes / 1e6, ".1f")
    return shown
