"""The figures of the kv view's speed benchmark, as JSON and as tables. Imports no torch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from rich.table import Table

from zibaldone.bench.report import Provenance


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
        """Bytes of keys and values."""
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
        """To the yardstick."""
        return {name: None if ms is None else ms / self.read_ms for name, ms in self.ms.items()}

    @property
    def read_gb_per_s(self) -> float:
        """So that the yardstick itself can be judged."""
        return self.index_bytes / self.read_ms / 1e6


@dataclass(frozen=True, slots=True)
class KVSpeedReport:
    """A whole run."""

    provenance: Provenance
    setting: Setting
    first_token: tuple[FirstToken, ...]
    ingest: Ingest
    disk: Disk
    scoring: tuple[Scoring, ...]

    def to_json(self) -> str:
        """Every field, and the ratios."""
        return json.dumps(_plain(self), ensure_ascii=False, indent=1)


def _plain(value: Any) -> Any:
    """Dataclasses as mappings, with their properties."""
    if isinstance(value, Provenance | Setting):
        return asdict(value)
    if hasattr(value, "__dataclass_fields__"):
        names = [field.name for field in fields(value)]
        names += [name for name, kind in vars(type(value)).items() if isinstance(kind, property)]
        return {name: _plain(getattr(value, name)) for name in names}
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def tables(report: KVSpeedReport) -> Iterator[Table]:
    """Time to the first token; what remembering costs; scoring. 80 columns serve."""
    setting = report.setting
    yield _first_token(
        report.first_token,
        f"time to first token: {setting.shape} ({setting.parameters / 1e6:,.0f} M random parameters,"
        f" {setting.dtype}),\n{setting.device}, {setting.threads} threads; medians",
    )
    yield _ingest(report)
    yield _scoring(report.scoring)


def _first_token(rows: Sequence[FirstToken], title: str) -> Table:
    """A column per history; parts indented under what they are of."""
    shown = _table(title, "history, tokens", *(f"{one.history_tokens:,}" for one in rows))
    shown.add_row("prefill tokens, full context", *(f"{one.full.prefill_tokens:,}" for one in rows))
    shown.add_row("  passages as text", *(f"{one.text.prefill_tokens:,}" for one in rows))
    shown.add_row("  MemArt", *(f"{one.warm.prefill_tokens:,}" for one in rows))
    shown.add_row("  full / MemArt", *(f"{one.full_tokens_ratio:.1f}x" for one in rows))
    shown.add_row("  text / MemArt", *(f"{one.text_tokens_ratio:.1f}x" for one in rows))
    shown.add_row("tokens that MemArt reuses", *(f"{one.memory_tokens:,}" for one in rows))
    shown.add_row("full context, ms", *(f"{one.full.ms:,.0f}" for one in rows))
    shown.add_row("passages as text, ms", *(f"{one.text.ms:,.0f}" for one in rows))
    for name, pick, full, text in (
        ("warm", "warm", "full_ratio", "text_ratio"),
        ("cold", "cold", "full_cold_ratio", "text_cold_ratio"),
    ):
        sides: list[Reuse] = [getattr(one, pick) for one in rows]
        shown.add_row(f"MemArt {name}, ms", *(f"{side.ms:,.0f}" for side in sides))
        for part in ("probe", "score", "fetch", "prefill", "other"):
            shown.add_row(f"  {part}", *(f"{getattr(side, part + '_ms'):,.1f}" for side in sides))
        shown.add_row("  blocks from memory/disk", *(f"{s.from_memory}/{s.from_disk}" for s in sides))
        shown.add_row("  full / MemArt", *(f"{getattr(one, full):.1f}x" for one in rows))
        shown.add_row("  text / MemArt", *(f"{getattr(one, text):.1f}x" for one in rows))
    shown.add_row("attach to the model, ms", *(f"{one.open_ms:,.0f}" for one in rows))
    shown.add_row("blocks", *(f"{one.blocks:,}" for one in rows))
    shown.add_row("  scored again by their keys", *(f"{one.rescored:,}" for one in rows))
    shown.add_row("repetitions, full/MemArt", *(f"{one.full.repeats}/{one.warm.repeats}" for one in rows))
    return shown


def _ingest(report: KVSpeedReport) -> Table:
    one, disk = report.ingest, report.disk
    shown = _table(f"remembering, turns of {one.turn_tokens} tokens", "", "measured", "by layout")
    shown.add_row("remember, tokens/s", f"{one.remember:,.0f}", "")
    shown.add_row("  the same prefill alone", f"{one.plain:,.0f}", "")
    shown.add_row("  time, remember / prefill", f"{one.overhead_ratio:.2f}x", "")
    shown.add_row("bytes per token, blocks", f"{disk.blocks_per_token:,.0f}", f"{disk.layout_per_token:,.0f}")
    shown.add_row(
        f"  boxes of {len(report.setting.layers)} layers",
        f"{disk.boxes_per_token:,.0f}",
        f"{disk.layout_boxes_per_token:,.0f}",
    )
    return shown


def _scoring(rows: Sequence[Scoring]) -> Table:
    shown = _table(
        "scoring in one layer, ms (times the yardstick)", "blocks", *(f"{r.blocks:,}" for r in rows)
    )
    shown.add_row("index, MB", *(f"{one.index_bytes / 1e6:,.1f}" for one in rows))
    shown.add_row("read it once", *(f"{one.read_ms:,.2f} ({one.read_gb_per_s:.1f} GB/s)" for one in rows))
    for name in rows[0].ms:
        cells = ((one.ms[name], one.ratios[name]) for one in rows)
        shown.add_row(name, *("-" if ms is None else f"{ms:,.1f} ({ratio:,.0f}x)" for ms, ratio in cells))
    return shown


def _table(title: str, *columns: str) -> Table:
    shown = Table(title=title, title_justify="left", box=None)
    for place, name in enumerate(columns):
        shown.add_column(name, justify="right" if place else "left", no_wrap=True)
    return shown
