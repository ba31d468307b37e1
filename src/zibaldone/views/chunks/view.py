"""The chunks view: implements the view contract with the modules beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import Message
from zibaldone.core.threads import side_by_side
from zibaldone.errors import ModelFailed, StorageCorrupt
from zibaldone.log import UserState
from zibaldone.models.asker import OFFLINE, Asker
from zibaldone.models.base import Embedder, Tokenizer, WordEmbedder
from zibaldone.search.question import Question
from zibaldone.search.ranker import Explanation
from zibaldone.storage.database import Database
from zibaldone.storage.objects import ObjectStore
from zibaldone.storage.schema import chunk_sources
from zibaldone.text.bounds import as_read
from zibaldone.views.base import (
    Content,
    Counted,
    Generation,
    PrepareContext,
    RestingView,
    Retrieved,
    Snapshot,
    TakeSnapshot,
)
from zibaldone.views.chunks import forgetting, table
from zibaldone.views.chunks.chunk import Chunk, Item, Past, StoredChunk, from_record, sources_of, stored
from zibaldone.views.chunks.compaction import Compactor, CompressedGate, Namespace
from zibaldone.views.chunks.config import MemAttention, Placement
from zibaldone.views.chunks.forgetting import embed_anew, record_of
from zibaldone.views.chunks.gate import Gate, closed_gates, pieces, verbatim
from zibaldone.views.chunks.retrieval import NAME, RECALL_TIMEOUT_S, evidence, explanation, rank, target_of
from zibaldone.views.chunks.select_related import MetadataIndex, select
from zibaldone.views.chunks.storage.placement import Affinity, Matrix, arrange
from zibaldone.views.chunks.storage.records import (
    RecordStore,
    read_again,
    reclaim_orphans,
    release,
    users_with_released,
)
from zibaldone.views.chunks.table import ChunkTable, table_of
from zibaldone.views.chunks.tasks import Colocate, shown_chunk
from zibaldone.views.own_rows import counted, generations
from zibaldone.views.toolkit import MOST_UNREAD, OFFERED, recallable_seqs
from zibaldone.views.user_cache import UserCache

_ANALYSIS = 6  # raise it when other chunks would be made of the same log without a model
_BATCH_WITH_MODEL = 128  # some four gates, and their model calls
_BATCH = 512
_KINDS = ("chunks", "items", "history")
_MOST_USERS = 200  # whose tables stay in memory
_MOST_TOGETHER = 1000  # sets of chunks of a user that wait for the next housekeeping
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ReadableMemory:
    """Chunk metadata of one snapshot, and messages in no chunk yet."""

    generation: Generation | None  # None: none that can be used
    state: UserState
    chunks: tuple[Chunk, ...]  # live ones that may be selected
    covered: Mapping[int, Sequence[int]]  # by seq, the chunks that have read the message
    inside: frozenset[int] | None  # seqs that may be recalled; None: all
    tail: tuple[Item, ...]  # of id 0
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChosenItems:
    """Items of the selected chunks, and the tail."""

    items: tuple[Item, ...]
    unreadable: str  # why some chunk is left out
    preferred: tuple[Item, ...] = ()  # where chunks are read whole: items of the most related chunk first


class ChunksView(RestingView):
    """MemAttention: bounded chunks, found by metadata, read whole, cut to the items that answer."""

    name = NAME

    def __init__(
        self,
        embedder: Embedder,
        static: WordEmbedder,
        tokenizer: Tokenizer,
        asker: Asker,
        blocks: ObjectStore,
        config: MemAttention | None = None,
        placement: Placement | None = None,
        *,
        workers: int = 4,
    ) -> None:
        """`embedder` embeds metadata; `static` embeds the items of chosen chunks, at every recall.

        `blocks` keeps the blocks. `workers` is how many model calls of one user may be under way.
        """
        self.config = config or MemAttention()
        self.placement = placement or (Placement.paper() if self.config.relocation else Placement())
        self._embedder, self._static, self._tokenizer = embedder, static, tokenizer
        self._asker, self._workers = asker, workers
        self.batch_messages = _BATCH_WITH_MODEL if asker.has_model else _BATCH
        self.store = RecordStore(blocks)
        self._tables: UserCache[ChunkTable] = UserCache(_MOST_USERS)
        self._together: UserCache[tuple[int, tuple[Sequence[int], ...]]] = UserCache(_MOST_USERS)

    @property
    def fingerprint(self) -> str:
        """Version, settings and embedder.

        A chunk itself says which chat model made it: another one makes the chunks to come, and the old ones
        when the view is rebuilt.
        """
        return f"{_ANALYSIS}/{self.config.fingerprint}/{self._embedder.name}/{self._embedder.dimension}"

    def prepare(
        self,
        messages: Sequence[Message],
        basis: PrepareContext | None = None,
    ) -> tuple[Namespace, ...] | None:
        """Compact the gates that these messages close; other messages stay in the active chunk.

        Raises StorageCorrupt when an earlier chunk cannot be read.
        """
        if basis is None:
            return None
        compactor = Compactor(
            self._asker, self._embedder, self._tokenizer, self.config, basis.user, patient=basis.patient
        )
        gates = self._gates(messages, basis)
        compressed = self._map(lambda closed: compactor.compress(closed[1]), gates)
        numbers, spaces = self._spaces(basis, [namespace for namespace, _ in gates])
        work: dict[str, list[tuple[int, CompressedGate]]] = {}
        for number, (namespace, _), gate in zip(numbers, gates, compressed, strict=True):
            work.setdefault(namespace, []).append((number, gate))

        def compact_all(name: str) -> None:
            for number, gate in work[name]:
                compactor.compact(gate, number, spaces[name])

        self._map(compact_all, list(work))
        return tuple(spaces[name] for name in work)

    def commit(
        self,
        connection: Connection,
        generation: Generation,
        seqs: Sequence[int],  # noqa: ARG002 - what was made of them is in `prepared`
        prepared: tuple[Namespace, ...],
    ) -> None:
        """Store new chunks, new versions of old ones, and replaced items."""
        past: list[Past] = []
        for space in prepared:
            changed = [space.chunks[number] for number in sorted(space.changed)]
            table.write(connection, generation, changed)
            self.store.stage(
                connection, generation, [record_of(c, space.items[c.id]) for c in changed if c.items]
            )
            self.store.remove(connection, generation, [c.id for c in changed if not c.items])
            pairs = [(seq, number) for number, seqs in space.covered.items() for seq in seqs]
            pairs += [(seq, c.id) for c in changed for seq in sources_of(space.items[c.id])]
            table.add_sources(connection, generation, pairs)
            past += space.past
            for read in space.together:
                self._note_together(generation, read, log.state(connection, generation.user))
        table.add_history(connection, generation, past)

    def retrieve(self, take_snapshot: TakeSnapshot, question: Question) -> Retrieved:
        """Items of the related chunks and of what is in none yet, best first: Algorithm 1, lines 14 to 20."""
        return self._retrieve(take_snapshot, question, once_more=True)

    def _retrieve(self, take_snapshot: TakeSnapshot, question: Question, *, once_more: bool) -> Retrieved:
        with take_snapshot() as now:
            memory = self._readable(now, question)
        if memory is None:
            return Retrieved((), 0, 0.0, Explanation.of_nothing())
        notes = list(memory.notes)
        embedded = question.embedded(self._embedder)
        asker = self._asker if self.config.recall_relevance == "model" else None
        target, known = target_of(embedded, self._embedder.dimension), MetadataIndex(memory.chunks)
        given = asker, question.scope.user, target, question.text, known, self.config
        selected = select(*given, timeout_s=RECALL_TIMEOUT_S, open_is_offline=True)  # LLMSELECT, line 17
        notes += [embedded.note] if embedded.note else []
        notes += [f"chunks selected offline: {selected.degraded}"] if selected.degraded else []
        ids = [chunk.id for chunk in selected.chunks]
        chosen = self._read_chosen(take_snapshot, question.scope.user, memory, ids)
        if chosen is None and once_more:  # the view was made anew meanwhile: these are other chunks now
            return self._retrieve(take_snapshot, question, once_more=False)
        if chosen is None:
            notes.append("the chunks were made anew meanwhile: only what is in none yet")
            chosen = ChosenItems(memory.tail, "")
        if chosen.unreadable:
            notes.append(f"left out: {chosen.unreadable}")
        if memory.generation is not None:
            self._note_together(memory.generation, ids, memory.state)
        ranked = rank(question, chosen.items, self._static, chosen.preferred)
        room = min(int(OFFERED * question.budget_tokens), self.config.memory_budget_tokens)
        return Retrieved(
            evidence(ranked, room, self._tokenizer),
            len(ranked.items),
            ranked.relevance,
            explanation(ranked, selected, memory.covered),
            "; ".join(notes),
            selected.model_calls,
        )

    def _readable(self, now: Snapshot, question: Question) -> ReadableMemory | None:
        """Readable chunks and tail of a snapshot; None if the user never said anything."""
        connection, user = now.connection, question.scope.user
        state = log.state(connection, user)
        if not state.last_seq:
            return None
        usable = now.generation
        notes = []
        if usable is not None and usable.fingerprint != self.fingerprint:
            usable = None
            notes.append(
                "the chunks were made with other settings: the newest messages only, until a rebuild"
            )
        held = table_of(self._tables, connection, usable, self._embedder.dimension) if usable else None
        chunks, covered = (held.chunks, held.covered) if held else ((), {})
        inside = recallable_seqs(connection, question)
        if inside is not None:
            here = {number for seq in inside for number in covered.get(seq, ())}
            chunks = tuple(chunk for chunk in chunks if chunk.id in here)
        seqs = table.uncovered(connection, usable, user, inside, MOST_UNREAD + 1)
        if len(seqs) > MOST_UNREAD:
            notes.append(
                f"only the newest {MOST_UNREAD} messages that are in no chunk yet were looked through"
            )
        unread = log.fetch(connection, user, seqs[-MOST_UNREAD:])
        cut = pieces([as_read(unread[seq]) for seq in sorted(unread)], self._tokenizer)
        tail = tuple(verbatim(0, piece, piece.text, 0) for parts in cut for piece in parts)
        return ReadableMemory(usable, state, chunks, covered, inside, tail, tuple(notes))

    def _read_chosen(
        self, take_snapshot: TakeSnapshot, user: str, memory: ReadableMemory, ids: Sequence[int]
    ) -> ChosenItems | None:
        """FETCHBYID, line 18, with the tail as it is by now; None when another generation serves by now."""

        def read(*, readable: bool = False) -> ChosenItems | None:
            with take_snapshot() as now:
                tail = memory.tail
                if now.state.deletions != memory.state.deletions:
                    here = log.present(now.connection, user, sources_of(tail))
                    tail = tuple(item for item in tail if here.issuperset(item.sources))
                if memory.generation is None or not ids:
                    return ChosenItems(tail, "")
                if now.generation is None or now.generation.number != memory.generation.number:
                    return None
                fault = ""
                if readable:
                    fetched, fault = self.store.fetch_readable(now.connection, now.generation, ids)
                else:
                    fetched = self.store.fetch(now.connection, now.generation, ids)
            whole = self.config.recall_unit == "chunk"
            order = [number for number in (ids if whole else sorted(ids)) if number in fetched]
            items = [item for number in order for item in from_record(fetched[number])]
            if memory.inside is not None:
                items = [item for item in items if not memory.inside.isdisjoint(item.sources)]
            return ChosenItems((*items, *tail), fault, tuple(items) if whole else ())

        try:
            return read_again(read)
        except StorageCorrupt:  # the other chunks can be read
            return read(readable=True)

    def forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """Remove items, metadata, history and blocks, in every generation."""
        every = generations(connection, chunk_sources, user)
        given = seqs, self._tokenizer, self.config.keywords
        return counted(_KINDS, (forgetting.forget(connection, self.store, g, *given).counts for g in every))

    def preview_forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """Counts of what `forget` would remove."""
        every = generations(connection, chunk_sources, user)
        return counted(_KINDS, (forgetting.loss(connection, self.store, one, seqs).counts for one in every))

    def refresh(self, database: Database, user: str, generation: Generation | None) -> None:
        """Delete released blocks and orphans, and embed remaining chunks anew.

        Only an embedder of this process is asked: whoever forgets waits for no model. Until `housekeep` has
        their vectors, chunks are found by their words.
        """
        with database.read(user) as connection:
            state = log.state(connection, user)
        self._tables.drop(user, state)
        self._together.drop(user, state)
        release(database, self.store, user)
        reclaim_orphans(database, self.store, 0, user)
        at_once = generation is not None and self._embedder is self._static
        if generation is not None and at_once and generation.fingerprint == self.fingerprint:
            with suppress(ModelFailed, StorageCorrupt):
                embed_anew(database, self.store, generation, self._embedder)

    def housekeep(
        self, database: Database, generation: Generation, *, patient: bool = False
    ) -> tuple[Counted, ...]:
        """Run Algorithm 2, and finish what a crash or failure has left undone.

        A model is asked only with `relocation`. Raises ModelFailed, and StorageCorrupt, which says what to
        do, when a block cannot be read.
        """
        number, together = self._together.take(generation.user) or (0, ())
        if generation.fingerprint != self.fingerprint:
            return ()
        embed_anew(database, self.store, generation, self._embedder)
        together = together if number == generation.number else ()
        affinity = self._affinity(database, generation, patient=patient)
        moved = read_again(  # again, when another process tends to the same blocks
            lambda: arrange(database, self.store, self.placement, generation, affinity, together)
        )
        release(database, self.store, generation.user)
        # In a folder of its own, whoever opens the memory does it.
        if moved.blocks_written and (database.shared or database.bucket is not None):
            reclaim_orphans(database, self.store, user=generation.user)
        kinds = ("records", "blocks written", "blocks released")
        done = moved.records, moved.blocks_written, moved.blocks_released
        return tuple(Counted(kind, rows) for kind, rows in zip(kinds, done, strict=True) if rows)

    def due(self, connection: Connection, user: str | None = None) -> set[str]:
        """Users with released blocks, which a crash may have left, or whose chunks were read together."""
        waiting = self._together.users()
        return users_with_released(connection, user) | (waiting if user is None else waiting & {user})

    def drop(self, connection: Connection, generation: Generation) -> None:
        """Delete a generation; its blocks are released."""
        table.drop(connection, generation)
        self.store.drop(connection, generation)

    def stats(self, connection: Connection, user: str) -> tuple[Counted, ...]:
        """Chunks, items and history of all generations."""

        def counts(generation: Generation) -> tuple[int, int, int]:
            chunks = table.load(connection, generation, 0).values()
            items = sum(chunk.items for chunk in chunks)
            return len(chunks), items, len(table.history(connection, generation))

        return counted(_KINDS, map(counts, generations(connection, chunk_sources, user)))

    def faults(self, connection: Connection, generation: Generation) -> list[str]:
        """Disagreements of chunks, records and blocks with each other and with the log."""
        wrong = self.store.faults(connection, generation)
        wrong += table.faults(connection, generation)
        if wrong:
            return wrong
        chunks = table.load(connection, generation, 0)
        covered = set(table.sources(connection, generation))
        live = [chunk.id for chunk in chunks.values() if chunk.items]
        data = self.store.fetch(connection, generation, live)
        for number in live:
            if number not in data:
                wrong.append(f"chunk {number} has no record")
                continue
            items = from_record(data[number])
            if len(items) != chunks[number].items:
                wrong.append(f"chunk {number} has {len(items)} items, its row says {chunks[number].items}")
            unlinked = sorted(seq for seq in sources_of(items) if (seq, number) not in covered)
            wrong += [
                f"chunk {number} has an item of message {seq} that it does not name" for seq in unlinked
            ]
        return wrong

    def chunks(self, take_snapshot: TakeSnapshot) -> list[StoredChunk]:
        """Chunks of the serving generation with their items, in the order of creation."""

        def read() -> tuple[dict[int, Chunk], dict[int, bytes]]:
            with take_snapshot() as now:
                if now.generation is None:
                    return {}, {}
                chunks = table.load(now.connection, now.generation, 0)
                full = [chunk.id for chunk in chunks.values() if chunk.items]
                return chunks, self.store.fetch(now.connection, now.generation, full)

        chunks, data = read_again(read)
        return [stored(chunk, from_record(data.get(chunk.id, b"[]"))) for chunk in chunks.values()]

    def contents(self, take_snapshot: TakeSnapshot) -> list[Content]:
        """Contents of all items."""
        return [
            Content(tuple(sorted(item.sources)), "item", item.text)
            for chunk in self.chunks(take_snapshot)
            for item in chunk.items
        ]

    def history(self, take_snapshot: TakeSnapshot) -> list[Past]:
        """Items that chunks of the serving generation have lost, in the order in which they went."""
        with take_snapshot() as now:
            entries = table.history(now.connection, now.generation) if now.generation else []
        return [past for _, past in entries]

    def _note_together(self, generation: Generation, chunks: Sequence[int], as_of: UserState) -> None:
        """Remember which chunks `S` a joint inference read, for Algorithm 2; it is no loss to lose them."""
        if self.config.relocation and len(chunks) > 1:
            number, sets = self._together.get(generation.user) or (generation.number, ())
            sets = (*(sets if number == generation.number else ()), tuple(chunks))[-_MOST_TOGETHER:]
            self._together.put(generation.user, (generation.number, sets), as_of)

    def _affinity(self, database: Database, generation: Generation, *, patient: bool) -> Affinity:
        """LLMCOLOCATE and LLMGROUP: 1 for chunks that a model groups; else, the cosines of their metadata."""

        def affinity(numbers: Sequence[int]) -> Matrix:
            with database.read(generation.user) as connection:
                chunks = table.load(connection, generation, self._embedder.dimension, only=numbers)
            nothing = np.zeros(self._embedder.dimension, dtype=np.float32)
            means = np.stack([chunks[n].metadata.mean_vector if n in chunks else nothing for n in numbers])
            alike = np.asarray(np.clip(means @ means.T, 0, 1))
            if not self.config.relocation or not self._asker.has_model or len(chunks) < 2:
                return alike
            task = Colocate(chunks=tuple(map(shown_chunk, chunks.values())))
            answer = self._asker.ask(task, user=generation.user, patient=patient)
            if answer.made_by != OFFLINE:
                alike = np.zeros_like(alike)
                for group in answer.result.groups:
                    rows = [row for row, number in enumerate(numbers) if number in group]
                    alike[np.ix_(rows, rows)] = 1
            return alike

        return affinity

    def _gates(self, messages: Sequence[Message], basis: PrepareContext) -> list[tuple[str, Gate]]:
        """Gates that close, with their namespaces, in the order in which they close."""
        by_namespace: dict[str, list[Message]] = {}
        for message in messages:
            by_namespace.setdefault(self._namespace(message), []).append(message)
        active: dict[str, list[Message]] = {}
        if basis.generation is not None and basis.generation.cursor:
            with basis.read() as connection:
                ends = table.compacted_to(connection, basis.generation)
                for namespace in by_namespace:
                    waiting = log.read(
                        connection,
                        basis.user,
                        session=namespace if self.config.scope == "session" else None,
                        after=ends.get(namespace, 0),
                        to=basis.generation.cursor,
                    )
                    active[namespace] = [as_read(message) for message in waiting]
        closed = [
            (namespace, gate)
            for namespace, new in by_namespace.items()
            for gate in closed_gates(
                [*active.get(namespace, ()), *new], self.config.chunk_gate_tokens, self._tokenizer
            )
        ]
        return sorted(closed, key=lambda pair: pair[1].last_seq)

    def _spaces(self, basis: PrepareContext, names: Sequence[str]) -> tuple[list[int], dict[str, Namespace]]:
        """(ids for new chunks, one per name; working sets by name)."""
        generation = basis.generation

        def fetch(ids: Sequence[int]) -> Mapping[int, Sequence[Item]]:
            def read() -> Mapping[int, bytes]:
                assert generation is not None  # or there are no chunks yet
                with basis.read() as connection:
                    return self.store.fetch(connection, generation, ids)

            return {number: from_record(data) for number, data in read_again(read).items()}

        chunks: dict[int, Chunk] = {}
        if names and generation is not None:
            with basis.read() as connection:
                chunks = table.load(connection, generation, self._embedder.dimension)
        spaces = {
            name: Namespace(name, {n: c for n, c in chunks.items() if c.namespace == name}, fetch)
            for name in dict.fromkeys(names)
        }
        first = max(chunks, default=0) + 1
        return list(range(first, first + len(names))), spaces

    def _namespace(self, message: Message) -> str:
        return message.session if self.config.scope == "session" else ""

    def _map(self, do: Callable[[T], R], given: Sequence[T]) -> list[R]:
        """Apply `do` in threads if there is a model to wait for, else sequentially."""
        return side_by_side(do, given, self._workers if self._asker.has_model else 1, "chunks")
