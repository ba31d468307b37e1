"""Accuracy of answers from KV memory, far beyond a model's window, beside what else one could do.

The model is a small one that we train ourselves (train.py), the conversations are synthetic (toy.py): this
shows what positions, selection and encoding do, and nothing of language.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import torch
from rich.table import Table
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache

from zibaldone import Memory
from zibaldone.bench.kv import toy
from zibaldone.bench.outcome import Measurement, Run
from zibaldone.bench.registry import KVOptions
from zibaldone.bench.table import Column, tabulate
from zibaldone.core import Message
from zibaldone.errors import InvalidInput
from zibaldone.kv import KVMemory, Needles, TurnFormat
from zibaldone.models.cache_argument import cache_argument
from zibaldone.views.kvcache.config import BEST, PAPER, Aggregation, MemArt, Normalization
from zibaldone.views.kvcache.generate.generation import PromptContext, generate

CHECKPOINT = Path(__file__).parent / "checkpoint"
TOP_K = 8
BLOCKS = replace(BEST, select="blocks")  # a turn of these dialogues is a block, and text recall has no errors
_FORWARD_TOKENS = 512
_START = datetime(2024, 3, 1, tzinfo=UTC)
_USER = "toy"


@dataclass(frozen=True, slots=True)
class AccuracyRow:
    """One way of answering at one length of history."""

    method: str
    multiple: float  # of the window
    history_tokens: int
    questions: int
    accuracy: float  # both words right
    memory_tokens: float  # mean, beside the question
    prefill_tokens: float  # mean, computed for the question
    seconds: float  # in all


@dataclass(frozen=True, slots=True)
class Trial:
    """A history, and questions about it."""

    multiple: float
    turns: tuple[str, ...]
    facts: tuple[toy.ToyFact, ...]

    @property
    def tokens(self) -> int:
        return sum(len(turn.split()) for turn in self.turns)


def load(folder: Path) -> tuple[Any, Any]:
    """(model, tokenizer) as train.py saved them. Raises InvalidInput for a folder that holds none."""
    if not (folder / "model.safetensors").is_file():
        raise InvalidInput(f"{str(folder)!r} holds no model: zibaldone bench kv-train makes one")
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    return model, AutoTokenizer.from_pretrained(folder)


def toy_format() -> TurnFormat:
    """Turns and questions as they are; an answer ends with SEP."""
    return TurnFormat(turn=lambda message: message.content, ask=lambda _: "", answer_end=f" {toy.SEP}")


def toy_needles(seed: int = 99) -> Needles:
    """Calibration in the toy's own words."""
    turns, facts = toy.history(random.Random(seed), 700)
    probed = facts[:: max(1, len(facts) // 16)]
    return Needles(tuple(turns), tuple((fact.question, turns.index(fact.turn)) for fact in probed))


def trial(multiple: float, questions: int, seed: int, window: int) -> Trial:
    """A conversation of so many windows, and questions about facts all over it."""
    rng = random.Random(f"{seed}/{multiple}")
    turns, facts = toy.history(rng, int(multiple * window), facts=_share(multiple, window))
    return Trial(multiple, tuple(turns), tuple(rng.sample(facts, min(questions, len(facts)))))


def _share(multiple: float, window: int) -> float:
    """Of the turns that are facts: 1,024 names with attributes must last for the whole conversation."""
    turns = multiple * window / 7
    return min(0.5, 0.8 * len(toy.NAMES) * len(toy.ATTRIBUTES) / turns)


def run(options: KVOptions, run: Run) -> Measurement:
    """Accuracy by method and length, then what is asked for beside it."""
    folder = options.model or CHECKPOINT
    model, tokenizer = load(folder)
    window = int(model.config.max_position_embeddings)

    def bench(multiple: float, name: str) -> closing[Bench]:
        given = trial(multiple, options.questions, options.seed, window)
        return closing(Bench(model, tokenizer, given, run.folder / name))

    def measured(name: str, multiples: Sequence[float], plan: Plan) -> tuple[AccuracyRow, ...]:
        rows = []
        for multiple in multiples:
            with bench(multiple, name) as opened:
                for place, (method, measure) in enumerate(steps := plan(opened)):
                    run.progress(f"{multiple:g}x: {method}", place, len(steps))
                    rows.append(measure())
        return tuple(rows)

    longest = [multiple for multiple in options.multiples if multiple > 1] or options.multiples
    parts = {
        "rows": measured("methods", options.multiples, lambda of: methods(of, most_full=options.most_full)),
        "ablations": measured("ablations", longest, ablations) if options.ablations else (),
        "grid": measured("grid", [8], grid) if options.grid else (),
    }
    titles = (
        f"kv: accuracy of {folder.name}, window {window} tokens",
        "the best settings but for one",
        "the paper's Figure 5: strategies, block sizes and k",
    )
    shown = [table(title, rows) for title, rows in zip(titles, parts.values(), strict=True) if rows]
    return Measurement({"model": folder.name, "window": window, "seed": options.seed, **parts}, shown)


def table(title: str, rows: Sequence[AccuracyRow]) -> Table:
    """A row per method, a column per length of history."""
    by_method: dict[str, dict[float, AccuracyRow]] = {}
    for row in rows:
        by_method.setdefault(row.method, {})[row.multiple] = row
    return tabulate(title, list(_columns(rows)), by_method.values())


def _columns(rows: Sequence[AccuracyRow]) -> Iterator[Column]:
    """Of a method's rows by length; what a question costs is told of the longest."""

    def last(of: dict[float, AccuracyRow]) -> AccuracyRow:
        return list(of.values())[-1]

    yield Column("method", lambda of: last(of).method, left=True)
    for multiple, tokens in {row.multiple: row.history_tokens for row in rows}.items():
        yield _accuracy(multiple, f"{multiple:g}x\n{tokens:,}")
    yield Column("memory\ntokens", lambda of: last(of).memory_tokens, ",.0f")
    yield Column("prefill\ntokens", lambda of: last(of).prefill_tokens, ",.0f")
    yield Column("ms per\nquestion", lambda of: 1000 * last(of).seconds / last(of).questions, ".0f")


def _accuracy(multiple: float, head: str) -> Column:
    return Column(head, lambda of: of[multiple].accuracy if multiple in of else None, ".2f")


class Bench:
    """One model, one trial, one folder."""

    def __init__(self, model: Any, tokenizer: Any, given: Trial, folder: Path) -> None:
        self.model, self.tokenizer, self.trial = model, tokenizer, given
        self.window = int(model.config.max_position_embeddings)
        self.memory = Memory(folder / f"memory-{given.multiple}")
        self.memory.add(
            [
                Message(turn, role="user", session="toy", time=_START + timedelta(minutes=i))
                for i, turn in enumerate(given.turns)
            ],
            user=_USER,
        )
        self.ids = [toy.IDS[word] for turn in given.turns for word in turn.split()]

    @contextmanager
    def attached(self, config: MemArt) -> Iterator[KVMemory]:
        """A KVMemory of these settings that has read the history."""
        kv = KVMemory(
            self.model, self.tokenizer, self.memory, config=config, format=toy_format(), needles=toy_needles()
        )
        try:
            kv.remember(user=_USER)
            yield kv
        finally:
            kv.close()

    def memart(self, method: str, config: MemArt, k: int = TOP_K) -> AccuracyRow:
        with self.attached(config) as kv:

            def answer(fact: toy.ToyFact) -> tuple[str, int, int]:
                generated = kv.generate(fact.question, user=_USER, top_k=k, max_new_tokens=2)
                return generated.text, generated.kv_tokens, generated.prefill_tokens

            return self._row(method, answer)

    def random_blocks(self, config: MemArt, k: int = TOP_K) -> AccuracyRow:
        rng = random.Random(0)
        with self.attached(config) as kv:
            reader, index = kv.reading(_USER)

            def answer(fact: toy.ToyFact) -> tuple[str, int, int]:
                some = rng.sample(index.blocks, min(k, len(index.blocks)))
                chosen = sorted(some, key=lambda block: block.chronological)
                raw = kv.view.fetcher.fetch(reader, chosen).raw
                ids = tuple(toy.IDS[word] for word in fact.question.split())
                context = PromptContext(tuple(chosen), raw, (), ids)
                options = {"max_new_tokens": 2, "do_sample": False}
                (done,) = generate(kv.view.encoder, [context], catch=False, options=options)
                return self.tokenizer.decode(list(done.sequences[0])), context.kv_tokens, len(ids)

            return self._row("random blocks", answer)

    def text_recall(self, tokens: int) -> AccuracyRow:
        """The messages view's best messages, so many tokens of them, prefilled as text."""

        def answer(fact: toy.ToyFact) -> tuple[str, int, int]:
            recall = self.memory.recall(fact.question, user=_USER, budget_tokens=40 * tokens, floor=0.0)
            left, chosen = tokens, []
            for decision in recall.trace.decisions:
                length = len(decision.evidence.text.split())
                if length <= left:
                    left -= length
                    chosen.append(decision.evidence)
            chosen.sort(key=lambda evidence: evidence.sources)
            words = [word for evidence in chosen for word in evidence.text.split()]
            text, prefill = self._plain([toy.IDS[word] for word in words], fact)
            return text, len(words), prefill

        return self._row("text recall", answer)

    def truncated(self) -> AccuracyRow:

        def answer(fact: toy.ToyFact) -> tuple[str, int, int]:
            room = self.window - 8
            text, prefill = self._plain(self.ids[-room:], fact)
            return text, 0, prefill

        return self._row("truncation", answer)

    @torch.no_grad()
    def full(self) -> AccuracyRow:
        """Everything in sight, positions as they come: read once, each question goes on from there."""
        cache = DynamicCache()
        ids = [toy.IDS[toy.BOS], *self.ids]
        for start in range(0, len(ids), _FORWARD_TOKENS):
            self.model(
                input_ids=torch.tensor([ids[start : start + _FORWARD_TOKENS]]),
                **cache_argument(self.model, cache),
                use_cache=True,
                logits_to_keep=1,
            )

        def answer(fact: toy.ToyFact) -> tuple[str, int, int]:
            question = torch.tensor([[toy.IDS[word] for word in fact.question.split()]])
            produced: list[int] = []
            for _ in range(2):
                logits = self.model(
                    input_ids=question, **cache_argument(self.model, cache), use_cache=True
                ).logits
                produced.append(int(logits[0, -1].argmax()))
                question = torch.tensor([produced[-1:]])
            cache.crop(len(ids) - cache.get_seq_length())
            return self.tokenizer.decode(produced), 0, len(ids) + len(fact.question.split())

        return self._row("full context", answer)

    def close(self) -> None:
        self.memory.close()

    @torch.no_grad()
    def _plain(self, before: Sequence[int], fact: toy.ToyFact) -> tuple[str, int]:
        ids = [toy.IDS[toy.BOS], *before, *(toy.IDS[word] for word in fact.question.split())]
        given = torch.tensor([ids])
        out = self.model.generate(
            input_ids=given, attention_mask=torch.ones_like(given), max_new_tokens=2, do_sample=False
        )
        return self.tokenizer.decode(out[0, len(ids) :]), len(ids)

    def _row(self, method: str, answer: Callable[[toy.ToyFact], tuple[str, int, int]]) -> AccuracyRow:
        began = time.perf_counter()
        right = memory = prefill = 0
        for fact in self.trial.facts:
            text, held, computed = answer(fact)
            right += text.strip() == fact.answer
            memory, prefill = memory + held, prefill + computed
        count = len(self.trial.facts)
        return AccuracyRow(
            method,
            self.trial.multiple,
            self.trial.tokens,
            count,
            right / count,
            memory / count,
            prefill / count,
            time.perf_counter() - began,
        )


Plan = Callable[[Bench], list[tuple[str, Callable[[], AccuracyRow]]]]


def methods(bench: Bench, *, most_full: float) -> list[tuple[str, Callable[[], AccuracyRow]]]:
    """(name, how to measure it): all that are compared at one length."""
    twice = f"MemArt, paper, k={2 * TOP_K}"
    coupled = replace(BLOCKS, positions="coupled")
    full = [("full context", bench.full)] if bench.trial.multiple <= most_full else []
    return [
        *full,
        ("truncation", bench.truncated),
        ("text recall", lambda: bench.text_recall(TOP_K * 6)),
        ("MemArt, paper", lambda: bench.memart("MemArt, paper", PAPER)),
        (twice, lambda: bench.memart(twice, PAPER, 2 * TOP_K)),
        ("MemArt, best", lambda: bench.memart("MemArt, best", BLOCKS)),
        ("MemArt, coupled positions", lambda: bench.memart("MemArt, coupled positions", coupled)),
        ("random blocks", lambda: bench.random_blocks(BLOCKS)),
    ]


ABLATIONS: dict[str, dict[str, Any]] = {
    "best": {},
    "blocks on a grid": {"align": "grid"},
    "blocks on a grid, with neighbours": {"align": "grid", "neighbours": 1},
    "no recent turns before the question": {"probe_tokens": 0},
    "nothing pinned before the question": {"pinned": False},
    "boxes alone, no rescoring": {"rescore": 0},
    "all layers": {"layers": "all"},
    "heads added": {"heads": "sum"},
    "products not scaled": {"scaled": False},
    "turns encoded alone": {"context_tokens": 0},
    "turns behind their whole segment": {"context_tokens": None, "segment_tokens": 256},
    "reciprocal rank": {"normalization": "reciprocal_rank"},
    "sum over tokens": {"aggregation": "sum"},
    "int8": {"codec": "int8"},
    "int4": {"codec": "int4"},
}


def ablations(bench: Bench) -> list[tuple[str, Callable[[], AccuracyRow]]]:
    """The best settings but for one each."""
    return [
        (name, partial(bench.memart, name, replace(BLOCKS, **changed))) for name, changed in ABLATIONS.items()
    ]


STRATEGIES: dict[str, tuple[Normalization, Aggregation]] = {
    "Softmax-Sum": ("softmax", "sum"),
    "Softmax-Max": ("softmax", "max"),
    "RR-Sum": ("reciprocal_rank", "sum"),
    "RR-Max": ("reciprocal_rank", "max"),
}


def grid(bench: Bench) -> list[tuple[str, Callable[[], AccuracyRow]]]:
    """Figure 5: four strategies, block sizes and k, all else as in the paper."""
    steps: list[tuple[str, Callable[[], AccuracyRow]]] = []
    for size in (8, 16):
        for strategy, (normalization, aggregation) in STRATEGIES.items():
            config = replace(PAPER, block_tokens=size, normalization=normalization, aggregation=aggregation)
            for k in (4, 8, 16, 32):
                blocks = k * 16 // size
                name = f"{strategy}, blocks of {size}, k={blocks}"
                steps.append((name, partial(bench.memart, name, config, blocks)))
    return steps
