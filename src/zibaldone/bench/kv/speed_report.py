"""The figures of the kv view's speed benchmark, as JSON and as tables. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.table import Table

from zibaldone.bench.table import Column, Line, tabulate, transpose


@dataclass(frozen=True, slots=True)
class Setting:
    """What was measured, and on what."""

    shape: str
    parameters: int  # random ones: time does not depend on their values
    dtype: str
    vocabulary: int  # the model's; a made-up tokenizer uses the first words of it
    device: str
    threads: int
    torch: str
    layers: tuple[int, ...]  # that score
    top_k: int
    block_tokens: int


@dataclass(frozen=True, slots=True)
class Stock:
    """A prompt of text, by the model's own `generate`."""

    prefill_tokens: int
    ms: float  # to the first token; median
    repeats: int


@dataclass(frozen=True, slots=True)
class Reuse:
    """KVMemory.generate, medians. The parts are the trace's; `other_ms` is what they leave."""

    prefill_tokens: int  # the question's; the probe reads them a second time, up to the deepest scoring layer
    ms: float
    repeats: int
    probe_ms: float
    score_ms: float
    fetch_ms: float
    prefill_ms: float
    other_ms: float  # reading the log, citations, bookkeeping
    from_memory: int  # blocks that a tier held
    from_disk: int


@dataclass(frozen=True, slots=True)
class FirstToken:
    """One length of history. `full` is all of it and the question, `text` what MemArt chose, as text."""

    history_tokens: int
    blocks: int
    rescored: int
    memory_tokens: int  # that MemArt reuses: the chosen blocks' and the newest turns'
    full: Stock
    text: Stock
    warm: Reuse  # the tiers hold the blocks
    cold: Reuse  # a new KVMemory: boxes and blocks come from disk (the operating system's cache stays warm)
    open_ms: float  # to attach that new one to the model

    @property
    def full_ratio(self) -> float:
        """Time of the full context to MemArt's, warm."""
        return self.full.ms / self.warm.ms

    @property
    def text_ratio(self) -> float:
        """Time of the same passages as text to MemArt's, warm."""
        return self.text.ms / self.warm.ms

    @property
    def full_cold_ratio(self) -> float:
        """Time of the full context to MemArt's, cold."""
        return self.full.ms / self.cold.ms

    @property
    def text_cold_ratio(self) -> float:
        """Time of the same passages as text to MemArt's, cold."""
        return self.text.ms / self.cold.ms

    @property
    def full_tokens_ratio(self) -> float:
        """Prefill tokens of the full context to MemArt's."""
        return self.full.prefill_tokens / self.warm.prefill_tokens

    @property
    def text_tokens_ratio(self) -> float:
        """Prefill tokens of the passages as text to MemArt's."""
        return self.text.prefill_tokens / self.warm.prefill_tokens


@dataclass(frozen=True, slots=True)
class Ingest:
    """Tokens per second, medians over batches."""

    batch_tokens: int
    batches: int  # of which both sides were timed
    turn_tokens: int
    remember: float  # KVMemory.remember: prefill, capture, blocks, boxes, rows, fsync
    plain: float  # the same turns behind as much context, on a stock cache, nothing kept

    @property
    def overhead_ratio(self) -> float:
        """Time of remember to that of the plain prefill."""
        return self.plain / self.remember


@dataclass(frozen=True, slots=True)
class Disk:
    """What the last history takes."""

    tokens: int
    block_bytes: int  # of the files
    box_bytes: int
    layout_per_token: float  # bytes of a full block, by the token
    layout_boxes_per_token: float

    @property
    def blocks_per_token(self) -> float:
        return self.block_bytes / self.tokens

    @property
    def boxes_per_token(self) -> float:
        """Bytes of bounding boxes, in the layers that score."""
        return self.box_bytes / self.tokens


@dataclass(frozen=True, slots=True)
class Scoring:
    """One layer's boxes against one question, from queries to the best blocks."""

    blocks: int
    rows: int  # heads x question tokens
    wanted: int  # best blocks, before they are scored again with their keys
    index_bytes: int
    read_ms: float  # the yardstick: the same bytes read once, added up as 64-bit numbers
    ms: dict[str, float | None]  # by strategy of Table 1; None: too long to wait for

    @property
    def ratios(self) -> dict[str, float | None]:
        return {name: None if ms is None else ms / self.read_ms for name, ms in self.ms.items()}

    @property
    def read_gb_per_s(self) -> float:
        """So that the yardstick itself can be judged."""
        return self.index_bytes / self.read_ms / 1e6


@dataclass(frozen=True, slots=True)
class KVSpeedReport:
    """A whole run."""

    setting: Setting
    first_token: tuple[FirstToken, ...]
    ingest: Ingest
    disk: Disk
    scoring: tuple[Scoring, ...]


def tables(report: KVSpeedReport) -> Iterator[Table]:
    """Time to the first token; what remembering costs; scoring. 80 columns serve."""
    setting, ingest = report.setting, report.ingest
    yield transpose(
        f"time to first token: {setting.shape} ({setting.parameters / 1e6:,.0f} M random parameters,"
        f" {setting.dtype}),\n{setting.device}, {setting.threads} threads; medians",
        "history, tokens",
        _FIRST_TOKEN,
        [(f"{row.history_tokens:,}", row) for row in report.first_token],
    )
    yield tabulate(
        f"remembering, turns of {ingest.turn_tokens} tokens",
        [Column("", lambda row: row[0], left=True), _MEASURED, _BY_LAYOUT],
        list(_remembering(report)),
    )
    yield transpose(
        "scoring in one layer, ms (times the yardstick)",
        "blocks",
        [
            Line("index, MB", lambda row: row.index_bytes / 1e6, ",.1f"),
            Line("read it once", lambda row: f"{row.read_ms:,.2f} ({row.read_gb_per_s:.1f} GB/s)"),
            *map(_timed, report.scoring[0].ms),
        ],
        [(f"{row.blocks:,}", row) for row in report.scoring],
    )


def _side(name: str) -> Iterator[Line]:
    """`warm` or `cold`, its parts indented under it."""

    def side(row: FirstToken) -> Reuse:
        return row.warm if name == "warm" else row.cold

    yield Line(f"MemArt {name}, ms", lambda row: side(row).ms, ",.0f")
    yield Line("  probe", lambda row: side(row).probe_ms, ",.1f")
    yield Line("  score", lambda row: side(row).score_ms, ",.1f")
    yield Line("  fetch", lambda row: side(row).fetch_ms, ",.1f")
    yield Line("  prefill", lambda row: side(row).prefill_ms, ",.1f")
    yield Line("  other", lambda row: side(row).other_ms, ",.1f")
    yield Line("  blocks from memory/disk", lambda row: f"{side(row).from_memory}/{side(row).from_disk}")
    yield Line("  full / MemArt", lambda row: f"{row.full.ms / side(row).ms:.1f}x")
    yield Line("  text / MemArt", lambda row: f"{row.text.ms / side(row).ms:.1f}x")


_FIRST_TOKEN = (
    Line("prefill tokens, full context", lambda row: row.full.prefill_tokens, ","),
    Line("  passages as text", lambda row: row.text.prefill_tokens, ","),
    Line("  MemArt", lambda row: row.warm.prefill_tokens, ","),
    Line("  full / MemArt", lambda row: f"{row.full_tokens_ratio:.1f}x"),
    Line("  text / MemArt", lambda row: f"{row.text_tokens_ratio:.1f}x"),
    Line("tokens that MemArt reuses", lambda row: row.memory_tokens, ","),
    Line("full context, ms", lambda row: row.full.ms, ",.0f"),
    Line("passages as text, ms", lambda row: row.text.ms, ",.0f"),
    *_side("warm"),
    *_side("cold"),
    Line("attach to the model, ms", lambda row: row.open_ms, ",.0f"),
    Line("blocks", lambda row: row.blocks, ","),
    Line("  scored again by their keys", lambda row: row.rescored, ","),
    Line("repetitions, full/MemArt", lambda row: f"{row.full.repeats}/{row.warm.repeats}"),
)
_MEASURED = Column("measured", lambda row: row[1])
_BY_LAYOUT = Column("by layout", lambda row: row[2])


def _remembering(report: KVSpeedReport) -> Iterator[tuple[str, str, str]]:
    ingest, disk = report.ingest, report.disk
    yield "remember, tokens/s", f"{ingest.remember:,.0f}", ""
    yield "  the same prefill alone", f"{ingest.plain:,.0f}", ""
    yield "  time, remember / prefill", f"{ingest.overhead_ratio:.2f}x", ""
    yield "bytes per token, blocks", f"{disk.blocks_per_token:,.0f}", f"{disk.layout_per_token:,.0f}"
    boxes = f"{disk.boxes_per_token:,.0f}", f"{disk.layout_boxes_per_token:,.0f}"
    yield f"  boxes of {len(report.setting.layers)} layers", *boxes


def _timed(name: str) -> Line:
    def figure(row: Scoring) -> str | None:
        ms, ratio = row.ms[name], row.ratios[name]
        return None if ms is None else f"{ms:,.1f} ({ratio:,.0f}x)"

    return Line(name, figure)
