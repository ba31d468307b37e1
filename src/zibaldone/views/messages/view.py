"""The messages view: its part of the contract, put together from the files beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial

import numpy as np
from sqlalchemy import ColumnElement, Connection, Select, and_, delete, func, select

from zibaldone import log
from zibaldone.core import ChannelScore, Evidence, Message
from zibaldone.errors import ModelFailed
from zibaldone.models.base import Embedder, Tokenizer, Vectors
from zibaldone.models.embedding import embed
from zibaldone.search.lexical import Floats
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.database import Database
from zibaldone.storage.schema import message_units as table
from zibaldone.storage.schema import messages
from zibaldone.views.base import Counted, Generation, PrepareContext, Query, Retrieved, TakeSnapshot
from zibaldone.views.messages.cache import IndexCache
from zibaldone.views.messages.explanation import Explanation
from zibaldone.views.messages.index import Unit, UserIndex
from zibaldone.views.messages.question import Question, forget_words, narrowed, take_apart
from zibaldone.views.messages.scoring import DEFAULT_WEIGHTS, Mask, Weights, score
from zibaldone.views.messages.units import PASSAGE_TOKENS, Cut, cut, to_rows

_ANALYSIS = 1  # raise it when other spans, tokens or days would be stored for the same message
_BATCH_MESSAGES = 512  # embedded at a time
_LEAST_TOKENS = 3  # of a rendered unit: a speaker, a colon and a word
_OFFERED = 2.0  # budgets' worth of units: recall may find better use for some of the room


@dataclass(frozen=True, slots=True)
class Prepared:
    """Units of several messages, ready to be stored."""

    cuts: list[Cut]
    vectors: list[Vectors]  # (units, d) per message


class MessagesView:
    """Raw turns. A unit is a message, or a passage of a long one."""

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
        self._cache = IndexCache(partial(UserIndex, embedder.dimension, word_embedder), tokenizer)

    @property
    def fingerprint(self) -> str:
        """The embedder and the version of the analysis."""
        return f"{_ANALYSIS}/{PASSAGE_TOKENS}/{self._embedder.name}/{self._embedder.dimension}"

    def prepare(
        self,
        messages: Sequence[Message],
        basis: PrepareContext | None = None,  # noqa: ARG002 - a message's units depend on nothing but the message
        progress: Callable[[int], None] | None = None,
    ) -> Prepared:
        """Cut, count, find dates, embed; `progress` gets the number of messages done so far."""
        prepared = Prepared([], [])
        for some in in_chunks(messages, _BATCH_MESSAGES):
            cuts = cut(some, self._tokenizer)
            texts = [text for message, one in zip(some, cuts, strict=True) for text in one.texts(message)]
            ends = np.cumsum([len(one.spans) for one in cuts])
            prepared.vectors.extend(np.split(self._embed(texts), ends[:-1]))
            prepared.cuts.extend(cuts)
            if progress:
                progress(len(prepared.cuts))
        return prepared

    def commit(
        self, connection: Connection, generation: Generation, messages: Sequence[Message], prepared: Prepared
    ) -> None:
        """One row per unit."""
        rows = to_rows(generation.user, generation.number, messages, prepared.cuts, prepared.vectors)
        if rows:
            connection.execute(table.insert(), rows)

    def retrieve(self, take_snapshot: TakeSnapshot, query: Query) -> Retrieved:
        """The best units, as many as fill twice the budget."""
        with take_snapshot() as now:
            return self._retrieve(now.connection, now.generation, query)

    def _retrieve(self, connection: Connection, generation: Generation | None, query: Query) -> Retrieved:
        user = query.scope.user
        if not log.state(connection, user).last_seq:
            return Retrieved((), 0, 0.0, Explanation.of_nothing())
        usable = generation if generation and generation.fingerprint == self.fingerprint else None
        slot = self._cache.slot(user)
        with slot.lock:
            index = self._cache.refresh(slot, connection, user, usable, self._embedder.dimension)
            if not len(index):
                return Retrieved((), 0, 0.0, Explanation.of_nothing())
            newest = date.fromordinal(int(index.days.max()))
            asked = take_apart(query.text, index.speakers, query.now.date(), index.knows_of, newest)
            question = narrowed(asked, index.lexical)
            vector, note = self._question_vector(question)
            if generation is not None and usable is None:
                note = "the vectors are another embedder's: lexical only until the view is rebuilt"
            inside = None
            if query.scope.session is not None:
                inside = np.array([unit.session == query.scope.session for unit in index.units], dtype=bool)
            scores = score(index, question, vector, self._weights, inside)
            rows = best(index, scores.total, query.budget_tokens, inside)
            explanation = Explanation(index.seqs, scores)
            evidence = tuple(
                evidence_of(index.units[row], float(scores.total[row]), channels)
                for row, channels in zip(rows, explanation.of_rows(rows), strict=True)
            )
            return Retrieved(evidence, len(index), scores.relevance, explanation, note)

    def refresh(self, database: Database, user: str, generation: Generation | None) -> None:
        """Take what was forgotten out of memory, if anything of the user is there."""
        forget_words()
        usable = generation if generation and generation.fingerprint == self.fingerprint else None
        if self._cache.holds(user):
            slot = self._cache.slot(user)
            with slot.lock, database.read() as connection:
                if slot.index is not None:
                    self._cache.refresh(slot, connection, user, usable, self._embedder.dimension)

    def housekeep(
        self,
        database: Database,  # noqa: ARG002
        generation: Generation,  # noqa: ARG002
        *,
        patient: bool = False,  # noqa: ARG002
    ) -> tuple[Counted, ...]:
        """Nothing to put in order: its units are rows."""
        return ()

    def forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """Remove the units of these messages; each has a vector in its row."""
        removed = 0
        for some in in_chunks(seqs, 500):
            removed += connection.execute(delete(table).where(_units(user, some))).rowcount
        return _counted(removed)

    def preview_forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """What forget would remove."""
        found = 0
        for some in in_chunks(seqs, 500):
            query = select(func.count()).select_from(table).where(_units(user, some))
            found += connection.execute(query).scalar_one()
        return _counted(found)

    def drop(self, connection: Connection, generation: Generation) -> None:
        """Remove one generation."""
        connection.execute(delete(table).where(_of(generation)))

    def stats(self, connection: Connection, user: str) -> tuple[Counted, ...]:
        """Units and vectors, of all generations."""
        query = select(func.count()).select_from(table).where(table.c.user == user)
        return _counted(connection.execute(query).scalar_one())

    def faults(self, connection: Connection, generation: Generation) -> list[str]:
        """Units without their message, visible messages without units, vectors of a wrong size."""
        u, m = table.c, messages.c
        same = and_(m.user == u.user, m.seq == u.seq)
        orphans = select(u.seq).outerjoin_from(table, messages, same).where(_of(generation), m.seq.is_(None))
        has_units = select(u.seq).where(_of(generation))
        missing = select(m.seq, m.content).where(
            m.user == generation.user, m.seq <= generation.cursor, m.seq.not_in(has_units)
        )
        beyond = select(u.seq).where(_of(generation), u.seq > generation.cursor)
        dimension = int(generation.fingerprint.rsplit("/", 1)[1])
        torn = select(u.seq).where(_of(generation), func.length(u.vector) != 2 * dimension)
        found = [f"a unit of message {seq}, which is not in the log" for seq in _seqs(connection, orphans)]
        found += [
            f"no unit of message {row.seq}" for row in connection.execute(missing) if row.content.strip()
        ]
        found += [f"a unit of message {seq}, behind the cursor" for seq in _seqs(connection, beyond)]
        found += [f"a vector of message {seq} of a wrong size" for seq in _seqs(connection, torn)]
        return found

    def _embed(self, texts: Sequence[str]) -> Vectors:
        return embed(self._embedder, texts)

    def _question_vector(self, question: Question) -> tuple[Vectors, str]:
        nothing = np.zeros(self._embedder.dimension, dtype=np.float32)
        if not question.terms:
            return nothing, ""
        try:
            return self._embed([question.subject])[0], ""
        except ModelFailed as error:
            return nothing, f"lexical only: {error}"


def evidence_of(unit: Unit, score: float = 0.0, channels: tuple[ChannelScore, ...] = ()) -> Evidence:
    """A unit as the view offers it."""
    return Evidence(
        text=unit.text,
        speaker=unit.speaker,
        sources=(unit.seq,),
        time=unit.time,
        session=unit.session,
        view=MessagesView.name,
        kind="message" if unit.parts == 1 else "passage",
        score=score,
        tokens=unit.tokens,
        place=unit.start,
        channels=channels,
    )


def best(index: UserIndex, total: Floats, budget_tokens: int, inside: Mask | None = None) -> list[int]:
    """Rows by falling score, ties in the order of the log, until they fill the offer."""
    # Rounded, so that a last bit, which depends on how the product was blocked, decides nothing.
    falling = -np.round(total, 4)
    rows = np.arange(len(falling)) if inside is None else np.flatnonzero(inside)
    enough = int(_OFFERED * budget_tokens) // _LEAST_TOKENS + 1
    if enough < len(rows):  # sort the best only, with all that tie with the last of them
        rows = rows[falling[rows] <= np.partition(falling[rows], enough)[enough]]
    rows = rows[np.argsort(falling[rows], kind="stable")]
    offered: list[int] = []
    room = _OFFERED * budget_tokens
    for row in rows.tolist():
        offered.append(row)
        room -= index.units[row].tokens
        if room < 0:
            break
    return offered


def _units(user: str, seqs: Sequence[int]) -> ColumnElement[bool]:
    return and_(table.c.user == user, table.c.seq.in_(seqs))


def _of(generation: Generation) -> ColumnElement[bool]:
    return and_(table.c.user == generation.user, table.c.generation == generation.number)


def _counted(units: int) -> tuple[Counted, ...]:
    return (Counted("units", units), Counted("vectors", units))


def _seqs(connection: Connection, query: Select[int]) -> list[int]:
    return list(connection.execute(query.distinct()).scalars())
