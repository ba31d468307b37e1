"""The figures of the speed benchmark, as JSON and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.table import Table

from zibaldone.bench.outcome import Provenance
from zibaldone.bench.stats import growth_exponent
from zibaldone.bench.table import Column, Line, transpose


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

    provenance: Provenance | None
    data: str
    results: tuple[Speed, ...]
    growth: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class _Figure(Line):
    grows: str = ""  # the field whose growth is shown


_FIGURES = (
    _Figure("add one message, ms", lambda s: s.add_one_ms, ".2f", "add_one_ms"),
    _Figure("  bare SQLite insert", lambda s: s.bare_insert_one_ms, ".2f"),
    _Figure("  its embedding", lambda s: s.embed_one_ms, ".2f"),
    _Figure("  ratio to both", lambda s: s.add_one_ratio, ".1f"),
    _Figure("add {batch} messages, ms", lambda s: s.add_batch_ms, ".1f", "add_batch_ms"),
    _Figure("  bare SQLite insert", lambda s: s.bare_insert_batch_ms, ".1f"),
    _Figure("  their embedding", lambda s: s.embed_batch_ms, ".1f"),
    _Figure("  ratio to both", lambda s: s.add_batch_ratio, ".1f"),
    _Figure("recall p50, ms", lambda s: s.recall_p50_ms, ".1f", "recall_p50_ms"),
    _Figure("recall p95, ms", lambda s: s.recall_p95_ms, ".1f"),
    _Figure("  embedding of the question", lambda s: s.embed_query_ms, ".2f", "embed_query_ms"),
    _Figure("  matrix-vector product", lambda s: s.product_ms, ".2f", "product_ms"),
    _Figure("  ratio to both", lambda s: s.recall_ratio, ".1f"),
    _Figure("cold open to first recall, ms", lambda s: s.cold_recall_ms, ".0f", "cold_recall_ms"),
    _Figure("  with Python and imports", lambda s: s.cold_process_ms, ".0f"),
    _Figure("resident memory, MB", lambda s: s.memory_bytes / 1e6, ".0f", "memory_bytes"),
    _Figure("  before opening", lambda s: s.memory_before_bytes / 1e6, ".0f"),
    _Figure("bytes on disk, MB", lambda s: s.disk_bytes / 1e6, ".1f", "disk_bytes"),
    _Figure("  bare SQLite file", lambda s: s.bare_disk_bytes / 1e6, ".1f"),
    _Figure("  text alone", lambda s: s.text_bytes / 1e6, ".1f"),
)


def make_report(results: Sequence[Speed], provenance: Provenance | None, data: str) -> SpeedReport:
    """With the growth exponents, which are those of the two largest sizes: below, fixed costs hide them."""
    largest = sorted(results, key=lambda speed: speed.messages)[-2:]
    sizes = [speed.messages for speed in largest]
    growing = [figure.grows for figure in _FIGURES if figure.grows]
    growth = {name: growth_exponent(sizes, [getattr(s, name) for s in largest]) for name in growing}
    return SpeedReport(provenance, data, tuple(results), growth)


def table(report: SpeedReport) -> Table:
    """A row per figure, a column per size, the yardsticks indented under what they measure."""

    def grown(figure: _Figure) -> str:
        exponent = report.growth.get(figure.grows)
        return "" if exponent is None else f"{exponent:.2f}"

    sizes = [(f"{speed.messages:,}", speed) for speed in report.results]
    batch = report.results[0].batch
    lines = [replace(figure, label=figure.label.format(batch=batch)) for figure in _FIGURES]
    return transpose("speed, medians", "", lines, sizes, [Column("growth", grown)])
