"""Checks of a model's statements against the sources that they name, for every view's tasks.

    given = SourceTexts(["I live in Oslo. I don't eat fish."], context="Ann 2023-05-08")
    given.refusal("Ann lives in Oslo.")        # "": the sources bear it out
    given.refusal("Ann lives in Rome.")        # "says 'rome', which no source of it says"
    given.refusal("Ann eats fish.")            # "says 'eat', 'fish' where its sources say the opposite ..."
    given.invented("fish, Oslo, yachts")       # ["yachts"]: for titles and keywords, which deny nothing

Every content word, name and number of a statement stands in a source, and each of its clauses denies what it
says as the sources' clauses with most of its words do. A word may be inflected, and a statement may say of
its own who says or thinks it. Whoever writes in other words is refused, and the source's own words stand
instead. What cannot be seen this way: who did it to whom, whether what was asked or wished for came about,
and what denies in other words ("stopped", "rarely").

A statement that says whom "she" or what "it" is has the word from an earlier message: `with_sources` finds
it, and names it as a source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import regex

from zibaldone.text.dates import MONTHS
from zibaldone.text.names import names
from zibaldone.text.patterns import late
from zibaldone.text.sentences import sentences
from zibaldone.text.spellings import base_form
from zibaldone.text.words import STOP_WORDS, term_of, terms, words

_SHOWN = 8  # words in a refusal
_MOST_ADDED = 2  # sources that hold the other words of a statement
REACH = 8  # messages around a statement's own in which they are looked for
_SHORT_NOT = late(r"(?<=\p{L})n['’]t\b", regex.IGNORECASE)
_NOT = frozenset("not no never nor neither none nobody nothing nowhere hardly without cannot".split())
_CUT_NOT = frozenset({"ca", "wo", "sha"})  # what "can't", "won't" and "shan't" leave before "not"
_CLAUSE = late(r"[,;:—–()]+|--+|\b(?:and|but|because|so|while|though|which)\b")
# What a statement may say of its own: that somebody said or thinks it, that an image shows it, and what names
# nothing ("made something").
_OWN = frozenset(
    terms(
        """since user assistant speaker ai say said tell told mention ask reply state report one longer
        anymore think believe feel suggest recommend name describe explain advise show compare note list
        estimate calculate reckon something someone somebody somewhere"""
    )
)
_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
        sixteen seventeen eighteen nineteen twenty""".split()
    )
}
_NUMBER = late(r"\p{N}+")
_ISO_MONTH = late(r"(?<!\d)(\d{4})-(0[1-9]|1[0-2])(?!\d)")


@dataclass(slots=True)
class _Clause:
    """The terms of a clause, and its polarity."""

    terms: frozenset[str]
    denies: bool | None  # None: it asks, or was said "no" to


class SourceTexts:
    """The texts that statements name as their sources, read once.

    `context` has words that statements may use though no source has them, such as who speaks and when; it
    bears nothing out by itself.
    """

    def __init__(self, texts: Iterable[str], context: str = "") -> None:
        self._known = set(_OWN)  # words and terms
        self._said: set[str] = set()  # terms
        self._clauses: list[_Clause] = []
        self._denies = False
        for text in texts:
            self._known |= _vocabulary(text)
            self._said.update(term for term, _ in _content(_spelled(text)))
            self._clauses += _clauses(text)
            self._denies = self._denies or denies(text)
        self._context = _vocabulary(context)

    def invented(self, text: str) -> list[str]:
        """Return the text's content words, names and numbers that no source has, in order."""
        new = [word for term, word in _content(_spelled(text)) if not self._knows(term, word)]
        new += sorted(one for one in names_and_numbers(_spelled(text)) if not self._knows(one, one))
        return list(dict.fromkeys(new))

    def turned(self, text: str) -> list[str]:
        """Return the terms of clauses that deny what the sources' nearest clauses affirm, or the reverse."""
        turned: list[str] = []
        for clause in _clauses(text):
            if clause.denies and not self._denies:
                turned += sorted(clause.terms)
                continue
            shared = [len(clause.terms & other.terms) for other in self._clauses]
            most = max(shared, default=0)
            signs = {self._clauses[place].denies for place, count in enumerate(shared) if count == most}
            if most and clause.denies is not None and signs == {not clause.denies}:
                turned += sorted(clause.terms)
        return list(dict.fromkeys(turned))

    def refusal(self, statement: str) -> str:
        """Return why the sources do not bear the statement out, in words for a model; "" if they do."""
        read = _content(_spelled(statement))
        if not read:
            return "says nothing"
        if new := self.invented(statement):
            return f"says {_listed(new)}, which no source of it says"
        if self._said.isdisjoint(term for term, _ in read):
            return "says nothing that a source of it says"
        if turned := self.turned(statement):
            return f"says {_listed(turned)} where its sources say the opposite: keep every 'not'"
        return ""

    def _knows(self, term: str, word: str) -> bool:
        return not self._known.isdisjoint((term, word)) or not self._context.isdisjoint((term, word))


def with_sources(
    statement: str, named: Sequence[int], near: Sequence[int], read: Callable[[Sequence[int]], SourceTexts]
) -> tuple[list[int], str]:
    """Return the statement's sources, with added ones for its other words, and its refusal or "".

    `near` has what was said around it, the nearest first; `read` gives the texts of some of them. A word that
    what is named lacks makes the next one that has it a source, two at most, so that the statement goes when
    that is forgotten. A number, and half of its words, have to stand in what is named, which must not say
    the opposite: "No, not allergic" is not turned by "Are you allergic?".
    """
    sources = list(named)
    given = read(sources)
    lacking = given.invented(statement)
    few = len(lacking) * 2 <= len(set(_content(_spelled(statement))))
    if lacking and few and not any(map(_NUMBER.search, lacking)):
        for place in near:
            if not lacking or len(sources) == len(named) + _MOST_ADDED:
                break
            if place in named:
                continue
            there = read([place])
            if len(left := [word for word in lacking if there.invented(word)]) < len(lacking):
                sources.append(place)
                lacking = left
    if len(sources) == len(named):
        return sources, given.refusal(statement)
    sources.sort()
    if lacking or given.turned(statement):
        return list(named), given.refusal(statement)
    return sources, read(sources).refusal(statement)


def nearest(named: Sequence[int], known: Iterable[int]) -> list[int]:
    """Return the places within REACH of a named one, nearest first, earlier before later."""

    def distance(place: int) -> tuple[int, bool]:
        return min((abs(place - source), place > source) for source in named)

    others = (place for place in known if place not in named)
    return [place for place in sorted(others, key=distance) if distance(place)[0] <= REACH]


def names_and_numbers(text: str) -> set[str]:
    """Return the words of names, and numbers without leading zeros."""
    salient = {_number(number) for number in _NUMBER.findall(text)}
    for start, end in sentences(text):
        salient.update(word for name in names(text[start:end]) for word in words(name))
    return salient - STOP_WORDS


def _vocabulary(text: str) -> set[str]:
    text = _spelled(text)
    known = names_and_numbers(text)
    for word in words(text):
        known.add(word)
        known.add(_NUMBER_WORDS.get(word, word))
        known.update(term for _, term in term_of(base_form(word)))
    return known


def _content(text: str) -> list[tuple[str, str]]:
    """(term, word) of each word that says something."""
    content: list[tuple[str, str]] = []
    for word in words(text):
        if word in STOP_WORDS or word in _CUT_NOT or word in _NOT or word == "one":
            continue
        if word in _NUMBER_WORDS:
            content.append((_NUMBER_WORDS[word], word))
        elif word.isdecimal():
            content.append((_number(word), word))
        else:
            content += [(term, word) for _, term in term_of(base_form(word))]
    return content


def _clauses(text: str) -> list[_Clause]:
    """Clauses of a text that say something."""
    clauses: list[_Clause] = []
    for start, end in sentences(text):
        sentence = text[start:end]
        asks = sentence.rstrip("!！ ").endswith(("?", "？", "؟"))
        for part in _CLAUSE.split(_spelled(sentence)):
            denied = denies(part)
            if content := frozenset(term for term, _ in _content(part)) - _OWN:
                clauses.append(_Clause(content, None if asks else denied))
            elif denied and clauses:  # "No": to what was said before
                clauses[-1].denies = None
    return clauses


def denies(text: str) -> bool:
    """True if it says "not", "no" or "never"."""
    return not _NOT.isdisjoint(words(_spelled(text)))


def _spelled(text: str) -> str:
    """Normalise: "not" as a word, months by name."""
    text = _ISO_MONTH.sub(lambda day: f"{day[1]} {MONTHS[int(day[2]) - 1]}", text)
    return _SHORT_NOT.sub(" not", text)


def _number(digits: str) -> str:
    return digits.lstrip("0") or "0"


def _listed(faults: list[str]) -> str:
    return ", ".join(repr(word) for word in faults[:_SHOWN])
