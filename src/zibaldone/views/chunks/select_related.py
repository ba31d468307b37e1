"""LLMSELECT with its first cut: what maintenance and retrieval both call."""

from __future__ import annotations

from dataclasses import dataclass

from zibaldone.errors import QuestionOpen
from zibaldone.models.asker import Asker
from zibaldone.views.chunks.chunk import Chunk
from zibaldone.views.chunks.config import MemAttention
from zibaldone.views.chunks.relevance import MetadataIndex, Target
from zibaldone.views.chunks.tasks import ChunkShown, Selection, SelectRelated, shown_chunk


@dataclass(frozen=True, slots=True)
class Selected:
    """The related chunks, the most related first, and how they were found."""

    chunks: tuple[Chunk, ...]
    ranked: tuple[tuple[int, float], ...]  # every candidate's id and score by metadata, best first
    degraded: str
    model_calls: int


def select(
    asker: Asker | None,
    user: str,
    target: Target,
    about: str | ChunkShown,
    candidates: MetadataIndex,
    config: MemAttention,
    *,
    patient: bool = False,
    timeout_s: float | None = None,
    open_is_offline: bool = False,
) -> Selected:
    """At most `top_p` candidates.

    A model is shown the best `candidates` by words and cosine, so that its prompt does not grow with the
    history; the fallback, and the answer when there is no model to ask, is the best `top_p` of them. A
    recall cannot wait for somebody to answer a recording's open question: with `open_is_offline` it goes on
    without.
    """
    if not len(candidates):
        return Selected((), (), "", 0)
    scored = candidates.ranked(target)
    ranking = [chunk for chunk, _ in scored]
    ranked = tuple((chunk.id, value) for chunk, value in scored)
    first = ranking[: config.top_p]
    if asker is None or not asker.has_model or len(ranking) <= config.top_p:
        return Selected(tuple(first), ranked, "", 0)
    task = SelectRelated(
        about=about,
        at_most=config.top_p,
        candidates=tuple(shown_chunk(chunk) for chunk in ranking[: config.candidates]),
        offline=lambda: Selection(chunks=[chunk.id for chunk in first]),
    )
    try:
        answer = asker.ask(task, user=user, patient=patient, timeout_s=timeout_s)
    except QuestionOpen as error:
        if not open_is_offline:
            raise
        return Selected(tuple(first), ranked, str(error), 0)
    chunk_of = {chunk.id: chunk for chunk in ranking}
    return Selected(
        tuple(chunk_of[number] for number in answer.result.chunks), ranked, answer.degraded, answer.calls
    )
