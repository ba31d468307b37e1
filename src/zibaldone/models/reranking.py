"""Rerank the best candidates by a model that reads question and text together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from zibaldone.core import Evidence
from zibaldone.core.deadline import Deadline
from zibaldone.errors import ModelFailed
from zibaldone.models.asker import Asker
from zibaldone.models.base import Reranker
from zibaldone.text.rendering import header, shown

MOST = 30  # candidates that are put in order; the others stay behind them
_PATIENCE_S = 5.0  # after which no further call is begun
_CHAT_TIMEOUT_S = 10.0


def reranked(
    candidates: Sequence[Evidence], question: str, user: str, reranker: Reranker, deadline: Deadline
) -> tuple[list[Evidence], str]:
    """Return the candidates with the best MOST in the reranker's order, and "".

    Where it fails, or half of the time that is left is over: as they came, and why.
    """
    left_s = deadline.left_s() / 2
    stop_at = deadline.clock() + min(_PATIENCE_S, left_s)
    if isinstance(reranker, ChatReranker):
        reranker = replace(reranker, user=user, timeout_s=min(_CHAT_TIMEOUT_S, left_s))
    best = candidates[:MOST]
    texts = [_read(unit) for unit in best]
    scores: list[float] = []
    try:
        while len(scores) < len(texts):
            if deadline.clock() >= stop_at:
                raise ModelFailed(f"reranker {reranker.name!r} is too slow: ask one with a smaller model")
            scores += _checked(reranker, question, texts[len(scores) :][: reranker.batch])
    except ModelFailed as error:
        return list(candidates), f"in the order of search alone: {error}"
    order = sorted(range(len(best)), key=lambda row: -scores[row])
    return [*(best[row] for row in order), *candidates[MOST:]], ""


def _read(unit: Evidence) -> str:
    """Render a unit with its day."""
    return f"{header(unit.time.date(), None)}, {shown(unit)}" if unit.is_dated else shown(unit)


def _checked(reranker: Reranker, question: str, texts: Sequence[str]) -> list[float]:
    """Return a finite score per text. Raises ModelFailed, whatever the reranker raised."""
    try:
        scores = np.array(reranker.scores(question, texts), dtype=np.float64)
    except ModelFailed:
        raise
    except Exception as error:  # somebody else's code: whatever it raises means that there are no scores
        raise ModelFailed(f"reranker {reranker.name!r} failed: {error!r}") from error
    if scores.shape != (len(texts),) or not np.isfinite(scores).all():
        raise ModelFailed(
            f"reranker {reranker.name!r} gave scores of shape {scores.shape};"
            f" {len(texts)} finite numbers were expected"
        )
    return [float(score) for score in scores]


@dataclass(frozen=True, slots=True)
class ChatReranker:
    """The memory's chat model, which sees all candidates at once."""

    name: ClassVar[str] = "chat"
    batch: ClassVar[int] = MOST

    asker: Asker
    user: str = ""  # for whom it is asked
    timeout_s: float | None = None  # for one request; None: the model's own

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return scores that fall with the model's order, 0 for texts left out. Raises ModelFailed."""
        from zibaldone.models.ordering import OrderPassages, PassageShown

        passages = tuple(PassageShown(number, text) for number, text in enumerate(texts, 1))
        answer = self.asker.ask(OrderPassages(query, passages), user=self.user, timeout_s=self.timeout_s)
        if answer.degraded:
            raise ModelFailed(answer.degraded)
        places = {number: place for place, number in enumerate(answer.result.order)}
        return [float(len(texts) - places.get(passage.id, len(texts))) for passage in passages]
