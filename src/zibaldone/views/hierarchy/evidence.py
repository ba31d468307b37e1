"""The units that one question's nodes become, each with its value, and the offer that they fill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from zibaldone.core import ChannelScore, Evidence, Message
from zibaldone.models.base import Tokenizer
from zibaldone.rendering import line, line_tokens
from zibaldone.views.base import Query
from zibaldone.views.hierarchy.cache import Shown
from zibaldone.views.hierarchy.nodes import Statement
from zibaldone.views.hierarchy.query import Scores
from zibaldone.views.hierarchy.stage_one import Pick
from zibaldone.views.hierarchy.stage_two import Ranked
from zibaldone.views.hierarchy.units import Fetch, of_episode, of_part, of_semantic, part_with, parts_of

EPISODE = 1.0  # in standard deviations: to be in the likeliest admitted episode
NOTHING = -1.0  # of a message that states no fact
_OFFERED = 2.0  # budgets' worth of units
_AT_ONCE = 16  # lines counted at a time while the offer is filled
_MOST_NEW = 200  # messages of the tail that are made units of
Key = tuple[str, int, int]  # what a unit is, its number, its part


@dataclass(frozen=True, slots=True)
class Unit:
    """Something to offer, not counted yet."""

    evidence: Evidence
    value: float
    row: int | None  # of Scores; None: it states no fact


@dataclass(frozen=True, slots=True)
class Gatherer:
    """Makes units for one question; what is fetched is what may be offered."""

    shown: Shown
    tail: Sequence[Message]
    query: Query
    scores: Scores
    fetch: Fetch
    tokenizer: Tokenizer

    def by_model(self, row: int) -> bool:
        """Whether a model read the episode that the semantic was drawn from."""
        at = self.shown.episode_row.get(int(self.shown.episode_of[row]))
        return at is not None and bool(self.shown.episodes[at].episode.made_by)

    def fact(self, row: int) -> Unit:
        """A semantic in a model's words."""
        said = said_in(self.shown, row, self.query.scope.session)
        semantic = self.shown.semantics[row].semantic
        own = self.shown.episodes[self.shown.episode_row[semantic.episode]].episode
        session = _session_of(self.shown, said[0].seq) or own.session
        time = semantic.time
        if said[0] is not semantic.statements[0]:
            told = self.fetch([said[0].seq]).get(said[0].seq)
            time = told.time if told and told.time else time  # what was forgotten meanwhile is left out later
        unit = of_semantic(said, time, session)
        return Unit(unit, float(self.scores.total[row]), row)

    def sources(self, rows: Sequence[int]) -> dict[Key, Unit]:
        """The messages, or passages, that state these; a value is that of the best."""
        said = {row: said_in(self.shown, row, self.query.scope.session)[0] for row in rows}
        fetched = self.fetch(sorted({one.seq for one in said.values()}))
        parts = parts_of(list(fetched.values()), self.tokenizer)
        units: dict[Key, Unit] = {}
        for row, one in said.items():
            if one.seq in parts:
                place = part_with(one, parts[one.seq])
                key = ("message", one.seq, place)
                unit = Unit(of_part(parts[one.seq][place]), float(self.scores.total[row]), row)
                if key not in units or units[key].value < unit.value:
                    units[key] = unit
        return units

    def newest(self, picks: Sequence[Pick]) -> dict[Key, Unit]:
        """Messages without an episode that say as much as the middle one of the facts, and more than most."""
        n, total = len(self.shown.semantics), self.scores.total
        least = -np.inf
        if picks:
            middle = np.median(total[[self.shown.semantic_row[pick.id] for pick in picks]])
            least = max(float(middle), 0.0)
        places = [place for place in range(len(self.tail)) if total[n + place] >= least]
        places.sort(key=lambda place: (-round(float(total[n + place]), 4), place))
        row_of = {self.tail[place].seq: n + place for place in places[:_MOST_NEW]}
        parts = parts_of([self.tail[place] for place in places[:_MOST_NEW]], self.tokenizer)
        return {
            ("message", seq, place): Unit(of_part(part), float(total[row_of[seq]]), row_of[seq])
            for seq, some in parts.items()
            for place, part in enumerate(some)
        }

    def episode(self, ranked: Ranked, weight: float, *, expanded: bool) -> dict[Key, Unit]:
        """Its messages, or what a model told of them."""
        episode = self.shown.episodes[self.shown.episode_row[ranked.episode]].episode
        if episode.made_by and not expanded:
            rows = [row for seq in episode.seqs for row in self.shown.semantics_with.get(seq, ())]
            value = max((float(self.scores.total[row]) for row in rows), default=NOTHING) + EPISODE * weight
            return {("episode", episode.id, 0): Unit(of_episode(episode), value, None)}
        messages = self.fetch(episode.seqs)
        parts = parts_of([messages[seq] for seq in sorted(messages)], self.tokenizer)
        keys = [(seq, part) for seq, some in parts.items() for part in range(len(some))]
        own: dict[tuple[int, int], float] = dict.fromkeys(keys, NOTHING)
        row_of: dict[tuple[int, int], int] = {}
        for seq, some in parts.items():
            for row in self.shown.semantics_with.get(seq, ()):
                said = next(one for one in self.shown.semantics[row].semantic.statements if one.seq == seq)
                key = (seq, part_with(said, some))
                if self.scores.total[row] > own[key] or key not in row_of:
                    own[key], row_of[key] = float(self.scores.total[row]), row
        return {
            ("message", *key): Unit(
                of_part(parts[key[0]][key[1]]), own[key] + EPISODE * weight, row_of.get(key)
            )
            for key in keys
        }

    def filled(self, units: Sequence[Unit]) -> tuple[Evidence, ...]:
        """As many as fill the offer, counted, with falling scores."""
        room = int(_OFFERED * self.query.budget_tokens)
        offered: list[Evidence] = []
        least = np.inf
        for start in range(0, len(units), _AT_ONCE):
            some = units[start : start + _AT_ONCE]
            lines = [line(one.evidence.speaker, one.evidence.text) for one in some]
            counts = line_tokens(lines, self.tokenizer.count)
            for one, tokens, channels in zip(some, counts, self._channels(some), strict=True):
                if tokens > room and offered:
                    continue
                room -= tokens
                least = min(least, one.value)
                offered.append(replace(one.evidence, score=round(least, 6), tokens=tokens, channels=channels))
        return tuple(offered)

    def _channels(self, units: Sequence[Unit]) -> list[tuple[ChannelScore, ...]]:
        rows = [one.row for one in units if one.row is not None]
        found = dict(zip(rows, self.scores.channels(rows), strict=True)) if rows else {}
        return [() if one.row is None else found[one.row] for one in units]


def said_in(shown: Shown, row: int, session: str | None) -> list[Statement]:
    """The statements of a semantic that the session holds; all where none is asked for."""
    said = shown.semantics[row].semantic.statements
    return [one for one in said if session is None or _session_of(shown, one.seq) == session]


def _session_of(shown: Shown, seq: int) -> str | None:
    row = shown.episode_with.get(seq)
    return None if row is None else shown.episodes[row].episode.session
