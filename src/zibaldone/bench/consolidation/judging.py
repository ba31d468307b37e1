"""Whether a recalled context follows the updates: a metric without a reader.

A context states a fact where one of its sentences names the fact's value, and names the subject too or
stands in an entry or under a heading that does. What a context says of superseded values counts against it,
unless the method has marked it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from zibaldone.bench.consolidation.facts import ChainQuestion, NumberedFact
from zibaldone.text.sentences import sentences
from zibaldone.text.words import words

# (line of the context, the sentence in it) -> whether it says that this no longer holds.
Marked = Callable[[str, str], bool]

_HEADING = re.compile(r"\s{0,3}#{1,6}\s")


def nothing_marked(line: str, sentence: str) -> bool:  # noqa: ARG001
    """Of a method that has no way to say that something no longer holds."""
    return False


@dataclass(frozen=True, slots=True)
class Judgement:
    """One context for one question."""

    links: int  # of the question's chain
    current: int  # links whose current value the context states, unmarked
    stale: int  # links of which it states a superseded value, unmarked
    marked: int  # links of which it states a superseded value, marked as such

    @property
    def complete(self) -> bool:
        return self.current == self.links

    @property
    def correct(self) -> bool:
        return self.complete and not self.stale


@dataclass(frozen=True, slots=True)
class _Statement:
    line: str
    sentence: str
    words: str  # of the sentence
    about: str  # those of the heading above, too


def judge(question: ChainQuestion, context: str, marked: Marked = nothing_marked) -> Judgement:
    """What the context says of the question's links.

    A current value that is marked as superseded is not there: a reader would not take it.
    """
    stated = _statements(context)
    current = stale = superseded = 0
    for link in question.links:
        current += not all(_marks(link.current, stated, marked))
        old = [mark for fact in link.superseded for mark in _marks(fact, stated, marked)]
        stale += not all(old)
        superseded += bool(old) and all(old)
    return Judgement(len(question.links), current, stale, superseded)


@lru_cache(maxsize=64)  # the same context is judged once per link
def _statements(context: str) -> tuple[_Statement, ...]:
    return tuple(_read(context))


def _read(context: str) -> Iterator[_Statement]:
    heading = ""
    for line in context.splitlines():
        if _HEADING.match(line):
            heading = _padded(line)
            continue
        spans = sentences(line)
        # Of a line with several sentences each stands for itself: lines of a passage may be joined.
        about = heading
        for start, end in spans:
            sentence = line[start:end]
            own = _padded(sentence)
            yield _Statement(line, sentence, own, own + about)


def _marks(fact: NumberedFact, stated: tuple[_Statement, ...], marked: Marked) -> list[bool]:
    """Of every statement of the fact, whether it is marked."""
    subject, value = _padded(fact.subject), _padded(fact.value)
    statements = (of for of in stated if value in of.words and subject in of.about)
    return [marked(of.line, of.sentence) for of in statements]


def _padded(text: str) -> str:
    """The words with one space around each, so that a name is found as whole words only."""
    return f" {' '.join(words(text))} "
