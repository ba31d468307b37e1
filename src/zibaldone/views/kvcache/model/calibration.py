"""Which layers and heads retrieve: a needle self-test, run once per model and kept.

A model has few heads that look for what a question names; boxes of the other layers cost room and their
scores are noise. Needles are told among distractors that share words with them, in the model's own turns, and
each head is judged by how high it ranks the needle's block.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

import numpy as np
import torch

from zibaldone.core import Message
from zibaldone.errors import InvalidInput
from zibaldone.views.kvcache.model.encoding import Encoder, SessionChain
from zibaldone.views.kvcache.model.tap import Raw
from zibaldone.views.kvcache.model.turns import TurnPiece, pieces, question_of
from zibaldone.views.kvcache.retrieve.fetching import Fetcher
from zibaldone.views.kvcache.retrieve.probe import Probe
from zibaldone.views.kvcache.retrieve.scoring import LayerQueries, key_scores
from zibaldone.views.kvcache.storage.store import KVStore
from zibaldone.views.kvcache.storage.tiers import Tiers

_MOST_LAYERS = 4
_NEARLY = 0.8  # of the best head's score: heads that are listened to
_NEEDLES, _HAYSTACK = 12, 48
_NAMES = "Ada Ben Carla Dora Emil Fay Gus Hana Ivan Jude Kira Leo Mona Nils Olga Paul".split()
_THINGS = "bicycle garden kitchen guitar sister office cat boat school neighbour piano dentist".split()
_WORDS = (
    "amber basil cedar delta ember fjord grape heron indigo jasmine kelp lemon maple nectar opal plum".split()
)


@dataclass(frozen=True, slots=True)
class Needles:
    """Turns, and for each question the number of the turn that answers it."""

    turns: tuple[str, ...]
    questions: tuple[tuple[str, int], ...]

    @property
    def digest(self) -> str:
        return blake2b(repr((self.turns, self.questions)).encode(), digest_size=6).hexdigest()


@dataclass(frozen=True, slots=True)
class Calibration:
    """The layers that retrieve, and their heads."""

    heads: Mapping[int, tuple[int, ...]]  # by layer
    scores: Mapping[int, tuple[float, ...]]  # mean reciprocal rank of the needle, by layer and head

    def keep(self, path: Path) -> None:
        """Write it down; replaces what is there."""
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f"{path.name}.{os.getpid()}.part")
        beside.write_text(
            json.dumps({"heads": dict(self.heads), "scores": dict(self.scores)}), encoding="utf-8"
        )
        beside.replace(path)

    @staticmethod
    def kept(path: Path) -> Calibration | None:
        """What was written; None when there is nothing, or nothing that can be read."""
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            return Calibration(
                {int(layer): tuple(heads) for layer, heads in stored["heads"].items()},
                {int(layer): tuple(scores) for layer, scores in stored["scores"].items()},
            )
        except (OSError, ValueError, KeyError, AttributeError, TypeError):
            return None


def plain_needles(seed: int = 0) -> Needles:
    """Facts in plain English that share their names and things with each other."""
    rng = random.Random(seed)  # noqa: S311 - seeded, not secret
    pairs = [(name, thing) for name in _NAMES for thing in _THINGS]
    rng.shuffle(pairs)
    chosen = pairs[:_HAYSTACK]
    turns = tuple(
        f"The {thing} of {name} is {rng.choice(_WORDS)} {rng.choice(_WORDS)}." for name, thing in chosen
    )
    needle_places = rng.sample(range(_HAYSTACK), _NEEDLES)
    return Needles(turns, tuple((f"What is the {chosen[i][1]} of {chosen[i][0]}?", i) for i in needle_places))


@torch.no_grad()
def calibrate(encoder: Encoder, asking: Probe, needles: Needles) -> Calibration:
    """Run the self-test: every layer and head, by the exact scores of the needle's keys."""
    time = datetime(2024, 3, 1, 12, tzinfo=UTC)
    chain = _Kept(encoder)
    for seq, turn in enumerate(needles.turns, 1):
        ids = encoder.turn_ids(Message(turn, time=time))
        for piece in pieces(seq, ids, encoder.segment_tokens):
            chain.extend(piece, 0)
    every = range(len(encoder.tap.shapes))
    ranks: dict[int, list[list[float]]] = {layer: [] for layer in every}
    for question, needle in needles.questions:
        ids = question_of(encoder.tokenizer, encoder.form, question, time).ids
        queries = asking.probe(ids, [], list(every))
        for layer, query in queries.items():
            ranks[layer].append(_reciprocal_ranks(chain, layer, query, needle + 1))
    scores = {layer: tuple(np.mean(found, axis=0).round(4).tolist()) for layer, found in ranks.items()}
    best = max(max(found) for found in scores.values())
    ordered = sorted(every, key=lambda layer: -max(scores[layer]))
    kept = [layer for layer in ordered if max(scores[layer]) >= _NEARLY * best][:_MOST_LAYERS]
    heads = {
        layer: tuple(head for head, score in enumerate(scores[layer]) if score >= _NEARLY * best)
        for layer in sorted(kept)
    }
    return Calibration(heads, scores)


def listening(
    store: KVStore, encoder: Encoder, identity: str, needles: Needles | None
) -> tuple[dict[int, tuple[int, ...] | None], Calibration | None]:
    """The layers that score, and their heads (None: all); calibrated once per model where settings say so.

    Raises InvalidInput for layers that the model has not.
    """
    wanted = encoder.config.layers
    every = range(len(encoder.tap.shapes))
    if wanted == "all":
        return dict.fromkeys(every), None
    if not isinstance(wanted, str):
        if unknown := [layer for layer in wanted if layer not in every]:
            raise InvalidInput(f"layers {unknown} are not there: the model has 0 to {len(every) - 1}")
        return dict.fromkeys(wanted), None
    sought = needles or plain_needles()
    path = store.root / "models" / f"{identity}-{sought.digest}.json"
    calibration = Calibration.kept(path)
    if calibration is None:
        tiers = Tiers(encoder.tap.device, 0, 0)
        try:
            calibration = calibrate(encoder, Probe(encoder, Fetcher(store, encoder, tiers), {}), sought)
        finally:
            tiers.close()
        calibration.keep(path)
    return dict(calibration.heads), calibration


class _Kept(SessionChain):
    """A chain that keeps its turns' keys."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder, "calibration")
        self.raw: list[tuple[int, Raw]] = []

    def made(self, piece: TurnPiece) -> Raw:
        raw = super().made(piece)
        self.raw.append((piece.seq, raw))
        return raw


def _reciprocal_ranks(chain: _Kept, layer: int, query: torch.Tensor, needle: int) -> list[float]:
    """1 / rank of the needle's turn for each head, by the softmax over turns of its surest token."""
    heads = query.shape[0]
    width = max(raw[layer].tokens for _, raw in chain.raw)
    keys = torch.stack(
        [torch.nn.functional.pad(r[layer].keys, (0, 0, 0, width - r[layer].tokens)) for _, r in chain.raw]
    )
    valid = torch.arange(width)[None] < torch.tensor([raw[layer].tokens for _, raw in chain.raw])[:, None]
    reciprocal_ranks = []
    places = [place for place, (seq, _) in enumerate(chain.raw) if seq == needle]
    for head in range(heads):
        head_queries = LayerQueries(layer, query, (head,))
        rows = torch.cat(
            list(key_scores(head_queries, keys.to(query.device), valid.to(query.device), "each"))
        )
        sure = (rows - rows.logsumexp(dim=-1, keepdim=True)).amax(dim=0)
        rank = int((sure > max(sure[place] for place in places)).sum()) + 1
        reciprocal_ranks.append(1.0 / rank)
    return reciprocal_ranks
