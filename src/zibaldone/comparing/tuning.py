"""The ranker's weights fitted on a user's own log, and kept only if parts that they have not seen say so.

What is fitted are changes of the shipped weights, the same for every kind of talk, in shares of these; where
the log says nothing, they are 0. The questions are cut into blocks by the sessions that answer them, in the
order of time; each block is judged, against the shipped weights, with weights fitted on the other blocks. The
weights that are kept are fitted on all.

The questions are the user's own. Weights fitted on questions that are made from the log recall more of others
made the same way, and no more of what people ask: parts that they have not seen prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from rich.table import Table

from zibaldone.comparing.compare import Progress, silent
from zibaldone.comparing.listwise import Prior, fit
from zibaldone.comparing.questions import read_questions
from zibaldone.comparing.table import Column, share, tabulate
from zibaldone.comparing.talks import LineCounter, Posed, Talk, contests_of, judge, read_talk, to_vector
from zibaldone.errors import InvalidInput
from zibaldone.memory import Memory
from zibaldone.models.static import shared_static_embedder
from zibaldone.search.lexical import Doubles, Floats
from zibaldone.search.ranker import DEFAULT_WEIGHTS, FEATURES, TalkWeights, Weights
from zibaldone.views.messages import Tuning

BUDGETS_TOKENS = (250, 500, 1000)
LEAST_QUESTIONS = 20
BLOCKS = 5
LEAST_GAIN = 0.01  # of the share of evidence: less is not worth other weights than everybody's
MOST_CHANCE = 0.05  # with which weights that are no better would gain as much
STRENGTH = 8.0  # of the prior, in questions: a change of a weight by all of it costs half as many nats
_EXACT_GROUPS = 14  # up to which all signs are tried
_DRAWS, _SEED = 20_000, 20231123


@dataclass(frozen=True, slots=True)
class QuestionTried:
    """One question, each share the mean over the budgets."""

    kind: str
    session: str  # of the message that answers it
    shipped: float  # share of its evidence recalled with the shipped weights
    tuned: float  # with weights that have not seen it


@dataclass(frozen=True, slots=True)
class TuningTrial:
    """What tuning on one user's log gave."""

    user: str
    budgets_tokens: tuple[int, ...]
    questions: tuple[QuestionTried, ...]
    chance: (
        float  # with which weights that are no better would gain as much: one-sided, sessions' signs flipped
    )
    weights: TalkWeights  # fitted on all
    seqs: tuple[int, ...]  # of the messages that the questions are about

    @property
    def shipped(self) -> float:
        """Share of the evidence, with the shipped weights."""
        return _mean([question.shipped for question in self.questions])

    @property
    def tuned(self) -> float:
        """Share of the evidence, each question with weights that have not seen it."""
        return _mean([question.tuned for question in self.questions])

    def as_tuning(self) -> Tuning:
        """What a memory keeps."""
        return Tuning(self.weights, self.seqs, len(self.questions), self.shipped, self.tuned, self.chance)

    @property
    def is_better(self) -> bool:
        """By a clear margin, and not by chance."""
        return self.tuned - self.shipped >= LEAST_GAIN and self.chance <= MOST_CHANCE


def try_tuning(
    memory: Memory,
    user: str,
    questions: Path,
    *,
    budgets_tokens: Sequence[int] = BUDGETS_TOKENS,
    progress: Progress = silent,
) -> TuningTrial:
    """Fit and judge on a file of the user's; keeps nothing.

    Raises InvalidInput, also for fewer than LEAST_QUESTIONS questions.
    """
    stored = memory.messages(user=user)
    if not stored:
        raise InvalidInput(f"user {user!r} has no messages: nothing to tune on")
    answered = [own for own in read_questions(questions, stored) if own.evidence]
    if len(answered) < LEAST_QUESTIONS:
        raise InvalidInput(
            f"{len(answered)} questions with evidence are too few to tune on: give {LEAST_QUESTIONS}"
        )
    progress("reading", 0, 0)
    talk = read_talk(stored, answered, memory._embedder)  # noqa: SLF001 - what it recalls with
    if talk is None:
        raise InvalidInput("no message holds what the questions want: check their evidence")
    judged = judged_apart(talk, budgets_tokens, LineCounter(shared_static_embedder()), progress)
    return TuningTrial(
        user,
        tuple(budgets_tokens),
        tuple(judged),
        chance_of(judged),
        fitted(talk, talk.posed),
        tuple(sorted({seq for posed in talk.posed for seq in posed.question.seqs})),
    )


def judged_apart(
    talk: Talk, budgets_tokens: Sequence[int], count: Callable[[str], int], progress: Progress = silent
) -> list[QuestionTried]:
    """Every question with weights that were fitted on other blocks, in the order of the log."""
    judged = []
    in_blocks = blocks(talk)
    for done, block in enumerate(in_blocks):
        progress("judging", done, len(in_blocks))
        weights = fitted(talk, [posed for other in in_blocks if other is not block for posed in other])
        for posed in block:
            shipped, tuned = (
                _mean([judge(talk, posed, chosen, budget, count) for budget in budgets_tokens])
                for chosen in (DEFAULT_WEIGHTS, weights)
            )
            judged.append(QuestionTried(posed.question.kind, _session(talk, posed), shipped, tuned))
    return judged


def blocks(talk: Talk) -> list[list[Posed]]:
    """Of about as many questions each, in the order of the log; none shares a session with another.

    Where there are fewer sessions than blocks, only the order counts.
    """
    posed = sorted(talk.posed, key=lambda question: question.relevant[0])
    by_session: dict[str, list[Posed]] = {}
    for question in posed:
        by_session.setdefault(_session(talk, question), []).append(question)
    whole = list(by_session.values()) if len(by_session) >= BLOCKS else [[question] for question in posed]
    cut: list[list[Posed]] = [[] for _ in range(BLOCKS)]
    begun = 0
    for questions in whole:
        cut[min(BLOCKS * begun // len(posed), BLOCKS - 1)] += questions
        begun += len(questions)
    return [block for block in cut if block]


def fitted(talk: Talk, posed: Sequence[Posed]) -> TalkWeights:
    """The shipped weights, changed as the questions say.

    The score with the shipped weights is a feature beside the others, with the prior that it alone counts.
    What it is worth in the end is only a scale: dividing by it leaves every ranking as it is.
    """
    shipped = [DEFAULT_WEIGHTS.among_people, DEFAULT_WEIGHTS.with_assistant]
    sizes = np.abs([to_vector(weights) for weights in shipped]).max(axis=0)
    of_units = DEFAULT_WEIGHTS.of_units(talk.index)

    def columns(question: Posed) -> Floats:
        total = np.sum(question.features * of_units, axis=1)
        return np.column_stack([question.features * sizes, total]).astype(np.float32)

    start = np.append(np.zeros(len(FEATURES)), 1.0)
    data = [contests_of(posed, talk.competing, talk.stand_for, columns)]
    learnt = fit(data, range(len(start)), start, Prior(start, STRENGTH / len(posed)))
    scale = max(float(learnt[-1]), 0.1)
    changes = learnt[:-1] * sizes / scale
    return TalkWeights(*(_changed(weights, changes) for weights in shipped))


def chance_of(judged: Sequence[QuestionTried]) -> float:
    """One-sided p of the gain: how often it is as large when each session's sign is drawn."""
    by_session: dict[str, float] = {}
    for question in judged:
        by_session[question.session] = (
            by_session.get(question.session, 0.0) + question.tuned - question.shipped
        )
    sums = np.array([gain for gain in by_session.values() if abs(gain) > 1e-9])
    if not len(sums):
        return 1.0
    if len(sums) <= _EXACT_GROUPS:
        signs = np.array(list(product((-1.0, 1.0), repeat=len(sums))))
        return float(np.mean(signs @ sums >= sums.sum() - 1e-9))
    signs = np.random.default_rng(_SEED).choice((-1.0, 1.0), (_DRAWS, len(sums)))
    return float((1 + np.sum(signs @ sums >= sums.sum() - 1e-9)) / (1 + _DRAWS))


def tables(trial: TuningTrial) -> list[Table]:
    """Shares by kind of question, and the weights."""
    kinds = [*dict.fromkeys(question.kind for question in trial.questions)]
    rows = [(kind, [q for q in trial.questions if q.kind == kind]) for kind in kinds]
    rows.append(("all", list(trial.questions)))
    shares = [
        Column("kind", lambda row: row[0], left=True),
        Column("questions", lambda row: len(row[1])),
        Column("shipped weights", lambda row: share(_mean([q.shipped for q in row[1]]))),
        Column("tuned", lambda row: share(_mean([q.tuned for q in row[1]]))),
    ]
    weights = [Column("weight", lambda name: name, left=True)]
    for kind in ("among_people", "with_assistant"):
        head = kind.replace("_", " ")
        weights += [
            Column(f"{head}: shipped", _weight(DEFAULT_WEIGHTS, kind), ".3f"),
            Column("tuned", _weight(trial.weights, kind), ".3f"),
        ]
    budgets = ", ".join(map(str, trial.budgets_tokens))
    return [
        tabulate(
            f"log of {trial.user}: share of the evidence recalled, mean of {budgets} tokens", shares, rows
        ),
        tabulate("weights", weights, list(FEATURES)),
    ]


def _weight(weights: TalkWeights, kind: str) -> Callable[[str], float]:
    return lambda name: float(getattr(getattr(weights, kind), name))


def _changed(weights: Weights, changes: Doubles) -> Weights:
    return Weights(*(to_vector(weights) + changes).tolist())


def _session(talk: Talk, posed: Posed) -> str:
    return talk.index.units[posed.relevant[0]].session


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
