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

from zibaldone.bench.consolidation.facts import Fact, Question
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
    said: str  # words of the sentence
    about: str  # words of its line, and of the heading above


def judge(question: Question, context: str, marked: Marked = nothing_marked) -> Judgement:
    """What the context says of the question's links.

    A current value that is marked as superseded is not there: a reader would not take it.
    """
    stated = _statements(context)
    current = stale = told = 0
    for link in question.links:
        current += any(not marked(one.line, one.sentence) for one in _of(link.current, stated))
        old = [marked(one.line, one.sentence) for fact in link.superseded for one in _of(fact, stated)]
        stale += not all(old)
        told += bool(old) and all(old)
    return Judgement(len(question.links), current, stale, told)


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
            said = _padded(sentence)
            yield _Statement(line, sentence, said, said + about)


def _of(fact: Fact, stated: tuple[_Statement, ...]) -> list[_Statement]:
    subject, value = _padded(fact.subject), _padded(fact.value)
    return [one for one in stated if value in one.said and subject in one.about]


def _padded(text: str) -> str:
    """The words with one space around each, so that a name is found as whole words only."""
    return f" {' '.join(words(text))} "
