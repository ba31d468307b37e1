"""The sentences of a conversation that carry facts: which to keep, and what each leans on; without a model.

Every sentence has its worth (`Worth`), judged against what was heard before it. What is at least NEWS passes
the tests of a fact (xMemory, appendix C.1) but the last, which is for `facts_of`:

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
from enum import IntEnum

import regex

from zibaldone.core import Message
from zibaldone.text.dates import find_days
from zibaldone.text.patterns import late
from zibaldone.text.salience import PHATIC, carries_fact, is_courtesy, is_echo, is_phatic, names
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
_WORD = late(r"[\p{L}\p{M}]+")
_NUMBER = late(r"\p{N}")
_LETTER = late(r"\p{L}")
# Before an item of a list: "-", "##", "1.", "(2)", "b)".
_MARK = late(r"(?:[-*+•]|#{1,6}|[(\[]?(?:\p{N}{1,6}[.:)\]]{1,2}|\p{L}[)\]]\.?))(?:\s+|$)")
_CAPTION = late(r"\s*\[[^\[\]]*\]\s*$")


class Worth(IntEnum):
    """The worth of a sentence for memory, least first."""

    COURTESY = 0  # a greeting, thanks, a wish, a call by name
    PHRASE = 1  # "It was awesome!": no word on any subject
    ECHO = 2  # what somebody else said just before
    ASIDE = 3  # a word on the subject, or a short question
    REMARK = 4  # something, but only to the other; or a question
    STATEMENT = 5  # of somebody's life or the world
    NEWS = 6  # and says enough that was not heard just before
    SPECIFIC = 7  # something of anybody, with a name, a number or a date


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a message, judged."""

    start: int  # message.content[start:end], with the mark of an item in a list
    end: int
    text: str  # on one line, without that mark
    worth: Worth
    opens: bool  # its line
    listed: bool  # an item of a list

    @property
    def asks(self) -> bool:
        return asks(self.text)

    @property
    def leans(self) -> bool:
        """True if it opens with a word for what was named before it, or is a caption of it."""
        return self.is_caption or not _LEANING.isdisjoint(words(self.text)[:1])

    @property
    def is_caption(self) -> bool:
        return self.text.startswith("[")

    @property
    def says_something(self) -> bool:
        """True if it does, though it may be no fact; questions do not."""
        return self.worth >= Worth.REMARK and not self.asks

    @property
    def is_idle(self) -> bool:
        """True if it gives the next sentence nothing to lean on."""
        return self.asks or self.worth <= Worth.PHRASE


@dataclass(frozen=True, slots=True)
class Fact:
    """Sentences of one message that are kept as one fact."""

    message: Message
    sentences: tuple[Sentence, ...]
    question: str = ""  # what it answers, where it is not understood without
    asking: Message | None = None  # whose question that is

    @property
    def start(self) -> int:
        return self.sentences[0].start

    @property
    def end(self) -> int:
        return self.sentences[-1].end

    @property
    def verbatim(self) -> str:
        """The message's text from the first sentence to the last."""
        return self.message.content[self.start : self.end]

    @property
    def text(self) -> str:
        """The sentences on one line."""
        return " ".join(sentence.text for sentence in self.sentences)


@dataclass(frozen=True, slots=True)
class Heard:
    """The context in which one message's sentences are judged."""

    parties: frozenset[str] = frozenset()  # words of the names of those who talk, in lower case
    others: frozenset[str] = frozenset()  # terms that others said just before
    anyone: frozenset[str] = frozenset()  # terms said just before, by whomever
    question: str = ""  # that somebody else asked last
    asking: Message | None = None  # in which message

    def worth(self, sentence: str, day: date) -> Worth:
        """Judge a sentence that was said on this day."""
        bare = self.unaddressed(sentence)
        if is_courtesy(bare):
            return Worth.COURTESY
        if is_phatic(bare):
            return Worth.PHRASE
        if is_echo(bare, self.others):
            return Worth.ECHO
        own = terms(bare)
        if not carries_fact(bare) or not any(_LETTER.search(term) for term in own):
            return Worth.ASIDE  # a number alone says nothing
        if asks(sentence):
            return Worth.REMARK
        if is_specific(bare, day):
            return Worth.SPECIFIC
        spoken = words(bare)
        of_oneself = not FIRST_PERSON.isdisjoint(spoken)
        if not SECOND_PERSON.isdisjoint(spoken):
            return Worth.STATEMENT if of_oneself else Worth.REMARK
        weighty = set(own) - PHATIC
        new = weighty - self.anyone
        if of_oneself and spoken[0] not in _TOGETHER:
            enough = len(weighty) >= _PERSONAL and len(new) >= 1
        else:
            enough = len(weighty) >= _IMPERSONAL and len(new) >= 2
        return Worth.NEWS if enough else Worth.STATEMENT

    def sentences_of(self, message: Message) -> list[Sentence]:
        """The sentences of a stored message; the number of an item in a list is part of the item."""
        content, day = message.content, day_of(message)
        judged: list[Sentence] = []
        for start, end in _items(content):
            mark = _MARK.match(content, start, end)
            listed = mark is not None and mark.end() < end
            text = " ".join(content[mark.end() if mark and listed else start : end].split())
            opens = not judged or "\n" in content[judged[-1].end : start]
            judged.append(Sentence(start, end, text, self.worth(text, day), opens, listed))
        return judged

    def is_short(self, opening: str) -> bool:
        """True if the first sentence of a message needs the question that it may answer."""
        return not asks(opening) and len(set(terms(self.unaddressed(opening))) - PHATIC) < _SHORT_ANSWER

    def is_answered(self, opening: str) -> bool:
        """True if the first sentence of a message answers a question on something: "Seven years"."""
        if not (_asks_something(self.question) and self.is_short(opening)):
            return False
        bare = self.unaddressed(opening)
        first = bare.partition(" ")[0]
        if is_phatic(bare) or not SECOND_PERSON.isdisjoint(words(bare)):
            return False
        return PHATIC.isdisjoint(terms(first)) or words(first) in _YES_OR_NO

    def unaddressed(self, sentence: str) -> str:
        """The sentence without the names of those who talk, which is how they address each other."""
        if not self.parties:
            return sentence.strip(" ,")

        def kept(match: regex.Match[str]) -> str:
            return "" if is_party(match[0], self.parties) else match[0]

        return str(_WORD.sub(kept, sentence)).strip(" ,")


def heard_before(messages: Sequence[Message]) -> Iterator[tuple[Message, Heard]]:
    """Messages of one exchange, in order, each with what was heard before it."""
    parties = parties_of(messages)
    heard: deque[tuple[str, frozenset[str]]] = deque(maxlen=_HEARD)
    question, asking = "", None
    for message in messages:
        speaker = message.speaker
        of_another = asking if question and asking and asking.speaker != speaker else None
        yield (
            message,
            Heard(
                parties,
                frozenset().union(*(theirs for who, theirs in heard if who != speaker)),
                frozenset().union(*(theirs for _, theirs in heard)),
                question if of_another else "",
                of_another,
            ),
        )
        heard.append((speaker, frozenset(terms(message.content))))
        question, asking = _last_question(message.content), message


def facts(messages: Sequence[Message]) -> list[Fact]:
    """The facts of an exchange, in order. No two share a sentence."""
    return [fact for message, heard in heard_before(messages) for fact in facts_of(message, heard)]


def facts_of(message: Message, heard: Heard, *, whole: bool = False) -> list[Fact]:
    """The facts of a message, in order. No two share a sentence.

    `whole`: statements that are not new are facts too, and what a message with a fact says besides is told
    with the fact, less courtesies.
    """
    judged = heard.sentences_of(message)
    groups: list[_Group] = []
    for place, sentence in enumerate(judged):
        if sentence.worth is Worth.COURTESY:
            continue
        answers = not place and heard.is_answered(sentence.text)
        is_fact = answers or sentence.worth >= (Worth.STATEMENT if whole else Worth.NEWS)
        last = groups[-1] if groups and (whole or groups[-1].places[-1] == place - 1) else None
        if last and last.takes(sentence, is_fact=is_fact, whole=whole):
            last.places.append(place)
            last.has_fact |= is_fact
            continue
        if is_fact and not (whole or answers) and sentence.leans:
            if sentence.is_caption:  # beside anything that was said, it adds little
                is_fact = not any(group.has_fact for group in groups)
            else:
                is_fact = place > 0 or sentence.worth is Worth.SPECIFIC
        if is_fact or whole or not sentence.is_idle:
            question = heard.question if is_fact and not place and heard.is_short(sentence.text) else ""
            groups.append(_Group([place], is_fact, question))
    if not any(group.has_fact for group in groups):
        if not (_asks_something(heard.question) and judged and words(judged[0].text)[:1] in _YES_OR_NO):
            return []
        groups = [_Group([0], has_fact=True, question=heard.question)]  # a plain yes, and no more is said
    return [
        Fact(
            message,
            tuple(judged[place] for place in group.places),
            group.question,
            heard.asking if group.question else None,
        )
        for group in groups
        if group.has_fact or (whole and any(judged[place].says_something for place in group.places))
    ]


@dataclass(slots=True)
class _Group:
    places: list[int]  # of its sentences in the message
    has_fact: bool
    question: str = ""  # that they answer

    def takes(self, sentence: Sentence, *, is_fact: bool, whole: bool) -> bool:
        """True if the sentence behind these belongs with them."""
        if sentence.listed:
            return False
        if sentence.leans and len(self.places) < _MOST_SENTENCES:
            return whole or is_fact or not sentence.is_idle
        return whole and not sentence.opens and not (is_fact and self.has_fact)


def parties_of(messages: Sequence[Message]) -> frozenset[str]:
    """The words of the names of those who talk, in lower case."""
    return frozenset(word for message in messages for word in words(message.speaker))


def day_of(message: Message) -> date:
    """Return the day of a stored message."""
    assert message.time is not None  # what is stored has one
    return message.time.date()


def is_specific(sentence: str, day: date) -> bool:
    """True if the sentence has a name, a number or a date."""
    return bool(_NUMBER.search(sentence) or names(sentence) or find_days(sentence, day))


def asks(sentence: str) -> bool:
    return sentence.endswith(_QUESTION)


def _last_question(content: str) -> str:
    """The question that a message leaves open: the last of its sentences, but for a caption."""
    text = _CAPTION.sub("", content).rstrip()
    return " ".join(text[slice(*sentences(text)[-1])].split()) if asks(text) else ""


def _asks_something(question: str) -> bool:
    return len(set(terms(question)) - PHATIC) >= 2


def _items(content: str) -> Iterator[Span]:
    """Yield sentence spans, with an item's number as a part of the sentence after it."""
    opening: int | None = None
    for start, end in sentences(content):
        begin = start if opening is None else opening
        opening = begin if _MARK.fullmatch(content, start, end) else None
        if opening is None:
            yield begin, end
    if opening is not None:
        yield opening, len(content.rstrip())
