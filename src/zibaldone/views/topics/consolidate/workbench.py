"""Shared tools of consolidation: clusters, settings, vectors, token counts, and the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

from zibaldone.models.asker import TaskAnswer
from zibaldone.models.base import Vectors
from zibaldone.models.dividing import Asks
from zibaldone.models.task import Task
from zibaldone.search.clustering import agglomerate, unit
from zibaldone.text.purgeable_cache import remembered
from zibaldone.text.words import terms
from zibaldone.views.topics.config import Consolidation
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.markdown.document import Document
from zibaldone.views.topics.markdown.entry import Entry

T = TypeVar("T")
_AT_ONCE = 2_000  # rows that are compared with each other


def cluster(vectors: Vectors, sizes: Sequence[int], threshold: float, most: float) -> list[list[int]]:
    """Rows (n, d) in groups, each in rising order, in the order of their first.

    The two groups whose centroids have the highest cosine are joined, as long as it is `threshold` or more
    and their sizes add up to `most` or less. More rows than _AT_ONCE are grouped in runs of so many.
    """
    clusters = []
    for start in range(0, len(vectors), _AT_ONCE):
        end = start + _AT_ONCE
        rows = vectors[start:end]
        groups = agglomerate(
            rows @ rows.T, linkage="centroid", least=threshold, sizes=sizes[start:end], most=most
        )
        clusters += [[start + row for row in group] for group in groups]
    return clusters


def bundles(things: Iterable[T], sizes: Iterable[int], limit: float) -> Iterator[list[T]]:
    """Consecutive runs whose sizes sum up to `limit` at most, unless a single one exceeds it."""
    some: list[T] = []
    total = 0
    for thing, size in zip(things, sizes, strict=True):
        if some and total + size > limit:
            yield some
            some, total = [], 0
        some.append(thing)
        total += size
    if some:
        yield some


R = TypeVar("R", bound=BaseModel)
_FEW = 20  # entries before which the mean of all is not trusted
_REMEMBERED = 50_000  # texts whose vectors are kept


class Workbench:
    """Settings, models, and vectors of the texts of one batch; not to be shared among threads.

    `embed` gives (n, d) unit rows and raises ModelFailed; `ask` answers a task, None is no model.
    """

    def __init__(
        self,
        embed: Callable[[Sequence[str]], Vectors],
        count: Callable[[Sequence[str]], Sequence[int]],
        ask: Asks | None = None,
        settings: Consolidation | None = None,
    ) -> None:
        self.count, self.settings = count, settings or Consolidation()
        self._embed, self._ask, self.has_model = embed, ask, ask is not None
        self._vectors: dict[str, Vectors] = {}

    def ask(self, task: Task[R]) -> TaskAnswer[R]:
        """Ask the model, which there has to be."""
        assert self._ask is not None
        return self._ask(task)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """(n, d) vectors of some texts, at least one."""
        if len(self._vectors) > _REMEMBERED:
            self._vectors.clear()
        if missing := [text for text in dict.fromkeys(texts) if text not in self._vectors]:
            self._vectors.update(zip(missing, self._embed(missing), strict=True))
        return np.stack([self._vectors[text] for text in texts])

    def total(self, entries: Sequence[Entry]) -> Vectors:
        """(d,) sum of the entries' vectors."""
        return np.asarray(
            self.vectors([entry.text for entry in entries] or [""]).sum(axis=0), dtype=np.float32
        )

    def tokens(self, lines: Sequence[str]) -> list[int]:
        return [tokens + 1 for tokens in self.count(lines)]


class Work:
    """One step: the workbench, unused ids, and statistics of what this user says."""

    def __init__(self, workbench: Workbench, library: Library) -> None:
        self.workbench, self.settings = workbench, workbench.settings
        self.ask, self.has_model = workbench.ask, workbench.has_model
        self.df: Counter[str] = Counter()  # in how many entries of this user each term occurs
        self.entries = 0
        self._mean: Vectors | None = None  # (d,) what all that this user says has in common
        self._ids = library.new_ids()

    def new_id(self) -> str:
        return next(self._ids)

    def tokens(self, entries: Sequence[Entry]) -> int:
        """Tokens of the entries' texts, without metadata."""
        return sum(self.workbench.tokens([entry.text for entry in entries]))

    def survey(self, documents: Iterable[Document], entries: Sequence[Entry]) -> None:
        """Take term statistics for titles and summaries, and the mean vector, from these."""
        total: Vectors = np.zeros(1, dtype=np.float32)
        for some in (*(document.entries for document in documents), entries):
            total = total + self.workbench.total(some) if some else total
            self.entries += len(some)
            for entry in some:
                self.df.update(terms_of(entry.text))
        self._mean = np.asarray(total / (self.entries + _FEW), dtype=np.float32)

    def centred(self, rows: Vectors, counts: npt.ArrayLike | None = None) -> Vectors:
        """(n, d) unit rows of sums of `counts` vectors, less what all of this user's texts have in common.

        Without that, big documents would be like anything: the mean of many texts is the mean of all.
        """
        if self._mean is None:
            return unit(rows)
        of = np.ones(len(rows), dtype=np.float32) if counts is None else np.asarray(counts, dtype=np.float32)
        return unit(rows - of[:, None] * self._mean)

    def centres(self, groups: Iterable[Sequence[Entry]]) -> Vectors:
        """(n, d) centroids of groups of entries, see `centred`."""
        listed = list(groups)
        return self.centred(
            np.stack([self.workbench.total(group) for group in listed]), [len(group) for group in listed]
        )


@remembered(50_000)
def terms_of(text: str) -> frozenset[str]:
    return frozenset(terms(text))
