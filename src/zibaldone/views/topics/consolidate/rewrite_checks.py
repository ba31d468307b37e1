"""Checks of a model's rewriting, entry by entry, against the entries that it was given.

Each entry has one place: the first that it is given, or its own. A line whose text its entries do not bear
out keeps their own words, and the rest stands.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import regex

from zibaldone.text.faithfulness import SourceTexts, names_and_numbers
from zibaldone.text.salience import PHATIC
from zibaldone.text.titles import is_party
from zibaldone.text.words import as_written, terms, words
from zibaldone.views.topics.consolidate.workbench import sameness
from zibaldone.views.topics.markdown.entry import AI, Entry

_NUMBER = regex.compile(r"\p{N}")
_VALUE_ALONE = 1  # content words beside a value, in what says no more than that


@dataclass(frozen=True, slots=True)
class LineWritten:
    """An entry of the output: the numbers of the input entries that it stands for, and its text.

    An empty text: the words of the newest of them.
    """

    entries: tuple[int, ...]
    text: str = ""


def placed_once(
    given: Collection[int], sections: Sequence[Sequence[LineWritten]]
) -> tuple[list[list[LineWritten]], list[str]]:
    """The sections' lines with each given entry at its first place only, and the faults of the others.

    A number that was not given is left out, and so is a line without any. What is in no line, is not here.
    """
    used: set[int] = set()
    faults: list[str] = []
    placed: list[list[LineWritten]] = []
    for lines in sections:
        kept: list[LineWritten] = []
        for line in lines:
            numbers = tuple(n for n in dict.fromkeys(line.entries) if n in given and n not in used)
            used.update(numbers)
            if len(numbers) < len(line.entries) or not numbers:
                faults.append(f"{line.entries}: not given, or in another line")
            if numbers:  # a text for several does not fit some of them
                kept.append(LineWritten(numbers, line.text if numbers == line.entries else ""))
        placed.append(kept)
    return placed, faults


def faithful(given: Mapping[int, Entry], line: LineWritten) -> list[LineWritten]:
    """[line] if it says what its entries say; else a line for each of them, in its own words."""
    entries = [given[number] for number in line.entries]
    if line_fault(line, entries):
        return [LineWritten((number,)) for number in line.entries]
    return [line]


def may_supersede(given: Mapping[int, Entry], older: int, newer: int) -> bool:
    """True if `newer` can supersede `older`: both are given, about one thing, and it is newer."""
    if older == newer or older not in given or newer not in given:
        return False
    if (*given[older].recency, older) > (*given[newer].recency, newer):
        return False
    return _of_one_thing(given[older], given[newer])


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
        wanted = {one for one in names_and_numbers(entry.text) & salient if not _is_call(one, parties)}
        if not wanted <= there:
            missing.append(entry)
    return missing


def line_fault(line: LineWritten, entries: Sequence[Entry]) -> str:
    """Reason why a line does not say what its entries say; "" if it does."""
    if len(entries) == 1 and not line.text:
        return ""
    if len({entry.current for entry in entries}) > 1:
        return "it mixes superseded entries with current ones"
    if len({entry.source for entry in entries if entry.by_person}) > 1:
        return "it mixes what different people said"
    same = len({sameness(entry) for entry in entries}) == 1
    if not same and len({entry.time for entry in entries}) > 1:
        return "it mixes entries of different times"
    text = line.text or max(entries, key=lambda entry: entry.recency).text
    covered, exact = set(terms(text)), names_and_numbers(text) | set(words(text))
    for entry in entries:
        own = set(terms(entry.text))
        if lost := (names_and_numbers(entry.text) - exact) | (own - covered - PHATIC):
            return f"it leaves out {sorted(lost)} of {entry.text[:60]!r}"
        if fault := SourceTexts([text]).refusal(entry.text):
            return f"it leaves out what an entry {fault}"
    return SourceTexts([entry.text for entry in entries], " ".join(e.source or "" for e in entries)).refusal(
        text
    )


def _is_call(word: str, parties: frozenset[str]) -> bool:
    """A short form of a party's name, or politeness that is written in capitals."""
    return is_party(word, parties) or (not word.isnumeric() and PHATIC.issuperset(terms(word)))


def _of_one_thing(older: Entry, newer: Entry) -> bool:
    """True if two entries share a subject and a word.

    The subject is shared when one person says both; else it must be a second word that they share. Neither
    who speaks nor the name that a text begins with is that word, and no number: days are shared by anything.
    A person who says no more than a value ("Make that 30.") speaks of what was said before, in other words.
    """
    if older.source == newer.source or AI in {older.source, newer.source}:
        if _NUMBER.search(newer.text) and len(_content(newer.text)) <= _VALUE_ALONE:
            return True
        who = {*terms(older.source or ""), *terms(newer.source or ""), *(_first(older) & _first(newer))}
        return bool(_content(older.text) & _content(newer.text) - who)
    both = [_content(f"{one.source or ''} {one.text}") for one in (older, newer)]
    return len(both[0] & both[1]) > 1


def _content(text: str) -> set[str]:
    return {term for term in set(terms(text)) - PHATIC if not _NUMBER.search(term)}


def _first(entry: Entry) -> set[str]:
    """Terms of the text's first word, which is written with a capital whatever it is."""
    return set(terms(" ".join(as_written(entry.text)[:1])))
