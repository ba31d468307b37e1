"""What the kv view costs in time and room, each figure beside a yardstick of the same run.

The model has random weights of a real shape, since time does not depend on their values, and a made-up
tokenizer of one token per word. The sides alternate, so that a busy moment hits them all; what counts is the
ratio of medians. Every question is new, so that nothing of an earlier one helps.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median

import torch
from rich.table import Table
from torch import Tensor
from transformers import DynamicCache

from zibaldone.bench.kv.speed_model import (
    QUESTION_TOKENS,
    SHAPES,
    TURN_TOKENS,
    WORDS,
    Settings,
    ids_of,
    new_model,
    new_tokenizer,
)
from zibaldone.bench.kv.speed_scoring import PATIENCE_S, Scoring, scorings, timed
from zibaldone.bench.outcome import Measurement, Progress, Run, silent
from zibaldone.bench.registry import KVSpeedOptions
from zibaldone.bench.table import Column, TableLine, tabulate, transpose
from zibaldone.core import Message
from zibaldone.kv import Answer, Budget, KVMemory, TurnFormat
from zibaldone.memory import Memory
from zibaldone.models.cache_argument import cache_argument

USER = "speed"
BATCH_TURNS = 32  # remembered at a time: a session
INGEST_BATCHES = 5  # timed on both sides; the first is a warm-up where there are more
_START = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SpeedSetting:
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

    @property
    def tokens_per_second(self) -> float:
        """What the machine prefills: ratios of times follow it."""
        return 1000 * self.prefill_tokens / self.ms


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
    def ratios(self) -> dict[str, float]:
        """Time and prefill tokens of the full context and of the passages as text, to MemArt's."""
        sides = {"full": self.full, "text": self.text}
        warm = {name: side.ms / self.warm.ms for name, side in sides.items()}
        cold = {f"{name}_cold": side.ms / self.cold.ms for name, side in sides.items()}
        prefill = self.warm.prefill_tokens
        return warm | cold | {f"{name}_tokens": side.prefill_tokens / prefill for name, side in sides.items()}


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
        return self.box_bytes / self.tokens


@dataclass(frozen=True, slots=True)
class KVSpeedReport:
    """A whole run."""

    setting: SpeedSetting
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
    columns = [
        Column("", lambda row: row[0], left=True),
        Column("measured", lambda row: row[1]),
        Column("by layout", lambda row: row[2]),
    ]
    yield tabulate(f"remembering, turns of {ingest.turn_tokens} tokens", columns, list(_remembering(report)))
    yield transpose(
        "scoring in one layer, ms (times the yardstick)",
        "blocks",
        [
            TableLine("index, MB", lambda row: row.index_bytes / 1e6, ",.1f"),
            TableLine("read it once", lambda row: f"{row.read_ms:,.2f} ({row.read_gb_per_s:.1f} GB/s)"),
            *map(_timed, report.scoring[0].ms),
        ],
        [(f"{row.blocks:,}", row) for row in report.scoring],
    )


def _side(name: str) -> Iterator[TableLine]:
    """`warm` or `cold`, its parts indented under it."""

    def side(row: FirstToken) -> Reuse:
        return row.warm if name == "warm" else row.cold

    yield TableLine(f"MemArt {name}, ms", lambda row: side(row).ms, ",.0f")
    yield TableLine("  probe", lambda row: side(row).probe_ms, ",.1f")
    yield TableLine("  score", lambda row: side(row).score_ms, ",.1f")
    yield TableLine("  fetch", lambda row: side(row).fetch_ms, ",.1f")
    yield TableLine("  prefill", lambda row: side(row).prefill_ms, ",.1f")
    yield TableLine("  other", lambda row: side(row).other_ms, ",.1f")
    yield TableLine("  blocks from memory/disk", lambda row: f"{side(row).from_memory}/{side(row).from_disk}")
    yield TableLine("  full / MemArt", lambda row: f"{row.full.ms / side(row).ms:.1f}x")
    yield TableLine("  text / MemArt", lambda row: f"{row.text.ms / side(row).ms:.1f}x")


_FIRST_TOKEN = (
    TableLine("prefill tokens, full context", lambda row: row.full.prefill_tokens, ","),
    TableLine("  passages as text", lambda row: row.text.prefill_tokens, ","),
    TableLine("  MemArt", lambda row: row.warm.prefill_tokens, ","),
    TableLine("  full / MemArt", lambda row: f"{row.ratios['full_tokens']:.1f}x"),
    TableLine("  text / MemArt", lambda row: f"{row.ratios['text_tokens']:.1f}x"),
    TableLine("tokens that MemArt reuses", lambda row: row.memory_tokens, ","),
    TableLine("full context, ms", lambda row: row.full.ms, ",.0f"),
    TableLine("  prefilled tokens/s", lambda row: row.full.tokens_per_second, ",.0f"),
    TableLine("passages as text, ms", lambda row: row.text.ms, ",.0f"),
    TableLine("  prefilled tokens/s", lambda row: row.text.tokens_per_second, ",.0f"),
    *_side("warm"),
    *_side("cold"),
    TableLine("attach to the model, ms", lambda row: row.open_ms, ",.0f"),
    TableLine("blocks", lambda row: row.blocks, ","),
    TableLine("  scored again by their keys", lambda row: row.rescored, ","),
    TableLine("repetitions, full/MemArt", lambda row: f"{row.full.repeats}/{row.warm.repeats}"),
)


def _remembering(report: KVSpeedReport) -> Iterator[tuple[str, str, str]]:
    ingest, disk = report.ingest, report.disk
    yield "remember, tokens/s", f"{ingest.remember:,.0f}", ""
    yield "  the same prefill alone", f"{ingest.plain:,.0f}", ""
    yield "  time, remember / prefill", f"{ingest.overhead_ratio:.2f}x", ""
    yield "bytes per token, blocks", f"{disk.blocks_per_token:,.0f}", f"{disk.layout_per_token:,.0f}"
    boxes = f"{disk.boxes_per_token:,.0f}", f"{disk.layout_boxes_per_token:,.0f}"
    yield f"  boxes of {len(report.setting.layers)} layers", *boxes


def _timed(name: str) -> TableLine:
    def figure(row: Scoring) -> str | None:
        ms, ratio = row.ms[name], row.ratios[name]
        return None if ms is None else f"{ms:,.1f} ({ratio:,.0f}x)"

    return TableLine(name, figure)


def run(options: KVSpeedOptions, run: Run) -> Measurement:
    """Time to the first token, what remembering costs, scoring."""
    report = evaluate(Settings(**asdict(options)), run.folder, run.progress)
    figures = {field.name: getattr(report, field.name) for field in fields(report)}
    return Measurement(figures, list(tables(report)))


def evaluate(settings: Settings, folder: Path, progress: Progress = silent) -> KVSpeedReport:
    """Measure all of it; the memory is made inside `folder`."""
    threads = torch.get_num_threads()
    torch.set_num_threads(settings.threads or threads)
    try:
        progress(f"making {settings.shape}", 0, 0)
        bench = _Bench(settings, progress)
        with Memory(folder / "memory", embedder=None, chat=None) as memory:
            first = tuple(bench.first_token(memory, tokens) for tokens in sorted(set(settings.history)))
            disk = bench.disk(memory, folder / "memory")
        scoring = scorings(settings.blocks, SHAPES[settings.shape], settings.config, bench.device, progress)
        return KVSpeedReport(bench.setting(), first, bench.ingested(), disk, scoring)
    finally:
        torch.set_num_threads(threads)


class _Bench:
    """One run: a model, its tokenizer, and a memory that grows from history to history."""

    def __init__(self, settings: Settings, progress: Progress) -> None:
        self.settings, self.progress = settings, progress
        self.device = settings.torch_device
        self.tokenizer = new_tokenizer()
        self.model = new_model(SHAPES[settings.shape], self.device)
        self._random = random.Random(0)
        self._said: list[Message] = []
        self._batches: list[tuple[int, float, float | None]] = []  # tokens, seconds of both sides

    def setting(self) -> SpeedSetting:
        return SpeedSetting(
            shape=self.settings.shape,
            parameters=sum(p.numel() for p in self.model.parameters()),
            dtype=str(self.model.dtype).removeprefix("torch."),
            vocabulary=self.model.config.vocab_size,
            device=torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "cpu",
            threads=torch.get_num_threads(),
            torch=torch.__version__,
            layers=tuple(n for n in self.settings.config.layers if isinstance(n, int)),
            top_k=self.settings.top_k,
            block_tokens=self.settings.config.block_tokens,
        )

    def first_token(self, memory: Memory, tokens: int) -> FirstToken:
        self._fill(memory, tokens)
        ids = [0, *ids_of(" ".join(message.content for message in self._said))]
        times: dict[str, list[float]] = {"full": [], "text": [], "open": []}
        cold: list[tuple[float, Answer]] = []
        warm: list[tuple[float, Answer]] = []
        lengths = {"full": 0, "text": 0}
        self._stock(ids[: 512 + QUESTION_TOKENS])  # untimed: the first call of all pays for the library
        warm_ups = int(self.device.type == "cuda")  # kernels are chosen by shape there
        for done in range(warm_ups + self.settings.repeat):
            self.progress(f"asking {tokens:,}", done, warm_ups + self.settings.repeat)
            words = self._words(QUESTION_TOKENS)
            with self._attached(memory, times["open"]) as kv:
                ask = partial(kv.generate, words, user=USER, max_new_tokens=1, now=_START, pad_token_id=0)
                cold.append(timed(self.device, ask))
                warm.append(timed(self.device, ask))
            recalled = ids_of(" ".join(cited.text for cited in cold[-1][1].citations))
            prompts = {
                "text": [0, *recalled[: cold[-1][1].kv_tokens], *ids_of(words)],
                "full": [*ids, *ids_of(words)],
            }
            for side, prompt in prompts.items():
                lengths[side] = len(prompt)
                if not times[side] or sum(times[side]) < PATIENCE_S * 1000:
                    times[side].append(timed(self.device, partial(self._stock, prompt))[0])
        cold, warm = cold[warm_ups:], warm[warm_ups:]
        times = {side: timed_ms[warm_ups:] or timed_ms for side, timed_ms in times.items()}
        last = warm[-1][1]
        return FirstToken(
            history_tokens=len(ids) - 1,
            blocks=last.trace.considered,
            rescored=last.trace.rescored,
            memory_tokens=last.kv_tokens,
            full=Stock(lengths["full"], median(times["full"]), len(times["full"])),
            text=Stock(lengths["text"], median(times["text"]), len(times["text"])),
            warm=_reuse(warm),
            cold=_reuse(cold),
            open_ms=median(times["open"]),
        )

    def ingested(self) -> Ingest:
        """Of the batches that both sides have done."""
        both = [(n, took, plain) for n, took, plain in self._batches if plain is not None]
        both = both[1:] or both
        return Ingest(
            batch_tokens=BATCH_TURNS * TURN_TOKENS,
            batches=len(both),
            turn_tokens=TURN_TOKENS,
            remember=median(n / took for n, took, _ in both),
            plain=median(n / plain for n, _, plain in both),
        )

    def disk(self, memory: Memory, folder: Path) -> Disk:
        with self._attached(memory) as kv:
            tokens, layout = kv.remember(user=USER).tokens, kv.view.encoder.layout
            boxes = sum(layout.box_bytes(layer) for layer in kv.view.encoder.layers)
        return Disk(
            tokens=tokens,
            block_bytes=sum(path.stat().st_size for path in folder.rglob("kv/*/*/blocks")),
            box_bytes=sum(path.stat().st_size for path in folder.rglob("kv/*/*/boxes-*")),
            layout_per_token=layout.bytes_per_token,
            layout_boxes_per_token=boxes / layout.block_tokens,
        )

    def _fill(self, memory: Memory, tokens: int) -> None:
        """Say and remember as much; beside the first batches, the prefill alone."""
        with self._attached(memory) as kv:
            while (left := tokens // TURN_TOKENS - len(self._said)) > 0:
                self.progress(f"remembering {tokens:,}", len(self._said) * TURN_TOKENS, tokens)
                session = f"s{len(self._batches)}"
                turns = [self._turn(len(self._said) + i, session) for i in range(min(BATCH_TURNS, left))]
                memory.add(turns, user=USER)
                took, _ = timed(self.device, partial(kv.remember, user=USER))
                plain = None
                if len(self._batches) < INGEST_BATCHES:
                    ids = [ids_of(message.content) for message in turns]
                    plain = timed(self.device, partial(self._plain, ids))[0] / 1000
                self._batches.append((len(turns) * TURN_TOKENS, took / 1000, plain))
                self._said += turns

    @torch.no_grad()
    def _plain(self, turns: Sequence[Sequence[int]]) -> None:
        """A session turn by turn, each behind as much as `remember` shows it, on a stock cache."""
        context = 1 + (self.settings.config.context_tokens or 0)
        cache = DynamicCache()
        for ids in ([0], *turns):
            if (more := cache.get_seq_length() - context) > 0:
                cache.crop(-more)
            given = torch.tensor([list(ids)], device=self.device)
            mask = torch.ones((1, cache.get_seq_length() + len(ids)), dtype=torch.long, device=self.device)
            self.model(
                input_ids=given,
                attention_mask=mask,
                **cache_argument(self.model, cache),
                use_cache=True,
                logits_to_keep=1,
            )

    def _stock(self, ids: Sequence[int]) -> Tensor:
        given = torch.tensor([list(ids)], device=self.device)
        made: Tensor = self.model.generate(
            input_ids=given,
            attention_mask=torch.ones_like(given),
            max_new_tokens=1,
            do_sample=False,
            pad_token_id=0,
        )
        return made

    @contextmanager
    def _attached(self, memory: Memory, ms: list[float] | None = None) -> Iterator[KVMemory]:
        form = TurnFormat(turn=lambda message: message.content, ask=lambda _: "", answer_end="")
        took, kv = timed(
            self.device,
            partial(
                KVMemory,
                self.model,
                self.tokenizer,
                memory,
                config=self.settings.config,
                format=form,
                budget=Budget(device_bytes=4 << 30, host_bytes=4 << 30),
            ),
        )
        if ms is not None:
            ms.append(took)
        with kv:
            yield kv

    def _turn(self, number: int, session: str) -> Message:
        role = "assistant" if number % 2 else "user"
        at = _START + timedelta(minutes=number)
        return Message(self._words(TURN_TOKENS), role=role, time=at, session=session)

    def _words(self, tokens: int) -> str:
        return " ".join(f"w{self._random.randrange(1, WORDS)}" for _ in range(tokens))


def _reuse(answers: Sequence[tuple[float, Answer]]) -> Reuse:
    def middle(pick: Callable[[float, Answer], float]) -> float:
        return median(pick(ms, answer) for ms, answer in answers)

    def other(ms: float, answer: Answer) -> float:
        trace = answer.trace
        return ms - trace.probe_ms - trace.score_ms - trace.fetch_ms - trace.prefill_ms

    last = answers[-1][1]
    return Reuse(
        prefill_tokens=last.prefill_tokens,
        ms=middle(lambda ms, _: ms),
        repeats=len(answers),
        probe_ms=middle(lambda _, answer: answer.trace.probe_ms),
        score_ms=middle(lambda _, answer: answer.trace.score_ms),
        fetch_ms=middle(lambda _, answer: answer.trace.fetch_ms),
        prefill_ms=middle(lambda _, answer: answer.trace.prefill_ms),
        other_ms=middle(other),
        from_memory=last.trace.hits.host + last.trace.hits.device,
        from_disk=last.trace.hits.disk,
    )
