"""The semantics of an episode: its facts, each as its messages state it (section 3.2; appendix C.1).

Predict, then correct, is a model's: it is shown what the nearest known semantics let one expect, and answers
with what is beyond that. Without a model every fact is a semantic: told in other words, the same fact is
beyond an offline test, and word for word hardly anything is said twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from zibaldone.core import Message
from zibaldone.models.base import Vectors
from zibaldone.text.dated_text import resolved
from zibaldone.text.facts import Fact, day_of, facts
from zibaldone.views.hierarchy.narrative import speaker_of
from zibaldone.views.hierarchy.nodes import Semantic, Statement

MOST_KNOWN = 10  # semantics that an episode is held against


@dataclass(frozen=True, slots=True)
class Distilled:
    """What an episode adds to memory, in the order of its messages."""

    new: tuple[Semantic, ...]
    vectors: Vectors  # (len(new), d), of their texts


Known = Callable[[Vectors], Sequence[Semantic]]  # the nearest of those that are near enough to a vector (d,)
Embed = Callable[[Sequence[str]], Vectors]


@dataclass(frozen=True, slots=True)
class Background:
    """What an episode is read against."""

    episode: int  # its id
    first_semantic: int  # the id of the first new one
    known: Known
    df: Mapping[str, int]  # in how many of the `n` known statements each term occurs
    n: int


def statements(messages: Sequence[Message]) -> list[Statement]:
    """The facts of an episode, each so that it stands alone."""
    return [_statement(fact) for fact in facts(messages)]


def _statement(fact: Fact) -> Statement:
    """The fact so that it stands alone: who says it, in which answer, and when what it speaks of was."""
    message, words_as_said = fact.message, " ".join(fact.verbatim.split())
    sentence = f'{speaker_of(message)}: "{words_as_said}"'
    if fact.question:
        sentence = f'Asked "{fact.question}", {sentence}'
    question_seq = fact.asking.seq if fact.asking else None
    text = resolved(sentence[0].upper() + sentence[1:], day_of(message))
    return Statement(message.seq, text, fact.verbatim, fact.start, message.speaker, question_seq)


def settle(
    facts: Sequence[Sequence[Statement]], messages: Sequence[Message], background: Background, embed: Embed
) -> Distilled:
    """Make a semantic of each fact: one statement or more that say the same, known by the first.

    Depends on nothing but its arguments, so episodes are to be settled one by one in the order of the log.
    """
    times = {message.seq: message.time for message in messages}
    new: list[Semantic] = []
    for number, stated in enumerate(facts, background.first_semantic):
        time = times[stated[0].seq]
        assert time is not None  # what is stored has one
        new.append(Semantic(number, background.episode, tuple(stated), time))
    return Distilled(tuple(new), embed([stated[0].text for stated in facts]))
