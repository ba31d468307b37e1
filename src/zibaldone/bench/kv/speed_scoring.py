"""From queries to the best blocks (Eqs. 3-4, Table 1), beside one reading of the index."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import TypeVar

import torch
from torch import Tensor

from zibaldone.bench.kv.speed_model import QUESTION_TOKENS, Shape
from zibaldone.bench.outcome import Progress
from zibaldone.views.kvcache.config import Aggregation, MemArt, Normalization
from zibaldone.views.kvcache.retrieve.scoring import LayerQueries, aggregate, box_scores

PATIENCE_S = 60.0  # a side that has taken longer is not repeated, one that surely would is left out

_Made = TypeVar("_Made")


def timed(device: torch.device, call: Callable[[], _Made]) -> tuple[float, _Made]:
    """Milliseconds until the device has done it, and what it made."""
    _wait(device)
    began = time.perf_counter()
    made = call()
    _wait(device)
    return (time.perf_counter() - began) * 1000, made


def alternating(
    device: torch.device, sides: Mapping[str, Callable[[], object]], repeats: int
) -> dict[str, float]:
    """Medians in milliseconds of calls in turn, after an untimed round."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats + 1):
        for name, call in sides.items():
            if not times[name] or sum(times[name]) < PATIENCE_S * 1000:
                times[name].append(timed(device, call)[0])
    return {name: median(of_side[1:] or of_side) for name, of_side in times.items()}


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


REPEATS = 3
STRATEGIES: dict[str, tuple[Normalization, Aggregation]] = {
    "softmax-max": ("softmax", "max"),
    "softmax-sum": ("softmax", "sum"),
    "rr-max": ("reciprocal_rank", "max"),
    "rr-sum": ("reciprocal_rank", "sum"),
}
_MOST_WANTED = 4096  # as the kv view wants


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
        return self.index_bytes / self.read_ms / 1e6


def scorings(
    sizes: Sequence[int], shape: Shape, config: MemArt, device: torch.device, progress: Progress
) -> tuple[Scoring, ...]:
    """One layer's random boxes and queries in bfloat16, with heads of this shape."""
    scored: list[Scoring] = []
    for done, blocks in enumerate(ordered := sorted(set(sizes))):
        progress(f"scoring {blocks:,}", done, len(ordered))
        scored.append(_scoring(blocks, shape, config, device, scored[-1] if scored else None))
    return tuple(scored)


def _scoring(
    blocks: int, shape: Shape, config: MemArt, device: torch.device, before: Scoring | None
) -> Scoring:
    def normal(*size: int) -> Tensor:
        return torch.randn(size, dtype=torch.bfloat16, device=device)

    boxes = normal(blocks, shape.kv_heads, 2, shape.head_dim)
    question = LayerQueries(0, normal(shape.heads, QUESTION_TOKENS, shape.head_dim))
    wanted = max(config.rescore * config.top_k, int(config.rescore_share * blocks))
    wanted = min(wanted, _MOST_WANTED, blocks)
    sides: dict[str, Callable[[], object]] = {"read": partial(torch.sum, boxes.view(torch.int64))}
    for name in STRATEGIES:
        if before is None or _takes(before, name, blocks) < PATIENCE_S:
            sides[name] = partial(_score, question, boxes, name, config, wanted)
    ms = alternating(device, sides, REPEATS)
    return Scoring(
        blocks=blocks,
        rows=shape.heads * QUESTION_TOKENS,
        wanted=wanted,
        index_bytes=boxes.nbytes,
        read_ms=ms["read"],
        ms={name: ms.get(name) for name in STRATEGIES},
    )


def _takes(before: Scoring, name: str, blocks: int) -> float:
    ms = before.ms[name]
    return float("inf") if ms is None else ms / 1000 * blocks / before.blocks


def _score(question: LayerQueries, boxes: Tensor, name: str, config: MemArt, wanted: int) -> list[int]:
    normalization, aggregation = STRATEGIES[name]
    scores = aggregate(
        box_scores(question, boxes, config.heads),
        len(boxes),
        normalization,
        aggregation,
        rank_constant=config.rank_constant,
        k=wanted,
    )
    return scores.top(wanted)
