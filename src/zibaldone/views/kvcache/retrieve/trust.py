"""Whether attention can be trusted to choose: tried on needles made from the log that it would choose from.

Heads are chosen by a self-test in plain English, on which a head may do well by accident, or by tokens that
are the same. So before attention chooses for a user, it has to find some of that user's own turns by their
rarest words. None of them was used to choose the heads, and nothing is trained.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from zibaldone.text.words import content_words, words

LEAST = 0.25  # mean reciprocal rank of needles, below which attention does not choose
_NEEDLES, _SAMPLED, _WORDS = 16, 200, 3
_LEAST_NEEDLES = 6  # a log with fewer turns to ask for fits a budget anyway
_GROWTH = 2  # measured anew when a pool has so many times the blocks


@dataclass(frozen=True, slots=True)
class Needle:
    """A turn of the log, and a question that only its words answer."""

    seq: int
    question: str


@dataclass(frozen=True, slots=True)
class Trust:
    """How well attention finds turns of one log."""

    score: float  # mean reciprocal rank of the needles, ties by chance; 0 to 1
    needles: int
    blocks: int  # of the pool, when it was measured
    surest: tuple[float, ...] = ()  # scores of the best block for needles that were ranked first, rising

    @property
    def holds(self) -> bool:
        """Whether attention may choose."""
        return self.score >= LEAST

    @property
    def refusal(self) -> str:
        """Why it may not; empty where it may."""
        if self.holds:
            return ""
        return (
            f"attention ranks {self.needles} needles of this log at {self.score:.2f} (mean reciprocal rank;"
            f" at least {LEAST:.2f}): it does not choose"
        )

    def relevance(self, best: float) -> float:
        """How likely a question's best block is right, 0 to 1, by how sure needles were that were found."""
        if not self.surest or not self.holds:
            return 0.0
        return self.score * sum(one <= best for one in self.surest) / len(self.surest)

    def stale(self, blocks: int) -> bool:
        """Whether the pool has grown out of what was measured."""
        return blocks >= _GROWTH * max(1, self.blocks)

    def keep(self, path: Path) -> None:
        """Write it down beside the pool; replaces what is there. Numbers alone: no word of the log."""
        beside = path.with_name(f"{path.name}.{os.getpid()}.part")
        beside.write_text(json.dumps(asdict(self)), encoding="utf-8")
        beside.replace(path)

    @staticmethod
    def kept(path: Path) -> Trust | None:
        """What was written; None when there is nothing, or nothing that can be read."""
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            return Trust(
                float(stored["score"]),
                int(stored["needles"]),
                int(stored["blocks"]),
                tuple(float(one) for one in stored["surest"]),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None


NO_HEADS = Trust(0.0, 0, 0)  # the self-test kept none: attention has nothing to choose with


def sampled(seqs: Sequence[int], most: int = _SAMPLED) -> list[int]:
    """So many of them, from all over the log."""
    step = max(1, len(seqs) // most)
    return list(seqs[::step][:most])


def needles_of(texts: Mapping[int, str]) -> list[Needle]:
    """Needles of these turns (by seq), from all over them: a turn's rarest words, in its own order.

    None when there are too few turns with words of their own.
    """
    content = {seq: _content(text) for seq, text in texts.items()}
    frequency = Counter(word for turn in content.values() for word in turn)
    rich = [seq for seq in sorted(content) if len(content[seq]) > _WORDS]
    if len(rich) < _LEAST_NEEDLES:
        return []
    needles = []
    for seq in sampled(rich, _NEEDLES):
        rarest = sorted(content[seq], key=lambda word: frequency[word])[:_WORDS]
        question = [word for word in content[seq] if word in rarest]
        needles.append(Needle(seq, f"{', '.join(question)}?"))
    return needles


def _content(text: str) -> list[str]:
    """The distinct content words, in the order of the text."""
    wanted = content_words(text)
    return list(dict.fromkeys(word for word in words(text) if word in wanted))


def trust_of(ranks: Sequence[int | None], best: Sequence[float], blocks: int) -> Trust:
    """From the rank of each needle's turn (from 1; None: not ranked) and each question's best score."""
    if not ranks:
        return Trust(1.0, 0, blocks)
    score = sum(1 / rank for rank in ranks if rank is not None) / len(ranks)
    surest = sorted(sure for rank, sure in zip(ranks, best, strict=True) if rank == 1)
    return Trust(round(score, 4), len(ranks), blocks, tuple(round(one, 4) for one in surest))
