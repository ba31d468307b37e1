"""The messages view: raw turns, lexical and dense. Its units are messages, and passages of long ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, select

from zibaldone import log
from zibaldone.core import NOISE, Message
from zibaldone.models.base import Embedder, Tokenizer, Vectors, WordEmbedder
from zibaldone.models.embedding import embed
from zibaldone.search.question import Question
from zibaldone.search.ranker import DEFAULT_WEIGHTS, TalkWeights
from zibaldone.search.unit import Unit
from zibaldone.search.unit_index import UnitIndex
from zibaldone.storage.database import Database
from zibaldone.storage.schema import messages as log_table
from zibaldone.storage.schema import units as units_table
from zibaldone.views import units
from zibaldone.views.base import (
    Counted,
    Generation,
    PrepareContext,
    Retrieved,
    Snapshot,
    TakeSnapshot,
)
from zibaldone.views.toolkit import (
    FOREIGN_VECTORS,
    PASSAGE_TOKENS,
    CutMessage,
    cut,
    ranked_units,
    tail,
    texts_of,
    to_rows,
    to_units,
    usable,
)
from zibaldone.views.unit_cache import UnitCache
from zibaldone.views.units_view import UnitsView

_ANALYSIS = 6  # raise it when other spans, tokens or days would be stored for the same message
_BATCH_MESSAGES = 512  # embedded at a time


@dataclass(frozen=True, slots=True)
class PreparedMessages:
    """Units of several messages, ready to be stored."""

    cuts: list[CutMessage]
    vectors: list[Vectors] | None  # (d,) per unit; None: they are made again when they are wanted


class MessagesView(UnitsView):
    """Raw turns. Always on: what other views have not read yet is found here."""

    name = "messages"
    reads_whole = True

    def __init__(
        self,
        embedder: Embedder,
        word_embedder: WordEmbedder,
        tokenizer: Tokenizer,
        weights: TalkWeights = DEFAULT_WEIGHTS,
        *,
        most_noise: int = 0,
        index_bytes: int | None = None,
    ) -> None:
        """`word_embedder` embeds single words, for synonyms; `tokenizer` counts what budgets are in.

        `index_bytes` limits the memory of all users' indexes together.
        With `most_noise` it looks through noise instead, the newest of so many messages, and keeps none.
        """
        self._most_noise = most_noise
        if most_noise:
            self.name = NOISE
        super().__init__(embedder, f"{_ANALYSIS}/{PASSAGE_TOKENS}")
        self._weights = weights
        self._tokenizer = tokenizer
        self._remade = units.Remade.by(embedder, lambda unit, _: unit.text)
        self._cache = UnitCache(
            self.name,
            embedder.dimension,
            word_embedder,
            self._read_tail,
            remade=self._remade,
            appends=True,
            most_bytes=index_bytes,
        )

    def prepare(
        self,
        messages: Sequence[Message],
        basis: PrepareContext | None = None,  # noqa: ARG002 - a message's units depend on nothing but the message
    ) -> PreparedMessages:
        """Cut, count, find dates, embed."""
        prepared = PreparedMessages([], None if self._remade else [])
        for start in range(0, len(messages), _BATCH_MESSAGES):
            some = messages[start : start + _BATCH_MESSAGES]
            spoken = iter(cut([message for message in some if not message.is_noise], self._tokenizer))
            cuts = [CutMessage([], [], []) if message.is_noise else next(spoken) for message in some]
            if prepared.vectors is not None:
                prepared.vectors.extend(embed(self._embedder, texts_of(some, cuts)))
            prepared.cuts.extend(cuts)
        return prepared

    def commit(
        self,
        connection: Connection,
        generation: Generation,
        seqs: Sequence[int],
        prepared: PreparedMessages,
    ) -> None:
        """One row per unit; the text stays in the log."""
        rows = to_rows(seqs, prepared.cuts, prepared.vectors)
        units.insert(connection, self.name, generation, rows)

    def _read_tail(self, connection: Connection, user: str, after: int) -> tuple[list[Unit], str]:
        of_noise = bool(self._most_noise)
        most = self._most_noise or None
        unread = tail(connection, user, after, most=most, of_noise=of_noise, whole=True)
        return to_units(unread.messages, cut(unread.messages, self._tokenizer)), unread.note

    @property
    def embedder(self) -> Embedder:
        """The embedder of its units' vectors."""
        return self._embedder

    @contextmanager
    def index(self, now: Snapshot, user: str) -> Iterator[UnitIndex]:
        """The user's index as of a snapshot, with its lock held: ask no model inside."""
        with self._cache.index(now, user, usable(now.generation, self.fingerprint)) as index:
            yield index

    def retrieve(self, take_snapshot: TakeSnapshot, question: Question) -> Retrieved:
        """The best units, as many as fill twice the budget."""
        question = question.embedded(self._embedder)
        with take_snapshot() as now:
            is_foreign = now.generation is not None and usable(now.generation, self.fingerprint) is None
            with self.index(now, question.scope.user) as index:
                note = FOREIGN_VECTORS if is_foreign else ""
                return ranked_units(index, question, self.name, note, self._weights)

    @property
    def tended_from(self) -> int:
        """The seq from which on an index is worth saving."""
        return self._cache.tended_from

    def warm(self, take_snapshot: TakeSnapshot, user: str) -> None:
        """Have the user's index in memory, up to date."""
        with take_snapshot() as now, self.index(now, user) as index:
            index.settle()

    def housekeep(
        self,
        database: Database,
        generation: Generation,
        *,
        patient: bool = False,  # noqa: ARG002 - no model is asked
    ) -> tuple[Counted, ...]:
        """Save what is new of the index."""
        database.saved.sweep(generation.user)
        self.save(database, generation, None)
        return ()

    def is_due(self, user: str, last_seq: int) -> bool:
        """True if so much was added since the index was saved that `save` may find it worth saving."""
        return self._cache.is_due(user, last_seq)

    def unsaved(self) -> list[str]:
        """Users to whom this process added what is still to be saved; each is named once."""
        return self._cache.unsaved()

    def save(self, database: Database, generation: Generation, added: int | None) -> None:
        """Save what is new of the index, so that other processes begin with it."""
        if usable(generation, self.fingerprint):
            self._cache.save(database, generation, added)

    def refresh(self, database: Database, user: str, generation: Generation | None) -> None:
        """Take what was forgotten out of memory, if anything of the user is there."""
        with database.read(user) as connection:
            self._cache.drop_forgotten(
                Snapshot(connection, generation, log.state(connection, user)),
                user,
                usable(generation, self.fingerprint),
            )

    def faults(self, connection: Connection, generation: Generation) -> list[str]:
        """List faults of the table of units, and visible messages without units."""
        m = log_table.c
        has_units = select(units_table.c.seq).where(units.of(self.name, generation))
        missing = select(m.user, m.seq, m.content, m.metadata).where(
            m.user == generation.user, m.seq <= generation.cursor, m.seq.not_in(has_units)
        )
        faults = super().faults(connection, generation)
        return faults + [
            f"no unit of message {row.seq}"
            for row in connection.execute(missing)
            if row.content.strip() and not log.is_noise(row)
        ]
