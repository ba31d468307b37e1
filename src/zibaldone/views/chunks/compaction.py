"""MemAttention's write side: Algorithm 1, lines 3 to 12, for all gates of one namespace in their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from zibaldone.models.asker import Asker
from zibaldone.models.base import Embedder, Tokenizer
from zibaldone.rendering import line, line_tokens
from zibaldone.views.chunks import metadata
from zibaldone.views.chunks.chunk import Chunk, Item, Metadata, Past
from zibaldone.views.chunks.compress import compress
from zibaldone.views.chunks.config import MemAttention
from zibaldone.views.chunks.gate import Gate
from zibaldone.views.chunks.joint_compact import (
    DUPLICATE,
    SUPERSEDED,
    Compaction,
    Update,
    apply,
    joint_compact,
)
from zibaldone.views.chunks.relevance import Wanted
from zibaldone.views.chunks.select_related import select
from zibaldone.views.chunks.tasks import (
    Compacted,
    Compress,
    Compressed,
    JointCompact,
    Note,
    NoteDeletion,
    NoteUpdate,
    RelatedShown,
    shown_item,
    shown_messages,
    shown_metadata,
)

OFFLINE = "offline"


@dataclass(frozen=True, slots=True)
class Tools:
    """What a compaction works with."""

    asker: Asker
    embedder: Embedder
    tokenizer: Tokenizer
    config: MemAttention
    user: str
    patient: bool


@dataclass(frozen=True, slots=True)
class Draft:
    """COMPRESS of one gate: independent of all other chunks, so that gates can be compressed side by side."""

    gate: Gate
    items: tuple[Item, ...]
    keywords: tuple[str, ...]  # what the model gave; () without one
    entities: tuple[str, ...]
    summary: str
    made_by: str
    degraded: str


@dataclass(slots=True)
class Namespace:
    """The chunk table T[u][s] while it is worked on, with all that is to be committed."""

    name: str
    chunks: dict[int, Chunk]
    fetch: Callable[[Sequence[int]], Mapping[int, Sequence[Item]]]
    items: dict[int, list[Item]] = field(default_factory=dict)  # of the chunks that were read or written
    changed: set[int] = field(default_factory=set)
    covered: dict[int, tuple[int, ...]] = field(
        default_factory=dict
    )  # seqs whose messages a new chunk has read
    past: list[Past] = field(default_factory=list)
    together: list[tuple[int, ...]] = field(default_factory=list)  # chunks that were read in one go
    df: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        for chunk in self.chunks.values():
            self.df.update(chunk.metadata.terms)

    def live(self) -> list[Chunk]:
        """Chunks that still hold something, in their order."""
        return [self.chunks[number] for number in sorted(self.chunks) if self.chunks[number].items]

    def read(self, numbers: Sequence[int]) -> dict[int, list[Item]]:
        """FETCHBYID: the items of these chunks.

        A chunk that another process emptied meanwhile has none: what is made of it will not be committed.
        """
        missing = [number for number in numbers if number not in self.items]
        if missing:
            found = self.fetch(missing)
            self.items.update({number: list(found.get(number, ())) for number in missing})
        return {number: self.items[number] for number in numbers}

    def write(self, chunk: Chunk, items: Sequence[Item]) -> None:
        """Insert a chunk, or a new version of it."""
        if chunk.id in self.chunks:
            self.df.subtract(self.chunks[chunk.id].metadata.terms)
        self.df.update(chunk.metadata.terms)
        self.chunks[chunk.id] = chunk
        self.items[chunk.id] = list(items)
        self.changed.add(chunk.id)


def draft(gate: Gate, tools: Tools) -> Draft:
    """Lines 4 and 5: one bounded chunk, compressed. The cost depends on the gate alone."""
    plain = compress(gate.pieces)
    if not gate.pieces or not tools.asker.has_model:
        return Draft(gate, tuple(plain), (), (), "", OFFLINE, "")
    answer = tools.asker.ask(
        Compress(messages=shown_messages(gate), fallback=lambda: _as_compressed(plain)),
        user=tools.user,
        patient=tools.patient,
    )
    if answer.made_by == OFFLINE:
        return Draft(gate, tuple(plain), (), (), "", OFFLINE, answer.degraded)
    by_seq = {piece.message.seq: piece.message for piece in gate.pieces}
    items = []
    for number, note in enumerate(answer.result.items, 1):
        sources = tuple(sorted(set(note.sources)))
        last = by_seq[sources[-1]]
        assert last.time is not None
        items.append(Item(number, note.text.strip(), None, sources, last.time, last.session))
    told = answer.result
    return Draft(
        gate,
        tuple(items),
        tuple(told.keywords),
        tuple(told.entities),
        told.summary,
        answer.made_by,
        answer.degraded,
    )


def compact(made: Draft, number: int, space: Namespace, tools: Tools) -> None:
    """Lines 6 to 11: select related chunks, compact jointly, write the new chunk and new versions."""
    config, gate = tools.config, made.gate
    live = space.live()
    related: tuple[int, ...] = ()
    degraded = [made.degraded]
    if made.items and config.maintenance == "whole_context":
        related = tuple(chunk.id for chunk in live)
    elif made.items and config.joint:
        about = _metadata(list(made.items), made, space, tools)
        selected = select(
            tools.asker,
            tools.user,
            Wanted(about.keywords, about.vectors),
            shown_metadata(0, about),
            live,
            config,
            patient=tools.patient,
        )
        related = tuple(chunk.id for chunk in selected.chunks)
        degraded.append(selected.degraded)
    compaction, told = Compaction(made.items, ()), made
    if related:
        compaction, told = _jointly(made, space.read(related), tools)
        degraded.append(told.degraded)
        space.together.append((*related, number))
    _apply(compaction.updates, space, tools)
    items = list(compaction.items)
    if config.maintenance == "whole_context":
        items = _absorb(items, related, space, tools)
    chunk = Chunk(
        id=number,
        namespace=space.name,
        version=1,
        last_seq=gate.last_seq,
        raw_tokens=gate.tokens,
        tokens=_tokens(items, tools),
        items=len(items),
        metadata=_metadata(items, told, space, tools),
        made_by=told.made_by,
        degraded="; ".join(dict.fromkeys(filter(None, degraded))),
    )
    space.write(chunk, items)
    space.covered[number] = gate.seqs


def _jointly(made: Draft, related: Mapping[int, Sequence[Item]], tools: Tools) -> tuple[Compaction, Draft]:
    """JOINTCOMPACT, and the draft with the refined items' metadata."""
    plain = joint_compact(made.items, related)
    if not tools.asker.has_model or not any(related.values()):
        return plain, made
    answer = tools.asker.ask(
        JointCompact(
            new_items=tuple(map(shown_item, made.items)),
            related=tuple(
                RelatedShown(number, tuple(map(shown_item, items))) for number, items in related.items()
            ),
            fallback=lambda: _as_compacted(made, plain),
        ),
        user=tools.user,
        patient=tools.patient,
    )
    if answer.made_by == OFFLINE:
        return plain, replace(made, degraded=answer.degraded)
    told = answer.result
    by_id = {item.id: item for item in made.items}

    def seqs(ids: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted({seq for one in ids for seq in by_id[one].sources}))

    items = []
    for number, note in enumerate(told.items, 1):
        last = max((by_id[one] for one in note.sources), key=lambda item: (item.time, item.sources))
        same = last if len(note.sources) == 1 and note.text.strip() == last.text else None
        items.append(
            replace(same, id=number)
            if same
            else Item(number, note.text.strip(), None, seqs(note.sources), last.time, last.session)
        )
    updates = [
        *(Update(u.chunk, u.item, u.text.strip(), SUPERSEDED, seqs(u.because)) for u in told.updates),
        *(Update(d.chunk, d.item, None, d.reason, seqs(d.because)) for d in told.deletions),
    ]
    by = answer.made_by if made.made_by in (OFFLINE, answer.made_by) else f"{made.made_by}; {answer.made_by}"
    refined = Draft(
        made.gate,
        tuple(items),
        tuple(told.keywords),
        tuple(told.entities),
        told.summary,
        by,
        answer.degraded,
    )
    return Compaction(tuple(items), tuple(updates)), refined


def _apply(updates: Sequence[Update], space: Namespace, tools: Tools) -> None:
    """Line 9: new versions of earlier chunks; what they no longer say goes to the history."""
    changed: dict[int, list[Item]] = {}
    for update in updates:
        items, old = apply(update, changed.get(update.chunk, space.items[update.chunk]))
        if old is not None:
            changed[update.chunk] = items
            space.past.append(Past(update.chunk, old, update.reason, update.because))
    for number, items in changed.items():
        space.write(renewed(space.chunks[number], items, space.df, len(space.chunks), tools), items)


def _absorb(items: list[Item], related: Sequence[int], space: Namespace, tools: Tools) -> list[Item]:
    """Whole-context maintenance: all earlier chunks become part of the new one."""
    whole: list[Item] = []
    for number in related:
        whole += space.items[number]
        space.write(renewed(space.chunks[number], [], space.df, len(space.chunks), tools), [])
    return [replace(item, id=place) for place, item in enumerate(whole + items, 1)]


def renewed(chunk: Chunk, items: Sequence[Item], df: Mapping[str, int], n: int, tools: Tools) -> Chunk:
    """The chunk's next version, its metadata made anew from what is left: no word of what went stays."""
    about = replace(
        chunk.metadata,
        keywords=(),
        entities=(),
        summary="",
        vectors=np.zeros((0, tools.embedder.dimension), dtype=np.float32),
    )
    if items:
        vectors = metadata.embedded(items, tools.embedder)
        about = metadata.build(items, df, n, tools.config.keywords, vectors)
    return replace(
        chunk,
        version=chunk.version + 1,
        items=len(items),
        tokens=_tokens(items, tools),
        metadata=about,
    )


def _metadata(items: Sequence[Item], told: Draft, space: Namespace, tools: Tools) -> Metadata:
    """BUILDMETA: the plain one, headed by what the model said."""
    if not items:
        times = [piece.message.time for piece in told.gate.pieces if piece.message.time]
        none = np.zeros((0, tools.embedder.dimension), dtype=np.float32)
        return Metadata((), (), "", min(times), max(times), none)
    vectors = metadata.embedded(items, tools.embedder)
    plain = metadata.build(items, space.df, len(space.chunks), tools.config.keywords, vectors)
    return replace(
        plain,
        keywords=tuple(dict.fromkeys((*told.keywords, *plain.keywords)))[: tools.config.keywords],
        entities=told.entities or plain.entities,
        summary=" ".join(told.summary.split()) or plain.summary,
    )


def _tokens(items: Sequence[Item], tools: Tools) -> int:
    return sum(line_tokens([line(item.speaker, item.text) for item in items], tools.tokenizer.count))


def _as_compressed(items: Sequence[Item]) -> Compressed:
    notes = [Note(text=item.text, sources=list(item.sources)) for item in items]
    return Compressed(items=notes, keywords=[], entities=[], summary="")


def _as_compacted(made: Draft, plain: Compaction) -> Compacted:
    ids = {seq: item.id for item in made.items for seq in item.sources}
    changed = [u for u in plain.updates if u.text is not None]
    gone = [u for u in plain.updates if u.text is None]
    return Compacted(
        items=[Note(text=item.text, sources=[item.id]) for item in plain.items],
        updates=[
            NoteUpdate(chunk=u.chunk, item=u.item, text=u.text or "", because=[ids[s] for s in u.because])
            for u in changed
        ],
        deletions=[
            NoteDeletion(
                chunk=u.chunk,
                item=u.item,
                because=[ids[s] for s in u.because],
                reason="duplicate" if u.reason == DUPLICATE else "superseded",
            )
            for u in gone
        ],
        keywords=[],
        entities=[],
        summary="",
    )
