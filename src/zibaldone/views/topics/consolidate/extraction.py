"""Extract(z_t) of Algorithm 1: the entries that a message makes, without a model or with one.

Without one, an entry is a fact (text/facts) with what the message says besides it, in its own words, with who
said it, and behind each relative date the day that it means. A claim, which may be superseded one day, stands
alone. The order of a message's entries is that of their recency.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date

from zibaldone.core import Message
from zibaldone.models.task import ShownMessage
from zibaldone.text.dated_text import in_iso, resolved
from zibaldone.text.dates import find_days
from zibaldone.text.facts import day_of, facts_of, heard_before
from zibaldone.text.faithfulness import SourceTexts, names_and_numbers
from zibaldone.text.salience import is_phatic
from zibaldone.text.sentences import passages, sentences
from zibaldone.text.words import terms
from zibaldone.views.topics.consolidate.contradictions import claims
from zibaldone.views.topics.consolidate.rewrite_checks import left_out
from zibaldone.views.topics.consolidate.workbench import Work
from zibaldone.views.topics.markdown.entry import AI, Entry, When
from zibaldone.views.topics.tasks import Extract, Extracted, FactNoted

_QUOTED = '" — '  # between a question and its answer


def extract(message: Message, before: Message | None, work: Work) -> tuple[Entry, ...]:
    """The message's entries, in its order; none for what says nothing to remember.

    `before` is the message before it in its session. An entry that has words of it names it as a source too.
    A model is not asked about a message in which nothing but politeness is said; of what it answers, only
    what those messages bear out is taken.
    """
    offline = list(_plain(message, before, work))
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
    speakers = [message.speaker] if before is None else [message.speaker, before.speaker]
    context = " ".join([*speakers, message.time.isoformat(), source_of(message) or ""])
    content = resolved(message.content, day_of(message), in_iso)
    alone = SourceTexts([content], context)
    both = SourceTexts([content, before.content], context) if before else alone
    taken: list[Entry] = []
    for fact in facts:
        entry = _entry(message, " ".join(fact.text.split()), _day(fact, message))
        if not alone.refusal(entry.text):
            taken.append(entry)
        elif before is not None and not both.refusal(entry.text):
            taken.append(replace(entry, sources=(before.seq, message.seq)))
    missing = left_out(taken, offline, message.content, speakers)
    if len(taken) < len(facts):
        covered = {term for entry in taken for term in terms(entry.text)}
        missing = [
            entry
            for entry in offline
            if entry in missing or len(covered & set(terms(entry.text))) * 2 < len(set(terms(entry.text)))
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


def _plain(message: Message, before: Message | None, work: Work) -> Iterator[Entry]:
    """The entries that a message makes without a model."""
    source, count, limit = source_of(message), work.workbench.count, work.settings.entry_tokens
    *_, (_, heard) = heard_before([message] if before is None else [before, message])
    for fact in facts_of(
        message, heard, whole=True, alone=lambda text: bool(claims(Entry(text, source=source)))
    ):
        text = resolved(fact.text, day_of(message), in_iso)
        question = resolved(fact.question, day_of(message), in_iso)
        quoting = f'"{question}{_QUOTED}{text}' if question and _QUOTED not in question + text else text
        if len(quoting) <= limit or count([quoting])[0] <= limit:
            entry = _entry(message, quoting)
            if quoting is not text and before is not None:
                entry = replace(entry, sources=(before.seq, message.seq))
            yield entry
        else:
            for start, end in passages(text, limit, count):
                yield _entry(message, text[start:end])
