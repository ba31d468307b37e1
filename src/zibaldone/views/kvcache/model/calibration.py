"""Finds the layers and heads that retrieve, by a needle self-test that is run once per model and kept.

A model has few heads that look for what a question names; boxes of the other layers cost room and their
scores are noise. Needles are told among distractors that share words with them, in the model's own turns, and
each head is judged by how high it ranks the needle's turn. Ties count against a head: keys of the first layer
depend on their token alone before positions, so there all turns that share a word tie. Where no head is good,
none is kept, and attention does not choose.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

import numpy as np
import torch

from zibaldone.core import Message
from zibaldone.errors import InvalidInput
from zibaldone.views.kvcache.model.attention_hooks import Raw
from zibaldone.views.kvcache.model.encoding import Encoder, SessionChain
from zibaldone.views.kvcache.model.turns import TurnPiece, pieces, question_of
from zibaldone.views.kvcache.retrieve.probe import queries_of
from zibaldone.views.kvcache.retrieve.scoring import LayerQueries, key_scores, padded

_MOST_LAYERS, _MOST_HEADS = 4, 8
_LEAST = 0.3  # mean reciprocal rank of a head that is listened to; by chance it is 0.1
_NEARLY = 0.5  # of the best head's, besides
_NEEDLES, _HAYSTACK = 12, 48
_NAMES = "Ada Ben Carla Dora Emil Fay Gus Hana Ivan Jude Kira Leo Mona Nils Olga Paul".split()
_THINGS = "bicycle garden kitchen guitar sister office cat boat school neighbour piano dentist".split()
_WORDS = (
    "amber basil cedar delta ember fjord grape heron indigo jasmine kelp lemon maple nectar opal plum".split()
)


@dataclass(frozen=True, slots=True)
class Needles:
    """Turns, and questions with the number of the turn that answers each."""

    turns: tuple[str, ...]
    questions: tuple[tuple[str, int], ...]

    @property
    def digest(self) -> str:
        return blake2b(repr((self.turns, self.questions)).encode(), digest_size=6).hexdigest()


@dataclass(frozen=True, slots=True)
class Calibration:
    """Layers and heads that retrieve; none if the model has no good ones."""

    heads: Mapping[int, tuple[int, ...]]  # by layer
    scores: Mapping[int, tuple[float, ...]]  # mean reciprocal rank of the needle, by layer and head

    def keep(self, path: Path) -> None:
        """Write the calibration to a file, replacing it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f"{path.name}.{os.getpid()}.part")
        beside.write_text(
            json.dumps({"heads": dict(self.heads), "scores": dict(self.scores)}), encoding="utf-8"
        )
        beside.replace(path)

    @staticmethod
    def kept(path: Path) -> Calibration | None:
        """Read a calibration; None if there is none, or it is unreadable."""
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
def calibrate(encoder: Encoder, needles: Needles) -> Calibration:
    """Run the self-test: every layer and head, by exact scores of the needle's keys."""
    time = datetime(2024, 3, 1, 12, tzinfo=UTC)
    chain = _Kept(encoder)
    for seq, turn in enumerate(needles.turns, 1):
        ids = encoder.turn_ids(Message(turn, time=time))
        for piece in pieces(seq, ids, encoder.segment_tokens):
            chain.extend(piece, 0)
    every = range(len(encoder.tap.shapes))
    questions = [
        question_of(encoder.tokenizer, encoder.form, question, time) for question, _ in needles.questions
    ]
    queries = [queries_of(encoder, question, [], list(every)) for question in questions]
    scores: dict[int, tuple[float, ...]] = {}
    for layer in every:
        turns = _Turns(chain, layer, encoder.tap.device)
        ranks = [
            turns.reciprocal_ranks(
                LayerQueries(layer, query[layer], None, encoder.tap.shapes[layer].kv_of), seq
            )
            for query, (_, seq) in zip(queries, needles.questions, strict=True)
        ]
        scores[layer] = tuple(np.mean(ranks, axis=0).round(4).tolist())
    return Calibration(_good_heads(scores), scores)


def _good_heads(scores: Mapping[int, Sequence[float]]) -> dict[int, tuple[int, ...]]:
    """The best heads that are good enough, by layer, from few layers."""
    ranked = sorted(
        ((score, layer, head) for layer, of_heads in scores.items() for head, score in enumerate(of_heads)),
        key=lambda one: (-one[0], one[1:]),
    )
    least = max(_LEAST, _NEARLY * ranked[0][0])
    kept: dict[int, list[int]] = {}
    for score, layer, head in ranked:
        if score < least or sum(map(len, kept.values())) == _MOST_HEADS:
            break
        if layer in kept or len(kept) < _MOST_LAYERS:
            kept.setdefault(layer, []).append(head)
    return {layer: tuple(sorted(heads)) for layer, heads in sorted(kept.items())}


def listening(
    root: Path, encoder: Encoder, identity: str, needles: Needles | None
) -> tuple[dict[int, tuple[int, ...] | None], Calibration | None]:
    """The scoring layers with their heads (None: all); calibrated once per model where the settings say so.

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
    path = root / "models" / f"{identity}-{sought.digest}.json"
    calibration = Calibration.kept(path)
    if calibration is None:
        calibration = calibrate(encoder, sought)
        calibration.keep(path)
    return dict(calibration.heads), calibration


class _Kept(SessionChain):
    """A session chain that keeps its turns' keys."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder, "calibration")
        self.raw: list[tuple[int, Raw]] = []

    def made(self, piece: TurnPiece) -> Raw:
        raw = super().made(piece)
        self.raw.append((piece.seq, raw))
        return raw


class _Turns:
    """One layer's keys of all turns, padded to one width."""

    def __init__(self, chain: _Kept, layer: int, device: torch.device) -> None:
        keys = [raw[layer].keys.to(device) for _, raw in chain.raw]
        self._keys, self._valid = padded(keys, [one.shape[1] for one in keys])
        self._seqs = [seq for seq, _ in chain.raw]

    def reciprocal_ranks(self, queries: LayerQueries, place: int) -> list[float]:
        """1 / rank of a turn for each head, by the softmax over turns of its surest token."""
        mine = [seq == place + 1 for seq in self._seqs]
        of_needle = torch.tensor(mine, device=self._keys.device)
        reciprocal_ranks = []
        for head in range(queries.queries.shape[0]):
            of_head = replace(queries, heads=(head,))
            rows = torch.cat(list(key_scores(of_head, self._keys, self._valid, "each")))
            sure = rows.log_softmax(dim=-1).amax(dim=0)
            before = int((sure[~of_needle] >= sure[of_needle].max()).sum())  # a tie is no find
            reciprocal_ranks.append(1.0 / (1 + before))
        return reciprocal_ranks
