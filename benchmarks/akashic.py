"""Akashic's Figures 2, 10, 11 and 12.

    python -m benchmarks.akashic DATA --figure 10 [--sets locomo] [--updates 0,0.2] [--output OUT]

DATA is as in `benchmarks.pin`. Figure 2: the retained ratio of chunks (Eq. 1). Figures 10 and 12: layouts of
chunks on the disk (`benchmarks.akashic_layouts`). *Reads*: blocks a request, and one of the database where a
chunk is staged; the first half of the requests is not counted. *Cold*: the time of these reads when none of
the files is in memory. *Space*: bytes stored per live byte. *Write*: bytes written to blocks per byte of
chunks. With `--updates`, at each new chunk each of the five chunks most like it is written anew with that
chance, as joint compaction would. Figure 11: evidence recalled, and how fast.

No chat model is asked: the offline stand-ins compress, select and compact.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks import akashic_layouts, results
from benchmarks.akashic_layouts import PAPER
from benchmarks.data import Conversation, load
from benchmarks.pin import SETS
from benchmarks.recall import judge
from zibaldone import MemAttention
from zibaldone.cli.compare.evidence import Mean
from zibaldone.cli.compare.systems import USER, Engine, Equipment
from zibaldone.models.static import shared_static_embedder


@dataclass(frozen=True, slots=True)
class QualityRow:
    """One setting of the chunks view over a set's questions."""

    data: str
    setting: str
    questions: int
    evidence: float
    error: float
    retention: float  # of the first row's evidence
    recalls_per_s: float
    built_per_s: int  # messages


DENSITY = MemAttention()
FIGURE_11 = {
    "MemAttention.paper(), scope user": PAPER,
    "MemAttention.paper()": MemAttention.paper(),
    "MemAttention()": MemAttention(),
    "dense-only: by metadata": replace(PAPER, recall_relevance="metadata"),
    **{f"tau_c {n}": replace(PAPER, chunk_gate_tokens=n) for n in (256, 512, 1024, 2048, 4096, 16384)},
    **{f"B_mem {n}": replace(PAPER, memory_budget_tokens=n) for n in (512, 1024, 1536, 2048, 3072)},
}


def quality(
    data: str, conversations: Sequence[Conversation], tools: Equipment, limit: int
) -> list[QualityRow]:
    """Figure 11: all messages are taken in, then the questions are asked with a budget that B_mem cuts."""
    rows: list[QualityRow] = []
    for name, config in FIGURE_11.items():
        found, built, asked = [], 0.0, 0.0
        for one in conversations:
            engine = Engine("chunks", tools, chunks=config, maintained=("messages", "chunks"))
            began = time.perf_counter()
            engine.take(one.messages)
            built += time.perf_counter() - began
            for question in [q for q in one.questions if q.evidence][:limit]:
                began = time.perf_counter()
                recalled = engine.recall(question.text, 4000, question.asked_at)
                asked += time.perf_counter() - began
                found.append(judge(one, question, name, 4000, recalled, 0.0).evidence)
            engine.close()
        mean = Mean.of(found)
        assert mean is not None
        first = rows[0].evidence if rows else mean.value
        messages = sum(len(one.messages) for one in conversations)
        speed = len(found) / asked, round(messages / built)
        rows.append(QualityRow(data, name, len(found), mean.value, mean.error, mean.value / first, *speed))
    return rows


@dataclass(frozen=True, slots=True)
class DensityRow:
    """Retained ratio of a set's chunks, Eq. 1."""

    data: str
    chunks: int
    retained: float
    p10: float
    p90: float
    step: float  # between two chunks in turn, on average: Figure 2(b)


def density(data: str, conversations: Sequence[Conversation], tools: Equipment) -> list[DensityRow]:
    """Figure 2, of each chunk as it was made."""
    ratios: list[float] = []
    steps: list[float] = []
    for one in conversations:
        engine = Engine("chunks", tools, chunks=DENSITY, maintained=("messages", "chunks"))
        engine.take(one.messages)
        own = [chunk.retained_ratio for chunk in engine.memory.user(USER).chunks()]
        ratios += own
        steps += np.abs(np.diff(own)).tolist()
        engine.close()
    p10, p90 = np.quantile(ratios, (0.1, 0.9)).tolist()
    return [DensityRow(data, len(ratios), fmean(ratios), p10, p90, fmean(steps))]


def main() -> None:
    """Measure one figure, print it, write it down."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.akashic", description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--figure", type=int, choices=(2, 10, 11, 12), default=10)
    parser.add_argument("--sets", default="locomo,beam 100K", help=", ".join(SETS))
    parser.add_argument("--conversations", type=int, default=5, help="of a set")
    parser.add_argument("--limit", type=int, default=100, help="questions of a conversation")
    parser.add_argument("--updates", default="0,0.2", help="chances, with commas")
    parser.add_argument("--output", type=Path, help="benchmarks/results/akashic.json, or akashic-FIGURE.json")
    given = parser.parse_args()
    rows: list[Any] = []
    with tempfile.TemporaryDirectory(prefix="zibaldone-bench-") as temporary:
        folder = Path(temporary)
        tools = Equipment(shared_static_embedder(), folder)
        for name in given.sets.split(","):
            data = load(name.split()[0], given.path / SETS[name])[: given.conversations]
            if given.figure == 2:
                rows += density(name, data, tools)
            elif given.figure == 11:
                rows += quality(name, data, tools, given.limit)
            else:
                chances = given.updates.split(",")
                for row in akashic_layouts.rows_of(given.figure, name, data, given.limit, chances, folder):
                    print(row, file=sys.stderr)
                    rows.append(row)
    results.show(f"Figure {given.figure}", rows)
    output = given.output or results.RESULTS / (
        "akashic.json" if given.figure == 10 else f"akashic-{given.figure}.json"
    )
    results.write(output, {"title": f"Akashic, Figure {given.figure}", "rows": rows})


if __name__ == "__main__":
    main()
