"""Notes with a model: a session, or 4,096 tokens of it, is read together with the notes that hold.

Nothing is locked and no transaction is open meanwhile. A note has to be borne out by the messages that it
names; an instruction or a constraint by a person's own words alone, so that no document, tool or assistant
can give one in somebody's name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from zibaldone.core import Message
from zibaldone.models.asker import Asker, TaskAnswer
from zibaldone.models.base import Embedder, Tokenizer, Vectors
from zibaldone.models.embedding import embed
from zibaldone.search import dense
from zibaldone.text.dated_text import day_in_words, resolved
from zibaldone.text.faithfulness import SourceTexts, denies, nearest, with_sources
from zibaldone.text.rendering import OMISSION, line, line_tokens
from zibaldone.text.sentences import sentences
from zibaldone.text.words import terms
from zibaldone.views import units
from zibaldone.views.notes.note import RULES, Kind
from zibaldone.views.notes.stated import is_owners, is_persons, own_text
from zibaldone.views.notes.table import Ending, NoteRow, Place
from zibaldone.views.toolkit import days_named

if TYPE_CHECKING:
    from zibaldone.models.dividing import Q
    from zibaldone.models.task import Task
    from zibaldone.views.notes.tasks import NewNote, Taken, TakeNotes

PIECE_TOKENS = 4096  # of a session, in one question
_NOTES_TOKENS = 1500  # of the notes that go with it
_LONGEST_OWN, _LONGEST_OTHER = 12_000, 600  # characters that are shown of one message
_FIRST_PART = 1000  # parts below are of what messages state by themselves
_ALIKE = 0.7  # of the terms of a note: one that says little more is the same


@dataclass(slots=True)
class HeldNote:
    """A note that holds while sessions are read, stored or not."""

    key: units.Key
    kind: Kind
    text: str
    since: str
    sources: tuple[int, ...]
    vector: Vectors
    first: bool = False  # pinned by a person


@dataclass(slots=True)
class Reading:
    """Results so far: new notes, endings, and seqs of messages that are done."""

    held: dict[units.Key, HeldNote]
    rows: dict[units.Key, NoteRow] = field(default_factory=dict)
    endings: dict[units.Key, Ending] = field(default_factory=dict)  # of notes that are stored
    done: set[int] = field(default_factory=set)


def shown_text(message: Message) -> str:
    """Text of a message for a model: a person's own words, or the beginning of an assistant's."""
    if is_persons(message):
        text, most = own_text(message.content), _LONGEST_OWN
    elif message.voice == "assistant" and not message.is_noise:
        text, most = message.content.strip(), _LONGEST_OTHER
    else:
        return ""
    return text if len(text) <= most else f"{text[:most]} {OMISSION}"


def pieces(messages: Sequence[Message], tokens: Mapping[int, int]) -> list[list[Message]]:
    """Split messages of a session into as few pieces as hold them; a longer message is a piece of its own."""
    made: list[list[Message]] = []
    room = 0
    for message in messages:
        if tokens[message.seq] > room or not made:
            made.append([])
            room = PIECE_TOKENS
        made[-1].append(message)
        room -= tokens[message.seq]
    return made


def take(
    asker: Asker,
    embedder: Embedder,
    tokenizer: Tokenizer,
    piece: Sequence[Message],
    reading: Reading,
    *,
    user: str,
    patient: bool,
) -> None:
    """Have a model read a piece of a session; results are added to `reading`.

    A bad answer is asked for again in halves. What no part of could be used is done all the same: the log has
    it. What a model that is not there was to read stays unread; with `patient`, it raises ModelUnavailable.
    """
    from zibaldone.models.dividing import ask_in_parts
    from zibaldone.models.task import shown_message
    from zibaldone.views.notes.tasks import ShownNote, TakeNotes

    shown = {message.seq: shown_text(message) for message in piece}
    given = [message for message in piece if shown[message.seq].strip()]
    if not any(map(is_owners, given)):
        reading.done.update(shown)
        return
    away, made_by = False, ""

    def ask(task: Task[Q]) -> TaskAnswer[Q]:
        nonlocal away, made_by
        answer = asker.ask(task, user=user, patient=patient)
        made_by = answer.made_by
        away |= bool(answer.degraded) and not answer.unusable
        return answer

    going: dict[int, Sequence[HeldNote]] = {}

    def task_of(part: Sequence[Message], failed: int) -> TakeNotes:
        going[part[0].seq] = near = _held_near(part, reading.held.values(), embedder, tokenizer)
        return TakeNotes(
            tuple(shown_message(message, shown[message.seq]) for message in part),
            tuple(
                ShownNote(number, note.kind, note.text, note.since, note.sources)
                for number, note in enumerate(near, 1)
            ),
            failed=failed,
        )

    for part, taken in ask_in_parts(ask, given, task_of):
        _add(taken, part, going[part[0].seq], reading, embedder, tokenizer, made_by)
        reading.done.update(message.seq for message in part)
    if not away:
        reading.done.update(shown)


def _held_near(
    part: Sequence[Message], held: Iterable[HeldNote], embedder: Embedder, tokenizer: Tokenizer
) -> list[HeldNote]:
    """Notes that go with a question: pinned notes and rules, then the nearest, while there is room."""
    known = list(held)
    if not known:
        return []
    vectors = embed(embedder, [shown_text(message) for message in part])
    near = np.max(np.stack([dense.products(vectors, note.vector) for note in known]), axis=1)
    order = sorted(
        range(len(known)),
        key=lambda i: (not (known[i].first or known[i].kind in RULES), -float(near[i]), known[i].key),
    )
    counts = tokenizer.count([f"{known[place].kind} {known[place].text}" for place in order])
    room, taken = _NOTES_TOKENS, []
    for place, tokens in zip(order, counts, strict=True):
        if tokens <= room:
            room -= tokens
            taken.append(known[place])
    return sorted(taken, key=lambda note: note.key)


def _add(
    taken: Taken,
    part: Sequence[Message],
    going: Sequence[HeldNote],
    reading: Reading,
    embedder: Embedder,
    tokenizer: Tokenizer,
    made_by: str,
) -> None:
    """Add the parts of an answer that the messages bear out."""
    messages = {message.seq: message for message in part}
    judge = _Judge(messages)
    numbered = dict(enumerate(going, 1))
    kept: list[tuple[NewNote, int, tuple[int, ...]]] = []
    for new in taken.notes:
        sources, fault = judge.sources(new)
        if fault or not numbered.keys() >= set(new.ends):
            continue
        if new.ends or not _is_known(new, reading.held.values()):
            kept.append((new, max(seq for seq in sources if is_owners(messages[seq])), sources))
    vectors = embed(embedder, [new.text for new, _, _ in kept])
    lines = [line(messages[seq].speaker, new.text) for new, seq, _ in kept]
    counts = line_tokens(lines, tokenizer.count)
    parts = Counter(key[0] for key in reading.rows if key[1] >= _FIRST_PART)
    for (new, seq, sources), vector, tokens in zip(kept, vectors, counts, strict=True):
        message = messages[seq]
        clause = judge.clause(new, seq, sources)
        row = NoteRow(
            units.Row(
                sources=(seq, *(source for source in sources if source != seq)),
                part=_FIRST_PART + parts[seq],
                kind=new.kind,
                tokens=tokens,
                vector=vector,
                days=days_named(message, new.text),
                text=" ".join(new.text.split()),
            ),
            made_by,
            clause,
        )
        parts[seq] += 1
        reading.rows[row.key] = row
        instead = clause if clause and clause[0] == seq else judge.nearest_sentence(seq, new.text)
        for number in dict.fromkeys(new.ends):
            if numbered[number].key != row.key:
                _end(reading, numbered[number], Ending(seq, row.key[1], instead, made_by))
        since = message.time.date().isoformat() if message.time else ""
        reading.held[row.key] = HeldNote(row.key, new.kind, new.text, since, row.unit.sources, vector)
    for over in taken.ended:
        note, by = numbered.get(over.id), messages.get(over.by)
        if note is not None and by is not None and judge.own[over.by].strip():
            instead = judge.nearest_sentence(over.by, note.text)
            _end(reading, note, Ending(over.by, None, instead, made_by))


def _end(reading: Reading, note: HeldNote, ending: Ending) -> None:
    """End a note, unless the ending is older than the note, or it has ended already."""
    if ending.by < max(note.sources) or reading.held.pop(note.key, None) is None:
        return
    if note.key in reading.rows:
        reading.rows[note.key] = replace(reading.rows[note.key], ended=ending)
    else:
        reading.endings[note.key] = ending


class _Judge:
    """Checks notes against the messages of a piece."""

    def __init__(self, messages: Mapping[int, Message]) -> None:
        self.messages = messages
        self.own = {
            seq: own_text(message.content)[:_LONGEST_OWN] if is_owners(message) else ""
            for seq, message in messages.items()
        }
        self._names = " ".join(dict.fromkeys(message.speaker for message in messages.values()))

    def sources(self, new: NewNote) -> tuple[tuple[int, ...], str]:
        """(sources of a note, reason why they do not bear it out or "")."""
        given = dict.fromkeys(new.sources)
        if not given or not self.messages.keys() >= given.keys():
            return (), "names no source that was given"
        own = [seq for seq in given if self.own[seq].strip()]
        others = [seq for seq in given if not self.own[seq].strip()]
        if not own or (others and new.kind in RULES):
            return (), "is of no person's own words"
        if new.kind in RULES:
            return tuple(own), self._read(own).refusal(new.text)
        near = [*others, *nearest(own, self.messages)]
        sources, fault = with_sources(new.text, own, list(dict.fromkeys(near)), self._read)
        return tuple(sources), fault

    def clause(self, new: NewNote, seq: int, sources: Sequence[int]) -> Place | None:
        """Place where a source says the quote or the note's text word for word; None if nowhere."""
        for words in (new.quote, new.text):
            for source in (seq, *sources):
                if words and words.strip() and words in self.own[source]:
                    start = self.messages[source].content.find(words)
                    if start >= 0:
                        return source, start, start + len(words)
        return None

    def nearest_sentence(self, seq: int, text: str) -> Place:
        """The sentence of a message that shares the most terms with a text."""
        content, wanted = self.messages[seq].content, set(terms(text))
        spans = sentences(content) or [(0, len(content))]
        start, end = max(spans, key=lambda span: len(wanted.intersection(terms(content[span[0] : span[1]]))))
        return seq, start, end

    def _read(self, seqs: Sequence[int]) -> SourceTexts:
        """Texts of these messages with dates resolved; speakers and days may be told without a source."""
        texts, days = [], []
        for seq in seqs:
            message = self.messages[seq]
            text = self.own[seq] or message.content[:_LONGEST_OTHER]
            day = message.time.date() if message.time else None
            texts.append(resolved(text, day) if day else text)
            days.append(day_in_words(day) if day else "")
        return SourceTexts(texts, context=" ".join([self._names, *days]))


def _is_known(new: NewNote, held: Iterable[HeldNote]) -> bool:
    """True if a note that holds says the same, or nearly."""
    new_terms = set(terms(new.text))
    for note in held:
        known = set(terms(note.text))
        if denies(note.text) != denies(new.text):
            continue
        if new_terms <= known or (known <= new_terms and len(known) >= _ALIKE * len(new_terms)):
            return True
    return False
