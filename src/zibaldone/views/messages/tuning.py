"""Weights of the ranker that were fitted on one user's log, in the place of the shipped ones.

Derived, and the user's alone. They go with any message that a question they were fitted on is about, and
serve the vectors that they were fitted with, no others. `zibaldone compare --tune` makes them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select

from zibaldone import log
from zibaldone.errors import InvalidInput
from zibaldone.search.ranker import TalkWeights, Weights
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.schema import tuning_sources as sources
from zibaldone.storage.schema import tunings as table
from zibaldone.views.base import Counted

KIND = "tuned weights"  # as they are counted
_MOST = 1000.0  # of a weight, either way
_PER_STATEMENT = 500

# Made once: every recall asks it.
_ROW = select(table.c.fingerprint, table.c.tuning).where(table.c.user == bindparam("of"))


@dataclass(frozen=True, slots=True)
class Tuning:
    """Weights, and what they were worth on questions that they had not seen."""

    weights: TalkWeights
    seqs: tuple[int, ...]  # of the messages that the questions are about
    questions: int
    shipped: float  # share of the evidence that the shipped weights recall
    tuned: float  # and these
    chance: float  # with which weights that are no better would gain as much

    def __post_init__(self) -> None:
        if not isinstance(self.weights, TalkWeights) or not _are_finite(self.weights):
            raise InvalidInput(f"weights must be TalkWeights of numbers between {-_MOST:g} and {_MOST:g}")
        if not self.seqs:
            raise InvalidInput("seqs must name the messages that the questions are about")


def of_user(connection: Connection, user: str, fingerprint: str) -> Tuning | None:
    """What was kept for the user, where it is of this fingerprint; None also for what is damaged."""
    row = connection.execute(_ROW, {"of": user}).first()
    if row is None or row.fingerprint != fingerprint:
        return None
    given = _from_json(row.tuning)
    if given is None:
        return None
    query = select(sources.c.source).where(sources.c.user == user).order_by(sources.c.source)
    weights, figures = given
    seqs = tuple(connection.execute(query).scalars())
    return Tuning(weights, seqs, **figures) if seqs else None


def weights_of(connection: Connection, user: str, fingerprint: str) -> TalkWeights | None:
    """The weights that rank the user's messages; None: the shipped ones."""
    row = connection.execute(_ROW, {"of": user}).first()
    if row is None or row.fingerprint != fingerprint or (given := _from_json(row.tuning)) is None:
        return None
    return given[0]


def keep(connection: Connection, user: str, fingerprint: str, tuning: Tuning) -> None:
    """Let these weights rank from now on. Raises InvalidInput where one of the messages is forgotten."""
    if set(tuning.seqs) - log.present(connection, user, tuning.seqs):
        raise InvalidInput("a message that these weights were fitted on is not there any more: tune again")
    drop(connection, user)
    figures = {name: getattr(tuning, name) for name in _FIGURES}
    row = {
        "user": user,
        "fingerprint": fingerprint,
        "tuning": json.dumps({"weights": asdict(tuning.weights), **figures}),
    }
    connection.execute(table.insert().values(**row))
    connection.execute(sources.insert(), [{"user": user, "source": seq} for seq in sorted({*tuning.seqs})])


def drop(connection: Connection, user: str) -> int:
    """Let the shipped weights rank again; how many tunings there were."""
    connection.execute(delete(sources).where(sources.c.user == user))
    return connection.execute(delete(table).where(table.c.user == user)).rowcount


def count(connection: Connection, user: str) -> tuple[Counted, ...]:
    """One, where the user has weights of their own."""
    there = connection.execute(select(table.c.user).where(table.c.user == user)).first()
    return (Counted(KIND, 1),) if there else ()


def lost(connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
    """What goes with these messages."""
    for some in in_chunks(seqs, _PER_STATEMENT):
        query = select(sources.c.source).where(sources.c.user == user, sources.c.source.in_(some)).limit(1)
        if connection.execute(query).first():
            return (Counted(KIND, 1),)
    return ()


def faults(connection: Connection, user: str) -> list[str]:
    """Weights that cannot be read: the shipped ones rank in their place."""
    row = connection.execute(_ROW, {"of": user}).first()
    if row is None or _from_json(row.tuning) is not None:
        return []
    fault = "the tuned weights are damaged or of an earlier version, and not used"
    return [f"{fault}: 'zibaldone compare --untune' removes them"]


_FIGURES = tuple(field.name for field in fields(Tuning) if field.name not in ("weights", "seqs"))


def _from_json(text: str) -> tuple[TalkWeights, dict[str, Any]] | None:
    try:
        given = json.loads(text)
        weights = TalkWeights(**{kind: Weights(**its) for kind, its in given["weights"].items()})
        figures = {name: given[name] for name in _FIGURES}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return (weights, figures) if _are_finite(weights) else None


def _are_finite(weights: TalkWeights) -> bool:
    values = [value for kind in asdict(weights).values() for value in kind.values()]
    return all(
        isinstance(value, int | float) and math.isfinite(value) and abs(value) <= _MOST for value in values
    )
