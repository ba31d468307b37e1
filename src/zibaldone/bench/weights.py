"""The ranking weights of the messages view, fitted on some conversations and judged on others.

Conversations are of several data sets and of two kinds, among people and with an assistant, and each kind has
weights of its own (listwise.py fits them), unless a variant says otherwise. In a fit every data set counts as
much as another, whatever its number of questions. The first row's weights never saw the conversation that
they rank, and those of "fitted on the other data sets" not even one of its data set. Weights of people's long
turns are fitted apart, on what people say alone, and drawn towards those of short turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
from rich.table import Table

from zibaldone.bench.base import DataSet, Equipment
from zibaldone.bench.datasets import read_data_set
from zibaldone.bench.listwise import Contests, Prior, balanced, fit
from zibaldone.bench.outcome import Measurement, Progress, Run, silent
from zibaldone.bench.registry import WeightsOptions
from zibaldone.bench.table import Column, share, tabulate
from zibaldone.bench.talks import LineCounter, Talk, judge, read_talks, to_vector
from zibaldone.errors import InvalidInput
from zibaldone.search.ranker import DEFAULT_WEIGHTS, FEATURES, TalkWeights, Weights

BUDGETS_TOKENS = (500, 1000, 2000)
LONG_RIDGE = 1e-2  # with which weights of long turns are drawn towards those of short ones


@dataclass(frozen=True, slots=True)
class QuestionShares:
    """One question under one variant."""

    id: str
    data_set: str
    category: str
    shares: tuple[float, ...]  # of its evidence that was recalled, per budget


@dataclass(frozen=True, slots=True)
class DataSetFigures:
    """One variant on one data set; means over its questions, each judged with its conversation's weights."""

    data_set: str
    questions: int
    evidence_recall: tuple[float, ...]  # per budget
    by_category: dict[str, float]  # at the middle budget
    change: float  # of the recall at the middle budget against the first variant
    change_error: float  # its standard error, over the questions' own changes


@dataclass(frozen=True, slots=True)
class VariantRow:
    """One variant."""

    variant: str
    data_sets: tuple[DataSetFigures, ...]
    folds: dict[str, TalkWeights]  # conversation, behind its data set -> the weights that it was judged with
    recalled: tuple[QuestionShares, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """One row of the table: which features it has, and what its weights are fitted on."""

    name: str
    without: tuple[str, ...] = ()
    # What a conversation's weights are fitted on: "others": all conversations but itself; "its data set":
    # those of them that are of its data set; "other data sets"; "all"; "": not fitted.
    fitted_on: str = "others"
    one_set: bool = False  # for both kinds of talk
    synonyms: bool = True
    only_long: bool = False  # the shipped weights, but for those of people's long turns with an assistant


_GROUPS = {
    "windows": ("lexical_2", "lexical_5", "dense_2"),
    "anything lexical": ("lexical", "lexical_2", "lexical_5"),
    "anything dense": ("dense", "dense_2"),
    "clues": ("speaker", "answers", "asks", "proper_nouns", "tells", "date", "same_day", "by_assistant"),
    "dates": ("date", "same_day"),
}
FITTED = Variant("fitted on the others")
LONG_FITTED = Variant("shipped, long turns fitted on the others", only_long=True)
VARIANTS = (
    FITTED,
    Variant("shipped", fitted_on=""),
    Variant("shipped, long turns as short ones", fitted_on="", only_long=True),
    LONG_FITTED,
    Variant("shipped, long turns fitted on other data sets", fitted_on="other data sets", only_long=True),
    Variant("shipped, long turns fitted on all", fitted_on="all", only_long=True),
    Variant("fitted on the others of its data set", fitted_on="its data set"),
    Variant("one set, fitted on the other data sets", fitted_on="other data sets", one_set=True),
    Variant("one set, fitted on the others", one_set=True),
    Variant("fitted on all", fitted_on="all"),
    Variant("one set, fitted on all", fitted_on="all", one_set=True),
    *(Variant(f"without {name}", (name,)) for name in FEATURES),
    *(Variant(f"without {name}", without) for name, without in _GROUPS.items()),
    Variant("without synonyms", synonyms=False),
    Variant("lexical and dense only", _GROUPS["windows"] + _GROUPS["clues"]),
)


def run(options: WeightsOptions, run: Run) -> Measurement:
    """The variants, and the fitted weights."""
    variants = [
        variant
        for variant in VARIANTS
        if not options.rows or any(words in variant.name for words in options.rows)
    ]
    if not variants:
        raise InvalidInput(f"no row's name holds {options.rows!r}: {', '.join(v.name for v in VARIANTS)}")
    rows = evaluate(read_data_sets(options.paths), run.tools(), variants=variants, progress=run.progress)
    figures = {
        "data": [path.name for path in options.paths],
        "budgets_tokens": BUDGETS_TOKENS,
        "rows": rows,
    }
    return Measurement(figures, tables(rows, BUDGETS_TOKENS))


def read_data_sets(paths: Sequence[Path]) -> dict[str, DataSet]:
    """By name, and by file or folder too where two are of one benchmark.

    Raises InvalidInput for a path that is given twice.
    """
    if len({path.resolve() for path in paths}) < len(paths):
        raise InvalidInput("a data set is given twice: weights would be judged on what they were fitted on")
    read = [read_data_set(path) for path in paths]
    names = [data.name for data in read]
    return {
        data.name if names.count(data.name) == 1 else f"{data.name} {path.resolve().name}": data
        for path, data in zip(paths, read, strict=True)
    }


def evaluate(
    data_sets: dict[str, DataSet],
    tools: Equipment,
    *,
    budgets_tokens: Sequence[int] = BUDGETS_TOKENS,
    variants: Sequence[Variant] = VARIANTS,
    progress: Progress = silent,
) -> list[VariantRow]:
    """A row per variant, in their order; changes are against the first one.

    A variant that would be fitted on nothing, since there is one data set only, or one conversation of some
    data set, has no row. Raises InvalidInput when fewer than two conversations have questions of which
    something is wanted.
    """
    progress("reading", 0, 0)
    talks = {on: _read_all(data_sets, tools, synonyms=on) for on in {v.synonyms for v in variants}}
    if len(data_sets) == 1:
        variants = [variant for variant in variants if variant.fitted_on != "other data sets"]
    names = [talk.data_set for talk in talks[variants[0].synonyms]]
    if any(names.count(name) < 2 for name in names):
        variants = [variant for variant in variants if variant.fitted_on != "its data set"]
    count = LineCounter(tools.tokenizer)
    rows: list[VariantRow] = []
    for done, variant in enumerate(variants):
        progress(variant.name, done, len(variants))
        judged = talks[variant.synonyms]
        fitted = fold_weights(judged, variant)
        recalled = [
            QuestionShares(
                posed.example.id,
                talk.data_set,
                posed.example.category,
                tuple(judge(talk, posed, weights, budget, count) for budget in budgets_tokens),
            )
            for talk, weights in zip(judged, fitted, strict=True)
            for posed in talk.posed
        ]
        folds = {
            f"{talk.data_set}/{talk.user}": weights for talk, weights in zip(judged, fitted, strict=True)
        }
        rows.append(make_row(variant.name, folds, recalled, rows[0] if rows else None))
    return rows


def _read_all(data_sets: dict[str, DataSet], tools: Equipment, *, synonyms: bool) -> list[Talk]:
    talks = [
        talk for name, data in data_sets.items() for talk in read_talks(data, name, tools, synonyms=synonyms)
    ]
    if len(talks) < 2:
        raise InvalidInput(
            f"{len(talks)} of the conversations of {', '.join(map(repr, data_sets))} have questions with"
            " evidence: weights are fitted on some and judged on another, so give a data set with at least 2,"
            " such as the whole locomo10.json, or several"
        )
    return talks


def fold_weights(talks: Sequence[Talk], variant: Variant) -> list[TalkWeights]:
    """Per conversation, the weights with which the variant ranks it."""
    if variant.only_long:
        return [_with_long(talks, judged, variant.fitted_on) for judged in talks]
    if not variant.fitted_on:
        return [DEFAULT_WEIGHTS] * len(talks)
    kept = [column for column, name in enumerate(FEATURES) if name not in variant.without]
    start = to_vector(DEFAULT_WEIGHTS.among_people)
    fits: dict[tuple[int, ...], Weights] = {}  # by the places of the talks that they saw

    def fitted(places: tuple[int, ...]) -> Weights:
        if places not in fits:
            of_places = [(talks[at].data_set, talks[at].contests) for at in places]
            fits[places] = Weights(*fit(balanced(_by_data_set(of_places)), kept, start).tolist())
        return fits[places]

    folds = []
    for judged in talks:
        seen = tuple(at for at, talk in enumerate(talks) if _is_seen(talk, judged, variant.fitted_on))
        people = tuple(at for at in seen if not talks[at].with_assistant)
        assistants = tuple(at for at in seen if talks[at].with_assistant)
        if variant.one_set or not (people and assistants):  # what there is of one kind serves for both
            people = assistants = seen
        of_assistants = fitted(assistants)
        folds.append(TalkWeights(fitted(people), of_assistants, of_assistants))
    return folds


def _with_long(talks: Sequence[Talk], judged: Talk, fitted_on: str) -> TalkWeights:
    """The shipped weights with others for long turns: fitted, or the short ones' where nothing is seen."""
    short = DEFAULT_WEIGHTS.with_assistant
    seen = [
        (talk.data_set, talk.of_people)
        for talk in talks
        if fitted_on and talk.with_assistant and talk.of_people and _is_seen(talk, judged, fitted_on)
    ]
    if not seen:
        return replace(DEFAULT_WEIGHTS, long_turns=short)
    towards = to_vector(short)
    data = balanced(_by_data_set(seen))
    long = fit(data, range(len(FEATURES)), towards, Prior(towards, LONG_RIDGE))
    return replace(DEFAULT_WEIGHTS, long_turns=Weights(*long.tolist()))


def _by_data_set(contests: Sequence[tuple[str, Contests]]) -> list[list[Contests]]:
    names = dict.fromkeys(name for name, _ in contests)
    return [[contest for of, contest in contests if of == name] for name in names]


def _is_seen(talk: Talk, judged: Talk, fitted_on: str) -> bool:
    if fitted_on == "other data sets":
        return talk.data_set != judged.data_set
    if fitted_on == "its data set":
        return talk.data_set == judged.data_set and talk is not judged
    return fitted_on == "all" or talk is not judged


def make_row(
    variant: str,
    folds: dict[str, TalkWeights],
    recalled: Sequence[QuestionShares],
    first: VariantRow | None,
) -> VariantRow:
    """`first` is the row that this one is held against; None for that row itself."""
    against = first.recalled if first else recalled
    groups: dict[str, list[tuple[QuestionShares, QuestionShares]]] = {}
    for question, before in zip(recalled, against, strict=True):
        groups.setdefault(question.data_set, []).append((question, before))
    figures = tuple(_figures(name, group) for name, group in groups.items())
    return VariantRow(variant, figures, folds, tuple(recalled))


def _figures(name: str, group: Sequence[tuple[QuestionShares, QuestionShares]]) -> DataSetFigures:
    """Of the questions of one data set, each beside itself under the first variant."""
    shares = np.array([question.shares for question, _ in group])
    middle = shares[:, shares.shape[1] // 2]
    changes = middle - [before.shares[shares.shape[1] // 2] for _, before in group]
    categories = [question.category for question, _ in group]
    return DataSetFigures(
        data_set=name,
        questions=len(group),
        evidence_recall=tuple(shares.mean(axis=0).tolist()),
        by_category={
            category: float(middle[[other == category for other in categories]].mean())
            for category in dict.fromkeys(categories)
        },
        change=float(changes.mean()),
        change_error=float(changes.std() / len(changes) ** 0.5),
    )


def tables(rows: Sequence[VariantRow], budgets_tokens: Sequence[int]) -> tuple[Table, Table, Table]:
    """In Markdown, so that they can be pasted: recall, its changes, and the weights of the first row.

    Those of long turns are the row's that fits them alone, if there is one.
    """
    long = next((row for row in rows if row.variant == LONG_FITTED.name), rows[0])
    first, middle = rows[0], budgets_tokens[len(budgets_tokens) // 2]
    variant = Column("weights", lambda row: row.variant, left=True)
    recall = [
        _recall_column(at, place, f"{figures.data_set} {budgets_tokens[place]}")
        for at, figures in enumerate(first.data_sets)
        for place in range(len(budgets_tokens))[-2:]
    ]
    changes = [
        _change_column(at, f"{figures.data_set} ({figures.questions})")
        for at, figures in enumerate(first.data_sets)
    ]
    weights = [
        Column("feature", lambda name: name, left=True),
        *_weight_columns(
            "people", DEFAULT_WEIGHTS.among_people, [w.among_people for w in first.folds.values()]
        ),
        *_weight_columns(
            "assistant", DEFAULT_WEIGHTS.with_assistant, [w.with_assistant for w in first.folds.values()]
        ),
        *_weight_columns(
            "long turns", DEFAULT_WEIGHTS.long_turns, [w.long_turns for w in long.folds.values()]
        ),
    ]
    names = [field.name for field in fields(Weights)]
    return (
        tabulate("evidence recall by data set and budget", [variant, *recall], rows, markdown=True),
        tabulate(
            f"change ± standard error against '{first.variant}' at {middle} tokens (questions)",
            [variant, *changes],
            rows[1:],
            markdown=True,
        ),
        tabulate(f"weights, '{first.variant}'", weights, names, markdown=True),
    )


def _recall_column(at: int, place: int, head: str) -> Column:
    return Column(head, lambda row: share(row.data_sets[at].evidence_recall[place]))


def _change_column(at: int, head: str) -> Column:
    return Column(head, lambda row: f"{row.data_sets[at].change:+.3f} ± {row.data_sets[at].change_error:.3f}")


def _weight_columns(kind: str, shipped: Weights, fitted: Iterable[Weights]) -> list[Column]:
    of = list(fitted)

    def figure(summary: Callable[[list[float]], float]) -> Callable[[str], float]:
        return lambda name: summary([getattr(weights, name) for weights in of])

    return [
        Column(f"{kind}: shipped", lambda name: getattr(shipped, name), ".3f"),
        Column("lowest", figure(min), ".3f"),
        Column("mean", figure(lambda values: sum(values) / len(values)), ".3f"),
        Column("highest", figure(max), ".3f"),
    ]
