"""The profile view: entries read from each message by the grammar, and what a question calls for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import MACHINES, ChannelScore, Evidence, Message
from zibaldone.errors import ModelFailed
from zibaldone.log import UserState
from zibaldone.models.base import Embedder, Tokenizer, Vectors
from zibaldone.models.embedding import embed
from zibaldone.rendering import line, line_tokens
from zibaldone.search import dense
from zibaldone.search.explanation import Explanation
from zibaldone.search.question import Acquaintance
from zibaldone.search.unit import Unit
from zibaldone.storage.database import Database
from zibaldone.text.words import words
from zibaldone.views import units
from zibaldone.views.base import Generation, PrepareContext, Query, Retrieved, TakeSnapshot
from zibaldone.views.profile import corrections
from zibaldone.views.profile.clauses import KINDS, Kind, Reading
from zibaldone.views.profile.entries import EntryDraft, ProfileEntry, ReadUnit, drafts, read_as
from zibaldone.views.profile.grammar import readings
from zibaldone.views.profile.matching import (
    APPLIES,
    Scale,
    certain,
    entry_words,
    measure,
    probabilities,
    question_words,
)
from zibaldone.views.profile.own_words import own_statements
from zibaldone.views.profile.people import acquaintance
from zibaldone.views.toolkit import FOREIGN_VECTORS, MOST_UNREAD, OFFERED, days_named, tail, usable
from zibaldone.views.units_view import UnitsView
from zibaldone.views.user_cache import UserCache

_ANALYSIS = "1"  # raise it when other entries would be read from the same message
_CORRECTION = "correction"  # kind of the unit that stands for a person's correction
_MOST_USERS = 200


@dataclass(frozen=True, slots=True)
class FoundEntry:
    """An entry or a correction in a message, before it has a seq."""

    kind: str
    start: int
    end: int
    reading: Reading
    words: str  # what is embedded


@dataclass(frozen=True, slots=True)
class PreparedProfile:
    """What several messages say, message by message."""

    entries: list[list[FoundEntry]]
    tokens: list[list[int]]
    vectors: list[Vectors]  # (entries, d) per message


@dataclass(frozen=True, slots=True)
class KnownProfile:
    """A user's profile as of one version of the user."""

    state: UserState
    stored: dict[units.Key, ReadUnit]  # what the view's table has
    unread: dict[units.Key, ReadUnit]  # the same of what the view has not read yet, up to:
    cursor: int
    read_to: int
    edits: dict[int, Message]  # corrections, by seq
    drafts: tuple[EntryDraft, ...]  # in the order of time, with what holds no longer
    holding: tuple[EntryDraft, ...]  # what holds
    vectors: Vectors  # (holding, d)
    note: str = ""


class ProfileView(UnitsView):
    """Instructions, preferences, decisions, people and facts, in the words of who said them."""

    name = "profile"

    def __init__(
        self, embedder: Embedder, tokenizer: Tokenizer, *, least_probability: float = APPLIES
    ) -> None:
        """`tokenizer` counts what budgets are in; what applies less probably is not retrieved."""
        super().__init__(embedder, _ANALYSIS)
        self._tokenizer = tokenizer
        self._least_probability = least_probability
        self._scale: Scale | None = None
        self._standing: UserCache[KnownProfile] = UserCache(_MOST_USERS)

    def prepare(
        self,
        messages: Sequence[Message],
        basis: PrepareContext | None = None,  # noqa: ARG002 - what a message says depends on that message alone
        progress: Callable[[int], None] | None = None,
    ) -> PreparedProfile:
        """Read, count, embed."""
        by_message = [_read(message) for message in messages]
        lines = [
            line(message.speaker, message.content[entry.start : entry.end])
            for message, entries in zip(messages, by_message, strict=True)
            for entry in entries
        ]
        vectors = embed(self._embedder, [entry.words for entries in by_message for entry in entries])
        tokens = line_tokens(lines, self._tokenizer.count)
        ends = np.cumsum([len(entries) for entries in by_message])
        if progress:
            progress(len(messages))
        return PreparedProfile(
            by_message,
            [list(tokens[end - len(entries) : end]) for entries, end in zip(by_message, ends, strict=True)],
            [vectors[end - len(entries) : end] for entries, end in zip(by_message, ends, strict=True)],
        )

    def commit(
        self,
        connection: Connection,
        generation: Generation,
        messages: Sequence[Message],
        prepared: PreparedProfile,
    ) -> None:
        """A row for each entry; the text stays in the log."""
        units.insert(
            connection,
            self.name,
            generation,
            (
                units.Row(
                    sources=(message.seq,),
                    part=part,
                    kind=entry.kind,
                    tokens=tokens[part],
                    vector=vectors[part],
                    days=days_named(message, message.content[entry.start : entry.end]),
                    start=entry.start,
                    end=entry.end,
                )
                for message, entries, tokens, vectors in zip(
                    messages, prepared.entries, prepared.tokens, prepared.vectors, strict=True
                )
                for part, entry in enumerate(entries)
            ),
        )

    def entries(self, take_snapshot: TakeSnapshot, user: str) -> list[ProfileEntry]:
        """All that is known, in the order of time: what was superseded or retired too."""
        return [draft.entry() for draft in self._stand(take_snapshot, user).drafts]

    def draft(self, take_snapshot: TakeSnapshot, user: str, entry_id: str) -> EntryDraft | None:
        """The entry of that id, with what a correction has to name."""
        standing = self._stand(take_snapshot, user)
        return next((draft for draft in standing.drafts if draft.id == entry_id), None)

    def people(self, take_snapshot: TakeSnapshot, user: str) -> tuple[Acquaintance, ...]:
        """Whom the user has called by a relation and by a name, each once."""
        known = [
            acquaintance(draft.reading)
            for draft in self._stand(take_snapshot, user).holding
            if draft.reading.kind == "relation"
        ]
        return tuple(dict.fromkeys(person for person in known if person is not None))

    def retrieve(self, take_snapshot: TakeSnapshot, query: Query) -> Retrieved:
        """Entries that apply to the question, the likeliest first; their scores are probabilities."""
        standing = self._stand(take_snapshot, query.scope.user)
        drafts_here, vectors, note = standing.holding, standing.vectors, standing.note
        if query.scope.session is not None:
            rows = [i for i, draft in enumerate(drafts_here) if draft.unit.session == query.scope.session]
            drafts_here, vectors = tuple(drafts_here[i] for i in rows), vectors[rows]
        if not drafts_here:
            return Retrieved((), 0, 0.0, Explanation.of_nothing(), note)
        scores = np.array([certain(draft.reading, frozenset(words(query.text))) for draft in drafts_here])
        try:
            scale = self._scale = self._scale or measure(self._embedder)
            question_vector = embed(self._embedder, [question_words(query.text)])[0]
        except ModelFailed as error:
            note = f"only what applies always: {error}"
        else:
            if question_vector.any():
                kinds: list[Kind] = [draft.reading.kind for draft in drafts_here]
                likely = probabilities(kinds, scale.nearness(vectors @ question_vector), query.text)
                scores = np.maximum(scores, np.where(vectors.any(axis=1), likely, 0.0))
        order = [int(row) for row in np.argsort(-scores, kind="stable")]
        channels = {
            row: (ChannelScore("applies", rank, float(scores[row])),) for rank, row in enumerate(order, 1)
        }
        evidence = tuple(
            self._evidence(drafts_here[row], float(scores[row]), channels[row])
            for row in order
            if scores[row] >= self._least_probability
        )
        room = OFFERED * query.budget_tokens
        taken: list[Evidence] = []
        for unit in evidence:
            if taken and unit.tokens > room:
                break
            taken.append(unit)
            room -= unit.tokens
        explained = {seq: channels[row] for row in reversed(order) for seq in drafts_here[row].own_sources}
        best = float(scores[order[0]])
        return Retrieved(tuple(taken), len(drafts_here), best, explained.get, note)

    def refresh(self, database: Database, user: str, generation: Generation | None) -> None:  # noqa: ARG002
        """Nothing that was read before stays in memory."""
        with database.read() as connection:
            self._standing.drop(user, log.state(connection, user))

    def _evidence(self, draft: EntryDraft, score: float, channels: tuple[ChannelScore, ...]) -> Evidence:
        spoken = draft.spoken_by or draft.unit
        return Evidence(
            text=draft.text,
            speaker=draft.unit.speaker,
            sources=tuple(sorted(draft.own_sources)),
            time=spoken.time,
            session=spoken.session,
            view=self.name,
            kind=draft.reading.kind,
            score=score,
            tokens=self._tokens(draft),
            place=spoken.start,
            is_dated=spoken.is_dated,
            channels=channels,
        )

    def _tokens(self, draft: EntryDraft) -> int:
        if draft.spoken_by is None:
            return draft.unit.tokens
        return line_tokens([line(draft.unit.speaker, draft.text)], self._tokenizer.count)[0]

    def _stand(self, take_snapshot: TakeSnapshot, user: str) -> KnownProfile:
        """What is known now: what is new is read in a snapshot, and embedded when it is closed."""
        with take_snapshot() as now:
            state = log.state(now.connection, user)
            generation = usable(now.generation, self.fingerprint)
            number, cursor = (generation.number, generation.cursor) if generation else (0, 0)
            held = self._standing.get(user, number)
            if held is not None and held.state == state and held.cursor == cursor:
                return held
            before = held if held is not None and held.state.deletions == state.deletions else None
            stored = dict(before.stored) if before else {}
            if generation is not None and (before is None or before.cursor < cursor):
                after = before.cursor if before else 0
                keys = [key for key in units.keys(now.connection, self.name, generation) if key[0] > after]
                new, vectors = units.load(
                    now.connection, self.name, generation, self._embedder.dimension, only=keys
                )
                stored |= {
                    unit.key: ReadUnit(unit, _reading_of(unit), vector)
                    for unit, vector in zip(new, vectors, strict=True)
                }
            kept = before.unread if before and before.cursor == cursor else {}
            read_to = before.read_to if before and before.cursor == cursor else cursor
            unread = tail(now.connection, user, max(read_to, cursor), most=MOST_UNREAD).messages
            wanted = {read.unit.seq for read in stored.values() if read.unit.kind == _CORRECTION}
            edits = log.fetch(now.connection, user, sorted(wanted))
        late, note = self._read_late(unread)
        if not note and now.generation is not None and generation is None:
            note = FOREIGN_VECTORS
        edits |= {message.seq: message for message in unread if message.role == corrections.ROLE}
        edits |= {seq: message for seq, message in (before.edits if before else {}).items() if seq > cursor}
        standing = self._settle(state, stored, {**kept, **late}, edits, cursor, note)
        if not note or note == FOREIGN_VECTORS:  # else the embedder failed, and is asked again next time
            self._standing.put(user, standing, state, number)
        return standing

    def _read_late(self, unread: Sequence[Message]) -> tuple[dict[units.Key, ReadUnit], str]:
        """What messages say that the view has not read yet; without vectors where the embedder fails."""
        by_message = [_read(message) for message in unread]
        texts = [entry.words for entries in by_message for entry in entries]
        note = ""
        try:
            vectors = embed(self._embedder, texts)
        except ModelFailed as error:
            vectors = np.zeros((len(texts), self._embedder.dimension), dtype=np.float32)
            note = f"entries of messages that were not read yet have no vectors: {error}"
        if len(texts):  # as they will be stored
            vectors = dense.from_bytes([dense.to_bytes(row) for row in vectors], self._embedder.dimension)
        lines = [
            line(message.speaker, message.content[entry.start : entry.end])
            for message, entries in zip(unread, by_message, strict=True)
            for entry in entries
        ]
        rows = zip(vectors, line_tokens(lines, self._tokenizer.count), strict=True)
        late = {}
        for message, entries in zip(unread, by_message, strict=True):
            assert message.time is not None  # what is stored has one
            for part, entry in enumerate(entries):
                vector, tokens = next(rows)
                text = message.content[entry.start : entry.end]
                unit = Unit(
                    sources=(message.seq,),
                    part=part,
                    text=text,
                    kind=entry.kind,
                    tokens=tokens,
                    session=message.session,
                    role=message.role,
                    name=message.name,
                    time=message.time,
                    days=days_named(message, text),
                    start=entry.start,
                    is_dated=message.is_dated,
                )
                late[unit.key] = ReadUnit(unit, entry.reading, vector)
        return late, note

    def _settle(
        self,
        state: UserState,
        stored: dict[units.Key, ReadUnit],
        unread: dict[units.Key, ReadUnit],
        edits: dict[int, Message],
        cursor: int,
        note: str,
    ) -> KnownProfile:
        known = {**stored, **unread}
        edit_readings = (corrections.read(message) for _, message in sorted(edits.items()))
        wanted = [correction for correction in edit_readings if correction is not None]
        for correction in wanted:
            key = (correction.message.seq, 0)
            known[key] = replace(known[key], reading=read_as(correction.kind, correction.text))
        made = drafts((known[key] for key in sorted(known)), wanted)
        holding = tuple(draft for draft in made if draft.superseded_by is None and not draft.retired)
        vectors = np.zeros((len(holding), self._embedder.dimension), dtype=np.float32)
        for row, draft in enumerate(holding):
            vectors[row] = known[(draft.spoken_by or draft.unit).key].vector
        kept = {correction.message.seq: correction.message for correction in wanted}
        read_to = max(cursor, state.last_seq)
        return KnownProfile(state, stored, unread, cursor, read_to, kept, tuple(made), holding, vectors, note)


def _read(message: Message) -> list[FoundEntry]:
    """What a message says of its author, or corrects. Nothing that machines say is an entry."""
    if (correction := corrections.read(message)) is not None:
        reading = read_as(correction.kind, correction.text)
        text = entry_words(reading, correction.text) if correction.text else ""
        return [FoundEntry(_CORRECTION, 0, len(message.content), reading, text)]
    if message.role in MACHINES or message.role == corrections.ROLE:
        return []
    return [
        FoundEntry(reading.kind, start, end, reading, entry_words(reading, message.content[start:end]))
        for start, end in own_statements(message.content)
        for reading in readings(message.content[start:end], among_people=message.name is not None)
    ]


def _reading_of(unit: Unit) -> Reading:
    """As when the unit was made."""
    kind = next((kind for kind in KINDS if kind == unit.kind), None)
    return Reading("fact") if kind is None else read_as(kind, unit.text, among_people=unit.name is not None)
