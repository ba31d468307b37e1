"""LLMSELECT (Algorithm 1, lines 7 and 17): relevant chunks by metadata, for writing and recall alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from zibaldone.errors import QuestionOpen
from zibaldone.models.asker import Asker
from zibaldone.models.base import Vectors
from zibaldone.search.dense import products
from zibaldone.search.lexical import Doubles
from zibaldone.search.ranker import standardised
from zibaldone.text.keywords import inverse_frequency
from zibaldone.views.chunks.chunk import Chunk, terms_of
from zibaldone.views.chunks.config import MemAttention
from zibaldone.views.chunks.tasks import ChunkShown, Selection, SelectRelated, shown_chunk

_DENSE = 1.0  # weight of the cosine beside the words, both in standard deviations
_DATE = 1.0  # a chunk of the days that a query names


@dataclass(frozen=True, slots=True)
class Target:
    """Metadata of a new chunk, or a query, to which related chunks are looked for."""

    keywords: tuple[str, ...]
    vectors: Vectors  # (s, d); one row for a query
    days: tuple[tuple[int, int], ...] = ()  # ordinals, inclusive


class MetadataIndex:
    """Live chunks, M of lines 6 and 16, by the words of their metadata and by vectors."""

    def __init__(self, chunks: Iterable[Chunk] = ()) -> None:
        self._live: dict[int, Chunk] = {}
        self.df: Counter[str] = Counter()  # in how many live chunks a term is
        for chunk in chunks:
            self.put(chunk)

    def __len__(self) -> int:
        """Live chunks."""
        return len(self._live)

    def put(self, chunk: Chunk) -> None:
        """Add a chunk or a new version; an empty chunk is removed."""
        before = self._live.pop(chunk.id, None)
        self.df.subtract(before.metadata.terms if before else ())
        if chunk.items:
            self._live[chunk.id] = chunk
            self.df.update(chunk.metadata.terms)

    def ranked(self, target: Target) -> list[tuple[Chunk, float]]:
        """All live chunks with their relevance by metadata, best first; of equals the newer."""
        chunks = [self._live[number] for number in sorted(self._live, reverse=True)]
        scored = self._scores(target, chunks).tolist()
        order = sorted(range(len(chunks)), key=lambda row: -round(scored[row], 4))
        return [(chunks[row], scored[row]) for row in order]

    def _scores(self, target: Target, chunks: Sequence[Chunk]) -> Doubles:
        """(n,) relevance by words, cosine and time span."""
        lexical = np.zeros(len(chunks))
        for term in sorted(terms_of(target.keywords)):
            has_it = np.array([term in chunk.metadata.terms for chunk in chunks])
            lexical += has_it * inverse_frequency(self.df[term], len(chunks))
        total = standardised(lexical) + _DENSE * standardised(_cosines(target.vectors, chunks))
        for first, last in target.days:
            inside = [
                first <= c.metadata.last.toordinal() and c.metadata.first.toordinal() <= last for c in chunks
            ]
            total += _DATE * np.array(inside)
        return total


def _cosines(target: Vectors, chunks: Sequence[Chunk]) -> Doubles:
    """(n,) mean over the target's rows of each chunk's best cosine; 0 without vectors."""
    means = np.zeros(len(chunks))
    embedded = [row for row, chunk in enumerate(chunks) if len(chunk.metadata.vectors)]
    if embedded and len(target):
        vectors = [chunks[row].metadata.vectors for row in embedded]
        starts = np.cumsum([0, *map(len, vectors[:-1])])
        rows = np.concatenate(vectors)
        best = [np.maximum.reduceat(products(rows, vector), starts) for vector in target]
        means[embedded] = np.mean(best, axis=0)
    return means


@dataclass(frozen=True, slots=True)
class Selected:
    """Related chunks, the most related first, and how they were found."""

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
    """Select at most `top_p` candidates.

    A model is shown the best `candidates` by words and cosine, so that its prompt does not grow with the
    history; the fallback, and the answer when there is no model to ask, is the best `top_p` of them. A recall
    cannot wait for somebody to answer a recording's open question: with `open_is_offline` it goes on without.
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
