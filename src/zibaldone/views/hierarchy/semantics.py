"""The semantics of an episode: its facts, less what memory already says (section 3.2; appendix C.1).

Predict, then correct. What the nearest known semantics say is what one could have predicted of a fact; only
what is beyond that is new. A fact with nothing new beside one of them becomes a further statement of that
one, so that it is still found by its own message and nothing is lost. Without a model the prediction is the
set of what a semantic's statements say: their terms, names, numbers and dates, and whether they deny, plan
or suppose. So "I adopted a dog" is new beside "I want to adopt a dog", and the same outing on another date.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import numpy as np

from zibaldone.core import Message
from zibaldone.models.base import Vectors
from zibaldone.text.dated_text import resolved
from zibaldone.text.facts import Fact, day_of, facts
from zibaldone.text.remembered import remembered
from zibaldone.text.salience import PHATIC
from zibaldone.text.sentences import sentences
from zibaldone.text.words import terms, words
from zibaldone.views.hierarchy.narrative import speaker_of
from zibaldone.views.hierarchy.nodes import Semantic, Statement
from zibaldone.views.hierarchy.third_person import third_person

MOST_KNOWN = 10  # semantics that a fact is held against
_REMEMBERED = 4096  # texts whose terms are kept
_DENIES = frozenset("not no never nobody nothing none neither nor without hardly t cannot".split())
_NOT_YET = frozenset(
    "will would should could might may if ll gonna want wish hope plan plans planning".split()
)


@dataclass(frozen=True, slots=True)
class Near:
    """A known semantic that is similar enough to be what a fact says."""

    semantic: Semantic
    similarity: float


@dataclass(frozen=True, slots=True)
class Addition:
    """A further statement of a semantic that was known before the episode."""

    semantic: int
    statement: Statement


@dataclass(frozen=True, slots=True)
class Distilled:
    """What an episode adds to memory, in the order of its messages."""

    new: tuple[Semantic, ...]
    vectors: Vectors  # (len(new), d), of their texts
    additions: tuple[Addition, ...]


Known = Callable[[Vectors], Sequence[Sequence[Near]]]  # per row, known semantics that are similar enough
# The same, but nothing where none that is similar enough says all that a text says.
Repeated = Callable[[Sequence[str], Vectors], Sequence[Sequence[Near]]]
Embed = Callable[[Sequence[str]], Vectors]


@dataclass(frozen=True, slots=True)
class Background:
    """What an episode is read against."""

    episode: int  # its id
    first_semantic: int  # the id of the first new one
    known: Known
    repeated: Repeated
    threshold: float  # that `known` applies
    df: Mapping[str, int]  # in how many of the `n` known statements each term occurs
    n: int


def statements(messages: Sequence[Message]) -> list[Statement]:
    """The facts of an episode, each so that it stands alone."""
    return [_statement(fact) for fact in facts(messages)]


def _statement(fact: Fact) -> Statement:
    """The fact so that it stands alone: who says it, in which answer, and when what it speaks of was."""
    message, words_as_said = fact.message, " ".join(fact.verbatim.split())
    who = speaker_of(message)
    retold = None if fact.question else _retold(words_as_said, who)
    if retold is None:
        retold = f'{who}: "{words_as_said}"'
        if fact.question:
            retold = f'Asked "{fact.question}", {retold}'
    text = resolved(retold[0].upper() + retold[1:], day_of(message))
    question_seq = fact.asking.seq if fact.asking else None
    return Statement(message.seq, text, fact.verbatim, fact.start, message.speaker, question_seq)


def _retold(text: str, who: str) -> str | None:
    """Each sentence of it in the third person; None when one of them cannot be."""
    retold = [third_person(text[start:end], who) for start, end in sentences(text)]
    return " ".join(sentence for sentence in retold if sentence) if all(retold) else None


def settle(
    facts: Sequence[Sequence[Statement]],
    messages: Sequence[Message],
    background: Background,
    embed: Embed,
    repeats: Sequence[Statement] = (),
) -> Distilled:
    """Each of `facts` as a new semantic of the episode, or as further statements of one that is known.

    A fact is one statement or more that say the same, of which the first is what it is known by. Facts of
    the same episode are held against each other too. Of `repeats` only those are kept that say what was
    known before. Depends on nothing but its arguments, so episodes are to be settled one by one in the order
    of the log.
    """
    vectors = embed([some[0].text for some in facts])
    first_id = background.first_semantic
    times = {message.seq: message.time for message in messages}
    fetched = background.repeated([some[0].text for some in facts], vectors)
    new: list[Semantic] = []
    rows: list[int] = []
    firsts = np.zeros_like(vectors)  # of the new ones
    additions: list[Addition] = []
    for row, (some, nearest) in enumerate(zip(facts, fetched, strict=True)):
        here = firsts[: len(rows)] @ vectors[row]
        near = [Near(new[i], float(here[i])) for i in np.flatnonzero(here >= background.threshold)]
        if not nearest and any(not novelty(some[0].text, [one.semantic]) for one in near):
            (nearest,) = background.known(vectors[row : row + 1])  # it is to be among the nearest of all
        same = _same(some[0], [*nearest, *near])
        if same is None:
            time = times[some[0].seq]
            assert time is not None  # what is stored has one
            new.append(Semantic(first_id + len(new), background.episode, tuple(some), time))
            firsts[len(rows)] = vectors[row]
            rows.append(row)
        elif same >= first_id:
            place = same - first_id
            new[place] = replace(new[place], statements=(*new[place].statements, *some))
        else:
            additions += [Addition(same, one) for one in some]
    if repeats:
        texts = [one.text for one in repeats]
        for repeat, nearest in zip(repeats, background.repeated(texts, embed(texts)), strict=True):
            if (same := _same(repeat, nearest)) is not None:
                additions.append(Addition(same, repeat))
    return Distilled(tuple(new), vectors[rows], tuple(additions))


def _same(statement: Statement, near: Sequence[Near]) -> int | None:
    """The most similar semantic beside which there is nothing new in the statement."""
    nearest = sorted(near, key=lambda other: (-round(other.similarity, 6), other.semantic.id))
    for other in nearest[:MOST_KNOWN]:
        if not novelty(statement.text, [other.semantic]):
            return other.semantic.id
    return None


def novelty(text: str, known: Sequence[Semantic]) -> AbstractSet[str]:
    """What a text says beyond these semantics: terms, numbers, names, dates, denial and plan."""
    return salient(text) - {term for one in known for said in one.statements for term in salient(said.text)}


@remembered(_REMEMBERED)
def salient(text: str) -> frozenset[str]:
    """What a text says, in terms: words that tell something, and marks of denial and plan."""
    spoken = set(words(text))
    marks = {"~not"} if _DENIES & spoken else set()
    marks |= {"~not yet"} if _NOT_YET & spoken else set()
    return frozenset((set(terms(text)) - PHATIC) | marks)
