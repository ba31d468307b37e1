"""A question: read once, against what memory knows, and handed to every view as it is.

`recall/recall.py` makes it; nobody reads its text for words, people or times again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import regex

from zibaldone.core import Scope
from zibaldone.core.deadline import NO_DEADLINE, Deadline
from zibaldone.errors import ModelFailed
from zibaldone.models.base import Embedder, Vectors, WordEmbedder
from zibaldone.models.embedding import embed
from zibaldone.search.unit_index import UnitIndex
from zibaldone.text.bounds import QUESTION_CHARS_READ, question_as_read
from zibaldone.text.dates import Days, find_days
from zibaldone.text.patterns import late
from zibaldone.text.purgeable_cache import remembered
from zibaldone.text.words import (
    STOP_WORDS,
    as_written,
    term_of,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

LONG_DAYS = 14  # a question that names a longer time asks for what was said in it
_MOST_TERMS = 64
_MOST_DAYS = 16  # times that one question can ask for
_OWN = frozenset("i my mine".split())  # of who asks; "tell me" is no sign; what "we" chose both may have said
_COMMON = STOP_WORDS | {"may"}
Mask = npt.NDArray[np.bool_]


class Aim(StrEnum):
    """The material that an answer is made of."""

    FACT = "fact"  # what some turn says
    OVERVIEW = "overview"  # an order, a history, a summary: something of every time
    SAID = "said"  # the assistant's own words


_OVERVIEW = late(
    r"\b(?:summar(?:y|i[sz]e[sd]?|ies)|overview|recap|timeline|history\s+of|over\s+time|so\s+far|"
    r"(?:in|by)\s+(?:\p{L}+\s+)?(?:order|sequence)|(?:the|what)\s+(?:order|sequence)|"
    r"what\s+(?:has\s+|have\s+(?:i|we)\s+)?(?:happened|been\s+(?:up\s+to|doing)|been\s+going\s+on))\b",
    regex.IGNORECASE,
)
# "Which hotel did you recommend?", "remind me what you said about it", "your suggestions": without it
# questions about the assistant's words are answered with the user's.
_SAID = late(
    r"\bdid\s+you\s+(?!know\b)\w+|\byou(?:'d|'ve|\s+had|\s+have)?\s+(?:(?:also|just|once|previously|earlier)\s+)?"
    r"(?:said|told|gave|given|recommended|suggested|mentioned|explained|provided|listed|proposed|described|wrote)\b"
    r"|\byour\s+(?:previous|earlier|last|first|own|tips?|advice|suggestions?|recommendations?|answers?|words)\b",
    regex.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Question:
    """One question, as every view gets it."""

    # As it is asked, and what it may recall.
    text: str
    scope: Scope
    budget_tokens: int
    now: datetime  # what "last week" in the question is relative to
    within: frozenset[int] | None = None  # seqs that may be recalled; None: all of the scope
    without: frozenset[int] = frozenset()  # of these, seqs that may not
    before: datetime | None = None  # what was said then or later is not known yet; None: what is known now
    deadline: Deadline = NO_DEADLINE  # checked whenever a view takes a snapshot

    # What `parse_question` reads in the text, of which it leaves as much as is read: see text/bounds.
    whole_text: str = ""  # where that is not all of it
    words: tuple[str, ...] = ()  # all of them, in order, in lower case
    stems: tuple[str, ...] = ()  # of its content words, names among them, as they are written
    terms: tuple[tuple[str, str], ...] = ()  # (form, stem), spelled as memory spells them, without names
    speakers: tuple[str, ...] = ()  # names of this user's speakers that it mentions
    days: tuple[tuple[int, int], ...] = ()  # ordinals of the days that it names, inclusive
    aim: Aim = Aim.FACT
    asks_own: bool = False  # about who asks: "my", "I"
    asks_when: bool = False

    # What `embedded` adds.
    vector: Vectors | None = field(default=None, compare=False)  # (d,); None: it is searched by words alone
    embedder: str = ""  # by which the vector was made, or should have been; "": nobody was asked yet
    note: str = ""  # why there is no vector, where the embedder failed

    @property
    def subject(self) -> str:
        """Its content words alone."""
        return " ".join(form for form, _ in self.terms)

    def lets_in(self, seqs: Collection[int]) -> bool:
        """True if all of these messages may be recalled, as far as they are of the scope."""
        return self.without.isdisjoint(seqs) and (self.within is None or self.within.issuperset(seqs))

    def recallable(self, index: UnitIndex) -> Mask | None:
        """(n,) which units of an index may be recalled; None: all."""
        if self.scope.session is None and self.within is None and not self.without:
            return None
        inside = np.ones(len(index), dtype=bool)
        if self.scope.session is not None:
            inside &= index.of_session(self.scope.session)
        if self.within is not None:
            inside[index.source_rows[~np.isin(index.source_seqs, _array(self.within))]] = False
        if self.without:
            inside[index.source_rows[np.isin(index.source_seqs, _array(self.without))]] = False
        return inside

    def embedded(self, embedder: Embedder) -> Question:
        """The question with its vector by this embedder: itself, where that has been asked already.

        Hold no lock and no snapshot: the embedder may be a server. One that fails leaves words alone to
        search by, and a note. A table of words is asked for the content words alone, which the others only
        blur in a mean; an encoder reads the question. Without content words there is no vector.
        """
        name = f"{embedder.name}/{embedder.dimension}"
        if self.embedder == name:
            return self
        vector, note = None, ""
        if self.terms:
            try:
                (vector,) = embed(
                    embedder, [self.subject if isinstance(embedder, WordEmbedder) else self.text]
                )
            except ModelFailed as error:
                note = f"by words only: {error}"
        return replace(self, vector=vector, embedder=name, note=note)


def parse_question(question: Question, index: UnitIndex) -> Question:
    """Read a question's text against an index of the user's messages: who spoke, which days and words it has.

    "In May" is asked as of today; but when the index has nothing of those days, the question means an earlier
    time that it does have, and is read as of its newest message. Of more words than can be looked for, the
    rarest that the index has are kept.
    """
    whole, today = question.text, question.now.date()
    is_long = len(whole) > QUESTION_CHARS_READ
    text = question_as_read(whole) if is_long else whole
    spoken = words(text)
    speakers, names = _speakers_in(as_written(text), index.speakers)
    days = _ordinals(find_days(text, today))
    if days and not any(index.overlaps_known_days(first, last) for first, last in days):
        today = date.fromordinal(int(index.days.max())) if len(index) else today
        days = _ordinals(find_days(text, today))
    aim = Aim.SAID if _SAID.search(text) else Aim.OVERVIEW if _OVERVIEW.search(text) else Aim.FACT
    skipped = names | STOP_WORDS
    terms = tuple(
        dict(pair for word in spoken if word not in skipped for pair in term_of(index.spelled(word))).items()
    )
    return replace(
        question,
        text=text,
        whole_text=whole if is_long else "",
        words=tuple(spoken),
        stems=tuple(
            dict.fromkeys(stem for word in spoken if word not in STOP_WORDS for _, stem in term_of(word))
        ),
        terms=_rarest(terms, index),
        speakers=speakers,
        days=days,
        aim=aim,
        asks_own=not _OWN.isdisjoint(spoken),
        asks_when="when" in spoken,
    )


def _ordinals(named: Iterable[Days]) -> tuple[tuple[int, int], ...]:
    return tuple(dict.fromkeys(days.ordinals for days in named))[:_MOST_DAYS]


def _speakers_in(written: Sequence[str], speakers: Iterable[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """The speakers that words name, and the words that name them.

    "Will" and "may" name somebody only where they are written as names, and not as the first word.
    """
    plain = {form for word in written if (form := word.casefold()) not in _COMMON}
    inside = written if written[1:2] == ["s"] else written[1:]  # "Will's dog" begins with a name
    common = {form for word in inside if (form := word.casefold()) in _COMMON and word != form}
    names = {speaker: seen for speaker in speakers if (seen := (plain | common) & _parts(speaker))}
    return tuple(names), frozenset().union(*names.values())


@remembered(10_000)
def _parts(speaker: str) -> frozenset[str]:
    """The words of a name by which it is called: not "the" of the Doctor, not "I"."""
    parts = frozenset(words(speaker))
    return parts - _COMMON or frozenset(part for part in parts if len(part) > 1)


def _rarest(terms: tuple[tuple[str, str], ...], index: UnitIndex) -> tuple[tuple[str, str], ...]:
    """The terms; of a question of a page, the rarest that the index has."""
    if len(terms) <= _MOST_TERMS:
        return terms
    known = [pair for pair in terms if index.lexical.df(pair[1])]
    rarest = set(sorted(known, key=lambda pair: index.lexical.df(pair[1]))[:_MOST_TERMS])
    return tuple(pair for pair in known if pair in rarest)


def _array(seqs: frozenset[int]) -> npt.NDArray[np.int64]:
    return np.fromiter(seqs, dtype=np.int64, count=len(seqs))
