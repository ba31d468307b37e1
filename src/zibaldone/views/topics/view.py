"""The topics view: implements the view contract with the modules beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import groupby

import numpy as np
from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import Message
from zibaldone.core.validation import to_time
from zibaldone.errors import ModelFailed
from zibaldone.models.asker import Asker
from zibaldone.models.base import Embedder, Tokenizer, Vectors, WordEmbedder
from zibaldone.models.embedding import embed
from zibaldone.search.confidence import UNTOLD
from zibaldone.search.question import Mask, Question
from zibaldone.search.ranker import Explanation
from zibaldone.search.unit import Unit
from zibaldone.search.unit_index import UnitIndex
from zibaldone.storage.database import Database
from zibaldone.storage.schema import topic_states
from zibaldone.text.bounds import as_read
from zibaldone.views import units
from zibaldone.views.base import (
    Content,
    Counted,
    Generation,
    PrepareContext,
    RestingView,
    Retrieved,
    Snapshot,
    Stale,
    TakeSnapshot,
)
from zibaldone.views.own_rows import counted, generations
from zibaldone.views.toolkit import MOST_UNREAD, OFFERED, fill, recallable_seqs, tail, usable
from zibaldone.views.topics import entry_units, table
from zibaldone.views.topics.config import Consolidation
from zibaldone.views.topics.consolidate.consolidation import add, flush_due
from zibaldone.views.topics.consolidate.extraction import extracted
from zibaldone.views.topics.consolidate.workbench import Workbench
from zibaldone.views.topics.editing import apply, read
from zibaldone.views.topics.entry_units import NAME, entries_of
from zibaldone.views.topics.forgetting import forget
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.read.ranking import RankedEntries, ReadingResult, ScoredUnits, rank
from zibaldone.views.topics.read.reader_a import read_agentic
from zibaldone.views.topics.read.reader_h import read_hybrid
from zibaldone.views.topics.retrieval import Readable, evidence_of
from zibaldone.views.unit_cache import UnitCache
from zibaldone.views.user_cache import UserCache

_ANALYSIS = 11  # raise it when other documents would be made of the same log without a model
_KINDS = ("documents", "entries")
_MOST_USERS = 32  # whose libraries stay in memory
_EMPTY = Library()


@dataclass(frozen=True, slots=True)
class _PreparedLibrary:
    before: Library | None
    digest: str  # of `before`, as it was stored
    after: Library
    gone: list[units.Key]  # units of entries of `before`
    units: list[units.Row]  # of the entries that are new


class TopicsView(RestingView):
    """Infini Memory: Markdown documents, one per topic, kept up to date."""

    name = NAME
    batch_messages = 512  # so that few batches of a model's are cut short

    def __init__(
        self,
        embedder: Embedder,
        word_embedder: WordEmbedder,
        tokenizer: Tokenizer,
        asker: Asker,
        config: Consolidation | None = None,
        *,
        clock: Callable[[], datetime],
        index_bytes: int | None = None,
    ) -> None:
        """`word_embedder` embeds single words, for synonyms; `tokenizer` counts what budgets are in.

        `clock` says when CURRENT has been open for too long; `index_bytes` limits all users' indexes.
        """
        self.config = config or Consolidation()
        self._embedder, self._word_embedder, self._tokenizer = embedder, word_embedder, tokenizer
        self._asker, self._clock = asker, clock
        self._libraries: UserCache[tuple[str, Library]] = UserCache(_MOST_USERS)  # with their digests
        self._readables: UserCache[Readable] = UserCache(_MOST_USERS)
        self._cache = UnitCache(
            NAME,
            embedder.dimension,
            word_embedder,
            appends=False,
            most_bytes=index_bytes,
        )

    @property
    def fingerprint(self) -> str:
        return f"{_ANALYSIS}/{self.config.fingerprint}/{self._embedder.name}/{self._embedder.dimension}"

    def prepare(
        self,
        messages: Sequence[Message],
        basis: PrepareContext | None = None,
    ) -> _PreparedLibrary | None:
        """Extract entries, append them to CURRENT, and consolidate when it is full or its window is over."""
        if basis is None:
            return None
        with basis.read() as connection:
            before = self._library(connection, basis.generation) if basis.generation else None
            held = table.digest(connection, basis.generation) if basis.generation else ""
            previous = self._previous(connection, basis.user, messages)
        library = before or Library()
        workbench = self._workbench_of(basis.user, patient=basis.patient)
        for are_edits, run in groupby(messages, key=lambda message: read(message) is not None):
            part = list(run)
            if are_edits:
                library = apply(library, part, workbench)
            else:
                for message, entries in extracted(part, previous, workbench):
                    library = add(library, message, entries, workbench)
            previous |= {message.session: message for message in part}
        return self._prepared(before, held, library, workbench)

    def commit(
        self,
        connection: Connection,
        generation: Generation,
        seqs: Sequence[int],  # noqa: ARG002 - what was made of them is in `prepared`
        prepared: _PreparedLibrary,
    ) -> None:
        """Store documents, and units of their entries. Raises Stale."""
        if table.digest(connection, generation) != prepared.digest:
            raise Stale
        self._save(connection, generation, prepared)

    def retrieve(self, take_snapshot: TakeSnapshot, question: Question) -> Retrieved:
        """Entries of the documents that answer, current ones first; by Infini Memory-H, or -A.

        An embedder that fails leaves words alone to search by.
        """
        user, question = question.scope.user, question.embedded(self._embedder)
        embedding = _Embedding(self._embed, self._embedder.dimension, question.note)
        with take_snapshot() as now:
            if not now.state.last_seq:
                return Retrieved((), 0, 0.0, Explanation.of_nothing())
            inside = recallable_seqs(now.connection, question)
            with self._readable(now, user) as (readable, index):
                if not len(index):
                    return Retrieved((), 0, 0.0, Explanation.of_nothing())
                left_out = index.note
                mask = None if inside is None else _inside(index, inside)
                scored = ScoredUnits.of(index, question, mask)
        reading = self._read(rank(readable.index, scored, embedding), question)
        chosen = [one for one in reading.hits if inside is None or inside & set(one.sources)]
        with take_snapshot() as now:
            messages = log.fetch(now.connection, user, sorted({seq for one in chosen for seq in one.sources}))
        room = int(OFFERED * question.budget_tokens)
        notes = [embedding.note, reading.note, left_out]
        if now.generation is not None and not readable.generation:
            notes.append(
                "the topics were made with other settings: the newest messages only, until a rebuild"
            )
        confidence = scored.scores.confidence
        if any(one.why == "picked" for one in chosen):  # a model that read them says more than their words
            confidence = max(confidence, UNTOLD)
        return Retrieved(
            fill(evidence_of(chosen, messages), room, self._tokenizer.count),
            reading.considered,
            confidence,
            scored.explanation,
            "; ".join(note for note in notes if note),
            reading.model_calls,
        )

    def _read(self, ranked: RankedEntries, question: Question) -> ReadingResult:
        user = question.scope.user
        if self.config.reader == "agentic" and self._asker.has_model:
            today = question.now.date()
            return read_agentic(ranked, self._asker, self._tokenizer, user=user, today=today)
        return read_hybrid(ranked, self._asker, user=user)

    def forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """Remove entries, restore what they had superseded, renew summaries and headings."""
        return self._forgotten(connection, user, seqs, save=True)

    def preview_forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        return self._forgotten(connection, user, seqs, save=False)

    def refresh(self, database: Database, user: str, generation: Generation | None) -> None:  # noqa: ARG002
        with database.read(user) as connection:
            state = log.state(connection, user)
        for cache in (self._readables, self._libraries, self._cache):
            cache.drop(user, state)

    def housekeep(
        self, database: Database, generation: Generation, *, patient: bool = False
    ) -> tuple[Counted, ...]:
        """Flush a CURRENT that has been open for too long."""
        if generation.fingerprint != self.fingerprint:
            return ()
        with database.read(generation.user) as connection:
            before, held = self._library(connection, generation), table.digest(connection, generation)
        if before is None:
            return ()
        workbench = self._workbench_of(generation.user, patient=patient)
        flushed = flush_due(before, to_time(self._clock()), workbench)
        if flushed is before:
            return ()
        prepared = self._prepared(before, held, flushed, workbench)
        with database.write(generation.user) as connection:
            if table.digest(connection, generation) != held:
                return ()  # somebody else went on from there: the next time
            self._save(connection, generation, prepared)
            log.touch(connection, generation.user)
        return ()

    def due(self, connection: Connection, user: str | None = None) -> set[str]:
        """Users whose CURRENT `housekeep` would flush by the clock."""
        return table.opened_by(connection, to_time(self._clock()) - self.config.current_window, user)

    def drop(self, connection: Connection, generation: Generation) -> None:
        table.drop(connection, generation)
        units.drop(connection, NAME, generation)

    def stats(self, connection: Connection, user: str) -> tuple[Counted, ...]:
        loaded = (table.load(connection, one) for one in generations(connection, topic_states, user))
        return counted(_KINDS, (one.counts for one in loaded if one is not None))

    def faults(self, connection: Connection, generation: Generation) -> list[str]:
        library = table.load(connection, generation)
        if library is None:
            return []
        sources = sorted({seq for one in library.entries() for seq in one.sources})
        known = log.present(connection, generation.user, sources)
        disagreements = [
            f"an entry of message {seq}, which is not in the log" for seq in sources if seq not in known
        ]
        disagreements += [
            f"an entry of message {seq}, past the cursor" for seq in sources if seq > generation.cursor
        ]
        disagreements += [f"document {one.id} is empty" for one in library.documents.values() if not one.body]
        dimension = int(generation.fingerprint.rsplit("/", 1)[1])
        disagreements += units.faults(connection, NAME, generation, dimension)
        return disagreements + entry_units.missing(connection, generation, library)

    def contents(self, take_snapshot: TakeSnapshot) -> list[Content]:
        """Contents of all entries."""
        return units.contents(take_snapshot, NAME)

    def library(self, connection: Connection, generation: Generation) -> Library:
        return self._library(connection, generation) or Library()

    def _library(self, connection: Connection, generation: Generation) -> Library | None:
        """The library of a generation, from memory if its digest is the database's, else loaded."""
        digest = table.digest(connection, generation)
        held = self._libraries.get(generation.user, generation.number)
        if held is not None and held[0] == digest:
            return held[1]
        library = table.load(connection, generation)
        if library is not None:
            self._keep(connection, generation, digest, library)
        return library

    def _keep(self, connection: Connection, generation: Generation, digest: str, library: Library) -> None:
        as_of = log.state(connection, generation.user)
        self._libraries.put(generation.user, (digest, library), as_of, generation.number)

    @contextmanager
    def _readable(self, now: Snapshot, user: str) -> Iterator[tuple[Readable, UnitIndex]]:
        """Yield the readable state of a snapshot and its unit index, locked: ask no model inside."""
        state = now.state
        generation = usable(now.generation, self.fingerprint)
        number = generation.number if generation else 0
        readable = self._readables.get(user)
        if readable is None or (readable.as_of, readable.generation) != (state, number):
            readable = Readable.of(
                state,
                number,
                (self._library(now.connection, generation) if generation else None) or _EMPTY,
                tail(now.connection, user, generation.cursor if generation else 0, most=MOST_UNREAD).messages,
                partial(self._previous, now.connection, user),
                self._offline_workbench(),
                readable,
            )
            self._readables.put(user, readable, state)
        of_seq = readable.tail

        def read_tail(connection: Connection, user: str, after: int) -> tuple[list[Unit], str]:
            unread = tail(connection, user, after, most=MOST_UNREAD)
            made = [
                unit
                for message in unread.messages
                for unit in entry_units.to_units(of_seq[message.seq], message, self._tokenizer)
            ]
            return made, unread.note

        with self._cache.index(now, user, generation, read_tail) as index:
            yield readable, index

    def _save(self, connection: Connection, generation: Generation, batch: _PreparedLibrary) -> None:
        made = table.save(connection, generation, batch.before, batch.after)
        entry_units.replace(connection, generation, batch.gone, batch.units)
        self._keep(connection, generation, made, batch.after)

    def _prepared(
        self, before: Library | None, held: str, after: Library, workbench: Workbench
    ) -> _PreparedLibrary:
        """Compare two libraries, and make unit rows for the new entries."""
        known, left = entries_of(before), entries_of(after)
        new = {key: entry for key, entry in left.items() if key not in known}
        texts = [entry.text for entry in new.values()]
        rows = entry_units.rows_of(new, workbench.vectors(texts), self._tokenizer) if texts else []
        return _PreparedLibrary(before, held, after, [key for key in known if key not in left], rows)

    def _workbench_of(self, user: str, *, patient: bool) -> Workbench:
        ask = partial(self._asker.ask, user=user, patient=patient) if self._asker.has_model else None
        return Workbench(self._embed, self._tokenizer.count, ask, self.config)

    def _offline_workbench(self) -> Workbench:
        return Workbench(partial(embed, self._word_embedder), self._tokenizer.count, None, self.config)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        return embed(self._embedder, texts)

    def _forgotten(
        self, connection: Connection, user: str, seqs: Sequence[int], *, save: bool
    ) -> tuple[Counted, ...]:
        every = generations(connection, topic_states, user)
        return counted(_KINDS, (self._without(connection, one, seqs, save=save) for one in every))

    def _without(
        self, connection: Connection, generation: Generation, seqs: Sequence[int], *, save: bool
    ) -> tuple[int, int]:
        """Forget messages, and save the library if `save`: (documents, entries) fewer. Waits for no model."""
        before = table.load(connection, generation) or Library()
        after = forget(before, seqs, self._offline_workbench())
        if save and after is not before:
            if after.documents or after.current.body:
                table.save(connection, generation, before, after)
            else:
                table.drop(connection, generation)
            left = entries_of(after)
            gone = [key for key in entries_of(before) if key not in left]
            entry_units.replace(connection, generation, gone, ())
        (documents, entries), (documents_left, entries_left) = before.counts, after.counts
        return documents - documents_left, entries - entries_left

    @staticmethod
    def _previous(connection: Connection, user: str, messages: Sequence[Message]) -> dict[str, Message]:
        first: dict[str, int] = {}
        for message in messages:
            first.setdefault(message.session, message.seq)
        last = [log.last(connection, user, session, before=seq, most=1) for session, seq in first.items()]
        return {message.session: as_read(message) for some in last for message in some}


class _Embedding:
    """An embedder that is not asked again once it has failed: vectors are zero then, and `note` says why."""

    def __init__(self, embed: Callable[[Sequence[str]], Vectors], dimension: int, note: str) -> None:
        """`note` is why it has failed already, or ""."""
        self._embed, self._dimension, self.note = embed, dimension, note

    def __call__(self, texts: Sequence[str]) -> Vectors:
        if not self.note:
            try:
                return self._embed(texts)
            except ModelFailed as error:
                self.note = f"by words only: {error}"
        return np.zeros((len(texts), self._dimension), dtype=np.float32)


def _inside(index: UnitIndex, seqs: frozenset[int]) -> Mask:
    """(n,) which units have any of these messages among their sources."""
    return np.array([not seqs.isdisjoint(unit.sources) for unit in index.units], dtype=bool)
