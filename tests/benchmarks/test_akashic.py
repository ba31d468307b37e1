"""Akashic's figures: the smallest run of each, and what a replay counts."""

import json
import sys

import numpy as np
import pytest

from benchmarks import akashic, akashic_layouts
from benchmarks.akashic_layouts import Trace, replay, updated
from zibaldone import Placement
from zibaldone.views.chunks.storage.records import Record

DATA = {n: bytes([n]) * 400 for n in range(1, 9)}  # two to a block


def trace(requests):
    """Eight chunks, written one by one, and these requests after them."""
    events = []
    for number, data in DATA.items():
        events += [("stage", (Record(number, "", number, data),)), ("tend", None)]
    for ids in requests:
        events += [("request", ids), ("tend", None)]
    return Trace(events, {number: np.eye(8, dtype=np.float32)[number - 1] for number in DATA})


def replayed(requests, placement, relocation, folder):
    """The row of a replay."""
    return replay(trace(requests), ("d", "0", "l"), placement, relocation, folder)


def test_relocation_saves_reads_of_what_is_read_together_again(tmp_path):
    """Chunks of three blocks come into one, which is written once more."""
    small = Placement(block_bytes=2000, staged_blocks=0, tau_assoc=0.0, gc_invalid_ratio=1e9)
    asked = [(1, 4, 7)] * 6
    apart = replayed(asked, small, "", tmp_path / "apart")
    together = replayed(asked, small, "at once", tmp_path / "together")
    assert (apart.reads, together.reads) == (3, 1)
    assert together.write > apart.write > 1


def test_garbage_is_collected_where_it_is_told_to(tmp_path):
    """What relocation leaves behind is stored on until its block is collected."""
    asked = [(1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (1, 7)]
    kept, collected = (
        replayed(
            asked,
            Placement(block_bytes=2000, staged_blocks=1, tau_assoc=0.0, gc_invalid_ratio=phi),
            "at once",
            tmp_path / str(phi),
        )
        for phi in (1e9, 0.2)
    )
    assert collected.space < kept.space
    assert collected.write > kept.write


def test_updates_are_of_the_chunks_most_like_a_new_one():
    """Of earlier ones, five at most, with the chance that is told."""
    plain = trace([])
    assert [given for kind, given in updated(plain, 0.0).events if kind == "stage" and not given]
    again = [given for kind, given in updated(plain, 1.0).events if kind == "stage"]
    assert sorted(len(given) for given in again) == [1] * 9 + [2, 3, 4, 5, 5, 5]


@pytest.mark.parametrize("figure", [2, 10, 11])
def test_a_figure_is_written_down(monkeypatch, paths, tmp_path, figure):
    """Rows with one set of columns, as the page of results needs them."""
    monkeypatch.setattr(akashic, "SETS", {"locomo": paths["locomo"].name})
    monkeypatch.setattr(akashic, "PAPER", akashic.replace(akashic.PAPER, chunk_gate_tokens=20))
    small = akashic.MemAttention(chunk_gate_tokens=20)
    monkeypatch.setattr(akashic, "FIGURE_11", {"small": small})
    monkeypatch.setattr(akashic, "DENSITY", small)
    monkeypatch.setattr(akashic_layouts, "PAPER", small)
    monkeypatch.setattr(akashic_layouts, "FIGURE_10", akashic_layouts.FIGURE_10[:2])
    output = tmp_path / "out.json"
    words = ["--figure", str(figure), "--sets", "locomo", "--updates", "0", "--output", str(output)]
    monkeypatch.setattr(sys, "argv", ["akashic", str(paths["locomo"].parent), *words])
    akashic.main()
    written = json.loads(output.read_text(encoding="utf-8"))
    assert written["rows"]
    assert len({tuple(row) for row in written["rows"]}) == 1
