"""A complete view in its smallest form: the example to read, and the reference in the contract suites.

It keeps what the messages view keeps, and nothing in memory: every recall indexes all rows anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from sqlalchemy import Connection

from zibaldone.core import Message
from zibaldone.models.base import Embedder, Tokenizer, Vectors
from zibaldone.models.embedding import embed
from zibaldone.search.explanation import Explanation
from zibaldone.search.ranker import best_first, read_question, score
from zibaldone.search.unit import Unit
from zibaldone.search.unit_index import UnitIndex
from zibaldone.storage.database import Database
from zibaldone.views import units
from zibaldone.views.base import Counted, Generation, PrepareContext, Query, Retrieved, TakeSnapshot
from zibaldone.views.toolkit import OFFERED, CutMessage, cut, evidence_of, tail, to_units


class NaiveView:
    """Raw turns, without a cache."""

    name = "naive"
    batch_messages = 512

    def __init__(self, embedder: Embedder, word_embedder: Embedder, tokenizer: Tokenizer) -> None:
        """As the messages view."""
        self._embedder = embedder
        self._word_embedder = word_embedder
        self._tokenizer = tokenizer

    @property
    def fingerprint(self) -> str:
        """All that its rows depend on besides the log."""
        return f"1/{self._embedder.name}/{self._embedder.dimension}"

    def prepare(
        self,
        messages: Sequence[Message],
        basis: PrepareContext | None = None,  # noqa: ARG002 - a message's units depend on that message alone
        progress: Callable[[int], None] | None = None,
    ) -> tuple[list[CutMessage], Vectors]:
        """The slow part, outside any transaction: models are asked here; seqs are not known yet."""
        cuts = cut(messages, self._tokenizer)
        texts = [
            text for message, pieces in zip(messages, cuts, strict=True) for text in pieces.texts(message)
        ]
        if progress:
            progress(len(messages))
        return cuts, embed(self._embedder, texts)

    def commit(
        self,
        connection: Connection,
        generation: Generation,
        messages: Sequence[Message],
        prepared: tuple[list[CutMessage], Vectors],
    ) -> None:
        """The quick part, in the transaction that moves the cursor."""
        cuts, vectors = prepared
        rows = (
            units.Row(unit.sources, unit.part, unit.kind, unit.tokens, vector, unit.days, text=unit.text)
            for unit, vector in zip(to_units(messages, cuts), vectors, strict=True)
        )
        units.insert(connection, self.name, generation, rows)

    def retrieve(self, take_snapshot: TakeSnapshot, query: Query) -> Retrieved:
        """Read in a snapshot; ask the embedder and rank outside of it."""
        with take_snapshot() as now:
            generation, dimension, note = now.generation, self._embedder.dimension, ""
            if generation is not None and generation.fingerprint != self.fingerprint:
                generation, note = None, "the vectors are another embedder's: lexical only until a rebuild"
            stored: list[Unit] = []
            vectors = np.zeros((0, dimension), dtype=np.float32)
            if generation is not None:
                stored, vectors = units.load(now.connection, self.name, generation, dimension)
            cursor = generation.cursor if generation else 0
            unread = tail(now.connection, query.scope.user, cursor).messages
        index = UnitIndex(dimension, self._word_embedder)
        index.extend(stored, vectors)
        late = to_units(unread, cut(unread, self._tokenizer))  # recallable at once, by its words
        index.extend(late, np.zeros((len(late), dimension), dtype=np.float32))
        if not len(index):
            return Retrieved((), 0, 0.0, Explanation.of_nothing())
        question = read_question(query.text, query.now.date(), index)
        vector = np.zeros(dimension, dtype=np.float32)
        if question.terms:
            vector = embed(self._embedder, [question.subject])[0]
        inside = np.array([query.scope.session in (None, unit.session) for unit in index.units], dtype=bool)
        scores = score(index, question, vector, inside=inside)
        explanation = Explanation.of(index, scores)
        rows = best_first(scores.total, OFFERED * query.budget_tokens, index, inside)
        evidence = tuple(
            evidence_of(index.units[row], self.name, float(scores.total[row]), channels)
            for row, channels in zip(rows, explanation.of_rows(rows), strict=True)
        )
        return Retrieved(evidence, len(index), scores.relevance, explanation, note)

    def housekeep(
        self,
        database: Database,  # noqa: ARG002
        generation: Generation,  # noqa: ARG002
        *,
        patient: bool = False,  # noqa: ARG002
    ) -> tuple[Counted, ...]:
        """Nothing is kept but rows."""
        return ()

    def refresh(self, database: Database, user: str, generation: Generation | None) -> None:
        """Nothing is in memory."""

    def forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """By source."""
        return units.forget(connection, self.name, user, seqs)

    def preview_forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """What forget would remove."""
        return units.preview_forget(connection, self.name, user, seqs)

    def drop(self, connection: Connection, generation: Generation) -> None:
        """One generation whole."""
        units.drop(connection, self.name, generation)

    def stats(self, connection: Connection, user: str) -> tuple[Counted, ...]:
        """Rows, by kind."""
        return units.count(connection, self.name, user)

    def faults(self, connection: Connection, generation: Generation) -> list[str]:
        """Where rows disagree with the log."""
        dimension = int(generation.fingerprint.rsplit("/", 1)[1])
        return units.faults(connection, self.name, generation, dimension)
