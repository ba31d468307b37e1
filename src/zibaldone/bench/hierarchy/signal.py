"""Which offline signal says that an episode holds the evidence, and what admitting by it costs.

Signals are compared where no episode is in yet, policies by evidence recall at the tokens that they spend.
Nothing is fitted: a combination adds scores that are normalised per question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zibaldone.bench.hierarchy.reading import Asked, Bools
from zibaldone.bench.metrics import is_found
from zibaldone.search.lexical import Doubles
from zibaldone.views.hierarchy.stage_one import normalised
from zibaldone.views.hierarchy.stage_two import Ranked, StageTwo, Text, candidates, include
from zibaldone.views.hierarchy.uncertainty import CoverageSignal, GainThresholds


def _coverage(asked: Asked) -> Doubles:
    return asked.gain(np.ones(len(asked.holds)))


def _asked_only(asked: Asked) -> Doubles:
    idf = asked.talk.semantics.index.idf
    return np.array([sum(idf(t) for t in asked.asked_terms & held) for held in asked.talk.episodes.terms])


def _semantics_cover(asked: Asked) -> Doubles:
    """What counts what the semantics say as settled already."""
    told = set().union(*(asked.talk.semantics.terms[pick.id] for pick in asked.picks))
    left = {term: weight for term, weight in asked.wanted.items() if term not in told}
    return np.array([sum(left.get(term, 0.0) for term in held) for held in asked.talk.episodes.terms])


def _redundancy(asked: Asked) -> Doubles:
    """(episodes,) share of an episode's weight that the selected semantics have said."""
    idf = asked.talk.semantics.index.idf
    told = set().union(*(asked.talk.semantics.terms[pick.id] for pick in asked.picks))
    return np.array(
        [sum(map(idf, held & told)) / max(sum(map(idf, held)), 1e-9) for held in asked.talk.episodes.terms]
    )


def _rank(asked: Asked) -> Doubles:
    return normalised(asked.similarity) + asked.support


SIGNALS: Mapping[str, Callable[[Asked], Doubles]] = {
    "own cosine": lambda a: a.cosine,
    "own BM25": lambda a: a.bm25,
    "cosine + BM25 (z)": lambda a: a.similarity,
    "semantic support": lambda a: a.support,
    "the paper's rank: min-max cosine + 0.5 support": lambda a: normalised(a.cosine) + 0.5 * a.support,
    "rank: min-max (cosine + BM25) + support": _rank,
    "coverage of the query's terms": _asked_only,
    "coverage of query's and semantics' terms": _coverage,
    "coverage, less redundancy with the semantics": lambda a: 2 * _coverage(a) - _redundancy(a),
    "coverage, semantics settle their terms": _semantics_cover,
    "coverage x rank (noisy-or, the view's)": lambda a: a.gain(_rank(a) / max(float(_rank(a).max()), 1e-9)),
    "coverage + rank": lambda a: 2 * _coverage(a) + _rank(a) / 2,
}


@dataclass(frozen=True, slots=True)
class Row:
    """How a signal does: areas under the ROC curve."""

    signal: str
    mean: float  # of the questions' own curves
    candidates: float  # the same among Stage II's candidates alone: the hard ones
    overall: float  # one curve over all pairs of question and episode
    top: float  # share of the evidence episodes that are first


def judge(questions: Iterable[Asked]) -> list[Row]:
    """Every signal over all questions."""
    found: dict[str, list[tuple[Doubles, Bools, Bools]]] = {name: [] for name in SIGNALS}
    for asked in questions:
        among = np.zeros(len(asked.holds), dtype=bool)
        among[[one.episode for one in _candidates(asked)]] = True
        for name, signal in SIGNALS.items():
            found[name].append((signal(asked), asked.holds, among))
    return [_row(name, cases) for name, cases in found.items()]


def _row(name: str, cases: Sequence[tuple[Doubles, Bools, Bools]]) -> Row:
    own = [auc(scores, holds) for scores, holds, _ in cases]
    hard = [auc(scores[among], holds[among]) for scores, holds, among in cases]
    return Row(
        name,
        float(np.mean([one for one in own if one is not None])),
        float(np.mean([one for one in hard if one is not None])),
        auc(np.concatenate([c[0] for c in cases]), np.concatenate([c[1] for c in cases])) or 0.0,
        float(np.mean([holds[np.argmax(scores)] / holds.sum() for scores, holds, _ in cases])),
    )


def auc(scores: Doubles, holds: Bools) -> float | None:
    """Probability that an episode with evidence scores above one without, ties half; None without a pair."""
    good, bad = scores[holds], np.sort(scores[~holds])
    if not len(good) or not len(bad):
        return None
    below = np.searchsorted(bad, good, "left") + np.searchsorted(bad, good, "right")
    return float(below.mean() / 2 / len(bad))


@dataclass(frozen=True, slots=True)
class Spent:
    """What a policy found, mean over questions."""

    policy: str
    recall: float  # of evidence turns, each inside one unit
    tokens: float
    episodes: float


def policies(
    questions: Sequence[Asked], policy: Mapping[str, tuple[GainThresholds, StageTwo]]
) -> list[Spent]:
    """Semantics, and the episodes that Stage II admits; a semantic whose episode is in is not shown again."""
    return [
        _mean(name, [_spend(asked, thresholds, config) for asked in questions])
        for name, (thresholds, config) in policy.items()
    ]


def fixed(count: int) -> tuple[GainThresholds, StageTwo]:
    """The policy that admits so many, whatever they gain."""
    return GainThresholds(admit=2.0, expand=2.0), StageTwo(least=count, most=count)


def _spend(asked: Asked, thresholds: GainThresholds, config: StageTwo) -> tuple[float, int, int]:
    level, episodes = asked.talk.semantics, asked.talk.episodes
    texts = {
        i: Text(node.text, tokens)
        for i, (node, tokens) in enumerate(zip(episodes.nodes, episodes.tokens, strict=True))
    }
    ranked = _candidates(asked)
    signal = CoverageSignal(asked.wanted, thresholds)
    found = include(asked.example.question, (), ranked, texts, signal, 1 << 30, config)
    inside = {unit.episode for unit in found.units}
    shown = [pick.id for pick in asked.picks if level.nodes[pick.id].episode not in inside]
    units = [level.nodes[i].text for i in shown] + [unit.text for unit in found.units]
    tokens = sum(level.tokens[i] + 1 for i in shown) + found.tokens
    recall = float(np.mean([is_found(turn, units) for turn in asked.example.evidence]))
    return recall, tokens, len(inside)


def _candidates(asked: Asked) -> list[Ranked]:
    nodes = asked.talk.semantics.nodes
    source = {pick.id: nodes[pick.id].episode for pick in asked.picks}
    return list(candidates(np.arange(len(asked.holds)), asked.similarity, asked.picks, source))


def _mean(name: str, spent: Sequence[tuple[float, int, int]]) -> Spent:
    recall, tokens, episodes = (float(np.mean(column)) for column in zip(*spent, strict=True))
    return Spent(name, recall, tokens, episodes)
