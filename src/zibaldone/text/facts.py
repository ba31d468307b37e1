"""The sentences of a conversation that carry facts: which to keep, and what each leans on; without a model.

The four tests of a fact (xMemory, appendix C.1):

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
from zibaldone.text.titles import is_party
from zibaldone.text.words import terms, words

FIRST_PERSON = frozenset("i me my mine myself we us our ours im ive".split())
SECOND_PERSON = frozenset("you your yours yourself u ya".split())
_LEANING = frozenset(
    """it its they them their he him his she her this that these those there and but so then also plus because
    cause otherwise besides both either""".split()
)
_HEARD = 2  # messages back that an echo can repeat
_PERSONAL = 2  # terms that a statement of oneself needs, and
_IMPERSONAL = 4  # one of nobody in particular
_TOGETHER = ("let", "lets")
_MOST_SENTENCES = 5  # that lean on each other and make one fact
_SHORT_ANSWER = 4  # terms; with fewer an answer needs its question
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
        return self.message.content[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Heard:
    """What the sentences of one message are judged against."""

    parties: frozenset[str] = frozenset()  # words of the names of those who talk, in lower case
    others: frozenset[str] = frozenset()  # terms that others said just before
    anyone: frozenset[str] = frozenset()  # terms said just before, by whomever
    question: str = ""  # that somebody else asked last

    def is_fact(self, sentence: str, said: date) -> bool:
        """Whether a sentence, said on that day, passes the tests of utility, specificity and persistence."""
        bare = self.unaddressed(sentence)
        if not any(_LETTER.search(term) for term in terms(bare)):  # a number alone says nothing
            return False
        if asks(sentence) or is_phatic(bare) or not carries_fact(bare) or self.is_echo(bare):
            return False
        if is_specific(bare, said):
            return True
        spoken = set(words(bare))
        if not spoken.isdisjoint(SECOND_PERSON):
            return False
        own = set(terms(bare)) - PHATIC
        new = own - self.anyone
        if spoken.isdisjoint(FIRST_PERSON) or words(bare)[0] in _TOGETHER:
            return len(own) >= _IMPERSONAL and len(new) >= 2
        return len(own) >= _PERSONAL and len(new) >= 1

    def is_echo(self, sentence: str) -> bool:
        """Whether it only says again what somebody else just said."""
        return is_echo(sentence, self.others)

    def is_idle(self, sentence: str) -> bool:
        """Whether it gives the next sentence nothing to lean on."""
        return asks(sentence) or is_phatic(self.unaddressed(sentence))

    def answers(self, sentence: str) -> bool:
        """Whether the first words of a message answer a question on something: "Seven years"."""
        if not _asks_something(self.question) or asks(sentence) or is_phatic(sentence):
            return False
        bare = self.unaddressed(sentence)
        opens = terms(bare.partition(" ")[0])
        return PHATIC.isdisjoint(opens) and SECOND_PERSON.isdisjoint(words(bare)) and not leans(bare)

    def unaddressed(self, sentence: str) -> str:
        """The sentence without the names of those who talk, which is how they address each other."""

        def kept(match: regex.Match[str]) -> str:
            return "" if is_party(match[0], self.parties) else match[0]

        return str(_WORD.sub(kept, sentence)).strip(" ,")


def heard_before(messages: Sequence[Message]) -> Iterator[tuple[Message, Heard]]:
    """Messages of one exchange, in order, each with what was heard before it."""
    parties = parties_of(messages)
    heard: deque[tuple[str, frozenset[str]]] = deque(maxlen=_HEARD)
    question, asked_by = "", ""
    for message in messages:
        speaker = message.speaker
        yield (
            message,
            Heard(
                parties,
                frozenset().union(*(theirs for who, theirs in heard if who != speaker)),
                frozenset().union(*(theirs for _, theirs in heard)),
                question if asked_by != speaker else "",
            ),
        )
        heard.append((speaker, frozenset(terms(message.content))))
        question, asked_by = last_question(message.content), speaker


def facts(messages: Sequence[Message]) -> list[Fact]:
    """The facts of an exchange, in order. No two share a sentence."""
    return [fact for message, heard in heard_before(messages) for fact in _facts_of(message, heard)]


def parties_of(messages: Sequence[Message]) -> frozenset[str]:
    """The words of the names of those who talk, in lower case."""
    return frozenset(word for message in messages for word in words(message.speaker))


def is_specific(sentence: str, said: date) -> bool:
    """A name, a number or a date: specific, whoever is spoken of."""
    return bool(_NUMBER.search(sentence) or names(sentence) or find_days(sentence, said))


def asks(sentence: str) -> bool:
    return sentence.endswith(_QUESTION)


def leans(sentence: str) -> bool:
    """Whether a sentence opens with a word for what was named before it, or is a caption of it."""
    return sentence.startswith("[") or not _LEANING.isdisjoint(words(sentence)[:1])


def last_question(content: str) -> str:
    """The question that a message leaves open: the last of its sentences, but for a caption."""
    text = _CAPTION.sub("", content)
    spans = sentences(text)
    last = text[slice(*spans[-1])] if spans else ""
    return " ".join(last.split()) if asks(last) else ""


def _facts_of(message: Message, heard: Heard) -> Iterator[Fact]:
    assert message.time is not None  # what is stored has one
    content, day = message.content, message.time.date()
    spans = _listed(content)
    groups: list[list[int]] = []
    for place, (start, end) in enumerate(spans):
        sentence = _bare(content[start:end])
        before = groups[-1] if groups and groups[-1][-1] == place - 1 else None
        if before and leans(sentence) and len(before) < _MOST_SENTENCES:
            if heard.is_fact(sentence, day) or not heard.is_idle(sentence):
                before.append(place)
        elif heard.is_fact(sentence, day) or (not place and heard.answers(sentence)):
            if not leans(sentence):
                groups.append([place])
            elif place and before is None and not heard.is_idle(_bare(content[slice(*spans[place - 1])])):
                groups.append([place - 1, place])
            elif sentence.startswith("["):
                if not groups:  # beside anything that was said, it adds little
                    groups.append([place])
            elif place or is_specific(sentence, day):
                groups.append([place])
    opens = words(content[slice(*spans[0])])[:1] if spans else []
    if not groups and _asks_something(heard.question) and opens in _YES_OR_NO:
        groups.append([0])  # a plain yes, and no more is said
    for group in groups:
        start, end = spans[group[0]][0], spans[group[-1]][1]
        answer = group[0] == 0 and _is_short(content[start:end], heard)
        yield Fact(message, start, end, heard.question if answer else "")


def _listed(content: str) -> list[Span]:
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


def _asks_something(question: str) -> bool:
    return len(set(terms(question)) - PHATIC) >= 2


def _is_short(answer: str, heard: Heard) -> bool:
    own = set(terms(heard.unaddressed(answer))) - PHATIC
    return len(own) < _SHORT_ANSWER or words(answer)[:1] in _YES_OR_NO
