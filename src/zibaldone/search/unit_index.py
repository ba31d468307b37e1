"""Units in memory: what a question is ranked against. One implementation for whatever a view calls a unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from zibaldone.core import MACHINES
from zibaldone.models.base import Vectors, WordEmbedder
from zibaldone.search.dense import Matrix
from zibaldone.search.lexical import Floats, Ints, LexicalIndex
from zibaldone.search.saved import SavedIndex
from zibaldone.search.unit import PASSAGE, Unit
from zibaldone.search.unit_list import PackedUnits, UnitList, by_first, saved_units
from zibaldone.search.vocabulary import Vocabulary
from zibaldone.search.windows import Windows
from zibaldone.text.words import STOP_WORDS, term_of, words

N = TypeVar("N", bound=np.generic)
RADII = (0, 2, 5)  # of the windows that scoring looks through; 0: what is said in one breath, see _breaths
_BREATH = 2  # passages before and behind one of the same message
AFTER_DAYS = 10  # what happened on a day is often told some days later
_CONE = 0.6  # length of the mean of a log's vectors, up to which it is a cone: natural logs have .2 to .53
_SAMPLED, _OF_EACH = 32, 200  # units by which a memory's language is told, and characters of each
_FEW_TOKENS = 15  # of a rendered answer that needs its question
_MARKS = ("?", "？", "؟")
# Of a row in a list, of days in another, and of a word with its terms in a table.
_ROW_BYTES = 40
_SPREAD_BYTES = 8  # of a row: see centred_cosines
_SIGNS = ("ends_asking", "_has_question")


class UnitIndex:
    """Rows 0 .. n-1 are units of one user, in the order in which they were appended. Arrays are (n,).

    Not safe among threads: who shares it holds a lock, and asks no embedder meanwhile but the static one of
    single words.
    """

    def __init__(self, dimension: int, word_embedder: WordEmbedder, saved: Sequence[SavedIndex] = ()) -> None:
        """Empty, or as it was saved, in segments one behind the other.

        Their arrays may be maps of a file, as long as they may be changed.
        """
        self.units = UnitList(saved)
        self.note = ""  # in words, what was left out of it
        self.vectors = Matrix(dimension, saved)
        self.lexical = LexicalIndex(saved)
        self._word_embedder = word_embedder
        self.speakers: dict[str, list[int]] = {}  # name -> rows
        self.named_days = np.zeros((0, 3), dtype=np.int64)  # row, first, last: ordinals, inclusive
        # Which rows have which message among their sources: pairs of the same place.
        self.source_rows = np.zeros(0, dtype=np.int64)
        self.source_seqs = np.zeros(0, dtype=np.int64)
        self.days = np.zeros(0, dtype=np.int64)  # ordinal of the day each unit was said
        # Where an assistant says it, 1 + log(how many times as much as all others assistants say), or 1.
        self.by_assistant: Floats = np.zeros(0, dtype=np.float32)
        self.with_assistant = np.zeros(0, dtype=bool)  # where an assistant takes part in the session
        self.windows: dict[int, Windows] = {}  # by radius
        self.ends_asking = np.zeros(0, dtype=bool)
        self._has_question = np.zeros(0, dtype=bool)
        self._vocabulary = Vocabulary(saved)
        self._sessions: dict[str, int] = {}
        self.seqs = np.zeros(0, dtype=np.int64)  # of the message that each unit stands on
        # Of each row: the number of its session, its time, whether an assistant says it, whether it is a part
        # of what somebody else says.
        self._session_of = np.zeros(0, dtype=np.int64)
        self._times = np.zeros(0)
        self._is_assistants = np.zeros(0, dtype=bool)
        self._is_passage = np.zeros(0, dtype=bool)
        self._speaker_of = np.zeros(0, dtype=np.int64)  # hash of each row's speaker
        # Rows session by session, in the order of their numbers, and how many each session has.
        self._order = np.zeros(0, dtype=np.int64)
        self._counts = np.zeros(0, dtype=np.int64)
        # Rows: what people said last before an assistant's unit, what stands right before anybody else's,
        # and what comes right after; -1 where the session begins or ends.
        self._askers = np.zeros(0, dtype=np.int64)
        self._replies = np.zeros(0, dtype=np.int64)
        self._spread: tuple[Floats, Floats, Floats] | None = None  # see centred_cosines
        self._sample: str | None = None  # see `sample`
        self._saved_bytes = 0  # of what was saved, and is read where it lies
        self._starts: list[int] = []  # row where each segment begins
        self._saved_rows = 0  # in segments
        if saved:
            self._open(saved)

    def __len__(self) -> int:
        """Units in the index."""
        return len(self.units)

    @property
    def nbytes(self) -> int:
        """Bytes of memory, about, once something was ranked; mapped files are counted."""
        arrays = sum(part.nbytes for part in vars(self).values() if isinstance(part, np.ndarray))
        spread = _SPREAD_BYTES * len(self)
        parts = (self.units, self.vectors, self.lexical, self._vocabulary)
        names = _ROW_BYTES * sum(map(len, self.speakers.values()))
        windows = sum(window.nbytes for window in self.windows.values())
        return arrays + spread + names + windows + self._saved_bytes + sum(p.nbytes for p in parts)

    @property
    def by_people(self) -> npt.NDArray[np.bool_]:
        """(n,) which units are of people; all, where nobody but assistants says anything."""
        return ~self._is_assistants if not self._is_assistants.all() else self._is_assistants

    def naming(self, first: int, last: int) -> Ints:
        """Rows that name a day, or days, from `first` to `last` (ordinals), some more than once."""
        rows, begins, ends = self.named_days.T
        return np.asarray(rows[(begins >= first) & (ends <= last)])

    def extend(self, units: Sequence[Unit], vectors: Vectors) -> None:
        """Append units, which follow those in the index; a zero row is a unit without a vector."""
        if not units:
            return
        of_units = [words(unit.text) for unit in units]
        self._vocabulary.add(of_units)
        self.lexical.extend(of_units, lambda word: [term for _, term in _pairs(word)])
        self.units.extend(units)
        self.vectors.extend(vectors)
        self._spread = self._sample = None
        texts = [unit.text for unit in units]
        self.ends_asking = _grown(self.ends_asking, [text.rstrip().endswith(_MARKS) for text in texts])
        self._has_question = _grown(self._has_question, [any(m in text for m in _MARKS) for text in texts])
        self._arrange(PackedUnits(saved_units(units)))

    def embed(self, first: int, vectors: Vectors) -> None:
        """Give rows from `first` on, none of which has a vector, and none behind them, theirs."""
        self.vectors.put(slice(first, first + len(vectors)), vectors)
        self._spread = None

    def settle(self) -> None:
        """Compute now all that the next question would be the first to need."""
        self.sample()
        if len(self):
            self._centre()

    def sample(self) -> str:
        """The first characters of some units, from all of the log."""
        if self._sample is None:
            rows = np.linspace(0, len(self) - 1, num=min(len(self), _SAMPLED)).astype(int).tolist()
            self._sample = " ".join(self.units[row].text[:_OF_EACH] for row in rows)
        return self._sample

    def remove(self, rows: AbstractSet[int]) -> None:
        """Take these rows out; nothing of their text stays, and the others move up."""
        gone = [self.units[row] for row in sorted(rows)]
        mask = np.ones(len(self.units), dtype=bool)
        mask[sorted(rows)] = False
        for unit in gone:
            self._vocabulary.remove(words(unit.text))
        self.units.keep(mask)
        self.vectors.keep(mask)
        self._spread = self._sample = None
        self._saved_bytes, self._starts, self._saved_rows = 0, [], 0
        self.lexical.keep(mask)
        for name in (*_SIGNS, "_times", "days", "_is_assistants", "_is_passage", "seqs", "_speaker_of"):
            setattr(self, name, getattr(self, name)[mask])
        self._close_up(mask)

    def _close_up(self, mask: npt.NDArray[np.bool_]) -> None:
        """Number rows and sessions as if the others had never been there."""
        moved = np.cumsum(mask) - 1
        rows_of = {name: [int(moved[row]) for row in of if mask[row]] for name, of in self.speakers.items()}
        self.speakers = {name: rows for name, rows in rows_of.items() if rows}
        self.named_days = self.named_days[mask[self.named_days[:, 0]]]
        self.named_days[:, 0] = moved[self.named_days[:, 0]]
        stays = mask[self.source_rows]
        self.source_rows, self.source_seqs = moved[self.source_rows[stays]], self.source_seqs[stays]
        numbers, self._session_of = by_first(self._session_of[mask])
        sessions = list(self._sessions)
        self._sessions = {sessions[number]: place for place, number in enumerate(numbers)}
        self._place_all()

    def rows_of(self, seqs: AbstractSet[int]) -> list[int]:
        """The rows that have any of these messages among their sources."""
        rows = self.source_rows[np.isin(self.source_seqs, np.fromiter(seqs, dtype=np.int64, count=len(seqs)))]
        return [int(row) for row in np.unique(rows)]

    def of_session(self, session: str) -> npt.NDArray[np.bool_]:
        """(n,) which units are of it."""
        number = self._sessions.get(session)
        return np.asarray(self._session_of == (-1 if number is None else number), dtype=bool)

    def best_of_session(self, values: Floats, among: npt.NDArray[np.bool_]) -> Floats:
        """(n,) the greatest of the values of each unit's session where `among` (n,) is true; 0 for none."""
        if not len(values):
            return values
        starts = np.cumsum(self._counts) - self._counts
        held = np.where(among, values, np.float32(-np.inf))[self._order]
        best = np.maximum.reduceat(held, starts)  # no session is empty
        best[np.isneginf(best)] = 0
        return np.asarray(best[self._session_of], dtype=np.float32)

    def overlaps_known_days(self, first: int, last: int) -> bool:
        """True if anything was said in these days, or soon after."""
        return bool(np.any((self.days >= first) & (self.days <= last + AFTER_DAYS)))

    def synonyms(self, word: str) -> list[tuple[str, float]]:
        """Terms of units that mean about the same as a word, with their cosines; its own may be one."""
        near: dict[str, float] = {}
        for like, cosine in self._word_embedder.like(word):
            for _, term in _pairs(like):
                if self.lexical.df(term):
                    near[term] = max(cosine, near.get(term, 0.0))
        return sorted(near.items())

    def has(self, word: str) -> bool:
        """True if some unit has a word, a function word or any other."""
        return word in self._vocabulary

    def has_words(self, many: int) -> bool:
        """True if the units have so many different words."""
        return next(islice(self._vocabulary, many - 1, None), None) is not None

    def spelled(self, word: str) -> str:
        """A word of a question, as memory spells it; as it is, where memory or the embedder knows it."""
        if word in self._vocabulary or self._word_embedder.count([word]) == [1]:
            return word
        return self._vocabulary.meant(word) or word

    def partner(self, row: int) -> int | None:
        """The row of the turn that makes sense of this one; None where it stands for itself.

        An assistant's answer, and a few words of people, need what they answer; a question that people ask
        each other needs its answer.
        """
        if self.ends_asking[row] and not self.with_assistant[row]:
            return self.reply(row)
        asker = int(self._askers[row])
        if asker < 0:
            return None
        answers = self.units[row].role in MACHINES
        needs_question = self.units[row].tokens <= _FEW_TOKENS and self._has_question[asker]
        return asker if answers or needs_question else None

    def reply(self, row: int) -> int | None:
        """The row that follows in the session."""
        following = int(self._replies[row])
        return following if following >= 0 else None

    def replied(self, among: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """(n,) which units are followed in the session by another speaker's, one of `among` (n,)."""
        following = self._replies
        by_other = self._speaker_of[following] != self._speaker_of
        return np.asarray((following >= 0) & among[following] & by_other, dtype=bool)

    def replies(self) -> Floats:
        """(n,) 1 where the unit before ends with a question, -1 where the unit itself does, 0 for both."""
        before = (self._askers >= 0) & self.ends_asking[self._askers]
        return before.astype(np.float32) - self.ends_asking

    def centred_cosines(self, vector: Vectors, products: Floats) -> Floats:
        """(n,) cosines of question and units, all taken from the mean of what people say.

        `products` are the rows' with the vector.

        Vectors of one log point into a narrow cone, and what they share says nothing: see `_shared`.
        0 without a vector.
        """
        if not vector.any():
            return np.zeros(len(products), dtype=np.float32)
        mean, along, lengths = self._centre()
        centred = vector - mean
        length = max(float(np.linalg.norm(centred)), 1e-6)
        return np.asarray((products - vector @ mean - along) / (lengths * length), dtype=np.float32)

    def _centre(self) -> tuple[Floats, Floats, Floats]:
        """Mean of what people say (d,), each row's product with it, and its distance from it (n,)."""
        if self._spread is None:
            embedded = self.vectors.has(slice(None))
            people = embedded & ~self._is_assistants
            sample = people if people.any() else embedded
            mean = _shared(self.vectors.total(sample), int(np.count_nonzero(sample)))
            along = self.vectors.products(mean)
            lengths = np.sqrt(np.maximum(embedded - 2 * along + mean @ mean, 1e-12))
            self._spread = mean, along - mean @ mean, np.where(embedded, lengths, np.float32(np.inf))
        return self._spread

    def save(self, kept: int = 0) -> SavedIndex:
        """Save what is behind the first `kept` segments as one, with which another process can go on.

        What was taken out is out of all segments: then none can be kept.
        """
        saved, first = SavedIndex(), [*self._starts, self._saved_rows][kept]
        for part in (self.lexical, self._vocabulary):
            part.save(saved, kept)
        self.units.save(saved, first)
        self.vectors.save(saved, first)
        for name in _SIGNS:
            saved[name] = getattr(self, name)[first:]
        return saved

    def _open(self, saved: Sequence[SavedIndex]) -> None:
        self._saved_bytes = sum(
            array.nbytes
            for part in saved
            for name, array in part.arrays.items()
            if not name.endswith((".codes", ".factors"))
        )
        *self._starts, self._saved_rows = np.cumsum(
            [0, *(len(part["lexical.lengths"]) for part in saved)]
        ).tolist()
        for name in _SIGNS:
            setattr(self, name, np.concatenate([part[name] for part in saved]))
        assert self.units.packed is not None  # all of them are
        self._arrange(self.units.packed)

    def _arrange(self, units: PackedUnits) -> None:
        """Take in where, when and by whom the last units were said, and who is whose neighbour.

        Sessions stand one behind the other, each by (time, seq, part).
        """
        first = len(self) - len(units)
        times, days = units.times()
        self._times, self.days = _grown(self._times, times), _grown(self.days, days)
        self.seqs = _grown(self.seqs, units.saved.numbers("unit.seq"))
        rows, seqs = units.sources()
        self.source_rows = _grown(self.source_rows, rows + first)
        self.source_seqs = _grown(self.source_seqs, seqs)
        for name, of_name in units.speakers().items():
            self.speakers.setdefault(name, []).extend((of_name + first).tolist())
        named_days = units.saved.numbers("unit.days") + np.array([first, 0, 0])
        self.named_days = np.concatenate([self.named_days, named_days])
        sessions, session_of = units.names("session")
        numbers = [self._sessions.setdefault(str(session), len(self._sessions)) for session in sessions]
        self._session_of = _grown(self._session_of, np.array(numbers, dtype=np.int64)[session_of])
        roles, role_of = units.names("role")
        assistants = np.array([role in MACHINES for role in roles], dtype=bool)[role_of]
        kinds, kind_of = units.names("kind")
        passages = np.array([kind == PASSAGE for kind in kinds], dtype=bool)[kind_of]
        self._is_assistants = _grown(self._is_assistants, assistants)
        self._is_passage = _grown(self._is_passage, passages & ~assistants)
        names, name_of = units.names("name")
        by_name = np.array([hash(name) if name else 0 for name in names], dtype=np.int64)[name_of]
        by_role = np.array([hash(role) for role in roles], dtype=np.int64)[role_of]
        self._speaker_of = _grown(self._speaker_of, np.where(by_name != 0, by_name, by_role))
        self._place_all()

    def _place_all(self) -> None:
        """Put all rows in order, with their windows and neighbours, and weigh what assistants say."""
        lengths = self.lexical.lengths()
        by_time = np.argsort(self._times, kind="stable")
        order = self._order = by_time[np.argsort(self._session_of[by_time], kind="stable")]
        counts = self._counts = np.bincount(self._session_of)
        ends = np.cumsum(counts)
        starts, ends = np.repeat(ends - counts, counts), np.repeat(ends, counts)
        self.windows = {0: Windows(_BREATH, order, *self._breaths(order), lengths)}
        for radius in RADII[1:]:
            self.windows[radius] = Windows(radius, order, starts, ends, lengths)
        talks = np.bincount(self._session_of, self._is_assistants, len(counts)) > 0
        self.with_assistant = talks[self._session_of]
        self._askers, self._replies = self._turns_beside(order, starts, ends)
        by_assistant = self._is_assistants.astype(np.float32)
        people_terms, assistant_terms = float(lengths @ (1 - by_assistant)), float(lengths @ by_assistant)
        self.by_assistant = by_assistant * np.float32(
            1 + math.log(max(1.0, assistant_terms / max(people_terms, 1.0)))
        )

    def _breaths(self, rows: Ints) -> tuple[Ints, Ints]:
        """(n,) each: between which places of all rows, in order, stands what is said in one breath with each.

        A person's message is one breath, however it was cut; of what an assistant says each passage stands
        for itself.
        """
        begins = np.ones(len(rows), dtype=bool)
        seqs, passage = self.seqs[rows], self._is_passage[rows]
        begins[1:] = (seqs[1:] != seqs[:-1]) | ~passage[1:] | ~passage[:-1]
        first = np.flatnonzero(begins)
        ends = np.append(first[1:], len(rows))
        breath = np.cumsum(begins) - 1
        return first[breath], ends[breath]

    def _turns_beside(self, order: Ints, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
        """(n,) each, by rows: see _askers and _replies."""
        places = np.arange(len(order))
        assistant, seqs = self._is_assistants[order], self.seqs[order]
        begins = np.ones(len(order), dtype=bool)
        begins[1:] = seqs[1:] != seqs[:-1]
        before = np.maximum.accumulate(np.where(begins, places, 0)) - 1
        people = np.maximum.accumulate(np.where(assistant, -1, places))
        asking = np.where(assistant, people, before)
        askers, replies = np.empty_like(places), np.empty_like(places)
        askers[order] = np.where(asking >= starts, order[asking], -1)
        replies[order] = np.where(places + 1 < ends, order[np.minimum(places + 1, len(order) - 1)], -1)
        return askers, replies


def _shared(total: npt.NDArray[np.float64], n: int) -> Vectors:
    """(d,) what n unit vectors have in common whatever they are about: their mean, as far as it is that.

    Of a few vectors the mean is mostly these themselves, so it is shrunk by how long it would be if they had
    nothing in common (James and Stein). And what all of a log shares that speaks of one thing only is that
    thing: above the length of a natural log's cone, the longer the mean, the less of it is taken.
    """
    if n < 2:
        return np.zeros(len(total), dtype=np.float32)
    mean = total / n
    length = float(np.linalg.norm(mean))
    in_common = max(0.0, n * length**2 - 1) / max((n - 1) * length**2, 1e-9)
    natural = min(1.0, max(0.0, 1 - length) / (1 - _CONE))
    return np.asarray(mean * np.float32(in_common * natural), dtype=np.float32)


def _grown(array: npt.NDArray[N], values: npt.ArrayLike) -> npt.NDArray[N]:
    """Append values to an array, as its type has them."""
    return np.concatenate([array, np.array(values, dtype=array.dtype)])


def _pairs(word: str) -> tuple[tuple[str, str], ...]:
    return () if word in STOP_WORDS else term_of(word)
