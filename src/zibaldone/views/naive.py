"""A complete view in its smallest form: the example to read, and the reference in the contract suites.

It keeps what the messages view keeps, and nothing in memory: every recall indexes all rows anew. What it does
not say, its base does (`units_view.py`, `base.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from sqlalchemy import Connection

from zibaldone.core import Message
from zibaldone.models.base import Embedder, Tokenizer, Vectors, WordEmbedder
from zibaldone.models.embedding import embed
from zibaldone.search.question import Question
from zibaldone.search.unit_index import UnitIndex
from zibaldone.views import units
from zibaldone.views.base import Generation, PrepareContext, Retrieved, TakeSnapshot
from zibaldone.views.toolkit import (
    FOREIGN_VECTORS,
    CutMessage,
    cut,
    ranked_units,
    tail,
    texts_of,
    to_rows,
    to_units,
    usable,
)
from zibaldone.views.units_view import UnitsView

Prepared = tuple[list[CutMessage], Vectors | None]


class NaiveView(UnitsView):
    """Raw turns, without a cache."""

    name = "naive"
    reads_whole = True

    def __init__(self, embedder: Embedder, word_embedder: WordEmbedder, tokenizer: Tokenizer) -> None:
        """Take what the messages view takes."""
        super().__init__(embedder, "2")
        self._word_embedder, self._tokenizer = word_embedder, tokenizer
        self._remade = units.Remade.by(embedder, lambda unit, _: unit.text)

    def prepare(
        self,
        messages: Sequence[Message],
        basis: PrepareContext | None = None,  # noqa: ARG002 - a message's units depend on that message alone
        progress: Callable[[int], None] | None = None,
    ) -> Prepared:
        """The slow part, outside any transaction: models are asked here; seqs are not known yet."""
        cuts = cut(messages, self._tokenizer)
        if progress:
            progress(len(messages))
        if self._remade is not None:  # they are made when rows are read
            return cuts, None
        return cuts, embed(self._embedder, texts_of(messages, cuts))

    def commit(
        self, connection: Connection, generation: Generation, messages: Sequence[Message], prepared: Prepared
    ) -> None:
        """The quick part, in the transaction that moves the cursor."""
        units.insert(connection, self.name, generation, to_rows(messages, *prepared))

    def retrieve(self, take_snapshot: TakeSnapshot, question: Question) -> Retrieved:
        """Read in a snapshot, rank outside of it: the question comes read, and most often embedded."""
        question = question.embedded(self._embedder)
        index = UnitIndex(self._embedder.dimension, self._word_embedder)
        with take_snapshot() as now:
            generation = usable(now.generation, self.fingerprint)
            if generation is not None:
                index.extend(
                    *units.load(
                        now.connection,
                        self.name,
                        generation,
                        self._embedder.dimension,
                        remade=self._remade,
                    )
                )
            cursor = generation.cursor if generation else 0
            unread = tail(now.connection, question.scope.user, cursor, whole=True).messages
        late = to_units(unread, cut(unread, self._tokenizer))  # recallable at once, by its words
        index.extend(late, np.zeros((len(late), self._embedder.dimension), dtype=np.float32))
        is_foreign = now.generation is not None and generation is None
        return ranked_units(index, question, self.name, FOREIGN_VECTORS if is_foreign else "")
