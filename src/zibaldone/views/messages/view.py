"""The messages view: raw turns, lexical and dense. Its units are messages, and passages of long ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, select

from zibaldone import log
from zibaldone.core import Message
from zibaldone.errors import ModelFailed
from zibaldone.models.base import Embedder, Tokenizer, Vectors
from zibaldone.models.embedding import embed
from zibaldone.search.explanation import Explanation
from zibaldone.search.question import Question, forget_words
from zibaldone.search.ranker import DEFAULT_WEIGHTS, Weights, best_first, read_question, score
from zibaldone.search.unit_index import UnitIndex
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.database import Database
from zibaldone.storage.schema import messages as log_table
from zibaldone.storage.schema import units as units_table
from zibaldone.views import units
from zibaldone.views.base import Counted, Generation, PrepareContext, Query, Retrieved, Snapshot, TakeSnapshot
from zibaldone.views.toolkit import OFFERED, PASSAGE_TOKENS, CutMessage, cut, evidence_of, to_units
from zibaldone.views.unit_cache import UnitCache

_ANALYSIS = 2  # raise it when other spans, tokens or days would be stored for the same message
_BATCH_MESSAGES = 512  # embedded at a time


@dataclass(frozen=True, slots=True)
class PreparedMessages:
    """Units of several messages, ready to be stored."""

    cuts: list[CutMessage]
    vectors: list[Vectors]  # (units, d) per message


class MessagesView:
    """Raw turns. Always on: what other views have not read yet is found here."""

    name = "messages"
    batch_messages = 512

    def __init__(
        self,
        embedder: Embedder,
        word_embedder: Embedder,
        tokenizer: Tokenizer,
        weights: Weights = DEFAULT_WEIGHTS,
    ) -> None:
        """`word_embedder` embeds single words, for synonyms; `tokenizer` counts what budgets are in."""
        self._weights = weights
        self._embedder = embedder
        self._tokenizer = tokenizer
        self._cache = UnitCache(
            self.name,
            lambda: UnitIndex(embedder.dimension, word_embedder),
            lambda unread: to_units(unread, cut(unread, tokenizer)),
            appends=True,
        )

    @property
    def fingerprint(self) -> str:
        """The embedder and the version of the analysis."""
        return f"{_ANALYSIS}/{PASSAGE_TOKENS}/{self._embedder.name}/{self._embedder.dimension}"

    def prepare(
        self,
        messages: Sequence[Message],
        basis: PrepareContext | None = None,  # noqa: ARG002 - a message's units depend on nothing but the message
        progress: Callable[[int], None] | None = None,
    ) -> PreparedMessages:
        """Cut, count, find dates, embed; `progress` gets the number of messages done so far."""
        prepared = PreparedMessages([], [])
        for some in in_chunks(messages, _BATCH_MESSAGES):
            cuts = cut(some, self._tokenizer)
            texts = [
                text for message, pieces in zip(some, cuts, strict=True) for text in pieces.texts(message)
            ]
            ends = np.cumsum([len(pieces.spans) for pieces in cuts])
            prepared.vectors.extend(np.split(embed(self._embedder, texts), ends[:-1]))
            prepared.cuts.extend(cuts)
            if progress:
                progress(len(prepared.cuts))
        return prepared

    def commit(
        self,
        connection: Connection,
        generation: Generation,
        messages: Sequence[Message],
        prepared: PreparedMessages,
    ) -> None:
        """One row per unit; the text stays in the log."""
        rows = (
            units.Row(
                sources=(message.seq,),
                part=part,
                kind=pieces.kind,
                tokens=pieces.tokens[part],
                vector=vectors[part],
                days=pieces.days[part],
                start=start,
                end=end,
            )
            for message, pieces, vectors in zip(messages, prepared.cuts, prepared.vectors, strict=True)
            for part, (start, end) in enumerate(pieces.spans)
        )
        units.insert(connection, self.name, generation, rows)

    def retrieve(self, take_snapshot: TakeSnapshot, query: Query) -> Retrieved:
        """The best units, as many as fill twice the budget."""
        user = query.scope.user
        with take_snapshot() as now:
            if not log.state(now.connection, user).last_seq:
                return Retrieved((), 0, 0.0, Explanation.of_nothing())
            with self._cache.index(now, user, self._usable(now.generation)) as index:
                question = read_question(query.text, query.now.date(), index)
        vector, note = self._question_vector(question)
        with take_snapshot() as now:
            usable = self._usable(now.generation)
            if now.generation is not None and usable is None:
                note = "the vectors are another embedder's: lexical only until the view is rebuilt"
            with self._cache.index(now, user, usable) as index:
                return self._ranked(index, question, vector, query, note)

    def _ranked(
        self, index: UnitIndex, question: Question, vector: Vectors, query: Query, note: str
    ) -> Retrieved:
        if not len(index):
            return Retrieved((), 0, 0.0, Explanation.of_nothing())
        inside = None
        if query.scope.session is not None:
            inside = np.array([unit.session == query.scope.session for unit in index.units], dtype=bool)
        scores = score(index, question, vector, self._weights, inside)
        rows = best_first(scores.total, OFFERED * query.budget_tokens, index, inside)
        explanation = Explanation.of(index, scores)
        evidence = tuple(
            evidence_of(index.units[row], self.name, float(scores.total[row]), channels)
            for row, channels in zip(rows, explanation.of_rows(rows), strict=True)
        )
        return Retrieved(evidence, len(index), scores.relevance, explanation, note)

    def refresh(self, database: Database, user: str, generation: Generation | None) -> None:
        """Take what was forgotten out of memory, if anything of the user is there."""
        forget_words()
        with database.read() as connection:
            self._cache.drop_forgotten(Snapshot(connection, generation), user, self._usable(generation))

    def housekeep(
        self,
        database: Database,  # noqa: ARG002
        generation: Generation,  # noqa: ARG002
        *,
        patient: bool = False,  # noqa: ARG002
    ) -> tuple[Counted, ...]:
        """Nothing to put in order: its units are rows."""
        return ()

    def is_due(self, connection: Connection, user: str) -> bool:  # noqa: ARG002
        """Never."""
        return False

    def forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """Remove the units of these messages."""
        return units.forget(connection, self.name, user, seqs)

    def preview_forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """What forget would remove."""
        return units.preview_forget(connection, self.name, user, seqs)

    def drop(self, connection: Connection, generation: Generation) -> None:
        """Remove one generation."""
        units.drop(connection, self.name, generation)

    def stats(self, connection: Connection, user: str) -> tuple[Counted, ...]:
        """Units and vectors, of all generations."""
        return units.count(connection, self.name, user)

    def faults(self, connection: Connection, generation: Generation) -> list[str]:
        """What the table of units finds, and visible messages without units."""
        m = log_table.c
        has_units = select(units_table.c.seq).where(units.of(self.name, generation))
        missing = select(m.seq, m.content).where(
            m.user == generation.user, m.seq <= generation.cursor, m.seq.not_in(has_units)
        )
        dimension = int(generation.fingerprint.rsplit("/", 1)[1])
        return units.faults(connection, self.name, generation, dimension) + [
            f"no unit of message {row.seq}" for row in connection.execute(missing) if row.content.strip()
        ]

    def _usable(self, generation: Generation | None) -> Generation | None:
        """The generation, if its vectors are of this embedder."""
        return generation if generation and generation.fingerprint == self.fingerprint else None

    def _question_vector(self, question: Question) -> tuple[Vectors, str]:
        nothing = np.zeros(self._embedder.dimension, dtype=np.float32)
        if not question.terms:
            return nothing, ""
        try:
            return embed(self._embedder, [question.subject])[0], ""
        except ModelFailed as error:
            return nothing, f"lexical only: {error}"
