"""The ranker's weights, fitted on some data sets and judged on others.

    python -m benchmarks.fit DATA [--budgets 1000,2000] [--every 3] [--ablate]

DATA is as `pin` has it. There are two kinds of talk, among people and with an assistant, and each has weights
of its own, fitted by `listwise`, every data set counting as much as another. The first row of a
data set is the shipped weights; "left out" never saw that data set, or, of the only one of its kind, the
conversation; "without" a feature (`--ablate`), all others are fitted anew on all sets of the kind. A share is
the evidence recalled from the messages view alone, beside the change against the shipped weights and its
standard error.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rich.console import Console

from benchmarks.data import Conversation, Question, load
from benchmarks.listwise import Contests, LineCounter, balanced, contests, fit, to_vector
from benchmarks.pin import SETS
from zibaldone.choosing import choose
from zibaldone.comparing.evidence import share_found
from zibaldone.comparing.table import Column, share, tabulate
from zibaldone.core import Evidence, Scope
from zibaldone.models.embedding import embed
from zibaldone.models.static import shared_static_embedder
from zibaldone.planning import plan
from zibaldone.search.lexical import Floats
from zibaldone.search.ranker import (
    DEFAULT_WEIGHTS,
    FEATURES,
    AssistantShare,
    TalkWeights,
    Weights,
    read_question,
    score,
)
from zibaldone.search.ranker import features as features_of
from zibaldone.search.unit_index import UnitIndex
from zibaldone.views.base import Query
from zibaldone.views.messages import MessagesView
from zibaldone.views.toolkit import evidence_of, question_vector, rows_offered, to_units

_FITTED_ON = ("locomo", "beam 100K", "beam 500K", "realmem", "longmemeval")
_MOST_RIVALS = 400  # of an assistant's units in one contest; they stand for all


@dataclass(frozen=True, slots=True)
class Asked:
    """One question to one conversation."""

    data: str
    talk: Talk
    question: Question
    wanted: list[str]
    features: Floats  # (n, d)
    visible: npt.NDArray[np.bool_]  # (n,)
    assistant: AssistantShare

    def contests(self) -> Contests | None:
        """What is relevant against all else that may be recalled; None where nothing relevant may be."""
        index = self.talk.index
        relevant = np.zeros(len(index), dtype=bool)
        relevant[index.rows_of(set(self.question.evidence))] = True
        relevant &= self.visible
        if not relevant.any():
            return None
        stands_for = self.visible.astype(np.float32)
        others = np.flatnonzero(self.visible & ~relevant & (index.by_assistant > 0))
        if len(others) > _MOST_RIVALS:
            kept = np.random.default_rng(0).choice(others, _MOST_RIVALS, replace=False)
            stands_for[others] = 0
            stands_for[kept] = len(others) / _MOST_RIVALS
        rows = np.flatnonzero((stands_for > 0) | relevant)
        places = np.flatnonzero(relevant[rows]).tolist()
        return contests([self.features[rows]], [places], stands_for[rows])

    def recalled(self, weights: TalkWeights, budget: int, count: Callable[[str], int]) -> float:
        """The share of its evidence that is recalled from messages alone when these weights rank."""
        index = self.talk.index
        scores = np.sum(self.features * weights.of_units(index), axis=1)
        asked_at = self.question.asked_at or max(unit.time for unit in self.talk.units)
        query = Query(self.question.text, Scope("u"), budget, asked_at)
        rows = rows_offered(index, scores, self.assistant, query, self.visible)
        planned = plan(query.text, budget)
        chosen = choose([self.talk.units[row] for row in rows], query, count, planned)
        texts: dict[tuple[int, ...], list[str]] = {}
        for unit in chosen.evidence:
            texts.setdefault(unit.sources, []).append(unit.text)
        return share_found(self.wanted, [" ".join(parts) for parts in texts.values()])


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation as the messages view has it."""

    index: UnitIndex
    units: tuple[Evidence, ...]


def ask(data: str, conversation: Conversation, every: int) -> list[Asked]:
    """Every so many questions with evidence of a conversation, their features worked out."""
    embedder = shared_static_embedder()
    view = MessagesView(embedder, embedder, embedder)
    units = to_units(conversation.messages, view.prepare(conversation.messages).cuts)
    index = UnitIndex(embedder.dimension, embedder)
    index.extend(units, embed(embedder, [unit.text for unit in units]))
    talk = Talk(index, tuple(evidence_of(unit, MessagesView.name) for unit in units))
    asked = []
    for question in [one for one in conversation.questions if one.known and one.evidence][::every]:
        now = question.asked_at or units[-1].time
        read = read_question(question.text, now.date(), index)
        vector, _ = question_vector(embedder, read)
        visible = index.seqs <= question.visible
        values, _ = features_of(index, read, vector, visible)
        matrix = np.stack([values[name] for name in FEATURES], axis=1)
        shared = score(index, read, vector).assistant
        wanted = conversation.evidence(question)
        asked.append(Asked(data, talk, question, wanted, matrix, visible, shared))
    return asked


def fitted(asked: Iterable[Asked], own: Weights, without: str = "") -> Weights:
    """The likeliest weights; every data set counts as much. What has none in `own` gets none."""
    by_data: dict[str, list[Contests]] = {}
    for one in asked:
        if (contest := one.contests()) is not None:
            by_data.setdefault(one.data, []).append(contest)
    kept = [column for column, name in enumerate(FEATURES) if name != without and getattr(own, name)]
    start = to_vector(own)
    return Weights(*np.round(fit(balanced(list(by_data.values())), kept, start), 3).tolist())


@dataclass(frozen=True, slots=True)
class Row:
    """Some weights on one data set."""

    data: str
    weights: str
    shares: npt.NDArray[np.float64]  # (questions, budgets)
    change: npt.NDArray[np.float64]  # against the shipped ones

    def column(self, budget: int) -> str:
        change = self.change[:, budget]
        error = float(change.std()) / len(change) ** 0.5
        return f"{share(float(self.shares[:, budget].mean()))} ({change.mean():+.3f} ± {error:.3f})"


def rows_of(asked: Sequence[Asked], budgets: Sequence[int], *, ablate: bool) -> tuple[list[Row], list[str]]:
    """All rows of one kind of talk, and the weights in words."""
    count, rows, said = LineCounter(shared_static_embedder()), [], []
    names = list(dict.fromkeys(one.data for one in asked))
    shipped: dict[str, npt.NDArray[np.float64]] = {}

    def judged(data: str, label: str, weights: Callable[[Asked], Weights]) -> None:
        shares = np.array(
            [
                [one.recalled(TalkWeights.alike(weights(one)), budget, count) for budget in budgets]
                for one in asked
                if one.data == data
            ]
        )
        rows.append(Row(data, label, shares, shares - shipped.setdefault(data, shares)))

    def stated(label: str, weights: Weights) -> Weights:
        words = " ".join(f"{name} {getattr(weights, name):g}" for name in FEATURES)
        said.append(f"{label}: {words}")
        return weights

    people = not any(one.talk.index.with_assistant.any() for one in asked)
    own = DEFAULT_WEIGHTS.among_people if people else DEFAULT_WEIGHTS.with_assistant
    whole = stated(f"fitted on {', '.join(names)}", fitted(asked, own))
    changes = {
        name: stated(f"without {name}", fitted(asked, own, name))
        for name in FEATURES
        if ablate and getattr(own, name)
    }
    for data in names:
        judged(data, "shipped", lambda _: own)
        groups = {id(one.talk) if people else one.data: one for one in asked if one.data == data}
        apart = {
            group: stated(
                f"{data} left out",
                fitted((one for one in asked if (id(one.talk) if people else one.data) != group), own),
            )
            for group in groups
            if people or len(names) > 1
        }
        judged(data, "left out", lambda one: apart[id(one.talk) if people else one.data])  # noqa: B023
        judged(data, "fitted on all", lambda _: whole)
        for name, weights in changes.items():
            judged(data, f"without {name}", lambda _: weights)  # noqa: B023 - judged at once
    return rows, said


def _budget(head: str, at: int) -> Column:
    return Column(head, lambda row: row.column(at))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fit", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--budgets", default="1000,2000")
    parser.add_argument("--every", type=int, default=1, help="of so many questions one, where time is short")
    parser.add_argument(
        "--ablate", action="store_true", help="take each feature out, and fit the others anew"
    )
    options = parser.parse_args()
    budgets = [int(budget) for budget in options.budgets.split(",")]
    kinds: dict[bool, list[Asked]] = {}
    for name in _FITTED_ON:
        for conversation in load(name.split()[0], options.data / SETS[name]):
            some = ask(name, conversation, options.every)
            kinds.setdefault(bool(some and some[0].talk.index.with_assistant.any()), []).extend(some)
    console = Console()
    for asked in kinds.values():
        rows, said = rows_of(asked, budgets, ablate=options.ablate)
        columns = [
            Column("data", lambda row: row.data, left=True),
            Column("weights", lambda row: row.weights, left=True),
            *(_budget(str(budget), at) for at, budget in enumerate(budgets)),
        ]
        console.print(tabulate("evidence recall (change against the shipped weights)", columns, rows))
        console.print("\n".join(said))


if __name__ == "__main__":
    main()
