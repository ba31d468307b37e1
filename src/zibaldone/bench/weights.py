"""The ranking weights of the messages view, fitted on some LoCoMo conversations and judged on another.

Every conversation in turn is left out, weights are fitted on the others (listwise.py), and the one left out
is ranked with them. From the ranking on, all is the engine's own: its candidates, choice, budget and floor.
So the figures are those of `bench locomo`, for weights that never saw the question or its conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import date
from functools import lru_cache

import numpy as np
from rich.table import Table

from zibaldone.bench.base import Equipment, Example
from zibaldone.bench.engine import to_context
from zibaldone.bench.listwise import Contests, contests, fit
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.bench.metrics import is_found
from zibaldone.bench.outcome import Measurement, Progress, Run, silent
from zibaldone.bench.registry import WeightsOptions
from zibaldone.bench.table import Column, share, tabulate
from zibaldone.choosing import choose
from zibaldone.core import Evidence, Message, Recall, Scope, Trace
from zibaldone.errors import InvalidInput
from zibaldone.models.base import Embedder, Tokenizer
from zibaldone.models.static import shared_static_embedder
from zibaldone.recall import DEFAULT_FLOOR
from zibaldone.search import dense
from zibaldone.search.lexical import Doubles, Floats
from zibaldone.search.question import take_apart
from zibaldone.search.ranker import DEFAULT_WEIGHTS, Weights, best_first, features
from zibaldone.search.thesaurus import Thesaurus
from zibaldone.search.unit_index import UnitIndex
from zibaldone.views.base import Query
from zibaldone.views.messages import MessagesView
from zibaldone.views.toolkit import OFFERED, evidence_of, to_units

BUDGETS_TOKENS = (500, 1000, 2000)
FEATURES = tuple(field.name for field in fields(Weights))


@dataclass(frozen=True, slots=True)
class QuestionShares:
    """One question under one variant."""

    id: str
    category: str
    shares: tuple[float, ...]  # of its evidence that was recalled, per budget


@dataclass(frozen=True, slots=True)
class VariantRow:
    """One variant; means over all questions, each judged with the weights of its conversation."""

    variant: str
    evidence_recall: tuple[float, ...]  # per budget
    by_category: dict[str, float | None]  # at the middle budget; None: no question
    change: float  # of the recall at the middle budget against the first variant
    change_error: float  # its standard error, over the questions' own changes
    folds: dict[str, Weights]  # conversation -> the weights that it was judged with
    recalled: tuple[QuestionShares, ...]


def make_row(
    variant: str,
    folds: dict[str, Weights],
    recalled: Sequence[QuestionShares],
    categories: Sequence[str],
    first: VariantRow | None,
) -> VariantRow:
    """`first` is the row that this one is held against; None for that row itself."""
    shares = np.array([question.shares for question in recalled])
    middle = shares.shape[1] // 2
    changes = shares - [question.shares for question in first.recalled] if first else np.zeros_like(shares)
    of = {
        name: [i for i, question in enumerate(recalled) if question.category == name] for name in categories
    }
    return VariantRow(
        variant=variant,
        evidence_recall=tuple(shares.mean(axis=0).tolist()),
        by_category={name: float(shares[rows, middle].mean()) if rows else None for name, rows in of.items()},
        change=float(changes[:, middle].mean()),
        change_error=float(changes[:, middle].std() / len(changes) ** 0.5),
        folds=folds,
        recalled=tuple(recalled),
    )


def tables(rows: Sequence[VariantRow], budgets_tokens: Sequence[int]) -> tuple[Table, Table]:
    """In Markdown, so that they can be pasted: the variants, and the weights of the first over its folds."""
    first, middle = rows[0], budgets_tokens[len(budgets_tokens) // 2]
    count = len(first.recalled)
    title = f"evidence recall by budget; categories and change at {middle} tokens ({count} questions)"
    variants = [
        Column("weights", lambda row: row.variant, left=True),
        *(_at_budget(at, tokens) for at, tokens in enumerate(budgets_tokens)),
        *map(_of_category, first.by_category),
        Column(
            "change ± error",
            lambda row: "" if row is first else f"{row.change:+.3f} ± {row.change_error:.3f}",
        ),
    ]

    def fitted(name: str) -> list[float]:
        return [getattr(weights, name) for weights in first.folds.values()]

    weights = [
        Column("feature", lambda name: name, left=True),
        Column("shipped", lambda name: getattr(DEFAULT_WEIGHTS, name), ".2f"),
        Column("fitted: lowest", lambda name: min(fitted(name)), ".3f"),
        Column("mean", lambda name: sum(fitted(name)) / len(first.folds), ".3f"),
        Column("highest", lambda name: max(fitted(name)), ".3f"),
    ]
    names = [field.name for field in fields(Weights)]
    return (
        tabulate(title, variants, rows, markdown=True),
        tabulate("weights", weights, names, markdown=True),
    )


def _at_budget(place: int, tokens: int) -> Column:
    return Column(str(tokens), lambda row: share(row.evidence_recall[place]))


def _of_category(name: str) -> Column:
    return Column(name, lambda row: share(row.by_category[name]))


@dataclass(frozen=True, slots=True)
class Variant:
    """One row of the table: which features it has, and what its weights are fitted on."""

    name: str
    without: tuple[str, ...] = ()
    fitted_on: str = "others"  # "others": all conversations but the judged one; "all"; "": not fitted
    synonyms: bool = True


_GROUPS = {
    "windows": ("lexical_2", "lexical_5", "dense_2"),
    "anything lexical": ("lexical", "lexical_2", "lexical_5"),
    "anything dense": ("dense", "dense_2"),
    "clues": ("speaker", "answers", "asks", "proper_nouns", "tells_when", "date", "same_day"),
    "dates": ("date", "same_day"),
}
FITTED = Variant("fitted on the others")
VARIANTS = (
    FITTED,
    Variant("shipped", fitted_on=""),
    Variant("fitted on all", fitted_on="all"),
    *(Variant(f"without {name}", (name,)) for name in FEATURES),
    *(Variant(f"without {name}", without) for name, without in _GROUPS.items()),
    Variant("without synonyms", synonyms=False),
    Variant("lexical and dense only", _GROUPS["windows"] + _GROUPS["clues"]),
)


@dataclass(frozen=True, slots=True)
class Posed:
    """One question, its conversation's units already looked at."""

    example: Example
    features: Floats  # (n, d), columns in the order of FEATURES
    relevance: float


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation: its units, its questions, and what is learnt from them."""

    user: str
    index: UnitIndex
    units: tuple[Evidence, ...]  # (n,), in the order of the index
    posed: tuple[Posed, ...]
    contests: Contests


def run(options: WeightsOptions, run: Run) -> Measurement:
    """The variants, and the fitted weights."""
    rows = evaluate(LoCoMoQuestions(options.path), run.tools(), progress=run.progress)
    figures = {"data": options.path.name, "budgets_tokens": BUDGETS_TOKENS, "rows": rows}
    return Measurement(figures, tables(rows, BUDGETS_TOKENS))


def evaluate(
    benchmark: LoCoMoQuestions,
    tools: Equipment,
    *,
    budgets_tokens: Sequence[int] = BUDGETS_TOKENS,
    variants: Sequence[Variant] = VARIANTS,
    progress: Progress = silent,
) -> list[VariantRow]:
    """A row per variant, in their order; changes are against the first one.

    Raises InvalidInput when fewer than two conversations have questions with evidence.
    """
    progress("reading", 0, 0)
    talks = {on: read_talks(benchmark, tools, synonyms=on) for on in {v.synonyms for v in variants}}
    conversations = len(next(iter(talks.values())))
    if conversations < 2:
        raise InvalidInput(
            f"only {conversations} conversation with answerable questions in the file: weights are fitted"
            " on some and judged on another, so give a file with at least 2, such as the whole locomo10.json"
        )
    count = LineCounter(tools.tokenizer)
    rows: list[VariantRow] = []
    for done, variant in enumerate(variants):
        progress(variant.name, done, len(variants))
        judged = talks[variant.synonyms]
        fitted = fold_weights(judged, variant)
        recalled = [
            QuestionShares(
                posed.example.id,
                posed.example.category,
                tuple(judge(talk, posed, weights, budget, count) for budget in budgets_tokens),
            )
            for talk, weights in zip(judged, fitted, strict=True)
            for posed in talk.posed
        ]
        folds = {talk.user: Weights(*weights.tolist()) for talk, weights in zip(judged, fitted, strict=True)}
        first = rows[0] if rows else None
        rows.append(make_row(variant.name, folds, recalled, benchmark.categories, first))
    return rows


def read_talks(benchmark: LoCoMoQuestions, tools: Equipment, *, synonyms: bool = True) -> list[Talk]:
    """The conversations that have answerable questions with evidence, indexed and asked."""
    by_user: dict[str, list[Example]] = {}
    for example in benchmark.examples:
        if example.answerable and example.evidence:
            by_user.setdefault(example.user, []).append(example)
    return [
        _read(benchmark.messages(user), examples, tools, synonyms=synonyms)
        for user, examples in by_user.items()
    ]


def fold_weights(talks: Sequence[Talk], variant: Variant) -> list[Doubles]:
    """(d,) per conversation: the weights with which the variant ranks it."""
    shipped = np.array([getattr(DEFAULT_WEIGHTS, name) for name in FEATURES])
    kept = [column for column, name in enumerate(FEATURES) if name not in variant.without]
    data = [talk.contests for talk in talks]
    if variant.fitted_on == "others":
        return [fit(data[:fold] + data[fold + 1 :], kept) for fold in range(len(data))]
    return [fit(data, kept) if variant.fitted_on else shipped] * len(data)


def judge(
    talk: Talk, posed: Posed, weights: Doubles, budget_tokens: int, count: Callable[[str], int]
) -> float:
    """The share of the question's evidence that the engine recalls when it ranks with these weights."""
    example = posed.example
    if posed.relevance < DEFAULT_FLOOR:
        return 0.0
    assert example.now is not None
    query = Query(example.question, Scope(example.user), budget_tokens, example.now)
    ranked = best_first(posed.features @ weights.astype(np.float32), OFFERED * budget_tokens, talk.index)
    chosen = choose([talk.units[row] for row in ranked], query, count)
    trace = Trace((), (), posed.relevance, DEFAULT_FLOOR, 0.0)
    context = to_context(Recall(query.text, "", chosen.tokens, tuple(chosen.evidence), (), trace))
    texts = [unit.text for unit in context.units]
    return sum(is_found(turn, texts) for turn in example.evidence) / len(example.evidence)


class LineCounter:
    """Counts the tokens of a text line by line and each line once: the same lines come again and again.

    Exact, because no token of the embedded tokenizer holds a line break.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._first = lru_cache(maxsize=1 << 16)(lambda line: self._count(f"{line}\n") - 1)
        self._other = lru_cache(maxsize=1 << 16)(
            lambda line: self._count(f"\n{line}") - self._count("\n") + 1
        )

    def __call__(self, text: str) -> int:
        first, *others = text.split("\n")
        return self._first(first) + sum(map(self._other, others)) if text else 0

    def _count(self, text: str) -> int:
        return self._tokenizer.count([text])[0]


def _read(
    messages: Sequence[Message], examples: Sequence[Example], tools: Equipment, *, synonyms: bool
) -> Talk:
    words = shared_static_embedder()
    prepared = MessagesView(tools.embedder, words, tools.tokenizer).prepare(messages)
    stored = [dense.to_bytes(vector) for vectors in prepared.vectors for vector in vectors]
    units = to_units(messages, prepared.cuts)
    index = UnitIndex(tools.embedder.dimension, words)
    index.extend(units, dense.from_bytes(stored, tools.embedder.dimension))
    if not synonyms:
        index.thesaurus = Thesaurus(words)  # an empty one
    posed = tuple(_ask(index, example, tools.embedder) for example in examples)
    relevant = [_relevant(index, messages, example) for example in examples]
    return Talk(
        user=examples[0].user,
        index=index,
        units=tuple(evidence_of(unit, MessagesView.name) for unit in units),  # only ranks matter from here on
        posed=posed,
        contests=contests([posed.features for posed in posed], relevant),
    )


def _ask(index: UnitIndex, example: Example, embedder: Embedder) -> Posed:
    assert example.now is not None
    newest = date.fromordinal(int(index.days.max()))
    question = take_apart(example.question, index.speakers, example.now.date(), index.knows_of, newest)
    vector = embedder.embed([question.subject])[0]  # zero for no words
    columns, relevance = features(index, question, vector)
    return Posed(example, np.stack([columns[name] for name in FEATURES], axis=1), relevance)


def _relevant(index: UnitIndex, messages: Sequence[Message], example: Example) -> list[int]:
    """The units of the evidence turns. An importer adds to a turn's text, so the shortest that starts so."""
    seqs: set[int] = set()
    for turn in example.evidence:
        starting = [message for message in messages if message.content.startswith(turn.strip())]
        seqs.update(message.seq for message in sorted(starting, key=lambda m: len(m.content))[:1])
    return [row for row, unit in enumerate(index.units) if unit.seq in seqs]
