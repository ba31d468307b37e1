"""Themes: groups of semantics for people who look around in a memory; recall does without them.

The paper's are in guided.py.

They are made on demand from all semantics, by average linkage inside blocks of similar ones, and depend on
the semantics, their order and the cap alone. A cosine alone says little: in one embedder two unrelated
sentences have 0.1, in another 0.7. So what all of a user's semantics have in common is subtracted before they
are compared, and one threshold does for every embedder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from sqlalchemy import Connection

from zibaldone.models.base import Vectors
from zibaldone.search import dense
from zibaldone.search.clustering import agglomerate, halves, unit
from zibaldone.text.titles import telling
from zibaldone.text.words import words
from zibaldone.views.base import Generation
from zibaldone.views.hierarchy import table
from zibaldone.views.hierarchy.nodes import Semantic

CAP = 12  # semantics per theme; appendix B.3
TOGETHER = 0.35  # mean cosine of the semantics of a theme
FETCH = 0.52  # least cosine of an episode and a known semantic that it is read against
_BLOCK = 256  # semantics that are compared with each other
_FEW = 20  # semantics before which the mean of all is not trusted

Groups = list[list[int]]  # places of rows, rising in each


def common(rows: Vectors) -> Vectors:
    """(d,) mean of unit rows (n, d), damped for few rows."""
    return np.asarray(rows.sum(axis=0) / (len(rows) + _FEW), dtype=np.float32)


def group(rows: Vectors, cap: int) -> Groups:
    """Group unit rows (n, d) into themes of at most `cap`, by similarity; ordered by first row."""
    rows = unit(rows - common(rows))
    groups: Groups = []
    todo = [np.arange(len(rows))]
    while todo:
        block = todo.pop()
        if len(block) > _BLOCK:
            todo.extend(block[side] for side in halves(rows[block], np.ones(len(block)).tolist()))
            continue
        near = rows[block] @ rows[block].T
        parts = agglomerate(near, linkage="mean", least=TOGETHER, sizes=[1.0] * len(block), most=cap)
        groups.extend(block[part].tolist() for part in parts)
    return sorted(groups)


_NEAR = 10  # themes beside a theme
_ROWS_AT_ONCE = 1000  # themes that are compared with the others at once
_NAME_WORDS = 4


@dataclass(frozen=True, slots=True)
class Theme:
    """Semantics that belong together; every semantic is in exactly one theme."""

    id: int  # of its first semantic
    name: str
    semantics: tuple[Semantic, ...]  # in the order in which they were learnt
    near: tuple[int, ...]  # themes that say the most like it, nearest first
    is_named: bool = False  # True: a model has named it

    @property
    def start(self) -> datetime:
        """Time of its first statement."""
        return min(semantic.time for semantic in self.semantics)

    @property
    def end(self) -> datetime:
        """Time of its last semantic."""
        return max(semantic.time for semantic in self.semantics)


def themes(connection: Connection, generation: Generation, cap: int, *, guided: bool = False) -> list[Theme]:
    """All themes of a generation, in the order in which they began; with `guided`, those that are stored."""
    state, stated = table.state(connection, generation), table.statements(connection, generation)
    rows = list(table.semantics(connection, generation).values())
    if state is None or not rows:
        return []
    semantics = [table.whole(row, stated) for row in rows]
    vectors = dense.from_bytes([stated[row.units[0]][1] for row in rows], state.dimension)
    stored = table.themes(connection, generation) if guided else {}
    if guided:
        by_theme: dict[int, list[int]] = {}
        for place, row in enumerate(rows):
            by_theme.setdefault(row.theme, []).append(place)
        groups, ids = list(by_theme.values()), list(by_theme)
    else:
        groups = group(vectors, cap)
        ids = [rows[places[0]].id for places in groups]
    near = _near(np.stack([vectors[places].sum(axis=0) for places in groups]))
    made = []
    for number, places, others in zip(ids, groups, near, strict=True):
        facts = tuple(semantics[place] for place in places)
        name = stored[number].name if number in stored else ""
        nearest = tuple(ids[other] for other in others)
        made.append(Theme(number, name or _name(facts), facts, nearest, is_named=bool(name)))
    return made


def _name(semantics: Sequence[Semantic]) -> str:
    """The most telling terms of these semantics, without names of speakers."""
    texts = [semantic.text for semantic in semantics]
    speakers = {said.speaker for semantic in semantics for said in semantic.statements}
    parties = frozenset(word for speaker in speakers for word in words(speaker))
    return ", ".join(telling(texts, _NAME_WORDS, parties=parties)) or texts[0][:60]


def _near(sums: Vectors) -> Iterator[list[int]]:
    """For each theme (n, d) the places of the nearest others with a positive cosine."""
    rows = unit(sums)
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        similar = rows[first : first + _ROWS_AT_ONCE] @ rows.T
        similar[np.arange(len(similar)), first + np.arange(len(similar))] = 0
        for line in similar.round(6):
            order = np.argsort(-line, kind="stable")[:_NEAR]
            yield order[line[order] > 0].tolist()
