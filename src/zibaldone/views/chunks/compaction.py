"""MemAttention's write side (Algorithm 1, lines 3 to 12) for all gates of one namespace, in their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from zibaldone.models.asker import OFFLINE, Asker
from zibaldone.models.base import Embedder, Tokenizer
from zibaldone.text.faithfulness import SourceTexts
from zibaldone.views.chunks import joint_compact, metadata
from zibaldone.views.chunks.chunk import Chunk, Item, Metadata, Past
from zibaldone.views.chunks.config import MemAttention
from zibaldone.views.chunks.gate import Gate, compress
from zibaldone.views.chunks.joint_compact import Compaction, ItemUpdate, source_texts
from zibaldone.views.chunks.select_related import MetadataIndex, Target, select
from zibaldone.views.chunks.tasks import Compress, JointCompact, shown_items, shown_messages, shown_metadata


@dataclass(frozen=True, slots=True)
class CompressedGate:
    """`m` and `K_m`: one gate compressed by itself, so that gates can be compressed in parallel."""

    gate: Gate
    items: tuple[Item, ...]
    keywords: tuple[str, ...] = ()  # what the model gave; () without one
    entities: tuple[str, ...] = ()
    summary: str = ""
    made_by: str = OFFLINE
    degraded: str = ""


@dataclass(slots=True)
class Namespace:
    """The chunk table T[u][s] while it is worked on, with everything to be committed."""

    name: str
    chunks: dict[int, Chunk]
    fetch: Callable[[Sequence[int]], Mapping[int, Sequence[Item]]]
    items: dict[int, list[Item]] = field(default_factory=dict)  # of the chunks that were read or written
    changed: set[int] = field(default_factory=set)
    covered: dict[int, tuple[int, ...]] = field(default_factory=dict)  # seqs that a new chunk has read
    past: list[Past] = field(default_factory=list)
    together: list[tuple[int, ...]] = field(default_factory=list)  # chunks that one joint compaction has read
    live: MetadataIndex = field(default_factory=MetadataIndex)  # chunks that still hold something

    def __post_init__(self) -> None:
        for chunk in self.chunks.values():
            self.live.put(chunk)

    def read(self, numbers: Sequence[int]) -> dict[int, list[Item]]:
        """FETCHBYID: items of these chunks.

        A chunk that another process emptied meanwhile has none: what is made of it will not be committed.
        """
        missing = [number for number in numbers if number not in self.items]
        if missing:
            fetched = self.fetch(missing)
            self.items.update({number: list(fetched.get(number, ())) for number in missing})
        return {number: self.items[number] for number in numbers}

    def write(self, chunk: Chunk, items: Sequence[Item]) -> None:
        """Add a chunk, or a new version of it."""
        self.chunks[chunk.id] = chunk
        self.live.put(chunk)
        self.items[chunk.id] = list(items)
        self.changed.add(chunk.id)


@dataclass(frozen=True, slots=True)
class Compactor:
    """Algorithm 1 for one user's gates. Models are asked with no transaction open."""

    asker: Asker
    embedder: Embedder
    tokenizer: Tokenizer
    config: MemAttention
    user: str
    patient: bool

    def compress(self, gate: Gate) -> CompressedGate:
        """Compress a gate by itself (lines 4 and 5): the cost depends on the gate alone."""
        plain = tuple(compress(gate.pieces))
        if not gate.pieces or not self.asker.has_model:
            return CompressedGate(gate, plain)
        answer = self.asker.ask(Compress(messages=shown_messages(gate)), user=self.user, patient=self.patient)
        if answer.made_by == OFFLINE:
            return CompressedGate(gate, plain, degraded=answer.degraded)
        written = answer.result
        seqs = dict.fromkeys(piece.message.seq for piece in gate.pieces)
        pieces = {seq: [piece for piece in gate.pieces if piece.message.seq == seq] for seq in seqs}
        plain_of = {seq: [item for item in plain if item.sources[0] == seq] for seq in seqs}
        kept, refused = joint_compact.grounded(written.items, pieces, plain_of)
        items = []
        for number, entry in enumerate(kept, 1):
            if isinstance(entry, Item):
                items.append(replace(entry, id=number))
                continue
            sources = tuple(sorted(set(entry.sources)))
            last = pieces[sources[-1]][-1].message
            assert last.time is not None
            items.append(Item(number, entry.text.strip(), None, sources, last.time, last.session))
        return CompressedGate(
            gate,
            tuple(items),
            tuple(written.keywords),
            tuple(written.entities),
            written.summary,
            answer.made_by,
            _refused("compress", len(refused)),
        )

    def compact(self, compressed: CompressedGate, number: int, space: Namespace) -> None:
        """Select related chunks, compact jointly, write the new chunk and new versions (lines 6 to 11)."""
        related, selection_degraded = self._related(compressed, space)
        degraded = [compressed.degraded, selection_degraded]
        compaction, refined = Compaction(compressed.items, ()), compressed
        if related:
            space.together.append(related)
            compaction, refined = self._joint_compact(compressed, space.read(related))
            degraded.append(refined.degraded)
        self._apply(compaction.updates, space)
        items = list(compaction.items)
        gate = compressed.gate
        about = self._metadata(items, refined, space)
        chunk = Chunk(
            id=number,
            namespace=space.name,
            version=1,
            last_seq=gate.last_seq,
            raw_tokens=gate.tokens,
            tokens=metadata.tokens_of(items, self.tokenizer),
            items=len(items),
            metadata=about,
            made_by=refined.made_by,
            degraded="; ".join(dict.fromkeys(filter(None, degraded))),
        )
        space.write(chunk, items)
        space.covered[number] = gate.seqs

    def _related(self, compressed: CompressedGate, space: Namespace) -> tuple[tuple[int, ...], str]:
        """Select related chunks by metadata (lines 6 and 7): (their ids, why no model chose them).

        What a new chunk does to earlier ones is a model's to say: without one, none is related.
        """
        if not compressed.items or not self.asker.has_model:
            return (), ""
        about = self._metadata(list(compressed.items), compressed, space)
        target, shown = Target(about.keywords, about.vectors), shown_metadata(0, about)
        given = self.asker, self.user, target, shown, space.live, self.config
        selected = select(*given, patient=self.patient)
        return tuple(chunk.id for chunk in selected.chunks), selected.degraded

    def _joint_compact(
        self, compressed: CompressedGate, related: Mapping[int, Sequence[Item]]
    ) -> tuple[Compaction, CompressedGate]:
        """Line 8: (compaction, the compressed gate with whoever revised it)."""
        plain = Compaction(compressed.items, ())
        if not any(related.values()):
            return plain, compressed
        shown = tuple(shown_items(number, items) for number, items in related.items() if items)
        new_ids = frozenset(item.id for item in compressed.items)
        task = JointCompact(new=shown_items(0, compressed.items), related=shown, new_ids=new_ids)
        answer = self.asker.ask(task, user=self.user, patient=self.patient)
        if answer.made_by == OFFLINE:
            return plain, replace(compressed, degraded=answer.degraded)
        written = answer.result
        compaction, refused = joint_compact.carried_out(written, compressed.items, related)
        made_by = compressed.made_by
        if made_by != answer.made_by:
            made_by = answer.made_by if made_by == OFFLINE else f"{made_by}; {answer.made_by}"
        degraded = _refused("joint_compact", len(refused))
        return compaction, replace(compressed, items=compaction.items, made_by=made_by, degraded=degraded)

    def _apply(self, updates: Sequence[ItemUpdate], space: Namespace) -> None:
        """Line 9, U and D: new versions of earlier chunks; replaced items go to the history."""
        changed: dict[int, list[Item]] = {}
        for update in updates:
            items, old = joint_compact.apply(update, changed.get(update.chunk, space.items[update.chunk]))
            if old is not None:
                changed[update.chunk] = items
                space.past.append(Past(update.chunk, old, update.reason, update.because))
        for number, items in changed.items():
            chunk, vectors = space.chunks[number], metadata.embedded(items, self.embedder)
            given = space.live.df, len(space.chunks), self.config.keywords, vectors, self.tokenizer
            newer = metadata.renewed(chunk, items, *given)
            if items and chunk.made_by != OFFLINE:
                headed = self._headed(newer.metadata, chunk.metadata, source_texts(items))
                newer = replace(newer, metadata=headed)
            space.write(newer, items)

    def _metadata(self, items: Sequence[Item], compressed: CompressedGate, space: Namespace) -> Metadata:
        """BUILDMETA: plain metadata, headed by a model's words that the chunk's messages bear out."""
        pieces = compressed.gate.pieces
        if not items:
            times = [piece.message.time for piece in pieces if piece.message.time]
            none = np.zeros((0, self.embedder.dimension), dtype=np.float32)
            return Metadata((), (), "", min(times), max(times), none)
        vectors = metadata.embedded(items, self.embedder)
        plain = metadata.build(items, space.live.df, len(space.chunks), self.config.keywords, vectors)
        if compressed.made_by == OFFLINE:
            return plain
        return self._headed(plain, compressed, source_texts([*pieces, *items]))

    def _headed(self, plain: Metadata, by: CompressedGate | Metadata, own: SourceTexts) -> Metadata:
        """Plain metadata, headed by a model's keywords, entities and summary where `own` bears them out."""
        summary = " ".join(by.summary.split())
        keywords = [word for word in by.keywords if not own.invented(word)]
        entities = [name for name in by.entities if not own.invented(name)]
        fault = own.refusal(summary)
        return replace(
            plain,
            keywords=tuple(dict.fromkeys((*keywords, *plain.keywords)))[: self.config.keywords],
            entities=tuple(entities) or plain.entities,
            summary=plain.summary if fault else summary,
        )


def _refused(task: str, times: int) -> str:
    return f"{task}: {times} of its notes say what their sources do not" if times else ""
