"""The ranker's weights, fitted on some data sets and judged on others.

    python -m benchmarks.fit DATA [--every 3] [--json OUT]

DATA is as `pin` has it. There are two kinds of talk, among people and with an assistant, and each has weights
of its own, fitted by `listwise`, every data set counting as much as another; "made" is one, of questions of
what one message alone says, whoever says it. The first row of a data set is the shipped weights; "left out"
never saw that data set, or, of the only one of its kind, the conversation. A share is the evidence recalled
from the messages view alone, beside the change against the shipped weights and its standard error.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks import results
from benchmarks.data import Conversation, Question, load, made
from benchmarks.listwise import Contests, balanced, contests, fit, to_vector
from benchmarks.pin import BUDGETS, SETS
from benchmarks.pin import Row as Share
from zibaldone.cli.compare.evidence import Mean, share_found
from zibaldone.core import Evidence, Scope
from zibaldone.models.embedding import embed
from zibaldone.models.static import shared_static_embedder
from zibaldone.recall.packing import choose
from zibaldone.search.lexical import Floats
from zibaldone.search.question import Question as ReadQuestion
from zibaldone.search.question import parse_question
from zibaldone.search.ranker import (
    DEFAULT_WEIGHTS,
    FEATURES,
    TalkWeights,
    Weights,
)
from zibaldone.search.ranker import features as features_of
from zibaldone.search.unit_index import UnitIndex
from zibaldone.views.messages import MessagesView
from zibaldone.views.toolkit import evidence_of, rows_offered, to_units

_FITTED_ON = ("locomo", "beam 100K", "beam 500K", "realmem", "longmemeval")
_JUDGED_ON = (*_FITTED_ON, "beam 1M")
_PATH_1M = "beam/1M"
_MADE = {False: "made, among people", True: "made, with an assistant"}
_FIXED = ("length",)  # what a unit costs is no matter of likelihood
_MOST_RIVALS = 400  # of an assistant's units in one contest; they stand for all


@dataclass(frozen=True, slots=True)
class Asked:
    """One question to one conversation."""

    data: str
    talk: Talk
    question: Question
    read: ReadQuestion
    wanted: list[str]
    features: Floats  # (n, d)
    visible: npt.NDArray[np.bool_]  # (n,)

    def contests(self) -> Contests | None:
        """Compare the relevant with all else that may be recalled; None where nothing relevant may be."""
        index = self.talk.index
        relevant = np.zeros(len(index), dtype=bool)
        rows = index.rows_of(set(self.question.evidence))
        if self.question.phrases:
            rows = [r for r in rows if share_found(self.wanted, [index.units[r].text])] or rows
        relevant[rows] = True
        relevant &= self.visible
        if not relevant.any():
            return None
        stands_for = self.visible.astype(np.float32)
        others = np.flatnonzero(self.visible & ~relevant & (index.by_assistant > 0))
        if len(others) > _MOST_RIVALS:
            kept = np.random.default_rng(0).choice(others, _MOST_RIVALS, replace=False)
            stands_for[others] = 0
            stands_for[kept] = len(others) / _MOST_RIVALS
        entered = np.flatnonzero((stands_for > 0) | relevant)
        places = np.flatnonzero(relevant[entered]).tolist()
        return contests([self.features[entered]], [places], stands_for[entered])

    def recalled(self, weights: TalkWeights, budget: int) -> float:
        """The share of its evidence that is recalled from messages alone when these weights rank."""
        index = self.talk.index
        scores = np.sum(self.features * weights.of_units(index), axis=1)
        rows = rows_offered(index, scores, budget, inside=self.visible)
        units = [self.talk.units[row] for row in rows]
        chosen = choose(units, budget, _tokens_of, stems=self.read.stems)
        texts: dict[tuple[int, ...], list[str]] = {}
        for unit in chosen.evidence:
            texts.setdefault(unit.sources, []).append(unit.text)
        return share_found(self.wanted, [" ".join(parts) for parts in texts.values()])


def _tokens_of(text: str) -> int:
    return shared_static_embedder().count([text])[0]


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation as the messages view has it."""

    index: UnitIndex
    units: tuple[Evidence, ...]


def ask(data: str, conversation: Conversation, every: int) -> list[Asked]:
    """Every so many questions with evidence of a conversation, and made ones, their features worked out."""
    embedder = shared_static_embedder()
    view = MessagesView(embedder, embedder, embedder)
    units = to_units(conversation.messages, view.prepare(conversation.messages).cuts)
    index = UnitIndex(embedder.dimension, embedder)
    index.extend(units, embed(embedder, [unit.text for unit in units]))
    talk = Talk(index, tuple(evidence_of(unit, MessagesView.name) for unit in units))
    given = [(data, one) for one in conversation.questions if one.known and one.evidence]
    own = made(conversation).questions if data in _FITTED_ON else ()
    asked_of_one = [(_MADE[bool(index.with_assistant.any())], one) for one in own]
    asked = []
    for data_, question in [*given[::every], *asked_of_one[::every]]:
        now = question.asked_at or units[-1].time
        visible = index.seqs <= question.visible
        within = frozenset(index.seqs[visible].tolist())
        read = parse_question(ReadQuestion(question.text, Scope("u"), 0, now, within=within), index)
        read = read.embedded(embedder)
        values, _ = features_of(index, read, visible)
        matrix = np.stack([values[name] for name in FEATURES], axis=1)
        wanted = conversation.evidence(question)
        asked.append(Asked(data_, talk, question, read, wanted, matrix, visible))
    return asked


def fitted(asked: Iterable[Asked], own: Weights) -> Weights:
    """The likeliest weights; every data set counts as much. What has none in `own` gets none."""
    by_data: dict[str, list[Contests]] = {}
    for one in asked:
        fits = one.data in (*_FITTED_ON, *_MADE.values())
        if fits and (contest := one.contests()) is not None:
            by_data.setdefault(one.data, []).append(contest)
    start = to_vector(own)
    kept = [column for column in np.flatnonzero(start).tolist() if FEATURES[column] not in _FIXED]
    return Weights(*np.round(fit(balanced(list(by_data.values())), kept, start), 3).tolist())


@dataclass(frozen=True, slots=True)
class Row:
    """Some weights on one data set."""

    data: str
    weights: str
    shares: npt.NDArray[np.float64]  # (questions, budgets)
    change: npt.NDArray[np.float64]  # against the shipped ones

    def written(self) -> Iterable[Share]:
        """As `pin` writes it."""
        n = len(self.shares)
        for at, budget in enumerate(BUDGETS):
            of = self.shares[:, at]
            yield Share(self.data, self.weights, budget, float(of.mean()), float(of.std()) / n**0.5, n)

    def shown(self) -> dict[str, object]:
        """As it is printed."""
        figures: dict[str, object] = {"data": self.data, "weights": self.weights}
        for at, budget in enumerate(BUDGETS):
            figures[f"{budget:,}"] = float(self.shares[:, at].mean())
            figures[f"{budget:,} change"] = Mean.of(self.change[:, at].tolist())
        return figures


def rows_of(asked: Sequence[Asked]) -> tuple[list[Row], list[str]]:
    """All rows of one kind of talk, and the weights in words."""
    rows, said = list[Row](), list[str]()
    names = list(dict.fromkeys(one.data for one in asked))
    shipped: dict[str, npt.NDArray[np.float64]] = {}

    def judged(data: str, label: str, weights: Callable[[Asked], Weights]) -> None:
        shares = np.array(
            [
                [one.recalled(TalkWeights.alike(weights(one)), budget) for budget in BUDGETS]
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
    return rows, said


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fit", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--every", type=int, default=1, help="of so many questions one, where time is short")
    parser.add_argument("--json", type=Path, help="write the rows there, too")
    options = parser.parse_args()
    kinds: dict[bool, list[Asked]] = {}
    written: list[Share] = []
    for name in _JUDGED_ON:
        for conversation in load(name.split()[0], options.data / SETS.get(name, _PATH_1M)):
            some = ask(name, conversation, options.every)
            kinds.setdefault(bool(some and some[0].talk.index.with_assistant.any()), []).extend(some)
    for asked in kinds.values():
        rows, said = rows_of(asked)
        results.show("evidence (change against the shipped weights)", [row.shown() for row in rows])
        print("\n".join(said))
        written += [share for row in rows for share in row.written()]
    if options.json:
        title = f"Evidence by the messages view, vectors of {shared_static_embedder().name}"
        results.write(options.json, {"title": title, "rows": [asdict(share) for share in written]})


if __name__ == "__main__":
    main()
