"""The notes view: what people state, what a model reads in their sessions, and what has ended it.

A message's stated forms are read in its turn, with no model. Where there is one, the message is also noted as
unread, and its session is read when it has been quiet for half an hour, when 4,096 of its tokens are unread,
or when somebody maintains in the foreground.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np
from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import ChannelScore, Evidence, Message
from zibaldone.core.validation import to_time
from zibaldone.errors import ModelFailed
from zibaldone.log import UserState
from zibaldone.models.asker import Asker
from zibaldone.models.base import Embedder, Tokenizer, WordEmbedder
from zibaldone.models.embedding import embed
from zibaldone.search import dense
from zibaldone.search.question import Question
from zibaldone.search.ranker import Explanation
from zibaldone.storage.database import Database
from zibaldone.text.bounds import as_read
from zibaldone.text.rendering import line, line_tokens
from zibaldone.text.words import terms
from zibaldone.views import units
from zibaldone.views.base import Content, Counted, Generation, PrepareContext, Retrieved, TakeSnapshot
from zibaldone.views.notes import hand, table
from zibaldone.views.notes.ledger import Ledger, NoteDraft, settle
from zibaldone.views.notes.note import BY_HAND, RULES, STATED, Link, UserNote, kind_of
from zibaldone.views.notes.stated import stated
from zibaldone.views.notes.table import NAME, NoteRow, StoredNote
from zibaldone.views.notes.taking import PIECE_TOKENS, HeldNote, Reading, pieces, shown_text, take
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
from zibaldone.views.user_cache import UserCache

QUIET = timedelta(minutes=30)
_ANALYSIS = "1"  # raise it when other notes would be read from a message without a model
_MOST_USERS = 200
_BATCH_WITH_MODEL = 64  # messages: so much is asked again after a crash
_NEVER = 2**62  # a seq that no log reaches
_FITS = 0.3  # cosine of a rule and a question that have no word in common


@dataclass(frozen=True, slots=True)
class PreparedNotes:
    """Notes and endings of a batch of messages."""

    rows: list[NoteRow]
    endings: Mapping[units.Key, table.Ending] = field(default_factory=dict)  # of notes that are stored
    unread: Mapping[int, int] = field(default_factory=dict)  # of the batch: seqs and tokens
    read: frozenset[int] = frozenset()  # of what was unread before it
    is_numbered: bool = True  # False: seqs are not known yet, and messages are counted from 1

    def rows_on(self, seqs: Sequence[int]) -> list[NoteRow]:
        """Rows on the messages of these seqs."""
        if self.is_numbered:
            return self.rows
        return [row.on(seqs[row.key[0] - 1]) for row in self.rows]


@dataclass(frozen=True, slots=True)
class KnownNotes:
    """A user's notes as of one version of the user."""

    state: UserState
    cursor: int  # up to this seq the notes are the view's; behind it they were read from the log,
    unread_from: int = 0  # from this one on, where not all was
    stored: Mapping[units.Key, StoredNote] = field(default_factory=dict)
    late: Mapping[units.Key, StoredNote] = field(default_factory=dict)
    edits: tuple[Message, ...] = ()  # all that people told by editing
    messages: Mapping[int, Message] = field(default_factory=dict)  # that ended or are edited
    ledger: Ledger = field(default_factory=lambda: settle((), (), {}, (), 0))
    note: str = ""

    def as_of(self, before: datetime | None, dimension: int) -> Ledger:
        """The ledger at a time; None is now."""
        if before is None:
            return self.ledger
        return _settled({**self.stored, **self.late}, self.edits, self.messages, dimension, before)


class NotesView(UnitsView):
    """Notes on a user: from these come the profile, what is always known, and marks of what has ended."""

    name = NAME

    def __init__(
        self, embedder: Embedder, tokenizer: Tokenizer, asker: Asker, *, clock: Callable[[], datetime]
    ) -> None:
        """`tokenizer` counts what budgets are in; `clock` says which session has been quiet.

        The asker's model, if there is one, only says more, so another one makes no other generation.
        """
        super().__init__(embedder, _ANALYSIS)
        self._asker, self._tokenizer, self._clock = asker, tokenizer, clock
        if asker.has_model:
            self.batch_messages = _BATCH_WITH_MODEL
        self._tended_from = 0 if asker.has_model else _NEVER
        self._known: UserCache[KnownNotes] = UserCache(_MOST_USERS)

    @property
    def tended_from(self) -> int:
        """First seq to be maintained; without a model nothing is."""
        return self._tended_from

    def prepare(
        self,
        messages: Sequence[Message],
        basis: PrepareContext | None = None,
    ) -> PreparedNotes | None:
        """Read stated forms, and have a model read the sessions that are due."""
        if basis is None:
            if self._asker.has_model:
                return None
            counted = [replace(message, seq=number) for number, message in enumerate(messages, 1)]
            return PreparedNotes(self._stated_rows(counted), is_numbered=False)
        rows = self._stated_rows(messages)
        if not self._asker.has_model:
            return PreparedNotes(rows)
        shown = {message.seq: shown_text(message) for message in messages}
        counts = self._tokenizer.count(list(shown.values()))
        tokens = {
            seq: count for (seq, text), count in zip(shown.items(), counts, strict=True) if text.strip()
        }
        with basis.read() as connection:
            before = table.unread(connection, basis.generation) if basis.generation else {}
            sessions = self._unread_sessions(connection, basis.user, before, messages, tokens)
            stored = self._load(connection, basis.generation) if basis.generation else {}
            edits = log.editors(connection, basis.user)
            ledger = self._ledger(connection, basis.user, stored, edits)
        reading = Reading({**_held(ledger), **_held_rows(rows, messages)}, {row.key: row for row in rows})
        all_tokens = {**before, **tokens}
        for piece in _due(
            sessions, all_tokens, to_time(self._clock()), at_once=basis.at_once or not basis.patient
        ):
            self._take(piece, reading, basis.user, patient=basis.patient)
        return PreparedNotes(
            list(reading.rows.values()),
            reading.endings,
            {seq: count for seq, count in tokens.items() if seq not in reading.done},
            frozenset(reading.done & before.keys()),
        )

    def commit(
        self,
        connection: Connection,
        generation: Generation,
        seqs: Sequence[int],
        prepared: PreparedNotes,
    ) -> None:
        """Store notes, endings, and unread messages."""
        table.insert(connection, generation, prepared.rows_on(seqs))
        table.end(connection, generation, prepared.endings)
        table.add_unread(connection, generation, prepared.unread)
        table.take_unread(connection, generation, prepared.read)

    def housekeep(
        self, database: Database, generation: Generation, *, patient: bool = False
    ) -> tuple[Counted, ...]:
        """Have a model read sessions that are due; in the foreground (not `patient`) all of them."""
        if not self._asker.has_model or generation.fingerprint != self.fingerprint:
            return ()
        user = generation.user
        while True:
            with database.read(user) as connection:
                unread = table.unread(connection, generation)
                sessions = self._unread_sessions(connection, user, unread, (), {})
                due = _due(sessions, unread, to_time(self._clock()), at_once=not patient)
                if not due:
                    return (Counted("unread", len(unread)),) if unread else ()
                deletions = log.state(connection, user).deletions
                stored, edits = self._load(connection, generation), log.editors(connection, user)
                ledger = self._ledger(connection, user, stored, edits)
            reading = Reading(_held(ledger))
            self._take(due[0], reading, user, patient=patient)
            if not reading.done:
                return (Counted("unread", len(unread)),)

            def commit(
                connection: Connection, reading: Reading = reading, deletions: int = deletions
            ) -> None:
                if log.state(connection, user).deletions != deletions:
                    return  # something was forgotten meanwhile: its text must not come back
                if table.take_unread(connection, generation, reading.done):
                    table.insert(connection, generation, list(reading.rows.values()))
                    table.end(connection, generation, reading.endings)
                    log.touch(connection, user)

            database.transact(commit, user)

    def due(self, connection: Connection, user: str | None = None) -> set[str]:
        """Users with a session that a model may read now."""
        if not self._asker.has_model:
            return set()
        quiet_since = log.to_us(to_time(self._clock()) - QUIET)
        return table.waiting(connection, quiet_since, PIECE_TOKENS, user)

    def forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """Remove notes of these messages, and undo what they had ended."""
        removed = super().forget(connection, user, seqs)
        table.forget(connection, user, seqs)
        return removed

    def drop(self, connection: Connection, generation: Generation) -> None:
        """Delete one generation."""
        super().drop(connection, generation)
        table.drop(connection, generation)

    def faults(self, connection: Connection, generation: Generation) -> list[str]:
        """Disagreements of units, rows and log."""
        return [*super().faults(connection, generation), *table.faults(connection, generation)]

    def contents(self, take_snapshot: TakeSnapshot) -> list[Content]:
        """Contents of the notes, and which message ended one."""
        with take_snapshot() as now:
            if now.generation is None:
                return []
            dimension = int(now.generation.fingerprint.rsplit("/", 1)[1])
            stored = table.load(now.connection, now.generation, dimension)
        return [
            Content(tuple(sorted(note.unit.sources)), note.unit.kind, note.unit.text + _over(note))
            for _, note in sorted(stored.items())
        ]

    def notes(self, take_snapshot: TakeSnapshot, user: str) -> list[UserNote]:
        """All notes in the order of time, ended ones too."""
        return self._stand(take_snapshot, user, whole=True).ledger.notes()

    def draft(self, take_snapshot: TakeSnapshot, user: str, note_id: str) -> NoteDraft | None:
        """The note of that id, with the fields that an edit has to name; None if there is none."""
        return self._stand(take_snapshot, user, whole=True).ledger.of_id(note_id)

    def links(self, take_snapshot: TakeSnapshot, question: Question, seqs: Iterable[int]) -> tuple[Link, ...]:
        """Clauses of these messages that no longer hold, linked to their replacements."""
        known = self._stand(take_snapshot, question.scope.user)
        ledger = known.as_of(question.before, self._embedder.dimension)
        wanted, links = set(seqs), dict[Link, None]()
        while wanted:
            new = {
                link: None
                for seq in sorted(wanted)
                for link in ledger.links.get(seq, ())
                if link not in links
            }
            links |= new
            wanted = {link.new_seq for link in new} - wanted
        return tuple(
            sorted(links, key=lambda link: (link.new_seq, link.new_start, link.old_seq, link.old_start))
        )

    def standing(self, take_snapshot: TakeSnapshot, question: Question) -> Retrieved:
        """Instructions and constraints that hold and fit the question, or are pinned, the nearest first."""
        return self._ranked(take_snapshot, question, rules_only=True)

    def retrieve(self, take_snapshot: TakeSnapshot, question: Question) -> Retrieved:
        """Notes that hold, the nearest to the question first."""
        return self._ranked(take_snapshot, question, rules_only=False)

    def _ranked(self, take_snapshot: TakeSnapshot, question: Question, *, rules_only: bool) -> Retrieved:
        question = question.embedded(self._embedder)
        known = self._stand(take_snapshot, question.scope.user)
        ledger = known.as_of(question.before, self._embedder.dimension)
        note = "; ".join(filter(None, (known.note, question.note)))
        rows = [
            row
            for row, draft in enumerate(ledger.holding)
            if question.scope.session in (None, draft.unit.session)
            and (not rules_only or draft.kind in RULES)
            and question.lets_in(draft.own_sources)
        ]
        if not rows:
            return Retrieved((), 0, 0.0, Explanation.of_nothing(), note)
        drafts = [ledger.holding[row] for row in rows]
        wanted = set(question.stems)
        shared = np.array([_share(wanted, draft) for draft in drafts])
        near = np.zeros(len(drafts))
        # A rule is compared with the whole question: its content words alone miss "hazelnuts" by "nuts".
        is_table = isinstance(self._embedder, WordEmbedder)
        vector = embed(self._embedder, [question.text])[0] if is_table else question.vector
        if vector is not None:
            near = np.maximum(dense.products(ledger.vectors[rows], vector), 0.0)
        scores = np.minimum(1.0, near + shared)
        order = [
            row
            for row in np.argsort(-scores, kind="stable").tolist()
            if not rules_only or shared[row] or near[row] >= _FITS or drafts[row].pinned
        ]
        explain = _Ranked([(drafts[row].own_sources, float(scores[row])) for row in order])
        taken: list[Evidence] = []
        room = OFFERED * question.budget_tokens
        for rank, row in enumerate(order, 1):
            unit = self._evidence(drafts[row], float(scores[row]), _channel(rank, float(scores[row])))
            if taken and unit.tokens > room:
                break
            room -= unit.tokens
            taken.append(unit)
        best = float(scores[order[0]]) if order else 0.0
        return Retrieved(tuple(taken), len(drafts), best, explain, note)

    def _evidence(self, draft: NoteDraft, score: float, channels: tuple[ChannelScore, ...]) -> Evidence:
        spoken = draft.spoken or draft.unit
        tokens = draft.unit.tokens
        if draft.spoken is not None or not tokens:
            tokens = line_tokens([line(draft.unit.speaker, draft.text)], self._tokenizer.count)[0]
        return Evidence(
            text=draft.text,
            speaker=draft.unit.speaker,
            sources=draft.own_sources,
            time=spoken.time,
            session=spoken.session,
            view=self.name,
            kind=draft.kind,
            score=score,
            tokens=tokens,
            place=spoken.start,
            is_dated=spoken.is_dated,
            channels=channels,
        )

    def warm(self, take_snapshot: TakeSnapshot, user: str) -> None:
        """Load the user's notes into memory."""
        self._stand(take_snapshot, user)

    def refresh(self, database: Database, user: str, generation: Generation | None) -> None:  # noqa: ARG002
        """Drop the user's notes from memory."""
        with database.read(user) as connection:
            self._known.drop(user, log.state(connection, user))

    def _stand(self, take_snapshot: TakeSnapshot, user: str, *, whole: bool = False) -> KnownNotes:
        """The user's notes now.

        Not `whole`, of the messages that the view has not read the newest alone are read, if they are many.
        """
        with take_snapshot() as now:
            state = now.state
            generation = usable(now.generation, self.fingerprint)
            number, cursor = (generation.number, generation.cursor) if generation else (0, 0)
            held = self._known.get(user, number)
            if held is not None and (held.state.deletions != state.deletions or held.cursor > cursor):
                held = None
            is_new = held is None or (held.state, held.cursor) != (state, cursor)
            if held is not None and not is_new and not (whole and held.unread_from):
                return held
            stored: dict[units.Key, StoredNote] = dict(held.stored) if held else {}
            if generation is not None:
                stored |= self._load(now.connection, generation, after=held.cursor if held else 0)
                ended = sum(note.ended is not None for note in stored.values())
                if table.sizes(now.connection, generation) != (len(stored), ended):
                    stored = self._load(now.connection, generation)  # a session was read meanwhile
            late, read_to = (
                ({}, cursor) if held is None else (dict(held.late), max(cursor, held.state.last_seq))
            )
            if whole and held is not None and held.unread_from:
                late, read_to = {}, cursor
            late = {key: note for key, note in late.items() if key[0] > cursor}
            edits = log.editors(now.connection, user)
            unread = tail(now.connection, user, read_to, most=None if whole else MOST_UNREAD)
            unread_from = (
                held.unread_from if held is not None and held.unread_from > cursor and not whole else 0
            )
        if unread.note:
            unread_from = unread.messages[0].seq
        some, failed = self._read_late(unread.messages)
        late |= some
        foreign = FOREIGN_VECTORS if now.generation is not None and generation is None else ""
        cut = only_newest(MOST_UNREAD) if unread_from else ""
        note = "; ".join(filter(None, (foreign, failed, cut)))
        with take_snapshot() as then:
            messages_of = self._messages(then.connection, user, {**stored, **late}, edits)
        ledger = _settled({**stored, **late}, edits, messages_of, self._embedder.dimension)
        known = KnownNotes(state, cursor, unread_from, stored, late, tuple(edits), messages_of, ledger, note)
        if not failed:  # else the embedder is asked again next time
            self._known.put(user, known, state, number)
        return known

    def _load(
        self, connection: Connection, generation: Generation, *, after: int = 0
    ) -> dict[units.Key, StoredNote]:
        return table.load(connection, generation, self._embedder.dimension, after=after)

    def _ledger(
        self,
        connection: Connection,
        user: str,
        stored: Mapping[units.Key, StoredNote],
        edits: Sequence[Message],
    ) -> Ledger:
        messages = self._messages(connection, user, stored, edits)
        return _settled(stored, edits, messages, self._embedder.dimension)

    def _messages(
        self,
        connection: Connection,
        user: str,
        stored: Mapping[units.Key, StoredNote],
        edits: Sequence[Message],
    ) -> dict[int, Message]:
        """Messages that ended notes, and those that edits are of."""
        ended = {note.ended.by for note in stored.values() if note.ended}
        named = {edit.seq for message in edits if (edit := hand.read(message)) is not None}
        return log.fetch(connection, user, sorted(ended | named)) if ended or named else {}

    def _unread_sessions(
        self,
        connection: Connection,
        user: str,
        before: Mapping[int, int],
        batch: Sequence[Message],
        tokens: Mapping[int, int],
    ) -> dict[str, tuple[list[Message], bool]]:
        """Unread messages by session, and True if the log has more of the session behind the batch."""
        waiting = [as_read(message) for message in log.fetch(connection, user, sorted(before)).values()]
        waiting += [message for message in batch if message.seq in tokens]
        sessions: dict[str, list[Message]] = {}
        for message in sorted(waiting, key=lambda message: message.seq):
            sessions.setdefault(message.session, []).append(message)
        end = batch[-1].seq if batch else 0
        return {
            session: (
                some,
                bool(end) and bool(log.read(connection, user, session=session, after=end, limit=1)),
            )
            for session, some in sessions.items()
        }

    def _take(self, piece: Sequence[Message], reading: Reading, user: str, *, patient: bool) -> None:
        take(self._asker, self._embedder, self._tokenizer, piece, reading, user=user, patient=patient)

    def _stated_rows(self, messages: Sequence[Message], *, with_vectors: bool = True) -> list[NoteRow]:
        """Rows of the notes that messages state; their vectors are zero unless `with_vectors`."""
        notes = [(message, part, note) for message in messages for part, note in enumerate(stated(message))]
        texts = [message.content[note.start : note.end] for message, _, note in notes]
        vectors = np.zeros((len(texts), self._embedder.dimension), dtype=np.float32)
        if with_vectors:
            vectors = embed(self._embedder, texts)
        lines = [line(message.speaker, text) for (message, _, _), text in zip(notes, texts, strict=True)]
        counts = line_tokens(lines, self._tokenizer.count)
        return [
            NoteRow(
                units.Row(
                    sources=(message.seq,),
                    part=part,
                    kind=note.kind,
                    tokens=tokens,
                    vector=vector,
                    days=days_named(message, text),
                    start=note.start,
                    end=note.end,
                ),
                BY_HAND if note.by_hand else STATED,
                (message.seq, note.start, note.end),
            )
            for (message, part, note), text, vector, tokens in zip(notes, texts, vectors, counts, strict=True)
        ]

    def _read_late(self, messages: Sequence[Message]) -> tuple[dict[units.Key, StoredNote], str]:
        """(notes of unread messages, a note if the embedder fails: vectors are zero then)."""
        note = ""
        try:
            rows = self._stated_rows(messages)
        except ModelFailed as error:
            note = f"notes of messages that were not read yet have no vectors: {error}"
            rows = self._stated_rows(messages, with_vectors=False)
        on = {message.seq: message for message in messages}
        late = {}
        for row in rows:
            message = on[row.key[0]]
            own = row.unit
            assert own.vector is not None
            text = message.content[own.start : own.end]
            unit = units.unit_on(
                message, own.sources, own.part, text, own.kind, own.tokens, own.start, own.days
            )
            stored = dense.from_bytes([dense.to_bytes(own.vector)], self._embedder.dimension)[0]
            late[row.key] = StoredNote(unit, stored, row.made_by, row.clause)
        return late, note


@dataclass(frozen=True, slots=True)
class _Ranked:
    """The sources of every note and its score, the best first."""

    notes: list[tuple[tuple[int, ...], float]]

    def __call__(self, seq: int) -> tuple[ChannelScore, ...] | None:
        """Channels of the best note of the message; None if it has none."""
        for rank, (sources, score) in enumerate(self.notes, 1):
            if seq in sources:
                return _channel(rank, score)
        return None


def _channel(rank: int, score: float) -> tuple[ChannelScore, ...]:
    return (ChannelScore("fits", rank, score),)


def _share(wanted: set[str], draft: NoteDraft) -> float:
    """Share of the question's terms that the note has."""
    return len(wanted.intersection(terms(draft.text))) / len(wanted) if wanted else 0.0


def _due(
    sessions: Mapping[str, tuple[list[Message], bool]],
    tokens: Mapping[int, int],
    now: datetime,
    *,
    at_once: bool,
) -> list[list[Message]]:
    """Pieces to be read now: full ones, and the rest of sessions that have come to rest."""
    due: list[list[Message]] = []
    for messages, goes_on in sessions.values():
        time = messages[-1].time
        rests = not goes_on and (at_once or (time is not None and now - time >= QUIET))
        made = pieces(messages, tokens)
        full = sum(tokens[message.seq] for message in made[-1]) >= PIECE_TOKENS
        due += made if rests or full else made[:-1]
    return due


def _over(note: StoredNote) -> str:
    return f" [ended by message {note.ended.by}]" if note.ended else ""


def _held(ledger: Ledger) -> dict[units.Key, HeldNote]:
    return {
        draft.unit.key: HeldNote(
            draft.unit.key,
            draft.kind,
            draft.text,
            (draft.spoken or draft.unit).time.date().isoformat(),
            tuple(sorted(draft.sources)),
            draft.vector,
            draft.pinned,
        )
        for draft in ledger.holding
    }


def _held_rows(rows: Sequence[NoteRow], messages: Sequence[Message]) -> dict[units.Key, HeldNote]:
    """Notes that this batch states, before it is stored."""
    on = {message.seq: message for message in messages}
    held = {}
    for row in rows:
        message, unit = on[row.key[0]], row.unit
        assert message.time is not None  # what is stored has one
        assert unit.vector is not None
        text, day = message.content[unit.start : unit.end], message.time.date().isoformat()
        kind = kind_of(unit.kind)
        assert kind is not None
        held[row.key] = HeldNote(row.key, kind, text, day, unit.sources, unit.vector)
    return held


def _settled(
    stored: Mapping[units.Key, StoredNote],
    edits: Sequence[Message],
    messages: Mapping[int, Message],
    dimension: int,
    before: datetime | None = None,
) -> Ledger:
    by_hand = [edit for message in edits if (edit := hand.read(message)) is not None]
    replaced = {
        seq
        for message in edits
        if before is None or (message.time is not None and message.time < before)
        for seq in message.corrects
    }
    return settle(stored.values(), by_hand, messages, replaced, dimension, before)
