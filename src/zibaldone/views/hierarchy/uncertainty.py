"""The reader's uncertainty given a context (section 3.3, Stage II): a model's, or a signal without one.

Both put a number on what is still open about a question, and what a unit gains is by how much it falls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from zibaldone.errors import ModelFailed
from zibaldone.models.base import ChatRequest, Turn
from zibaldone.models.logprobs import Drafter
from zibaldone.text.words import terms

_TASK = "draft_answer"
_DRAFT_TOKENS = 20


@dataclass(frozen=True, slots=True)
class ShownEpisode:
    """An episode as a reader sees it: its narrative, or its messages."""

    text: str
    weight: float = 1.0  # 0 to 1: how likely it is to answer, beside the likeliest


@dataclass(frozen=True, slots=True)
class Context:
    """The reader's context; the parts that stay the same for a question stand first."""

    question: str
    opening: tuple[str, ...]  # themes, semantics
    units: tuple[ShownEpisode, ...] = ()  # admitted ones in the order of admission, the candidate behind them

    def with_unit(self, unit: ShownEpisode) -> Context:
        return replace(self, units=(*self.units, unit))

    def turns(self) -> tuple[Turn, ...]:
        """Turns of a request; contexts with the same first parts share a prefix."""
        parts = *self.opening, *(unit.text for unit in self.units), f"Question: {self.question}"
        return (Turn("system", _instructions()), Turn("user", "\n\n".join(parts)))


@dataclass(frozen=True, slots=True)
class GainThresholds:
    """Least falls in uncertainty for admission and expansion, in the signal's unit."""

    admit: float
    expand: float  # to the original messages, once admitted
    of_best: float = 0.0  # and this share of the largest fall so far


@dataclass(frozen=True, slots=True)
class Gain:
    """Fall in uncertainty from one context to a larger one."""

    value: float  # before - after; below 0 when doubt grew
    thresholds: GainThresholds  # of the signal whose unit it is in
    degraded: str = ""  # why this is not the model's signal; "" when it is, or none is configured


class WordSignal:
    """The offline signal: the weight of the wanted terms that no admitted unit has spoken of yet.

    Noisy-or: a unit settles a term that it holds with the probability weight / 2, whatever the others do. So
    a second witness gains less than the first (that is the redundancy), and an unlikely one less than a
    likely one. What the semantics say settles nothing: it says what to look for. From 0 to 1.
    """

    DEFAULTS = GainThresholds(admit=0.02, expand=0.1, of_best=0.5)

    def __init__(self, wanted: Mapping[str, float]) -> None:
        """`wanted`: terms with weights that sum to 1, see `wanted_terms`."""
        self._wanted = dict(wanted)
        self._terms: dict[str, frozenset[str]] = {}

    probes = 0  # model calls

    def gain(self, before: Context, after: Context) -> Gain:
        """Never below 0 but for rounding: `after` holds all of `before`, and more."""
        fall = self.uncertainty(before.units) - self.uncertainty(after.units)
        return Gain(fall, self.DEFAULTS)

    def uncertainty(self, units: Iterable[ShownEpisode]) -> float:
        """Sum over wanted terms of weight times the probability that no unit settles them."""
        left = dict(self._wanted)
        for unit in units:
            for term in self._terms_of(unit.text) & left.keys():
                left[term] *= 1 - unit.weight / 2
        return float(sum(left.values()))

    def _terms_of(self, text: str) -> frozenset[str]:
        if text not in self._terms:
            self._terms[text] = frozenset(terms(text))
        return self._terms[text]


class ReaderSignal:
    """The reader's uncertainty: mean negative log-likelihood of its greedy draft, in nats per token.

    A probe that fails (no model, refusal, no log-probabilities, a ceiling, an open question of a recording)
    hands the rest of the question to the offline signal: two signals' numbers are never subtracted. So does
    the end of the time that all probes of a question have together: a recall waits no longer than that.
    """

    DEFAULTS = GainThresholds(admit=0.05, expand=0.25)

    def __init__(self, drafter: Drafter, offline: WordSignal, user: str, *, timeout_s: float = 10.0) -> None:
        """`timeout_s` is for all probes of the question, from the first on."""
        self._drafter, self._offline, self._user = drafter, offline, user
        self._timeout_s = timeout_s
        self._give_up: float | None = None  # once there was a probe
        self._seen: dict[Context, float] = {}
        self._failed = ""

    @property
    def probes(self) -> int:
        """Number of contexts in which the model has drafted an answer."""
        return len(self._seen)

    def gain(self, before: Context, after: Context) -> Gain:
        """One probe if `before` was probed already, else two. Never raises ModelFailed."""
        if not self._failed:
            try:
                first, second = self._probe(before), self._probe(after)
            except ModelFailed as error:
                self._failed = f"{_TASK}: {error}"
            else:
                return Gain(first - second, self.DEFAULTS)
        return replace(self._offline.gain(before, after), degraded=self._failed)

    def _probe(self, context: Context) -> float:
        if context not in self._seen:
            request = ChatRequest(
                f"hierarchy.{_TASK}",
                context.turns(),
                max_tokens=_DRAFT_TOKENS,
                logprobs=1,
                timeout_s=self._left_s(),
                max_attempts=1,
            )
            self._seen[context] = self._drafter.doubt(request, self._user)
        return self._seen[context]

    def _left_s(self) -> float:
        """Seconds left for the question's probes. Raises ModelFailed when there are none."""
        if self._give_up is None:
            self._give_up = time.monotonic() + self._timeout_s
        left = self._give_up - time.monotonic()
        if left <= 0:
            raise ModelFailed(f"{self._drafter.name!r} took all of the question's {self._timeout_s:g} s")
        return left


Signal = WordSignal | ReaderSignal  # of one question, asked for gains in the order of admission


def wanted_terms(
    question: Iterable[str], semantics: Sequence[tuple[Iterable[str], float]], idf: Callable[[str], float]
) -> dict[str, float]:
    """Terms to be settled with weights: the question's and those of the selected semantics, half each.

    Terms are as `text.words.terms` gives them, without the speakers' names; semantics come with their
    relevance from 0 to 1; `idf` is over the user's semantics. The weights sum to 1, or are none at all.
    """
    of_question = {term: idf(term) for term in question}
    of_semantics: dict[str, float] = {}
    for some, relevance in semantics:
        for term in some:
            of_semantics[term] = max(of_semantics.get(term, 0.0), relevance * idf(term))
    weights: dict[str, float] = {}
    parts = [part for part in (of_question, of_semantics) if sum(part.values()) > 0]
    for part in parts:
        whole = sum(part.values()) * len(parts)
        for term, weight in part.items():
            weights[term] = weights.get(term, 0.0) + weight / whole
    return weights


@cache
def _instructions() -> str:
    return (Path(__file__).parent / "prompts" / f"{_TASK}.md").read_text(encoding="utf-8").strip()
