"""What each head that attention listens to finds: evidence among the turns and blocks that it would take."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zibaldone.bench.kv.arms import KVHistory, KVQuestion
from zibaldone.kv import KVMemory
from zibaldone.views.kvcache.model.turns import question_of
from zibaldone.views.kvcache.retrieve.index import Index
from zibaldone.views.kvcache.retrieve.probe import Probe, Recent
from zibaldone.views.kvcache.retrieve.whole_turns import fitting_turns
from zibaldone.views.kvcache.storage.manifest import KVBlock
from zibaldone.views.kvcache.storage.pool_reader import PoolReader

RANDOM = "turns at random"
TOGETHER = "all heads"


@dataclass(frozen=True, slots=True)
class HeadFinds:
    """Shares of one question's evidence turns that are in sight, by how much is."""

    head: str  # layer.head
    question: str
    turns: tuple[float, ...]  # whole turns, at each budget
    blocks: tuple[float, ...]  # a block of the turn at least, at each budget


def heads_of(kv: KVMemory, of: KVHistory, budgets: Sequence[int]) -> list[HeadFinds]:
    """Every kept head alone, all of them, and turns at random."""
    reader, index = kv.reading(of.name)
    kept = kv.calibration.heads if kv.calibration else {}
    asking = {f"{layer}.{head}": {layer: (head,)} for layer, heads in kept.items() for head in heads}
    probes = {name: Probe(kv.view.encoder, kv.view.fetcher, layers) for name, layers in asking.items()}
    if kept:
        probes[TOGETHER] = kv.view.probe
    finds = []
    rng = random.Random(0)
    for question in of.questions:
        for name, probe in probes.items():
            ranked = _ranked(kv, probe, reader, index, question)
            finds.append(_finds(name, question, ranked, reader, budgets))
        shuffled = rng.sample(index.blocks, len(index.blocks))
        finds.append(_finds(RANDOM, question, shuffled, reader, budgets))
    return finds


def _ranked(
    kv: KVMemory, probe: Probe, reader: PoolReader, index: Index, question: KVQuestion
) -> Sequence[KVBlock]:
    encoder = kv.view.encoder
    tokens = question_of(encoder.tokenizer, encoder.form, question.text, question.now)
    with kv.view.model_lock:
        return probe.choose(reader, index, Recent(()), tokens, len(index.blocks), frozenset()).blocks


def _finds(
    name: str, question: KVQuestion, ranked: Sequence[KVBlock], reader: PoolReader, budgets: Sequence[int]
) -> HeadFinds:
    seqs = list(dict.fromkeys(seq for block in ranked for seq in block.tile.seqs))
    blocks_of = reader.turns(seqs)

    def share(blocks: Sequence[KVBlock]) -> float:
        there = {seq for block in blocks for seq in block.tile.seqs}
        return len(there & set(question.evidence)) / len(set(question.evidence))

    def first(tokens: int) -> Sequence[KVBlock]:
        ends = np.cumsum([block.tokens for block in ranked])
        return ranked[: int(np.searchsorted(ends, tokens, side="right"))]

    whole = [share(fitting_turns(seqs, blocks_of, budget, frozenset()).blocks) for budget in budgets]
    return HeadFinds(name, question.id, tuple(whole), tuple(share(first(budget)) for budget in budgets))
