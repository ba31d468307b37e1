"""Wall-clock time of work that a device may still be doing when a call returns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import TypeVar

import torch

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
    return {name: median(some[1:] or some) for name, some in times.items()}


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
