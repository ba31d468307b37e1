"""Whether a rewriting kept everything that it was given: compared entry by entry, and never trusted.

All errors are ValueErrors in words that a model can act on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import regex

from zibaldone.text.salience import PHATIC, names
from zibaldone.text.sentences import sentences
from zibaldone.text.words import as_written, terms, words
from zibaldone.views.topics.consolidate.contradictions import claims, recency
from zibaldone.views.topics.consolidate.duplicates import sameness
from zibaldone.views.topics.markdown.entry import AI, Entry

_NEW = 0.34  # share of a text's terms that may be in none of its entries
_NUMBER = regex.compile(r"\p{N}+")
_SHOWN = 8  # ids in an error


@dataclass(frozen=True, slots=True)
class LineWritten:
    """An entry of the output: the numbers of the input entries that it stands for, and its text.

    An empty text: the words of the newest of them.
    """

    entries: tuple[int, ...]
    text: str = ""


def specifics(text: str) -> set[str]:
    """Names and numbers: what may neither be lost nor invented."""
    found = {str(int(number)) if number.isdecimal() else number for number in _NUMBER.findall(text)}
    for start, end in sentences(text):
        found.update(word for name in names(text[start:end]) for word in words(name))
    return found


def check_rewriting(
    given: Mapping[int, Entry], lines: Sequence[LineWritten], superseded: Iterable[tuple[int, int]]
) -> None:
    """Each given entry is in one line, lines say what their entries say, and only older ones are superseded.

    `superseded` has (older, newer).
    """
    used = Counter(number for line in lines for number in line.entries)
    if unknown := sorted(used.keys() - given.keys()):
        raise ValueError(f"there are no entries {unknown[:_SHOWN]}: name only those that were given")
    if lost := sorted(given.keys() - used.keys()):
        raise ValueError(f"entries {lost[:_SHOWN]} are in no line: put every entry in exactly one line")
    if twice := sorted(number for number, times in used.items() if times > 1):
        raise ValueError(f"entries {twice[:_SHOWN]} are in more than one line: put each in exactly one")
    line_of = {number: place for place, line in enumerate(lines) for number in line.entries}
    for line in lines:
        _check_line(line, [given[number] for number in line.entries])
    for older, newer in superseded:
        if older not in given or newer not in given:
            raise ValueError(f"superseded names {older} and {newer}; both must be entries that were given")
        if line_of[older] == line_of[newer]:
            raise ValueError(
                f"entries {older} and {newer} are in one line: none of them supersedes the other"
            )
        if (*recency(given[older]), older) > (*recency(given[newer]), newer):
            raise ValueError(f"entry {newer} is older than {older} and cannot supersede it: the newest holds")
        if not _of_one_thing(given[older], given[newer]):
            raise ValueError(f"entry {newer} is about something else than {older} and cannot supersede it")


def check_extraction(texts: Iterable[str], known: str) -> None:
    """No name or number in the texts that is not in what they were extracted from, and few other words."""
    there = {str(int(one)) for one in _NUMBER.findall(known) if one.isdecimal()}
    there |= set(words(known)) | set(terms(known))
    for text in texts:
        if not text.strip():
            raise ValueError("a fact has no text")
        if invented := specifics(text) - there:
            raise ValueError(f"{text[:60]!r} has {sorted(invented)}, which the message does not say")
        said = set(terms(text))
        if len(new := said - there) > _NEW * len(said):
            raise ValueError(f"{text[:60]!r} says {sorted(new)[:_SHOWN]}, which the message does not say")


def check_kept(texts: Iterable[str], plain: Iterable[str], message: str, speakers: Sequence[str]) -> None:
    """The texts have what the plain extraction has of the message's names and numbers, and of each claim.

    `speakers` has who says it first, and then who else talks; they may be called by name, or not.
    """
    there: set[str] = set()
    for text in texts:
        there |= specifics(text) | set(words(text)) | set(terms(text))
    told = specifics(message) | set(words(message))
    parties = {word for speaker in speakers for word in words(speaker)}
    wanted: set[str] = set()
    for text in plain:
        wanted |= {one for one in specifics(text) & told if not _is_call(one, parties)}
        for claim in claims(Entry(text, source=speakers[0])):
            value = claim.value & set(terms(message))
            wanted |= value if value.isdisjoint(there) else set()
    if lost := sorted(wanted - there):
        raise ValueError(f"no fact has {lost[:_SHOWN]}, which the message says: leave out none of them")


def _check_line(line: LineWritten, entries: list[Entry]) -> None:
    if not entries:
        raise ValueError("a line names no entries: every line stands for at least one")
    if len(entries) == 1 and not line.text:
        return
    shown = list(line.entries)[:_SHOWN]
    if len({entry.current for entry in entries}) > 1:
        raise ValueError(f"line {shown} mixes superseded entries with current ones: keep them apart")
    if len({entry.source for entry in entries if entry.by_person}) > 1:
        raise ValueError(f"line {shown} mixes what different people said: keep their entries apart")
    same = len({sameness(entry) for entry in entries}) == 1
    if not same and len({entry.time for entry in entries}) > 1:
        raise ValueError(f"line {shown} mixes entries of different times: keep them apart")
    text = line.text or max(entries, key=recency).text
    said, exact = set(terms(text)), specifics(text) | set(words(text))
    known: set[str] = set()
    allowed: set[str] = set()
    for entry in entries:
        own = set(terms(entry.text))
        if lost := (specifics(entry.text) - exact) | (own - said - PHATIC):
            raise ValueError(f"the text for {shown} leaves out {sorted(lost)} of {entry.text[:60]!r}")
        known |= own
        allowed |= set(words(entry.text)) | specifics(entry.text) | set(words(entry.source or ""))
    if invented := specifics(text) - allowed:
        raise ValueError(f"the text for {shown} has {sorted(invented)}, which no entry of it says")
    if len(said - known) > _NEW * len(said):
        raise ValueError(f"the text for {shown} says what no entry of it says: {sorted(said - known)}")
    if _negations(text) != max((_negations(entry.text) for entry in entries), default=False):
        raise ValueError(f"the text for {shown} says the opposite of an entry: keep every 'not'")


def _negations(text: str) -> bool:
    return any(word.lower() in {"not", "never", "no", "t", "nobody", "nothing"} for word in as_written(text))


def _is_call(word: str, parties: set[str]) -> bool:
    """A short form of a party's name, or politeness that is written in capitals."""
    named = word in parties or (len(word) > 2 and any(party.startswith(word) for party in parties))
    return named or (not word.isnumeric() and PHATIC.issuperset(terms(word)))


def _of_one_thing(older: Entry, newer: Entry) -> bool:
    """Whether the one can take the other's place: they claim one slot, or share a subject and a word.

    The subject is shared when one person says both; else it must be a second word that they share. Neither
    who speaks nor the name that a text begins with is that word, and no number: days are shared by anything.
    """
    if {one.slot for one in claims(older)} & {one.slot for one in claims(newer)}:
        return True
    if older.source == newer.source or AI in {older.source, newer.source}:
        who = {*terms(older.source or ""), *terms(newer.source or ""), *(_first(older) & _first(newer))}
        return bool(_content(older.text) & _content(newer.text) - who)
    both = [_content(f"{one.source or ''} {one.text}") for one in (older, newer)]
    return len(both[0] & both[1]) > 1


def _content(text: str) -> set[str]:
    return {term for term in set(terms(text)) - PHATIC if not _NUMBER.search(term)}


def _first(entry: Entry) -> set[str]:
    """The word that the text begins with: in capitals, what it is about or nothing."""
    return set(terms(" ".join(as_written(entry.text)[:1])))
