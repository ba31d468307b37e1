"""Units in memory: what a question is ranked against. One implementation for whatever a view calls a unit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np
import regex

from zibaldone.models.base import Vectors, WordEmbedder
from zibaldone.search.dense import Matrix
from zibaldone.search.lexical import Floats, Ints, LexicalIndex
from zibaldone.search.spelling import as_spelled
from zibaldone.search.thesaurus import Thesaurus
from zibaldone.search.unit import Unit
from zibaldone.search.windows import Windows
from zibaldone.text.words import STOP_WORDS, term_of, words

RADII = (0, 2, 5)  # of the windows that scoring looks through
AFTER_DAYS = 10  # what happened on a day is often told some days later
_CONE = 0.6  # length of the mean of a log's vectors, up to which it is a cone: natural logs have .2 to .53
_FEW_TOKENS = 15  # of a rendered answer that needs its question
_MARKS = ("?", "？", "؟")
# What a turn looks like, whatever it is about; each with its weight in ranker.py.
_PROPER_NOUN = regex.compile(r"""(?<=[\p{Ll},] )\p{Lu}\p{Ll}+|["“]""")
_TIME_WORDS = frozenset(
    """
    yesterday today tonight tomorrow ago last next week weeks weekend weekends month months year years
    recently soon since monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays
    thursdays fridays saturdays sundays january february march april june july august september october
    november december morning mornings night nights summer winter spring fall autumn
    """.split()
)


class UnitIndex:
    """Rows 0 .. n-1 are units of one user, in the order in which they were appended. Arrays are (n,).

    Not safe among threads: who shares it holds a lock, and asks no embedder meanwhile but the static one of
    single words.
    """

    def __init__(self, dimension: int, word_embedder: WordEmbedder) -> None:
        self.units: list[Unit] = []
        self.note = ""  # in words, what was left out of it
        self.vectors = Matrix(dimension)
        self.lexical = LexicalIndex()
        self.thesaurus = Thesaurus(word_embedder)
        self._word_embedder = word_embedder
        self.speakers: dict[str, list[int]] = {}  # name -> rows
        self.named_days: list[tuple[int, int, int]] = []  # (row, first, last), ordinals, inclusive
        # Which rows have which message among their sources: pairs of the same place.
        self.source_rows = np.zeros(0, dtype=np.int64)
        self.source_seqs = np.zeros(0, dtype=np.int64)
        self.days = np.zeros(0, dtype=np.int64)  # ordinal of the day each unit was said
        self.proper_nouns: Floats = np.zeros(0, dtype=np.float32)  # log(1 + how many, up to three)
        self.time_words: Floats = np.zeros(0, dtype=np.float32)  # 1 where the unit has a word of time
        # Where an assistant says it, 1 + log(how many times as much as all others assistants say), or 1.
        self.by_assistant: Floats = np.zeros(0, dtype=np.float32)
        self.with_assistant = np.zeros(0, dtype=bool)  # where an assistant takes part in the session
        # In a talk among people; who talks with an assistant tells and asks in one breath.
        self.asks: Floats = np.zeros(0, dtype=np.float32)  # 1 where it ends with a question
        self.answers: Floats = np.zeros(0, dtype=np.float32)  # 1 where the unit before has a question
        self.windows: dict[int, Windows] = {}  # by radius
        self._ends_asking: Floats = np.zeros(0, dtype=np.float32)
        self._has_question: Floats = np.zeros(0, dtype=np.float32)
        self._uses: Counter[str] = Counter()  # how often each word is in the units
        self._known: dict[str, tuple[str, ...]] = {}  # word -> its terms
        self._sessions: dict[str, int] = {}
        self._of = np.zeros((0, 5))  # session, time, day, said by an assistant, seq
        # Rows: what people said last before an assistant's unit, what stands right before anybody else's,
        # and what comes right after; -1 where the session begins or ends.
        self._askers = np.zeros(0, dtype=np.int64)
        self._replies = np.zeros(0, dtype=np.int64)
        self._spread: tuple[Floats, Floats, Floats] | None = None  # see centred_cosines

    def __len__(self) -> int:
        """Units in the index."""
        return len(self.units)

    def extend(self, units: Sequence[Unit], vectors: Vectors) -> None:
        """Append units, which follow those in the index; a zero row is a unit without a vector."""
        if not units:
            return
        has_time = []
        for unit in units:
            unit_words = words(unit.text)
            self._uses.update(unit_words)
            self.lexical.append([term for word in unit_words for term in self._terms_of(word)])
            has_time.append(not _TIME_WORDS.isdisjoint(unit_words) or any(map(_is_year, unit_words)))
        self.units.extend(units)
        self.vectors.extend(vectors)
        texts = [unit.text for unit in units]
        names = [min(3, len(_PROPER_NOUN.findall(text))) for text in texts]
        self.proper_nouns = _grown(self.proper_nouns, [math.log1p(count) for count in names])
        self.time_words = _grown(self.time_words, has_time)
        self._ends_asking = _grown(self._ends_asking, [text.rstrip().endswith(_MARKS) for text in texts])
        self._has_question = _grown(self._has_question, [any(m in text for m in _MARKS) for text in texts])
        self._arrange(len(self.units) - len(units))

    def remove(self, rows: AbstractSet[int]) -> None:
        """Take these rows out; nothing of their text stays, and the others move up."""
        gone = [self.units[row] for row in sorted(rows)]
        mask = np.ones(len(self.units), dtype=bool)
        mask[sorted(rows)] = False
        for unit in gone:
            self._uses.subtract(words(unit.text))
        for word in {word for unit in gone for word in words(unit.text)}:
            if not self._uses[word]:
                del self._uses[word]
                del self._known[word]
                self.thesaurus.unlearn(_pairs(word))
        self.units = [unit for row, unit in enumerate(self.units) if row not in rows]
        self.vectors.keep(mask)
        self.lexical.keep(mask)
        self.proper_nouns = self.proper_nouns[mask]
        self.time_words = self.time_words[mask]
        self._ends_asking = self._ends_asking[mask]
        self._has_question = self._has_question[mask]
        self.speakers, self.named_days, self._sessions = {}, [], {}
        self._arrange(0)

    def rows_of(self, seqs: AbstractSet[int]) -> list[int]:
        """The rows that have any of these messages among their sources."""
        return sorted({row for row, unit in enumerate(self.units) if not seqs.isdisjoint(unit.sources)})

    def knows_of(self, first: int, last: int) -> bool:
        """Whether anything was said in these days, or soon after."""
        return bool(np.any((self.days >= first) & (self.days <= last + AFTER_DAYS)))

    def spelled(self, word: str) -> str:
        """A word of a question, as memory spells it; as it is, where memory or the embedder knows it."""
        if word in self._uses or self._word_embedder.count([word]) == [1]:
            return word
        return as_spelled(word, self._uses) or word

    def partner(self, row: int) -> int | None:
        """The row of the turn that makes sense of this one; None where it stands for itself.

        An assistant's answer, and a few words of people, need what they answer; a question that people ask
        each other needs its answer.
        """
        if self.asks[row] > 0:
            reply = int(self._replies[row])
            return reply if reply >= 0 else None
        asker = int(self._askers[row])
        if asker < 0:
            return None
        answers = self.units[row].role == "assistant"
        needs_question = self.units[row].tokens <= _FEW_TOKENS and self._has_question[asker] > 0
        return asker if answers or needs_question else None

    def centred_cosines(self, vector: Vectors) -> Floats:
        """(n,) cosines of question and units, all taken from the mean of what people say.

        Vectors of one log point into a narrow cone, and what they share says nothing: see `_shared`.
        0 without a vector.
        """
        rows = self.vectors.rows
        if not vector.any():
            return np.zeros(len(rows), dtype=np.float32)
        if self._spread is None:
            embedded = np.einsum("ij,ij->i", rows, rows)
            of_people = (embedded > 0) & (self.by_assistant == 0)
            mean = _shared(rows[of_people if of_people.any() else embedded > 0])
            along = rows @ mean
            lengths = np.sqrt(np.maximum(embedded - 2 * along + mean @ mean, 1e-12))
            self._spread = mean, along - mean @ mean, np.where(embedded > 0, lengths, np.inf)
        mean, along, lengths = self._spread
        centred = vector - mean
        length = max(float(np.linalg.norm(centred)), 1e-6)
        return np.asarray((rows @ vector - vector @ mean - along) / (lengths * length), dtype=np.float32)

    def _terms_of(self, word: str) -> tuple[str, ...]:
        """What a word is indexed as; nothing for a stop word."""
        known = self._known.get(word)
        if known is None:
            pairs = _pairs(word)
            self.thesaurus.learn(pairs)
            known = self._known[word] = tuple(term for _, term in pairs)
        return known

    def _arrange(self, first: int) -> None:
        """Take in where, when and by whom the rows from `first` on were said, and who is whose neighbour.

        Sessions stand one behind the other, each by (time, seq, part).
        """
        new = []
        for row, unit in enumerate(self.units[first:], first):
            if unit.name:
                self.speakers.setdefault(unit.name, []).append(row)
            self.named_days.extend((row, *days) for days in unit.days)
            session = self._sessions.setdefault(unit.session, len(self._sessions))
            assistant = unit.role == "assistant"
            new.append((session, unit.time.timestamp(), unit.time.toordinal(), assistant, unit.seq))
        columns = np.array(new, dtype=np.float64).reshape(-1, 5)  # exact: whole numbers, and times as floats
        self._of = np.concatenate([self._of[:first], columns])
        before = int(np.searchsorted(self.source_rows, first))
        pairs = [(row, seq) for row, unit in enumerate(self.units[first:], first) for seq in unit.sources]
        added = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        self.source_rows = np.concatenate([self.source_rows[:before], added[:, 0]])
        self.source_seqs = np.concatenate([self.source_seqs[:before], added[:, 1]])
        self._spread = None
        sessions, times = self._of[:, 0].astype(np.int64), self._of[:, 1]
        self.days, by_assistant = self._of[:, 2].astype(np.int64), self._of[:, 3].astype(np.float32)
        if not self.units:
            return
        by_time = np.argsort(times, kind="stable")
        order = by_time[np.argsort(sessions[by_time], kind="stable")]
        counts = np.bincount(sessions)
        ends = np.cumsum(counts)
        starts, ends = np.repeat(ends - counts, counts), np.repeat(ends, counts)
        lengths = self.lexical.lengths()
        people_terms, assistant_terms = float(lengths @ (1 - by_assistant)), float(lengths @ by_assistant)
        self.by_assistant = by_assistant * np.float32(
            1 + math.log(max(1.0, assistant_terms / max(people_terms, 1.0)))
        )
        self.windows = {radius: Windows(radius, order, starts, ends, lengths) for radius in RADII}
        self.with_assistant = np.bincount(sessions, by_assistant)[sessions] > 0
        self._askers, self._replies = self._turns_beside(order, starts, ends)
        asked_before = np.concatenate([np.zeros(1, dtype=np.float32), self._has_question[order][:-1]])
        asked_before[starts == np.arange(len(order))] = 0
        answers = np.empty_like(asked_before)
        answers[order] = asked_before
        self.answers = answers * ~self.with_assistant
        self.asks = self._ends_asking * ~self.with_assistant

    def _turns_beside(self, order: Ints, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
        """(n,) each, by rows: see _askers and _replies."""
        places = np.arange(len(order))
        assistant, seqs = self._of[order, 3] > 0, self._of[order, 4]
        begins = np.concatenate([np.ones(1, dtype=bool), seqs[1:] != seqs[:-1]])
        before = np.maximum.accumulate(np.where(begins, places, 0)) - 1
        people = np.maximum.accumulate(np.where(assistant, -1, places))
        asking = np.where(assistant, people, before)
        askers, replies = np.empty_like(places), np.empty_like(places)
        askers[order] = np.where(asking >= starts, order[asking], -1)
        replies[order] = np.where(places + 1 < ends, order[np.minimum(places + 1, len(order) - 1)], -1)
        return askers, replies


def _shared(rows: Vectors) -> Vectors:
    """(d,) what unit vectors (n, d) have in common whatever they are about: their mean, as far as it is that.

    Of a few vectors the mean is mostly these themselves, so it is shrunk by how long it would be if they had
    nothing in common (James and Stein). And what all of a log shares that speaks of one thing only is that
    thing: above the length of a natural log's cone, the longer the mean, the less of it is taken.
    """
    n = len(rows)
    if n < 2:
        return np.zeros(rows.shape[1], dtype=np.float32)
    mean = rows.mean(axis=0)
    length = float(np.linalg.norm(mean))
    in_common = max(0.0, n * length**2 - 1) / max((n - 1) * length**2, 1e-9)
    natural = min(1.0, max(0.0, 1 - length) / (1 - _CONE))
    return np.asarray(mean * np.float32(in_common * natural), dtype=np.float32)


def _grown(array: Floats, values: Sequence[float]) -> Floats:
    return np.concatenate([array, np.array(values, dtype=np.float32)])


def _is_year(word: str) -> bool:
    return len(word) == 4 and word.isdigit()


def _pairs(word: str) -> tuple[tuple[str, str], ...]:
    return () if word in STOP_WORDS else term_of(word)
