"""The profile view on BEAM: are instructions and preferences read, and does a question get those that apply?

Extraction: the share of the user's messages behind a question on instructions or preferences that have an
entry. Retrieval: every question of a chat is put to every entry of the two kinds in its profile. What
applies is the entries of a question's own sources, and the pairs in `profile_labels.json`, which were
found by reading the pairs that the model thought likeliest: a benchmark names one entry where several
apply. Pairs that nobody read count as wrong, so precision is a lower bound. Each chat is judged by weights
that were fitted on the others. Constraints are rare in these chats, so they have questions of their own: see
`advice`. Messages that mislead have a set of their own too: see `profile_sentences`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from zibaldone.bench.advice import advice_outcomes
from zibaldone.bench.beam import BEAMQuestions
from zibaldone.bench.outcome import Measurement, Run
from zibaldone.bench.profile_sentences import sentence_outcomes
from zibaldone.bench.registry import ProfileOptions
from zibaldone.bench.table import Column, share, tabulate
from zibaldone.errors import InvalidInput
from zibaldone.memory import Memory
from zibaldone.models.base import Embedder
from zibaldone.models.embedding import embed
from zibaldone.views.profile import KINDS, Kind, ProfileEntry
from zibaldone.views.profile.entries import read_as
from zibaldone.views.profile.matching import (
    WEIGHTS,
    MatchWeights,
    asks_advice,
    entry_words,
    looks_back,
    measure,
    question_words,
)

JUDGED: dict[Kind, str] = {"instruction": "instruction_following", "preference": "preference_following"}
THRESHOLDS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
_BINS = (0.0, 0.05, 0.1, 0.2, 0.35, 0.55, 1.01)
_L2 = 1.0
_STEPS = 50

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Extraction:
    """What the grammar reads of the messages behind one kind of question."""

    category: str
    questions: int  # with a source among the user's messages
    with_entry: int  # of which a source has an entry
    messages: int  # all such sources
    read: int  # that have an entry


@dataclass(frozen=True, slots=True)
class Pair:
    """One entry beside one question."""

    user: str
    kind: Kind
    features: tuple[float, float, float]  # nearness, whether it asks for advice, whether it looks back
    question: str  # its id
    own: bool  # the entry is of a source of the question
    applies: bool  # or was found to apply by reading


@dataclass(frozen=True, slots=True)
class MatchThreshold:
    """One threshold; chats are judged by the weights of the others."""

    kind: Kind
    threshold: float
    recall: float
    own_recall: float  # of the benchmark's own labels
    precision: float
    per_question: float  # entries that a question gets


@dataclass(frozen=True, slots=True)
class Reliability:
    """Pairs that were given about the same probability, and how many of them apply."""

    said: float
    seen: float
    pairs: int


def run(options: ProfileOptions, run: Run) -> Measurement:
    """Four tables of quality, one of calibration, one of weights."""
    benchmark = BEAMQuestions(options.path)
    embedder = run.tools().embedder
    with Memory(run.folder / "profile", embedder=embedder) as memory:
        users = list(dict.fromkeys(example.user for example in benchmark.examples))
        for place, user in enumerate(users):
            run.progress(user, place, len(users))
            memory.add(benchmark.messages(user), user=user)
        entries = {user: memory.profile(user).entries() for user in users}
    extraction = [_extraction(benchmark, entries, category) for category in JUDGED.values()]
    pairs = list(_pairs(benchmark, entries, embedder))
    if len(users) < 2 or not any(pair.applies for pair in pairs):
        raise InvalidInput("give a folder of two chats or more: each is judged by weights of the others")
    judged = {kind: _left_out([pair for pair in pairs if pair.kind == kind]) for kind in JUDGED}
    retrieval = [
        _at(kind, [pair for pair in pairs if pair.kind == kind], probabilities, threshold)
        for kind, probabilities in judged.items()
        for threshold in THRESHOLDS
    ]
    of_all = [pair for kind in JUDGED for pair in pairs if pair.kind == kind]
    reliability = _reliability(of_all, np.concatenate(list(judged.values())))
    weights = {kind: fit([pair for pair in pairs if pair.kind == kind]) for kind in JUDGED}
    advice = list(advice_outcomes(run.folder / "advice", embedder))
    spoken = list(sentence_outcomes(run.folder / "sentences", embedder))
    counts = {kind: sum(e.kind == kind for each in entries.values() for e in each) for kind in KINDS}
    figures = {
        "data": options.path.name,
        "entries": counts,
        "extraction": extraction,
        "retrieval": retrieval,
        "reliability": reliability,
        "weights": weights,
        "advice": advice,
        "sentences": spoken,
    }
    return Measurement(
        figures,
        [
            tabulate(
                "sources that have an entry",
                [
                    Column("kind", lambda row: row.category, left=True),
                    Column("questions", lambda row: row.questions),
                    Column("with an\nentry", lambda row: row.with_entry),
                    Column("messages", lambda row: row.messages),
                    Column("with an\nentry", lambda row: row.read),
                ],
                extraction,
                caption=", ".join(f"{count} {kind}s" for kind, count in counts.items()),
            ),
            tabulate(
                "entries that apply, each chat by weights fitted on the others",
                [
                    Column("kind", lambda row: row.kind, left=True),
                    Column("threshold", lambda row: row.threshold, ".2f"),
                    Column("recall", lambda row: row.recall, ".2f"),
                    Column("of the\nbenchmark's", lambda row: row.own_recall, ".2f"),
                    Column("precision\nat least", lambda row: row.precision, ".2f"),
                    Column("entries per\nquestion", lambda row: row.per_question, ".2f"),
                ],
                retrieval,
            ),
            tabulate(
                "reliability",
                [
                    Column("said", lambda row: row.said, ".2f"),
                    Column("seen", lambda row: row.seen, ".2f"),
                    Column("pairs", lambda row: row.pairs),
                ],
                reliability,
            ),
            tabulate(
                "weights of all chats, and those in use",
                [
                    Column("kind", lambda row: row[0], left=True),
                    Column("", lambda row: row[1], left=True),
                    Column("bias", lambda row: row[2].bias, ".2f"),
                    Column("nearness", lambda row: row[2].nearness, ".2f"),
                    Column("advice", lambda row: row[2].advice, ".2f"),
                    Column("looks\nback", lambda row: row[2].looks_back, ".2f"),
                ],
                [
                    row
                    for kind, fitted in weights.items()
                    for row in ((kind, "fitted", fitted), (kind, "in use", WEIGHTS[kind]))
                ],
            ),
            tabulate(
                "constraints that apply to a wish for advice",
                [
                    Column("person", lambda row: row.half, left=True),
                    Column("questions", lambda row: row.questions),
                    Column("apply", lambda row: row.wanted),
                    Column("came", lambda row: row.right),
                    Column("wrongly", lambda row: row.wrong),
                    Column("recall", lambda row: row.recall, ".2f"),
                    Column("precision", lambda row: share(row.precision)),
                    Column("entries per\nquestion", lambda row: row.per_question, ".2f"),
                ],
                advice,
            ),
            tabulate(
                "messages that mean what they say of their author, and misleading ones",
                [
                    Column("half", lambda row: row.half, left=True),
                    Column("languages", lambda row: row.languages, left=True),
                    Column("misleading", lambda row: row.misleading),
                    Column("read as\nentries", lambda row: row.misread),
                    Column("meant", lambda row: row.meant),
                    Column("read", lambda row: row.read),
                ],
                spoken,
            ),
        ],
    )


def fit(pairs: Sequence[Pair]) -> MatchWeights:
    """Ridge logistic regression, by Newton's method, on standardised features."""
    x = np.array([pair.features for pair in pairs], dtype=np.float64)
    y = np.array([pair.applies for pair in pairs], dtype=np.float64)
    mean, deviation = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-9)
    rows = np.column_stack([(x - mean) / deviation, np.ones(len(x))])
    ridge = np.array([_L2] * x.shape[1] + [1e-6])
    weights = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        predicted = 1 / (1 + np.exp(-rows @ weights))
        gradient = rows.T @ (predicted - y) + ridge * weights
        weights -= np.linalg.solve((rows.T * (predicted * (1 - predicted))) @ rows + np.diag(ridge), gradient)
    slopes = weights[:-1] / deviation
    nearness, advice, back = (float(slope) for slope in slopes)
    return MatchWeights(float(weights[-1] - slopes @ mean), nearness, advice, back)


def labels() -> dict[str, frozenset[int]]:
    """Question -> seqs of further messages whose entries apply, by reading."""
    text = files(__package__).joinpath("profile_labels.json").read_text(encoding="utf-8")
    return {question: frozenset(seqs) for question, seqs in json.loads(text).items()}


def _pairs(
    benchmark: BEAMQuestions, entries: Mapping[str, Sequence[ProfileEntry]], embedder: Embedder
) -> Iterator[Pair]:
    scale, by_reading = measure(embedder), labels()
    for user, all_entries in entries.items():
        known = [entry for entry in all_entries if entry.holds and entry.kind in JUDGED]
        texts = [entry_words(read_as(entry.kind, entry.text), entry.text) for entry in known]
        vectors = embed(embedder, texts)
        seqs = {message.content: message.seq for message in benchmark.messages(user)}
        for example in (example for example in benchmark.examples if example.user == user):
            question_vector = embed(embedder, [question_words(example.question)])[0]
            nearness = scale.nearness(vectors @ question_vector)
            wanted = example.category in JUDGED.values()
            sources = {seqs[text] for text in example.evidence} if wanted else set()
            read = by_reading.get(example.id, frozenset())
            form = float(asks_advice(example.question)), float(looks_back(example.question))
            for entry, near in zip(known, nearness.tolist(), strict=True):
                own = not sources.isdisjoint(entry.sources)
                applies = own or not read.isdisjoint(entry.sources)
                yield Pair(user, entry.kind, (near, *form), example.id, own, applies)


def _left_out(pairs: Sequence[Pair]) -> Doubles:
    """(n,) probabilities, each by weights of the other chats."""
    probabilities = np.zeros(len(pairs))
    for user in dict.fromkeys(pair.user for pair in pairs):
        weights = fit([pair for pair in pairs if pair.user != user])
        for row, pair in enumerate(pairs):
            if pair.user == user:
                near, advice, back = pair.features
                power = (
                    weights.bias
                    + weights.nearness * near
                    + weights.advice * advice
                    + weights.looks_back * back
                )
                probabilities[row] = 1 / (1 + np.exp(-power))
    return probabilities


def _at(kind: Kind, pairs: Sequence[Pair], probabilities: Doubles, threshold: float) -> MatchThreshold:
    taken = [pair for pair, probability in zip(pairs, probabilities, strict=True) if probability >= threshold]
    questions = {pair.question for pair in pairs}
    right = sum(pair.applies for pair in taken)
    return MatchThreshold(
        kind,
        threshold,
        recall=right / max(1, sum(pair.applies for pair in pairs)),
        own_recall=sum(pair.own for pair in taken) / max(1, sum(pair.own for pair in pairs)),
        precision=right / max(1, len(taken)),
        per_question=len(taken) / max(1, len(questions)),
    )


def _reliability(pairs: Sequence[Pair], probabilities: Doubles) -> list[Reliability]:
    applies = np.array([pair.applies for pair in pairs], dtype=np.float64)
    bins = [(probabilities >= low) & (probabilities < high) for low, high in pairwise(_BINS)]
    return [
        Reliability(float(probabilities[b].mean()), float(applies[b].mean()), int(b.sum()))
        for b in bins
        if b.any()
    ]


def _extraction(
    benchmark: BEAMQuestions, entries: Mapping[str, Sequence[ProfileEntry]], category: str
) -> Extraction:
    questions = with_entry = messages = read = 0
    for example in benchmark.examples:
        if example.category != category or not example.evidence:
            continue
        seqs = {message.content: message.seq for message in benchmark.messages(example.user)}
        known = {source for entry in entries[example.user] for source in entry.sources}
        sources = [seqs[text] in known for text in example.evidence]
        questions, with_entry = questions + 1, with_entry + any(sources)
        messages, read = messages + len(sources), read + sum(sources)
    return Extraction(category, questions, with_entry, messages, read)
