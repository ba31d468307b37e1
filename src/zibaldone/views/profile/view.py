"""The profile view: entries read from each message by grammar and model, and what a question calls for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import MACHINES, PROFILE, ChannelScore, Evidence, Message
from zibaldone.errors import ModelFailed
from zibaldone.log import UserState
from zibaldone.models.asker import Asker
from zibaldone.models.base import Embedder, Tokenizer, Vectors
from zibaldone.models.embedding import embed
from zibaldone.rendering import line, line_tokens
from zibaldone.search import dense
from zibaldone.search.explanation import Explanation
from zibaldone.search.question import Acquaintance
from zibaldone.search.unit import Unit
from zibaldone.storage.database import Database
from zibaldone.text.sentences import sentences
from zibaldone.views import units
from zibaldone.views.base import Counted, Generation, PrepareContext, Query, Retrieved, TakeSnapshot
from zibaldone.views.links import Link
from zibaldone.views.profile import corrections, notes
from zibaldone.views.profile.clauses import KINDS, Kind, Reading
from zibaldone.views.profile.ended import ended_by_hand
from zibaldone.views.profile.entries import EntryDraft, EntryInMessage, ProfileEntry, ReadUnit, read_as
from zibaldone.views.profile.grammar import readings
from zibaldone.views.profile.matching import (
    APPLIES,
    Scale,
    certain,
    entry_words,
    measure,
    probabilities,
    probabilities_of_areas,
    question_words,
    subject_words,
)
from zibaldone.views.profile.noting import note_entries
from zibaldone.views.profile.own_words import own_questions, own_statements, unquoted
from zibaldone.views.profile.people import acquaintance, only_names, people_in
from zibaldone.views.profile.settling import Settled, nothing, said_before, settle
from zibaldone.views.toolkit import (
    FOREIGN_VECTORS,
    MOST_UNREAD,
    OFFERED,
    days_named,
    only_newest,
    tail,
    usable,
)
from zibaldone.views.units_view import UnitsView
from zibaldone.views.user_cache import UserCache, UserTurns

_ANALYSIS = "9"  # raise it when other entries, or others of their readings, would be read from a message
_CORRECTION = "correction"  # kind of the unit that stands for a person's correction
_MOST_USERS = 200
_BATCH_WITH_MODEL = 48  # messages: so much is asked again after a crash


@dataclass(frozen=True, slots=True)
class PreparedProfile:
    """What several messages say, message by message."""

    entries: list[list[EntryInMessage]]
    tokens: list[list[int]]
    vectors: list[Vectors]  # (entries, d) per message


@dataclass(frozen=True, slots=True)
class KnownProfile:
    """A user's profile as of one version of the user."""

    state: UserState
    cursor: int  # up to this seq the units are the view's; behind it they were read from the log,
    read_to: int  # up to this one
    unread_to: int  # up to this one only in part, if it is behind the cursor
    late: frozenset[units.Key]  # of the units that were read from the log
    settled: Settled
    note: str = ""

    @property
    def is_partial(self) -> bool:
        """Whether messages were left unread for the sake of a recall."""
        return self.unread_to > self.cursor


class ProfileView(UnitsView):
    """Instructions, preferences, decisions, people and facts, in the words of who said them."""

    name = "profile"

    def __init__(
        self, embedder: Embedder, tokenizer: Tokenizer, asker: Asker, *, least_probability: float = APPLIES
    ) -> None:
        """`tokenizer` counts what budgets are in; what applies less probably is not retrieved.

        The `asker`'s model, if there is one, reads what the grammar misses: it only says more, so another one
        makes no other generation.
        """
        super().__init__(embedder, _ANALYSIS)
        self._asker = asker
        if asker.has_model:
            self.batch_messages = _BATCH_WITH_MODEL
        self._tokenizer = tokenizer
        self._least_probability = least_probability
        self._scale: Scale | None = None
        self._standing: UserCache[KnownProfile] = UserCache(_MOST_USERS)
        self._beginning = UserTurns()

    def prepare(
        self,
        messages: Sequence[Message],
        basis: PrepareContext | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> PreparedProfile | None:
        """Read, have a model read, count, embed."""
        by_message = [_read(message) for message in messages]
        if self._asker.has_model:
            if basis is None:
                return None
            by_message = note_entries(
                self._asker,
                messages,
                by_message,
                user=basis.user,
                patient=basis.patient,
                progress=progress,
            )
        lines = [
            line(message.speaker, entry.text(message.content))
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
                    sources=(message.seq, *entry.further),
                    part=part,
                    kind=entry.kind,
                    tokens=tokens[part],
                    vector=vectors[part],
                    days=days_named(message, entry.text(message.content)),
                    start=entry.start,
                    end=entry.end,
                    text=entry.own_words,
                )
                for message, entries, tokens, vectors in zip(
                    messages, prepared.entries, prepared.tokens, prepared.vectors, strict=True
                )
                for part, entry in enumerate(entries)
            ),
        )
        notes.insert(
            connection,
            generation,
            (
                notes.EntryNote(
                    (message.seq, part), entry.reading.topic, entry.made_by, notes.noted(entry.reading)
                )
                for message, entries in zip(messages, prepared.entries, strict=True)
                for part, entry in enumerate(entries)
                if entry.kind != _CORRECTION
            ),
        )

    def forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """Remove the units that were made from any of these messages, and what was noted beside them."""
        removed = super().forget(connection, user, seqs)
        notes.forget(connection, self.name, user)
        return removed

    def drop(self, connection: Connection, generation: Generation) -> None:
        """Remove one generation."""
        super().drop(connection, generation)
        notes.drop(connection, generation)

    def entries(self, take_snapshot: TakeSnapshot, user: str) -> list[ProfileEntry]:
        """All that is known, in the order of time: what was superseded or retired too."""
        return [draft.entry() for draft in self._stand(take_snapshot, user, whole=True).settled.drafts]

    def draft(self, take_snapshot: TakeSnapshot, user: str, entry_id: str) -> EntryDraft | None:
        """The entry of that id, with what a correction has to name."""
        standing = self._stand(take_snapshot, user, whole=True)
        return next((draft for draft in standing.settled.drafts if draft.id == entry_id), None)

    def people(self, take_snapshot: TakeSnapshot, query: Query) -> tuple[Acquaintance, ...]:
        """Whom the user has called by a relation and by a name, each once."""
        settled = _as_asked(self._stand(take_snapshot, query.scope.user).settled, query)
        known = [acquaintance(draft.reading) for draft in settled.holding if draft.reading.kind == "relation"]
        return tuple(dict.fromkeys(person for person in known if person is not None))

    def links(self, take_snapshot: TakeSnapshot, user: str, seqs: Iterable[int]) -> tuple[Link, ...]:
        """What holds no more because a person said so: see `ended`."""
        with take_snapshot() as now:
            edits = log.editors(now.connection, user)
        if all(corrections.read(edit) is None for edit in edits):
            return ()
        return ended_by_hand(self._stand(take_snapshot, user).settled, user, 0, seqs)

    def retrieve(self, take_snapshot: TakeSnapshot, query: Query) -> Retrieved:
        """Entries that apply to the question, the likeliest first; their scores are probabilities."""
        standing = self._stand(take_snapshot, query.scope.user)
        settled, note = _as_asked(standing.settled, query), standing.note
        drafts_here, vectors = settled.holding, settled.vectors
        session = query.scope.session
        rows = [
            i
            for i, draft in enumerate(drafts_here)
            if session in (None, draft.unit.session) and not _only_names(draft)
        ]
        if len(rows) < len(drafts_here):
            drafts_here, vectors = tuple(drafts_here[i] for i in rows), vectors[rows]
        if not drafts_here:
            return Retrieved((), 0, 0.0, Explanation.of_nothing(), note)
        scores = np.array([certain(draft.reading, query.text) for draft in drafts_here])
        try:
            scale = self._scale = self._scale or measure(self._embedder)
            phrases = [question_words(query.text), subject_words(query.text)]
            question_vector, subject_vector = embed(self._embedder, phrases)
        except ModelFailed as error:
            note = _both(note, f"only what applies always: {error}")
        else:
            if question_vector.any():
                kinds: list[Kind] = [draft.reading.kind for draft in drafts_here]
                likely = probabilities(
                    kinds, scale.nearness(dense.products(vectors, question_vector)), query.text
                )
                scores = np.maximum(scores, np.where(vectors.any(axis=1), likely, 0.0))
            of_areas = probabilities_of_areas(scale, query.text, subject_vector)
            areas = [draft.reading.areas for draft in drafts_here]
            scores = np.maximum(
                scores, [max((of_areas[area] for area in some), default=0.0) for some in areas]
            )
        order = np.argsort(-scores, kind="stable").tolist()
        evidence = (
            self._evidence(drafts_here[row], float(scores[row]), _applies(rank, float(scores[row])))
            for rank, row in enumerate(order, 1)
            if scores[row] >= self._least_probability
        )
        room = OFFERED * query.budget_tokens
        taken: list[Evidence] = []
        for unit in evidence:
            if taken and unit.tokens > room:
                break
            taken.append(unit)
            room -= unit.tokens
        ranked = _Ranked([(drafts_here[row].own_sources, float(scores[row])) for row in order])
        return Retrieved(tuple(taken), len(drafts_here), ranked.best, ranked, note)

    def warm(self, take_snapshot: TakeSnapshot, user: str) -> None:
        """Have the user's profile in memory, up to date."""
        self._stand(take_snapshot, user)

    def refresh(self, database: Database, user: str, generation: Generation | None) -> None:  # noqa: ARG002
        """No live object holds what was read before."""
        with database.read(user) as connection:
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

    def _stand(self, take_snapshot: TakeSnapshot, user: str, *, whole: bool = False) -> KnownProfile:
        """What is known now: what is new is read in short snapshots, and embedded when they are closed.

        Not `whole`, it is as much of it as a recall can wait for: of the messages that the view has not read
        the newest alone, if they are many. What is cached then is `partial`, and serves recalls only. Of
        several calls that find nothing in memory one reads, and the others have it from there.
        """
        if user in self._standing.users():
            return self._read_new(take_snapshot, user, whole=whole)
        with self._beginning.of(user):
            return self._read_new(take_snapshot, user, whole=whole)

    def _read_new(self, take_snapshot: TakeSnapshot, user: str, *, whole: bool) -> KnownProfile:
        """See _stand."""
        with take_snapshot() as now:
            state = now.state
            generation = usable(now.generation, self.fingerprint)
            number, cursor = (generation.number, generation.cursor) if generation else (0, 0)
            held = self._standing.get(user, number)
            if held is not None and held.state == state and held.cursor == cursor:
                if not (whole and held.is_partial):
                    return held
            elif held is not None and (held.state.deletions != state.deletions or held.cursor > cursor):
                held = None
            before = held or _nothing_known(self._embedder.dimension)
            new: dict[units.Key, ReadUnit] = {}
            if generation is not None and before.cursor < cursor:
                new = self._load(now.connection, generation, after=before.cursor)
            edited = sorted(read.unit.seq for read in new.values() if read.unit.kind == _CORRECTION)
            edits = list(log.fetch(now.connection, user, edited).values())
            start, unread_to = max(cursor, before.read_to), before.unread_to
            if whole:
                start, unread_to = (cursor if before.is_partial else start), 0
            newest = None if whole else tail(now.connection, user, start, most=MOST_UNREAD)
        if newest is None:
            batches = _unread(take_snapshot, user, start, state.last_seq)
        else:
            batches = iter([newest.messages])
            unread_to = newest.messages[0].seq - 1 if newest.note else unread_to
        late: dict[units.Key, ReadUnit] = {}
        failure = ""
        for messages in batches:
            some, failed = self._read_late(messages)
            late |= some
            failure = failure or failed
            edits += [message for message in messages if message.role == corrections.ROLE]
        foreign = FOREIGN_VECTORS if now.generation is not None and generation is None else ""
        standing = KnownProfile(
            state,
            cursor,
            max(cursor, state.last_seq),
            unread_to,
            frozenset(key for key in before.late if key[0] > cursor) | late.keys(),
            _settle(before, cursor, {**new, **late}, edits),
            _both(only_newest(MOST_UNREAD) if unread_to > cursor else "", failure or foreign),
        )
        if not failure:  # else the embedder is asked again next time
            self._standing.put(user, standing, state, number)
        return standing

    def _load(
        self, connection: Connection, generation: Generation, *, after: int
    ) -> dict[units.Key, ReadUnit]:
        """The generation's units that stand on messages above that seq."""
        keys = units.keys(connection, self.name, generation, after=after)
        loaded, vectors = units.load(
            connection, self.name, generation, self._embedder.dimension, after=after, only=keys
        )
        beside = notes.load(connection, generation, after=after)
        return {
            unit.key: _read_unit(unit, vector, beside.get(unit.key))
            for unit, vector in zip(loaded, vectors, strict=True)
        }

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
                    role=message.voice,
                    name=message.name,
                    time=message.time,
                    days=days_named(message, text),
                    start=entry.start,
                    is_dated=message.is_dated,
                )
                late[unit.key] = ReadUnit(unit, entry.reading, vector)
        return late, note


@dataclass(frozen=True, slots=True)
class _Ranked:
    """What the view can say afterwards: the sources of every entry and its probability, likeliest first."""

    entries: list[tuple[tuple[int, ...], float]]

    @property
    def best(self) -> float:
        return self.entries[0][1]

    def __call__(self, seq: int) -> tuple[ChannelScore, ...] | None:
        """Of the likeliest entry of the message; None where it has none."""
        for rank, (sources, probability) in enumerate(self.entries, 1):
            if seq in sources:
                return _applies(rank, probability)
        return None


def _applies(rank: int, probability: float) -> tuple[ChannelScore, ...]:
    return (ChannelScore("applies", rank, probability),)


def _nothing_known(dimension: int) -> KnownProfile:
    return KnownProfile(UserState(), 0, 0, 0, frozenset(), nothing(dimension))


def _unread(take_snapshot: TakeSnapshot, user: str, after: int, last: int) -> Iterator[list[Message]]:
    """The log's messages above seq `after`, up to `last`, so many at a time as a recall reads."""
    while after < last:
        with take_snapshot() as now:
            messages = log.read(now.connection, user, after=after, to=last, limit=MOST_UNREAD)
        if not messages:
            return
        yield messages
        after = messages[-1].seq


def _settle(
    before: KnownProfile, cursor: int, read: Mapping[units.Key, ReadUnit], edits: Sequence[Message]
) -> Settled:
    """With what was read since; what the view has read by now takes the place of what the log said of it."""
    known = before.settled.known
    gone = {key for key in before.late if key[0] <= cursor and key not in read}
    new = {key: late for key, late in read.items() if key not in known or not _same(known[key], late)}
    taken = {known.message.seq for some in before.settled.corrections.values() for known in some}
    given = (corrections.read(message) for message in edits if message.seq not in taken)
    wanted = [correction for correction in given if correction is not None]
    return settle(before.settled, gone, new, wanted, _replaced(edits))


def _replaced(edits: Sequence[Message]) -> dict[int, datetime]:
    """When each message was corrected that was: what it said is nobody's word any more."""
    times: dict[int, datetime] = {}
    for edit in edits:
        assert edit.time is not None  # what is stored has one
        for seq in edit.corrects:
            times[seq] = min(edit.time, times.get(seq, edit.time))
    return times


def _only_names(draft: EntryDraft) -> bool:
    """Whether nothing is told of somebody but a name, as questions do: who is meant, and no news."""
    by_hand = draft.pinned or draft.spoken_by is not None
    return draft.reading.kind == "relation" and not by_hand and only_names(draft.text)


def _same(known: ReadUnit, new: ReadUnit) -> bool:
    alike = (known.unit, known.reading, known.made_by) == (new.unit, new.reading, new.made_by)
    return alike and bool(np.array_equal(known.vector, new.vector))


def _as_asked(settled: Settled, query: Query) -> Settled:
    """What was known at the time that a recall is of."""
    return settled if query.before is None else said_before(settled, query.before)


def _both(note: str, other: str) -> str:
    return "; ".join(part for part in (note, other) if part)


def _read(message: Message) -> list[EntryInMessage]:
    """What a message says of its author, or corrects. Nothing that machines say is an entry."""
    if (correction := corrections.read(message)) is not None:
        reading = read_as(correction.kind, correction.text)
        text = entry_words(reading, correction.text) if correction.text else ""
        return [EntryInMessage(_CORRECTION, 0, len(message.content), reading, text)]
    if message.is_noise:
        return []
    if (kind := _told_kind(message)) is not None:
        return [
            EntryInMessage(kind, start, end, reading, entry_words(reading, message.content[start:end]))
            for start, end in sentences(message.content)
            for reading in (read_as(kind, message.content[start:end]),)
        ]
    if message.voice in MACHINES or message.voice == corrections.ROLE:
        return _mark_of_correction(message)
    return [*_mark_of_correction(message), *_stated(message), *_named(message)]


def _stated(message: Message) -> Iterator[EntryInMessage]:
    for start, end in own_statements(message.content):
        text = message.content[start:end]
        for reading in readings(text, among_people=message.name is not None):
            yield EntryInMessage(reading.kind, start, end, reading, entry_words(reading, text))


def _named(message: Message) -> Iterator[EntryInMessage]:
    """People whom its questions name: "a gift for my wife Anjali"."""
    for first, last in own_questions(message.content):
        for start, end in people_in(unquoted(message.content[first:last])):
            text = message.content[first + start : first + end]
            reading = read_as("relation", text)
            yield EntryInMessage(
                reading.kind, first + start, first + end, reading, entry_words(reading, text)
            )


def _told_kind(message: Message) -> Kind | None:
    """The kind of entry that each of its sentences is: custom instructions, and what a program remembers."""
    told_kind = message.metadata.get(PROFILE)
    return next((kind for kind in KINDS if kind == told_kind), None)


def _mark_of_correction(message: Message) -> list[EntryInMessage]:
    """That a message corrects another, whose entries are none any more."""
    return [EntryInMessage(_CORRECTION, 0, 0, Reading("fact"), "")] if message.corrects else []


def _read_unit(unit: Unit, vector: Vectors, note: notes.EntryNote | None) -> ReadUnit:
    """As when the unit was made.

    To read an entry takes a tenth of a millisecond, and the first one in a process a fifth of a second, for
    the grammar's patterns: so it is done where nobody noted the reading alone.
    """
    kind = next((kind for kind in KINDS if kind == unit.kind), None)
    if kind is None:
        return ReadUnit(unit, Reading("fact"), vector)
    if note is not None and (reading := note.reading_of(kind)) is not None:
        return ReadUnit(unit, reading, vector, note.made_by)
    reading = read_as(kind, unit.text, among_people=unit.name is not None)
    if note is None:
        return ReadUnit(unit, reading, vector)
    if kind == "instruction":
        reading = replace(reading, topic=note.topic)
    return ReadUnit(unit, reading, vector, note.made_by)
