"""Extract(z_t) of Algorithm 1: the entries that a message makes, without a model or with one.

Without one, an entry is a line of the message with a content word, in its own words, with who said it, and
behind each relative date the day that it means. The order of a message's entries is that of their recency.
A model reads many messages at a time; what it says of each is held against that message and the one before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import groupby

from zibaldone.core import Message
from zibaldone.models.dividing import ask_in_parts
from zibaldone.text.dated_text import day_of, in_iso, resolved
from zibaldone.text.dates import find_days
from zibaldone.text.faithfulness import REACH, SourceTexts, names_and_numbers, with_sources
from zibaldone.text.names import is_party
from zibaldone.text.patterns import late
from zibaldone.text.sentences import passages
from zibaldone.text.words import terms, words
from zibaldone.views.topics.consolidate.workbench import Workbench, bundles
from zibaldone.views.topics.markdown.entry import AI, Entry, When
from zibaldone.views.topics.tasks import Extract, FactNoted

_A_MONTH = timedelta(31)
# Before an item of a list: "-", "##", "1.", "(2)", "b)".
_MARK = late(r"(?:[-*+•]|#{1,6}|[(\[]?(?:\p{N}{1,6}[.:)\]]{1,2}|\p{L}[)\]]\.?))\s+")


def extracted(
    messages: Sequence[Message], previous: Mapping[str, Message], workbench: Workbench
) -> Iterator[tuple[Message, tuple[Entry, ...]]]:
    """Each message with its entries in its order, () if it says nothing to remember.

    `previous` has, by session, the message before the first of them; an entry that has words of it names it
    as a source too.
    A model is shown `extraction_tokens` at a time, without the messages that have no content word; of what it
    answers about a message, only what that message and the one before it bear out is taken.
    """
    readings = list(_readings(messages, previous, workbench))
    for batch in _batches(readings, workbench):
        facts = (
            _noted([reading for reading in batch if reading.plain], workbench) if workbench.has_model else {}
        )
        for reading in batch:
            noted = facts.get(reading.message.seq)
            entries = reading.plain if noted is None else _borne_out(noted, reading)
            yield reading.message, _numbered(entries)


@dataclass(frozen=True, slots=True)
class _Reading:
    """A message, and its entries without a model."""

    message: Message
    earlier: tuple[Message, ...]  # of its session, the nearest first; as far as a fact may reach
    plain: tuple[Entry, ...]

    @property
    def before(self) -> Message | None:
        return self.earlier[0] if self.earlier else None


def _readings(
    messages: Sequence[Message], previous: Mapping[str, Message], workbench: Workbench
) -> Iterator[_Reading]:
    last = {session: deque([message], maxlen=REACH) for session, message in previous.items()}
    for message in messages:
        earlier = last.setdefault(message.session, deque(maxlen=REACH))
        yield _Reading(message, tuple(earlier), tuple(_plain(message, workbench)))
        earlier.appendleft(message)


def _batches(readings: Sequence[_Reading], workbench: Workbench) -> Iterator[list[_Reading]]:
    """Readings in order, at most `extraction_tokens` each unless one message is longer.

    One each without a model.
    """
    if not workbench.has_model:
        return ([reading] for reading in readings)
    sizes = workbench.count([reading.message.content for reading in readings])
    return bundles(readings, sizes, workbench.settings.extraction_tokens)


def _noted(batch: Sequence[_Reading], workbench: Workbench) -> dict[int, list[FactNoted]]:
    """A model's facts by seq; messages of batches that it could not answer are left out."""
    noted: dict[int, list[FactNoted]] = {}
    for part, extracted in ask_in_parts(workbench.ask, batch, _task):
        mine = {reading.message.seq: list[FactNoted]() for reading in part}
        for fact in extracted.facts:
            mine.get(fact.message, []).append(fact)
        noted |= mine
    return noted


def _task(batch: Sequence[_Reading], failed: int) -> Extract:
    there = {reading.message.seq for reading in batch}
    earlier = {r.before.seq: r.before for r in batch if r.before and r.before.seq not in there}
    return Extract(
        sessions=tuple(
            _shown([reading.message for reading in run])
            for _, run in groupby(batch, key=lambda reading: reading.message.session)
        ),
        earlier=_shown(list(earlier.values())),
        seqs=frozenset(there),
        failed=failed,
    )


def source_of(message: Message) -> str | None:
    """Source of an entry from this message: AI, a speaker's name, or None for a user without one."""
    if message.role in {"assistant", "model", "ai"}:
        return AI
    if message.name:
        return message.name if message.name != AI else "AI (a person)"
    return None if message.role in {"user", "editor"} else message.role


def _numbered(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Number entries by their order if there are several: they may be filed in different documents."""
    if len(entries) < 2:
        return tuple(entries)
    return tuple(replace(entry, part=part) for part, entry in enumerate(entries, 1))


def _borne_out(facts: Sequence[FactNoted], reading: _Reading) -> list[Entry]:
    """Entries of a model's facts, each with the messages that bear it out as sources.

    A fact that they don't bear out is dropped; a plain entry whose names or numbers are then in no fact
    stands beside the others.
    """
    message, before, offline = reading.message, reading.before, reading.plain
    assert message.time is not None  # what is stored has one
    speakers = [message.speaker] if before is None else [message.speaker, before.speaker]
    context = " ".join([*speakers, message.time.isoformat(), source_of(message) or ""])
    texts = {one.seq: one.content for one in reading.earlier}
    texts[message.seq] = resolved(message.content, day_of(message), in_iso)

    def read(seqs: Sequence[int]) -> SourceTexts:
        return SourceTexts([texts[seq] for seq in seqs], context)

    taken: list[Entry] = []
    for fact in facts:
        entry = _entry(message, " ".join(fact.text.split()), _day(fact, message))
        earlier = [one.seq for one in reading.earlier]
        sources, fault = with_sources(entry.text, [message.seq], earlier, read)
        if fault and before is not None and not read([before.seq, message.seq]).refusal(entry.text):
            sources, fault = [before.seq, message.seq], ""  # what is said there is denied here, by "no"
        if not fault:
            taken.append(entry if len(sources) == 1 else replace(entry, sources=tuple(sources)))
    missing = left_out(taken, offline, message.content, speakers)
    if len(taken) < len(facts):
        covered = {term for entry in taken for term in terms(entry.text)}
        missing = [
            entry
            for entry in offline
            if entry in missing or len(covered & set(terms(entry.text))) * 2 < len(set(terms(entry.text)))
        ]
    return [*taken, *missing]


def left_out(
    taken: Iterable[Entry], plain: Iterable[Entry], message: str, speakers: Sequence[str]
) -> list[Entry]:
    """Entries of a plain extraction with a name or number that no taken entry tells.

    `speakers` has who says it first, and then who else talks; they may be called by name, or not.
    """
    there: set[str] = set()
    for entry in taken:
        text = f"{entry.text} {entry.time or ''}"
        there |= names_and_numbers(text) | set(words(text)) | set(terms(text))
    salient = names_and_numbers(message) | set(words(message))
    parties = frozenset(word for speaker in speakers for word in words(speaker))
    missing = []
    for entry in plain:
        wanted = {one for one in names_and_numbers(entry.text) & salient if not is_party(one, parties)}
        if not wanted <= there:
            missing.append(entry)
    return missing


def _day(fact: FactNoted, message: Message) -> date | None:
    """The day that a model gave a fact, if the message names it; None stands for the message's own."""
    assert message.time is not None
    try:
        given = date.fromisoformat(fact.date)
    except ValueError:
        return None
    day = message.time.date()
    named = find_days(message.content, day)
    if str(given.day) in names_and_numbers(message.content) and abs(given - day) <= _A_MONTH:
        return given  # "since the 1st"
    return given if any(days.first <= given <= days.last for days in named) else None


def _entry(message: Message, text: str, day: date | None = None) -> Entry:
    assert message.time is not None  # what is stored has one
    when = When.of(day or message.time.date())
    return Entry(text, first=message.seq, time=when, source=source_of(message))


def _shown(messages: Sequence[Message]) -> tuple[str, ...]:
    """Messages for a prompt, a line each: seq, day where it changes, speaker, content."""
    lines: list[str] = []
    day = None
    for message in messages:
        assert message.time is not None  # what is stored has one
        new = "" if message.time.date() == day else f" ({message.time.date().isoformat()})"
        lines.append(f"{message.seq}{new} {source_of(message) or 'the user'}: {message.content}")
        day = message.time.date()
    return tuple(lines)


def _plain(message: Message, workbench: Workbench) -> Iterator[Entry]:
    """The entries that a message makes without a model; what is too long for one is cut."""
    count, limit = workbench.count, workbench.settings.entry_tokens
    for line in message.content.splitlines():
        bare = _MARK.sub("", line.strip(), count=1) if _MARK.match(line.strip()) else line
        if terms(bare):
            text = resolved(" ".join(bare.split()), day_of(message), in_iso)
            for start, end in [(0, len(text))] if len(text) <= limit else passages(text, limit, count):
                yield _entry(message, text[start:end])
