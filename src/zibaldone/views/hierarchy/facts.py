"""The sentences of a conversation that are facts to keep, each made to stand alone (appendix C.1).

The four tests of a fact, without a model:

- Utility: it answers something. Questions, greetings and exclamations do not, nor does what only says again
  what was heard just before.
- Specificity: it has a name, a number or a date, or enough words that bear on a subject and are new. Names
  of those who talk do not count: they are said to each other.
- Persistence: it is about somebody's life or the world, not about this exchange. What is said to "you" is
  part of the exchange, unless it is specific by a name, a number or a date.
- Independence: it can be understood alone. A sentence that leans on the one before it ("It was hers.") is one
  fact with it; one that leans on what somebody else just said is no fact. An answer too short to be
  understood is told together with its question.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

import regex

from zibaldone.core import Message
from zibaldone.text.dates import find_days
from zibaldone.text.salience import PHATIC, carries_fact, is_echo, is_phatic, names
from zibaldone.text.sentences import Span, sentences
from zibaldone.text.words import terms, words
from zibaldone.views.hierarchy.narrative import is_party, parties_of, resolved, speaker_of
from zibaldone.views.hierarchy.nodes import Statement
from zibaldone.views.hierarchy.third_person import third_person

_HEARD = 2  # messages back that an echo can repeat
_PERSONAL = 2  # terms that a statement of oneself needs, and
_IMPERSONAL = 4  # one of nobody in particular
_TOGETHER = ("let", "lets")
_MOST_SENTENCES = 5  # that lean on each other and make one fact
_SHORT_ANSWER = 4  # terms; with fewer an answer needs its question
_FIRST_PERSON = frozenset("i me my mine myself we us our ours im ive".split())
_SECOND_PERSON = frozenset("you your yours yourself u ya".split())
_LEANING = frozenset(
    """it its they them their he him his she her this that these those there and but so then also plus because
    cause otherwise besides both either""".split()
)
_YES_OR_NO = [[word] for word in "yes yeah yep yup nope nah no definitely absolutely totally sure".split()]
_QUESTION = ("?", "？", "؟")
_WORD = regex.compile(r"[\p{L}\p{M}]+")
_NUMBER = regex.compile(r"\p{N}")
_LETTER = regex.compile(r"\p{L}")
_ENUMERATOR = regex.compile(r"[(\[]?(?:\p{N}{1,3}[.)\]]{1,2}|\p{L}[)\]]\.?)(?:\s+|$)")  # "1.", "(2)", "b)"
_CAPTION = regex.compile(r"\s*\[[^\[\]]*\]\s*$")


@dataclass(frozen=True, slots=True)
class Fact:
    """A span of one message that is kept as one fact."""

    message: Message
    start: int  # message.content[start:end], of whole sentences
    end: int
    question: str = ""  # what it answers, where it is not understood without

    @property
    def verbatim(self) -> str:
        """The words themselves."""
        return self.message.content[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Heard:
    """What a sentence is judged against."""

    parties: frozenset[str]  # words of the names of those who talk, in lower case
    others: frozenset[str] = frozenset()  # terms that others said just before
    anyone: frozenset[str] = frozenset()  # terms said just before, by whomever


def facts(messages: Sequence[Message]) -> list[Fact]:
    """The facts of an episode's messages, in order. No two share a sentence."""
    parties = parties_of(messages)
    found: list[Fact] = []
    heard: deque[tuple[str, set[str]]] = deque(maxlen=_HEARD)
    asked = ("", "")  # who asked what, in the message before
    for message in messages:
        context = Heard(
            parties,
            frozenset(term for who, theirs in heard if who != message.speaker for term in theirs),
            frozenset(term for _, theirs in heard for term in theirs),
        )
        question = asked[1] if asked[0] != message.speaker else ""
        found += _of_message(message, context, question)
        heard.append((message.speaker, set(terms(message.content))))
        asked = (message.speaker, _last_question(message.content))
    return found


def statement(fact: Fact) -> Statement:
    """The fact so that it stands alone: who says it, in which answer, and when what it speaks of was."""
    message, verbatim = fact.message, fact.verbatim
    assert message.time is not None  # what is stored has one
    who = speaker_of(message)
    said = " ".join(verbatim.split())
    told = None if fact.question else _retold(said, who)
    if told is None:
        told = f'{who}: "{said}"'
        if fact.question:
            told = f'Asked "{fact.question}", {told}'
    return Statement(message.seq, resolved(told[0].upper() + told[1:], message.time.date()), verbatim)


def is_fact(sentence: str, said: date, heard: Heard) -> bool:
    """Whether a sentence, said on that day, passes the tests of utility, specificity and persistence."""
    bare = _without(sentence, heard.parties)
    if not any(_LETTER.search(term) for term in terms(bare)):  # a number alone says nothing
        return False
    if sentence.endswith(_QUESTION) or is_phatic(bare) or not carries_fact(bare):
        return False
    if is_echo(bare, set(heard.others)):
        return False
    if _is_specific(bare, said):
        return True
    spoken = set(words(bare))
    if not spoken.isdisjoint(_SECOND_PERSON):
        return False
    own = set(terms(bare)) - PHATIC
    new = own - heard.anyone
    if spoken.isdisjoint(_FIRST_PERSON) or words(bare)[0] in _TOGETHER:
        return len(own) >= _IMPERSONAL and len(new) >= 2
    return len(own) >= _PERSONAL and len(new) >= 1


def _is_specific(sentence: str, said: date) -> bool:
    """A name, a number or a date: specific, whoever is spoken of."""
    return bool(_NUMBER.search(sentence) or names(sentence) or find_days(sentence, said))


def _without(sentence: str, parties: frozenset[str]) -> str:
    """The sentence without the names of those who talk, which is how they address each other."""
    return _WORD.sub(lambda match: "" if is_party(match[0], parties) else match[0], sentence).strip(" ,")


def _retold(said: str, who: str) -> str | None:
    """Each sentence of it in the third person; None when one of them cannot be."""
    told = [third_person(said[start:end], who) for start, end in sentences(said)]
    return " ".join(one for one in told if one) if all(told) else None


def _of_message(message: Message, heard: Heard, question: str) -> Iterator[Fact]:
    assert message.time is not None  # what is stored has one
    content, day = message.content, message.time.date()
    spans = _sentences(content)
    groups: list[list[int]] = []
    for place, (start, end) in enumerate(spans):
        sentence = _bare(content[start:end])
        before = groups[-1] if groups and groups[-1][-1] == place - 1 else None
        if before and _leans(sentence) and len(before) < _MOST_SENTENCES:
            if is_fact(sentence, day, heard) or not _is_idle(sentence, heard):
                before.append(place)
        elif is_fact(sentence, day, heard) or (not place and _answers(sentence, question, heard)):
            if not _leans(sentence):
                groups.append([place])
            elif place and before is None and not _is_idle(_bare(content[slice(*spans[place - 1])]), heard):
                groups.append([place - 1, place])
            elif sentence.startswith("["):
                if not groups:  # beside anything that was said, it adds little
                    groups.append([place])
            elif place or _is_specific(sentence, day):
                groups.append([place])
    opens = words(content[slice(*spans[0])])[:1] if spans else []
    if not groups and _asks_something(question) and opens in _YES_OR_NO:
        groups.append([0])  # a plain yes, and no more is said
    for group in groups:
        start, end = spans[group[0]][0], spans[group[-1]][1]
        answers = question if group[0] == 0 and _is_short(content[start:end], heard.parties) else ""
        yield Fact(message, start, end, answers)


def _sentences(content: str) -> list[Span]:
    """As `sentences`, but the number of an item in a list is part of the sentence behind it."""
    found: list[Span] = []
    opening: int | None = None
    for start, end in sentences(content):
        begin = start if opening is None else opening
        opening = begin if _ENUMERATOR.fullmatch(content[start:end]) else None
        if opening is None:
            found.append((begin, end))
    return found if opening is None else [*found, (opening, len(content.rstrip()))]


def _bare(sentence: str) -> str:
    """Without the number of an item in a list, which makes nothing specific."""
    match = _ENUMERATOR.match(sentence)
    return sentence[match.end() :] or sentence if match else sentence


def _answers(sentence: str, question: str, heard: Heard) -> bool:
    """Whether the first words of a message answer a question on something: "Seven years"."""
    if not _asks_something(question) or sentence.endswith(_QUESTION) or is_phatic(sentence):
        return False
    bare = _without(sentence, heard.parties)
    opens = terms(bare.partition(" ")[0])
    return PHATIC.isdisjoint(opens) and _SECOND_PERSON.isdisjoint(words(bare)) and not _leans(bare)


def _asks_something(question: str) -> bool:
    return len(set(terms(question)) - PHATIC) >= 2


def _is_idle(sentence: str, heard: Heard) -> bool:
    """Whether it gives the next sentence nothing to lean on."""
    return sentence.endswith(_QUESTION) or is_phatic(_without(sentence, heard.parties))


def _leans(sentence: str) -> bool:
    """Whether a sentence opens with a word for what was named before it, or is a caption of it."""
    return sentence.startswith("[") or not _LEANING.isdisjoint(words(sentence)[:1])


def _is_short(said: str, parties: frozenset[str]) -> bool:
    own = set(terms(_without(said, parties))) - PHATIC
    return len(own) < _SHORT_ANSWER or words(said)[:1] in _YES_OR_NO


def _last_question(content: str) -> str:
    """The question that a message leaves open: the last of its sentences, but for a caption."""
    text = _CAPTION.sub("", content)
    spans = sentences(text)
    last = text[slice(*spans[-1])] if spans else ""
    return " ".join(last.split()) if last.endswith(_QUESTION) else ""
