"""The chunks view: its part of the contract, put together from the files beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import ChannelScore, Message
from zibaldone.errors import BlockMissing, ModelFailed
from zibaldone.log import to_us
from zibaldone.models.asker import Asker
from zibaldone.models.base import Embedder, Tokenizer
from zibaldone.models.embedding import embed
from zibaldone.storage.database import Database
from zibaldone.views.base import Counted, Generation, PrepareContext, Query, Retrieved, TakeSnapshot
from zibaldone.views.chunks import forgetting, table
from zibaldone.views.chunks.blocks import ReadSets, embed_anew, tend
from zibaldone.views.chunks.cache import TableCache
from zibaldone.views.chunks.chunk import (
    Chunk,
    Item,
    Past,
    StoredChunk,
    from_record,
    sources_of,
    stored,
    to_record,
)
from zibaldone.views.chunks.compaction import Draft, Namespace, Tools, compact, draft
from zibaldone.views.chunks.compress import verbatim
from zibaldone.views.chunks.config import MemAttention
from zibaldone.views.chunks.forgetting import owner_of
from zibaldone.views.chunks.gate import Gate, closed_gates, pieces
from zibaldone.views.chunks.relevance import Wanted
from zibaldone.views.chunks.retrieval import NAME, Read, asked, channels_of, evidence, read
from zibaldone.views.chunks.select_related import Selected, select
from zibaldone.views.chunks.storage.placement import Moved, Placement
from zibaldone.views.chunks.storage.reclaim import reclaim_orphans, release
from zibaldone.views.chunks.storage.records import Record, RecordStore, read_again

_ANALYSIS = 1  # raise it when other chunks would be made of the same log without a model
_MOST_TAIL = 1000  # messages that no chunk has read and that one recall looks through, the newest
_OFFERED = 2.0  # budgets' worth of items, as far as memory_budget_tokens goes
_RECALL_TIMEOUT_S = 10.0  # for a model's selection: an answer without it is better than none
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a batch of messages did to the chunk table, by namespace, and where each has been read to."""

    spaces: tuple[Namespace, ...]
    compacted_to: Mapping[str, int]


class ChunksView:
    """MemAttention: bounded chunks, found by their metadata, read whole, cut to the items that answer."""

    name = NAME
    batch_messages = 128  # some four gates, and their model calls

    def __init__(
        self,
        embedder: Embedder,
        static: Embedder,
        tokenizer: Tokenizer,
        asker: Asker,
        store: RecordStore,
        config: MemAttention | None = None,
        placement: Placement | None = None,
        *,
        workers: int = 4,
    ) -> None:
        """`embedder` embeds metadata; `static` embeds the items of chosen chunks, at every recall.

        `workers` is how many model calls of one user may be under way at once.
        """
        self.config, self.placement = config or MemAttention(), placement or Placement()
        self._embedder, self._static, self._tokenizer = embedder, static, tokenizer
        self._asker, self._store, self._workers = asker, store, workers
        self._cache = TableCache(embedder.dimension)
        self._read_sets = ReadSets()

    @property
    def fingerprint(self) -> str:
        """The settings and the embedder.

        A chunk itself says which chat model made it: another one makes the chunks to come, and the old ones
        when the view is rebuilt.
        """
        return f"{_ANALYSIS}/{self.config.fingerprint}/{self._embedder.name}/{self._embedder.dimension}"

    def prepare(
        self,
        messages: Sequence[Message],
        basis: PrepareContext | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Prepared | None:
        """Compact the gates that these messages close; those that close none stay in the active chunk."""
        if basis is None:
            return None
        tools = Tools(
            self._asker, self._embedder, self._tokenizer, self.config, basis.user, patient=basis.patient
        )
        gates = self._gates(messages, basis)
        drafts = self._map(lambda one: draft(one[1], tools), gates)
        numbers, spaces = self._spaces(basis, [namespace for namespace, _ in gates])
        work: dict[str, list[tuple[int, Draft]]] = {}
        for number, (namespace, _), made in zip(numbers, gates, drafts, strict=True):
            work.setdefault(namespace, []).append((number, made))

        def compact_all(name: str) -> None:
            for number, made in work[name]:
                compact(made, number, spaces[name], tools)

        self._map(compact_all, list(work))
        if progress:
            progress(len(messages))
        ends = {namespace: gate.last_seq for namespace, gate in gates}
        return Prepared(tuple(spaces[name] for name in work), ends)

    def commit(
        self,
        connection: Connection,
        generation: Generation,
        messages: Sequence[Message],  # noqa: ARG002 - what was made of them is in `prepared`
        prepared: Prepared,
    ) -> None:
        """New chunks, new versions of old ones, and what went to the history."""
        past: list[Past] = []
        for space in prepared.spaces:
            changed = [space.chunks[number] for number in sorted(space.changed)]
            table.write(connection, generation, changed)
            self._store.stage(
                connection, owner_of(generation), [_record(c, space.items[c.id]) for c in changed if c.items]
            )
            self._store.remove(connection, owner_of(generation), [c.id for c in changed if not c.items])
            pairs = [(seq, number) for number, seqs in space.covered.items() for seq in seqs]
            pairs += [(seq, c.id) for c in changed for seq in sources_of(space.items[c.id])]
            table.add_sources(connection, generation, pairs)
            past += space.past
            for together in space.together:
                self._store.note_together(connection, owner_of(generation), together)
                self._read_sets.add(generation, together, 0)
        table.add_history(connection, generation, past)
        for namespace, seq in prepared.compacted_to.items():
            table.set_compacted_to(connection, generation, namespace, seq)

    def retrieve(self, take_snapshot: TakeSnapshot, query: Query) -> Retrieved:
        """Items of the related chunks and of what is in none yet, best first."""
        with take_snapshot() as now:
            return self._retrieve(now.connection, now.generation, query)

    def _retrieve(self, connection: Connection, generation: Generation | None, query: Query) -> Retrieved:
        user = query.scope.user
        if not log.state(connection, user).last_seq:
            return Retrieved((), 0, 0.0, lambda _: None)
        usable = generation if generation and generation.fingerprint == self.fingerprint else None
        shown = self._cache.get(connection, usable) if usable else None
        candidates = list(shown.chunks) if shown else []
        inside = self._of_session(connection, user, query.scope.session)
        if inside is not None and shown:
            here = {number for seq in inside for number in shown.covered.get(seq, ())}
            candidates = [chunk for chunk in candidates if chunk.id in here]
        notes = []
        if generation is not None and usable is None:
            notes.append(
                "the chunks were made with other settings: the newest messages only, until a rebuild"
            )
        tail, cut_off = self._tail(connection, user, usable, query.scope.session)
        if cut_off:
            notes.append(
                f"only the newest {_MOST_TAIL} messages that are in no chunk yet were looked through"
            )
        taken_apart = asked(query, candidates, tail)
        try:
            vectors = embed(self._embedder, [taken_apart.subject])
        except ModelFailed as error:
            vectors = embed(self._embedder, [])
            notes.append(f"chunks by words only: {error}")
        wanted = Wanted(taken_apart.words, vectors, taken_apart.days)
        selected = select(
            self._asker,
            user,
            wanted,
            query.text,
            candidates,
            self.config,
            timeout_s=_RECALL_TIMEOUT_S,
            open_is_offline=True,
        )
        if selected.degraded:
            notes.append(f"chunks selected offline: {selected.degraded}")
        ids = sorted(chunk.id for chunk in selected.chunks)
        items, blocks_read = self._items(connection, usable, ids)
        if usable and len(ids) > 1:
            self._read_sets.add(usable, ids)
        pool = [
            item for number in ids for item in items[number] if inside is None or inside & set(item.sources)
        ]
        found = read(taken_apart, [*pool, *tail], self._static)
        budget = min(int(_OFFERED * query.budget_tokens), self.config.memory_budget_tokens)
        return Retrieved(
            evidence(found, budget, self._tokenizer),
            len(found.items),
            found.relevance,
            _explanation(found, selected, shown.covered if shown else {}),
            "; ".join(notes),
            selected.model_calls,
            blocks_read,
        )

    def forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """Items, metadata, history and blocks, in every generation."""
        return _counted(
            forgetting.forget(
                connection, self._store, generation, seqs, self._tokenizer, self.config.keywords
            )
            for generation in self._generations(connection, user)
        )

    def preview_forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """What forget would remove."""
        return _counted(
            forgetting.loss(connection, self._store, generation, seqs)
            for generation in self._generations(connection, user)
        )

    def refresh(self, database: Database, user: str, generation: Generation | None) -> None:
        """Delete released blocks and what a crash left of them; embed what is left of chunks anew."""
        self._cache.drop(user)
        self._read_sets.drop(user)
        release(database, self._store, user)
        reclaim_orphans(database, self._store, 0, user)
        if generation is not None and generation.fingerprint == self.fingerprint:
            try:
                embed_anew(database, self._store, generation, self._embedder)
            except (ModelFailed, BlockMissing):
                return  # found by their words until `housekeep` gets the vectors

    def housekeep(
        self, database: Database, generation: Generation, *, patient: bool = False
    ) -> tuple[Counted, ...]:
        """Algorithm 2, and whatever an earlier crash or failure left undone."""
        if generation.fingerprint != self.fingerprint:
            return ()
        try:
            embed_anew(database, self._store, generation, self._embedder)
            moved = tend(
                database,
                self._store,
                self.placement,
                generation,
                self._read_sets.take(generation),
                self._asker,
                self._embedder,
                patient=patient,
            )
        except BlockMissing:  # another process tends to the same blocks: one of us is enough
            moved = Moved()
        release(database, self._store, generation.user)
        done = {
            "records": moved.records,
            "blocks written": moved.blocks_written,
            "blocks released": moved.blocks_released,
        }
        return tuple(Counted(kind, rows) for kind, rows in done.items() if rows)

    def drop(self, connection: Connection, generation: Generation) -> None:
        """All of a generation; its blocks are released."""
        table.drop(connection, generation)
        self._store.drop(connection, owner_of(generation))

    def stats(self, connection: Connection, user: str) -> tuple[Counted, ...]:
        """Chunks, items and history, of all generations."""
        chunks = items = past = 0
        for generation in self._generations(connection, user):
            found = table.load(connection, generation, 0)
            chunks += len(found)
            items += sum(chunk.items for chunk in found.values())
            past += len(table.history(connection, generation))
        return (Counted("chunks", chunks), Counted("items", items), Counted("history", past))

    def faults(self, connection: Connection, generation: Generation) -> list[str]:
        """Chunks, records and blocks against each other and against the log."""
        found = self._store.faults(connection, owner_of(generation))
        found += table.faults(connection, generation)
        if found:
            return found
        chunks = table.load(connection, generation, 0)
        covered = set(table.sources(connection, generation))
        live = [chunk.id for chunk in chunks.values() if chunk.items]
        data = self._store.fetch(connection, owner_of(generation), live).data
        for number in live:
            if number not in data:
                found.append(f"chunk {number} has no record")
                continue
            items = from_record(data[number])
            if len(items) != chunks[number].items:
                found.append(f"chunk {number} has {len(items)} items, its row says {chunks[number].items}")
            unlinked = sorted(seq for seq in sources_of(items) if (seq, number) not in covered)
            found += [
                f"chunk {number} has an item of message {seq} that it does not name" for seq in unlinked
            ]
        return found

    def chunks(self, connection: Connection, generation: Generation) -> list[StoredChunk]:
        """Every chunk with its items, in the order in which they were made."""
        found = table.load(connection, generation, 0)
        items, _ = self._items(connection, generation, [c.id for c in found.values() if c.items])
        return [stored(chunk, items.get(chunk.id, [])) for chunk in found.values()]

    def live(self, connection: Connection, user: str) -> list[Chunk]:
        """Chunks that hold something, with their metadata, of the user's newest generation."""
        generations = self._generations(connection, user)
        found = table.load(connection, generations[-1], self._embedder.dimension) if generations else {}
        return [chunk for chunk in found.values() if chunk.items]

    def history(self, connection: Connection, generation: Generation) -> list[Past]:
        """What chunks no longer say, in the order in which it went."""
        return [one for _, one in table.history(connection, generation)]

    def _gates(self, messages: Sequence[Message], basis: PrepareContext) -> list[tuple[str, Gate]]:
        """The gates that close, with their namespaces, in the order in which they close."""
        by_namespace: dict[str, list[Message]] = {}
        for message in messages:
            by_namespace.setdefault(self._namespace(message), []).append(message)
        cursor = basis.generation.cursor if basis.generation else 0
        closed = []
        with basis.read() as connection:
            ends = table.compacted_to(connection, basis.generation) if basis.generation else {}
            for namespace, new in by_namespace.items():
                active = []
                if cursor:
                    session = namespace if self.config.scope == "session" else None
                    after = ends.get(namespace, 0)
                    active = log.read(connection, basis.user, session=session, after=after, to=cursor)
                gates = closed_gates([*active, *new], self.config.chunk_gate_tokens, self._tokenizer)
                closed += [(namespace, gate) for gate in gates]
        return sorted(closed, key=lambda one: one[1].last_seq)

    def _spaces(self, basis: PrepareContext, names: Sequence[str]) -> tuple[list[int], dict[str, Namespace]]:
        """Ids for new chunks, one per name in the order given, and the working sets."""
        generation = basis.generation
        if generation is None:
            empty: dict[str, Namespace] = {name: Namespace(name, {}, lambda _: {}) for name in names}
            return list(range(1, len(names) + 1)), empty

        def fetch(ids: Sequence[int]) -> Mapping[int, Sequence[Item]]:
            def once() -> Mapping[int, Sequence[Item]]:
                with basis.read() as connection:
                    return self._items(connection, generation, ids)[0]

            return read_again(once)

        with basis.read() as connection:
            chunks = table.load(connection, generation, self._embedder.dimension) if names else {}
        spaces = {
            name: Namespace(name, {n: c for n, c in chunks.items() if c.namespace == name}, fetch)
            for name in dict.fromkeys(names)
        }
        first = max(chunks, default=0) + 1
        return list(range(first, first + len(names))), spaces

    def _namespace(self, message: Message) -> str:
        return message.session if self.config.scope == "session" else ""

    def _map(self, do: Callable[[T], R], given: Sequence[T]) -> list[R]:
        """In threads where a model is waited for, else one after the other."""
        if not self._asker.has_model or len(given) < 2:
            return [do(one) for one in given]
        with ThreadPoolExecutor(self._workers, thread_name_prefix="zibaldone-chunks") as pool:
            return list(pool.map(do, given))

    def _items(
        self, connection: Connection, generation: Generation | None, ids: Sequence[int]
    ) -> tuple[dict[int, list[Item]], int]:
        if generation is None or not ids:
            return {}, 0
        fetched = self._store.fetch(connection, owner_of(generation), ids)
        return {number: from_record(data) for number, data in fetched.data.items()}, fetched.blocks_read

    def _tail(
        self, connection: Connection, user: str, generation: Generation | None, session: str | None
    ) -> tuple[list[Item], bool]:
        """The active chunks and what the view has not read yet, as items of id 0; True when it was cut."""
        seqs = table.uncovered(connection, generation, user, session, _MOST_TAIL + 1)
        messages = log.fetch(connection, user, seqs[-_MOST_TAIL:])
        cut = pieces([messages[seq] for seq in sorted(messages)], self._tokenizer)
        return [verbatim(0, piece, piece.text, 0) for parts in cut for piece in parts], len(seqs) > _MOST_TAIL

    @staticmethod
    def _of_session(connection: Connection, user: str, session: str | None) -> set[int] | None:
        return None if session is None else set(log.seqs_where(connection, user, session=session))

    @staticmethod
    def _generations(connection: Connection, user: str) -> list[Generation]:
        return [Generation(user, number, "", 0) for number in table.generations(connection, user)]


def _record(chunk: Chunk, items: Sequence[Item]) -> Record:
    return Record(chunk.id, chunk.namespace, to_us(chunk.metadata.first), to_record(items))


def _counted(losses: Iterable[forgetting.ChunkLoss]) -> tuple[Counted, ...]:
    found = list(losses)
    return (
        Counted("chunks", sum(one.chunks for one in found)),
        Counted("items", sum(one.items for one in found)),
        Counted("history", sum(one.history for one in found)),
    )


def _explanation(
    found: Read, selected: Selected, covered: Mapping[int, tuple[int, ...]]
) -> Callable[[int], tuple[ChannelScore, ...] | None]:
    """Of a message: how its best item ranked, or where its chunk stood among the candidates."""
    of_message: dict[int, tuple[ChannelScore, ...]] = {}
    for item, channels in zip(found.items, channels_of(found), strict=True):
        for seq in item.sources:
            of_message.setdefault(seq, channels)
    places = {number: (place, score) for place, (number, score) in enumerate(selected.ranked, 1)}

    def explain(seq: int) -> tuple[ChannelScore, ...] | None:
        if seq in of_message:
            return of_message[seq]
        if seq not in covered:
            return None
        ranked = [places[number] for number in covered[seq] if number in places]
        return tuple(ChannelScore("chunk", place, round(score, 6)) for place, score in sorted(ranked)[:1])

    return explain
