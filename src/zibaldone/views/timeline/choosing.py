"""Which lines go into a context: the relevant ones, spread over the time and over the sessions, each once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from zibaldone.search.lexical import Floats
from zibaldone.search.unit import Unit
from zibaldone.text.words import terms

POOL = 3  # rooms' worth of the best lines that are chosen from
_STRETCHES = 2  # lines that fit the room for one stretch of the time: so many may stand in each on average
_IN_STRETCH = 0.5  # what each line of the same stretch takes from the next, as a share of it
_IN_SESSION = 0.1  # and each of the same session
_ALIKE = 0.5  # of the terms of the shorter of two lines that the other has too: they say the same,
_ALIKE_OF_LONGER = 0.4  # if they are as much of the longer


class ChosenLine(NamedTuple):
    """A line, by its row, and what it was worth when it was taken."""

    row: int
    worth: float  # 1 for the best; falling


def choose_lines(units: Sequence[Unit], scores: Floats, room_tokens: float) -> list[ChosenLine]:
    """Lines for `room_tokens`, the worthiest first; one at least, if there is any with a score above -inf.

    `scores` (n,) only rank: the line of rank r is worth 1 / (1 + r / n), where n is how many lines fit, and
    as good ones have one rank. What stands in a stretch of the time, or in a session, from which lines were
    taken is worth less for each of them. A line that says again what another one says is left out. Stretches
    are equal parts of the best lines (three rooms of them) in the order of the log: where much was said on
    the subject, there are more of them.
    """
    pool = _pool(units, scores, room_tokens)
    if not pool:
        return []
    fitting = max(1.0, room_tokens * len(pool) / sum(units[row].tokens for row in pool))
    stretches = max(1, int(fitting) // _STRETCHES)
    falling = -np.round(scores[pool], 4)
    worth = 1 / (1 + np.searchsorted(falling, falling) / fitting)
    place = np.empty(len(pool), dtype=np.int64)
    place[sorted(range(len(pool)), key=lambda i: units[pool[i]].key)] = np.arange(len(pool))
    stretch = place * stretches // len(pool)
    _, session = np.unique([units[row].session for row in pool], return_inverse=True)
    in_stretch, in_session = np.zeros(stretches), np.zeros(len(pool))
    waiting = np.ones(len(pool), dtype=bool)
    chosen: list[ChosenLine] = []
    taken_terms: list[frozenset[str]] = []
    least = min(units[row].tokens for row in pool)
    while waiting.any() and (room_tokens >= least or not chosen):
        now = worth / (1 + _IN_STRETCH * in_stretch[stretch]) / (1 + _IN_SESSION * in_session[session])
        best = int(np.argmax(np.where(waiting, now, -1.0)))
        waiting[best] = False
        unit = units[pool[best]]
        words = frozenset(terms(unit.text))
        if (chosen and unit.tokens > room_tokens) or any(_alike(words, others) for others in taken_terms):
            continue
        room_tokens -= unit.tokens
        taken_terms.append(words)
        chosen.append(ChosenLine(pool[best], float(now[best])))
        in_stretch[stretch[best]] += 1
        in_session[session[best]] += 1
    return chosen


def _pool(units: Sequence[Unit], scores: Floats, room_tokens: float) -> list[int]:
    """The best rows, which fill the room a few times; ties in their order."""
    pool: list[int] = []
    left = POOL * room_tokens
    falling = -np.round(scores, 4)
    for row in np.argsort(falling, kind="stable").tolist():
        if left < 0 or not np.isfinite(falling[row]):
            break
        pool.append(row)
        left -= units[row].tokens
    return pool


def _alike(words: frozenset[str], others: frozenset[str]) -> bool:
    shared = len(words & others)
    shorter, longer = sorted((len(words), len(others)))
    return shared > 0 and shared >= _ALIKE * shorter and shared >= _ALIKE_OF_LONGER * longer
