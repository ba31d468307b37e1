"""What a question says about where its answer is: its words, the people and the days that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date

from zibaldone.search.lexical import LexicalIndex
from zibaldone.search.request import Aim, aim_of
from zibaldone.text.dates import find_days
from zibaldone.text.purgeable_cache import remembered
from zibaldone.text.words import (
    FOREIGN_FUNCTION_WORDS,
    STOP_WORDS,
    as_written,
    has_foreign_function_words,
    term_of,
    words,
)

_MOST_TERMS = 64
_MOST_DAYS = 16  # times that one question can ask for
_OWN = frozenset("i my mine we our ours".split())  # of who asks; "tell me" and "show us" are no signs
_COMMON = STOP_WORDS | {"may"}


@dataclass(frozen=True, slots=True)
class Question:
    """A query, taken apart."""

    text: str
    terms: tuple[tuple[str, str], ...]  # (form, term) of its content words, without the speakers' names
    speakers: tuple[str, ...]  # names of this user's speakers that it mentions
    days: tuple[tuple[int, int], ...]  # ordinals of the days that it names, inclusive
    aim: Aim = Aim.FACT
    asks_own: bool = False  # about who asks: "my", "I"
    asks_when: bool = False

    @property
    def subject(self) -> str:
        """Its content words alone."""
        return " ".join(form for form, _ in self.terms)


def take_apart(
    text: str,
    speakers: Iterable[str],
    today: date,
    knows_of: Callable[[int, int], bool],
    newest: date,
    spelled: Callable[[str], str] = str,
) -> Question:
    """Read a question against the names of those who spoke; `spelled` mends its words.

    "In May" is asked as of today; but when memory knows nothing of those days (`knows_of`, of ordinals), the
    question means an earlier time that it does know, and is read as of the `newest` message.
    """
    written, spoken = as_written(text), words(text)
    plain = {form for word in written if (form := word.casefold()) not in _COMMON}
    # "will" and "may" name somebody only when they are written as names, and not as the first word.
    inside = written if written[1:2] == ["s"] else written[1:]  # "Will's dog" begins with a name
    common = {form for word in inside if (form := word.casefold()) in _COMMON and word != form}
    candidates = plain | common
    named = []
    of_names: set[str] = set()
    for speaker in speakers:
        if seen := candidates & _parts(speaker):
            named.append(speaker)
            of_names |= seen
    idle = of_names | STOP_WORDS
    if has_foreign_function_words(spoken):
        idle |= FOREIGN_FUNCTION_WORDS
    forms = dict(pair for word in spoken if word not in idle for pair in term_of(spelled(word)))
    days = _days(text, today)
    if days and not any(knows_of(first, last) for first, last in days):
        days = _days(text, newest)
    return Question(
        text=text,
        terms=tuple(forms.items()),
        speakers=tuple(named),
        days=days,
        aim=aim_of(text),
        asks_own=not _OWN.isdisjoint(spoken),
        asks_when="when" in spoken,
    )


def narrowed(question: Question, index: LexicalIndex) -> Question:
    """A question of a page has too many words to look for all: the rarest that memory knows are kept."""
    if len(question.terms) <= _MOST_TERMS:
        return question
    known = [pair for pair in question.terms if index.df(pair[1])]
    rarest = set(sorted(known, key=lambda pair: index.df(pair[1]))[:_MOST_TERMS])
    return replace(question, terms=tuple(pair for pair in known if pair in rarest))


def _days(text: str, said_on: date) -> tuple[tuple[int, int], ...]:
    days = dict.fromkeys((d.first.toordinal(), d.last.toordinal()) for d in find_days(text, said_on))
    return tuple(days)[:_MOST_DAYS]


@remembered(10_000)
def _parts(speaker: str) -> frozenset[str]:
    """The words of a name by which it is called: not "the" of the Doctor, not "I"."""
    parts = frozenset(words(speaker))
    return parts - _COMMON or frozenset(part for part in parts if len(part) > 1)
