"""Extract(z_t) of Algorithm 1: the entries that a message makes, without a model or with one.

Without one, an entry is a sentence that carries a fact, in its own words, with who said it, and behind each
relative date the day that it means. What a message with a fact says besides is told with the fact, less
greetings and thanks: a sentence that leans on the one before it, what the speaker thinks of a thing, what is
shown, a question that is answered or asked. A claim, which may be superseded one day, stands alone, and so
does each line of a list. The order of a message's entries is that of their recency.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

import regex

from zibaldone.core import Message
from zibaldone.models.task import ShownMessage
from zibaldone.text.dated_text import in_iso, resolved
from zibaldone.text.dates import find_days
from zibaldone.text.facts import FIRST_PERSON, SECOND_PERSON, Heard, asks, last_question, leans, parties_of
from zibaldone.text.faithfulness import SourceTexts, names_and_numbers
from zibaldone.text.salience import PHATIC, carries_fact, is_phatic, names
from zibaldone.text.sentences import passages, sentences
from zibaldone.text.words import terms, words
from zibaldone.views.topics.consolidate.contradictions import claims
from zibaldone.views.topics.consolidate.rewrite_checks import left_out
from zibaldone.views.topics.consolidate.workbench import Work
from zibaldone.views.topics.markdown.entry import AI, Entry, When
from zibaldone.views.topics.tasks import Extract, Extracted, FactNoted

_TOGETHER = 3  # sentences that lean on each other and make one entry
_SHORT = 4  # terms; an answer with fewer is told with its question
_LIST_MARK = regex.compile(r"(?:[-*+•]|#{1,6}|\(?\p{N}{1,6}[.):])\s+")
_GREETINGS = frozenset(
    """hey hi hello bye goodbye welcome thanks thank congrats congratulations luck care soon later cheers
    please""".split()
)
_QUOTED = '" — '  # between a question and its answer


def extract(message: Message, before: Message | None, work: Work) -> tuple[Entry, ...]:
    """The message's entries, in its order; none for what says nothing to remember.

    `before` is the message before it in its session. An entry that has words of it names it as a source too.
    A model is not asked about a message in which nothing but politeness is said; of what it answers, only
    what those messages bear out is taken.
    """
    offline = _MessageReader(message, before, work).read()
    if not offline and _says_nothing(message):
        return ()
    if not work.has_model:
        return _numbered(offline)
    task = Extract(
        _shown(message),
        _shown(before) if before else None,
        offline=lambda: Extracted(facts=[FactNoted(text=entry.text) for entry in offline]),
    )
    answer = work.ask(task)
    if answer.degraded:
        return _numbered(offline)
    return _numbered(_borne_out(answer.result.facts, offline, message, before))


def answer_alone(entry: Entry) -> Entry | None:
    """What is left of an entry that quotes a question, when the question is forgotten; None for any other."""
    question, mark, answer = entry.text.partition(_QUOTED)
    if not mark or len(entry.sources) != 2 or entry.first != entry.sources[1] or not question:
        return None
    return replace(entry, text=answer, sources=(entry.first,))


def source_of(message: Message) -> str | None:
    """As an entry names it: AI, a speaker's name, or None for a user without one."""
    if message.role in {"assistant", "model", "ai"}:
        return AI
    if message.name:
        return message.name if message.name != AI else "AI (a person)"
    return None if message.role in {"user", "editor"} else message.role


def _numbered(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """By their order where there are several: they may be filed in different documents."""
    if len(entries) < 2:
        return tuple(entries)
    return tuple(replace(entry, part=part) for part, entry in enumerate(entries, 1))


def _borne_out(
    facts: Sequence[FactNoted], offline: Sequence[Entry], message: Message, before: Message | None
) -> list[Entry]:
    """Entries of a model's facts, each with the messages that bear it out as its sources.

    A fact that they don't bear out is dropped; a plain entry whose names, numbers or claims are then in no
    fact stands beside the others.
    """
    assert message.time is not None  # what is stored has one
    day = message.time.date()
    parties = [one for one in (message, before) if one is not None]
    context = " ".join(
        [*(one.speaker for one in parties), message.time.isoformat(), source_of(message) or ""]
    )
    said = [resolved(message.content, day, in_iso)]
    alone = SourceTexts(said, context)
    both = SourceTexts([*said, before.content], context) if before else alone
    taken: list[Entry] = []
    for fact in facts:
        entry = _entry(message, " ".join(fact.text.split()), _day(fact, message))
        if not alone.refusal(entry.text):
            taken.append(entry)
        elif before is not None and not both.refusal(entry.text):
            taken.append(replace(entry, sources=(before.seq, message.seq)))
    missing = left_out(taken, offline, message.content, [one.speaker for one in parties])
    if len(taken) < len(facts):
        told = {term for entry in taken for term in terms(entry.text)}
        missing = [
            one
            for one in offline
            if one in missing or len(told & set(terms(one.text))) * 2 < len(set(terms(one.text)))
        ]
    return [*taken, *missing]


def _day(fact: FactNoted, message: Message) -> date | None:
    """The day that a model gave a fact, if the message names it; else the message's own will do."""
    assert message.time is not None
    try:
        given = date.fromisoformat(fact.date)
    except ValueError:
        return None
    named = find_days(message.content, message.time.date())
    if str(given.day) in names_and_numbers(message.content):  # "since the 1st"
        return given
    return given if any(days.first <= given <= days.last for days in named) else None


def _entry(message: Message, text: str, day: date | None = None) -> Entry:
    assert message.time is not None  # what is stored has one
    when = When.of(day or message.time.date())
    return Entry(text, first=message.seq, time=when, source=source_of(message))


def _shown(message: Message) -> ShownMessage:
    assert message.time is not None
    who = source_of(message) or "the user"
    return ShownMessage(message.seq, who, message.time.isoformat(timespec="minutes"), message.content)


def _says_nothing(message: Message) -> bool:
    spans = sentences(message.content)
    return all(is_phatic(message.content[start:end]) for start, end in spans)


@dataclass(slots=True)
class _Group:
    sentences: list[str] = field(default_factory=list)
    question: str = ""  # that they answer, in words of the message before
    facts: int = 0  # of them; what is in a group without one is told only if its message has a fact
    claims: bool = False  # one of them does, and stands alone

    def takes(self, *, fact: bool, claim: bool, leans: bool) -> bool:
        """Whether a sentence behind these belongs with them."""
        if self.claims or claim:
            return False
        return not fact or not self.facts or (leans and self.facts < _TOGETHER)

    def add(self, sentence: str, *, fact: bool, claim: bool) -> None:
        self.sentences.append(sentence)
        self.facts += fact
        self.claims = claim


@dataclass(frozen=True, slots=True)
class _MessageReader:
    message: Message
    before: Message | None
    work: Work

    def read(self) -> list[Entry]:
        assert self.message.time is not None
        day = self.message.time.date()
        found: list[_Group] = []
        for number, line in enumerate(_lines(self.message.content)):
            found += self._of_line(line, opens=number == 0)
        if not any(group.facts for group in found):
            return []
        return [
            entry
            for group in found
            if group.facts or _says_something(group)
            for entry in self._entries_of(group, day)
        ]

    def _entries_of(self, group: _Group, day: date) -> Iterator[Entry]:
        text = resolved(" ".join(group.sentences), day, in_iso)
        quoting = f'"{resolved(group.question, day, in_iso)}{_QUOTED}{text}' if group.question else text
        limit = self.work.settings.entry_tokens
        if len(quoting) <= limit or self.work.workbench.count([quoting])[0] <= limit:
            entry = _entry(self.message, quoting)
            if group.question:
                assert self.before is not None
                entry = replace(entry, sources=(self.before.seq, self.message.seq))
            yield entry
            return
        for start, end in passages(text, limit, self.work.workbench.count):
            yield _entry(self.message, text[start:end])

    def _of_line(self, line: str, *, opens: bool) -> list[_Group]:
        groups: list[_Group] = []
        for place, (start, end) in enumerate(sentences(line)):
            sentence = " ".join(line[start:end].split())
            if opens and place == 0 and (question := self._answered(sentence)):
                groups.append(_Group([sentence], question, facts=1))
                continue
            fact = self._is_fact(sentence)
            shown = sentence.startswith("[")
            if not fact and self._greets(sentence):
                continue
            claim = fact and bool(claims(Entry(sentence, source=source_of(self.message))))
            if not groups or not groups[-1].takes(
                fact=fact and not shown, claim=claim, leans=leans(sentence)
            ):
                groups.append(_Group())
            groups[-1].add(sentence, fact=fact, claim=claim)
        return groups

    def _greets(self, sentence: str) -> bool:
        """Greetings, calls, thanks, wishes; not what the speaker thinks of a thing ("It was awesome!")."""
        bare = self._unaddressed(sentence)
        said = words(bare)
        return _only_calls(bare) and (not terms(bare) or not _GREETINGS.isdisjoint(said))

    def _is_fact(self, sentence: str) -> bool:
        """Something that lasts: no question, no call by name, nothing that is only said to the other."""
        if asks(sentence):
            return False
        bare = self._unaddressed(sentence)
        if _only_calls(bare) or not carries_fact(bare):
            return False
        said = set(words(bare))
        if said.isdisjoint(SECOND_PERSON) or not said.isdisjoint(FIRST_PERSON):
            return True
        return bool(names(bare)) or any(character.isdigit() for character in bare)

    def _unaddressed(self, sentence: str) -> str:
        """Without the names of the two who talk, and their short forms: so they address each other."""
        parties = parties_of([one for one in (self.message, self.before) if one is not None])
        return Heard(parties).unaddressed(sentence).strip(" ,!.")

    def _answered(self, sentence: str) -> str:
        """The question that a sentence answers in too few words to be understood; or nothing."""
        if self.before is None or self.before.speaker == self.message.speaker or asks(sentence):
            return ""
        bare = self._unaddressed(sentence)
        said = set(terms(bare)) - PHATIC
        if not said or len(said) >= _SHORT or not SECOND_PERSON.isdisjoint(words(bare)) or _only_calls(bare):
            return ""
        question = last_question(self.before.content)
        quotable = _QUOTED not in question and _QUOTED not in sentence
        return question if len(set(terms(question)) - PHATIC) >= 2 and quotable else ""


def _says_something(group: _Group) -> bool:
    """Of sentences without a fact, in a message that has one elsewhere."""
    return any(carries_fact(one) and not asks(one) for one in group.sentences)


def _only_calls(sentence: str) -> bool:
    """Politeness, with a name at most: "Hey Mel!", "Thanks, Melanie"."""
    if is_phatic(sentence):
        return True
    said = terms(sentence)
    called = {term for name in names(f". {sentence}") for term in terms(name)}
    polite = [term for term in said if term in PHATIC]
    return bool(polite) and set(said) <= PHATIC | called and FIRST_PERSON.isdisjoint(words(sentence))


def _lines(content: str) -> Iterator[str]:
    """Lines without the bullet or number before each; lines of one paragraph stay apart."""
    for line in content.splitlines():
        bare = line.strip()
        if mark := _LIST_MARK.match(bare):
            bare = bare[mark.end() :]
        if bare:
            yield bare
