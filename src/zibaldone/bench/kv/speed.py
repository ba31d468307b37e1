"""What the kv view costs in time and room, each figure beside a yardstick of the same run.

The model has random weights of a real shape, since time does not depend on their values, and a made-up
tokenizer of one token per word. The sides alternate, so that a busy moment hits them all; what counts is the
ratio of medians. Every question is new, so that nothing of an earlier one helps.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median

import torch
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
from zibaldone.bench.kv.speed_report import (
    Disk,
    FirstToken,
    Ingest,
    KVSpeedReport,
    Reuse,
    Setting,
    Stock,
    tables,
)
from zibaldone.bench.kv.speed_scoring import PATIENCE_S, scorings, timed
from zibaldone.bench.outcome import Outcome, Progress, Run, silent
from zibaldone.bench.registry import KVSpeedOptions
from zibaldone.core import Message
from zibaldone.kv import Answer, Budget, KVMemory, TurnFormat
from zibaldone.memory import Memory

USER = "speed"
BATCH_TURNS = 32  # remembered at a time: a session
INGEST_BATCHES = 5  # timed on both sides; the first is a warm-up where there are more
_START = datetime(2024, 1, 1, tzinfo=UTC)


def run(options: KVSpeedOptions, run: Run) -> Outcome:
    """Time to the first token, what remembering costs, scoring."""
    report = evaluate(Settings(**asdict(options)), run.folder, run.progress)
    figures = {field.name: getattr(report, field.name) for field in fields(report)}
    return Outcome(figures, list(tables(report)))


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

    def setting(self) -> Setting:
        return Setting(
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
        times = {side: some[warm_ups:] or some for side, some in times.items()}
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
                input_ids=given, attention_mask=mask, past_key_values=cache, use_cache=True, logits_to_keep=1
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
