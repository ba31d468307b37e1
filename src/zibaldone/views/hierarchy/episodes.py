"""Cuts of a conversation into episodes (section 3.2; appendix C.1), without a model.

A pause of more than 30 minutes always ends an episode. Otherwise cuts are put where the talk coheres least:
between the few messages before a place and after it, in shared words and in the embedder's space, measured
against the other places in sight. A cut has a price, which keeps small dips whole, and one after a question
costs more. Decisions wait until later messages cannot change them: the first cut is decided when LONGEST +
CONTEXT messages are open, or a pause or the end of the session is known to come earlier. So the cuts are the
same whether messages come one by one or at once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import regex

from zibaldone.core import Message
from zibaldone.models.base import Vectors
from zibaldone.text.words import STOP_WORDS, terms, words

PAUSE = timedelta(minutes=30)
SHORTEST = 3  # messages; fewer only where a pause leaves no more
LONG = 10  # messages; every further one makes a cut a little cheaper
LONGEST = 15
CONTEXT = 3  # messages on either side that a place is judged by
_PRICE = 1.1  # of a cut, in standard deviations of the cohesion in sight
_OVERLONG = 0.15  # what every message beyond LONG costs
_CUE = 0.5  # what a question just before takes from a place
_TOO_SHORT = 3.0  # what every message below SHORTEST costs

_ASKS = regex.compile(r"[?？؟]\W*(?:\[[^\[\]]*\]\s*)?$")  # a caption may follow


@dataclass(frozen=True, slots=True)
class Cut:
    """The end of an open episode: it takes the next `size` messages."""

    size: int
    degraded: str = ""  # why a model's answer is missing


@dataclass(frozen=True, slots=True)
class Window:
    """The first `size` messages of an open episode, whose cuts are to be decided."""

    size: int
    whole: bool  # nothing follows on them, so the last cut is at their end


@dataclass(frozen=True, slots=True)
class Block:
    """The messages of one episode."""

    messages: tuple[Message, ...]  # of one session, contiguous in it
    degraded: str = ""  # as of its cut


# Decides the cuts of a session's open messages: `closed`, or a model; however messages are batched, the same.
Decide = Callable[..., list[Cut]]


def cohesion_text(message: Message) -> str:
    """Text of a message to embed for cohesion: content words, since function words blur it."""
    return " ".join(word for word in words(message.content) if word not in STOP_WORDS)


def closed(pending: Sequence[Message], vectors: Vectors, *, ended: bool) -> list[Cut]:
    """Decided cuts of one session's open messages, in order; messages behind the last cut stay open.

    `vectors` are of their `cohesion_text`, row by row. `ended`: nothing more belongs to the open episode.
    """
    cuts: list[Cut] = []
    start = 0
    while window := due(pending[start:], ended=ended):
        end = start + window.size
        gains = _gains(pending[start:end], vectors[start:end])
        cuts.append(Cut(_best_first(gains, window.size, whole=window.whole)))
        start += cuts[-1].size
    return cuts


def due(pending: Sequence[Message], *, ended: bool) -> Window | None:
    """The window whose cuts are to be decided; None while it is too early."""
    most = LONGEST + CONTEXT
    for place in range(1, min(len(pending), most)):
        if abs(time_of(pending[place]) - time_of(pending[place - 1])) > PAUSE:
            return Window(place, True)
    if len(pending) >= most:
        return Window(most, False)
    return Window(len(pending), True) if ended and pending else None


class OpenEpisodes:
    """Open episodes of one user's sessions; ends them as the log goes on.

    An open episode also ends when anything of the user, in any session, is more than 30 minutes later: its
    own session's next message would be too.
    """

    def __init__(self) -> None:
        self.pending: dict[str, list[Message]] = {}  # by session; feed these to resume after a restart
        self._rows: dict[str, list[Vectors]] = {}

    def feed(self, message: Message, vector: Vectors, decide: Decide) -> list[Block]:
        """Blocks that the next message in the log ends; its `vector` (d,) is as for `closed`."""
        blocks: list[Block] = []
        # By their first open message: a restart loses the order in which they opened.
        for session in sorted(self.pending, key=lambda session: self.pending[session][0].seq):
            if time_of(message) - time_of(self.pending[session][-1]) > PAUSE:
                blocks += self._take(session, decide, ended=True)
        self.pending.setdefault(message.session, []).append(message)
        self._rows.setdefault(message.session, []).append(vector)
        return blocks + self._take(message.session, decide, ended=False)

    def _take(self, session: str, decide: Decide, *, ended: bool) -> list[Block]:
        open_, rows, blocks = self.pending.pop(session), self._rows.pop(session), []
        for cut in decide(open_, np.stack(rows), ended=ended):
            blocks.append(Block(tuple(open_[: cut.size]), cut.degraded))
            open_, rows = open_[cut.size :], rows[cut.size :]
        if open_:
            self.pending[session], self._rows[session] = open_, rows
        return blocks


def time_of(message: Message) -> datetime:
    """Time of a message that is stored, and so has one."""
    assert message.time is not None
    return message.time


def _gains(seen: Sequence[Message], vectors: Vectors) -> list[float]:
    """Gain of a cut before message 1, 2 ..., in standard deviations of the cohesion in the window."""
    gains = -(_standard(_lexical(seen)) + _standard(_cosines(vectors.astype(np.float64)))) / 2
    for place, message in enumerate(seen[:-1]):
        gains[place] -= _CUE * (_ASKS.search(message.content) is not None)
    return [round(float(gain), 6) for gain in gains]


def _lexical(seen: Sequence[Message]) -> npt.NDArray[np.float64]:
    """(n - 1,) cosine of the terms before and after each place; rare terms weigh more."""
    term_sets = [set(terms(message.content)) for message in seen]
    df = Counter(term for some in term_sets for term in some)
    column = {term: place for place, term in enumerate(sorted(df))}
    rows = np.zeros((len(seen), max(1, len(df))))
    for row, some in zip(rows, term_sets, strict=True):
        for term in some:
            row[column[term]] = math.log(1 + len(seen) / df[term])
    return _cosines(rows)


def _cosines(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    cosines = np.zeros(max(0, len(rows) - 1))
    for place in range(1, len(rows)):
        before = rows[max(0, place - CONTEXT) : place].sum(axis=0)
        after = rows[place : place + CONTEXT].sum(axis=0)
        norms = float(np.linalg.norm(before) * np.linalg.norm(after))
        cosines[place - 1] = float(before @ after) / norms if norms else 0.0
    return cosines


def _standard(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    spread = float(values.std()) if len(values) else 0.0
    return (values - values.mean()) / spread if spread > 1e-6 else np.zeros_like(values)


def _best_first(gains: Sequence[float], n: int, *, whole: bool) -> int:
    """Size of the first part of the best division, by dynamic programming."""
    best = [0.0] + [-math.inf] * n
    parts: list[int] = [0] * (n + 1)
    for end in range(1, n + 1):
        for start in range(max(0, end - LONGEST), end):
            size = end - start
            cost = _OVERLONG * max(0, size - LONG)
            if size < SHORTEST and (end < n or (whole and start)):
                cost += _TOO_SHORT * (SHORTEST - size)
            value = best[start] - cost + (gains[end - 1] - _PRICE if end < n else 0.0)
            if value > best[end]:
                best[end], parts[end] = value, start
    borders = [n]
    while borders[-1]:
        borders.append(parts[borders[-1]])
    first, second = next(pairwise(reversed(borders)))
    return second - first
