"""Checks of a model's answers against the entries that it was given, or those of a plain extraction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import regex

from zibaldone.text.faithfulness import names_and_numbers
from zibaldone.text.salience import PHATIC
from zibaldone.text.titles import is_party
from zibaldone.text.words import as_written, terms, words
from zibaldone.views.topics.markdown.entry import AI, Entry

_NUMBER = regex.compile(r"\p{N}")
_VALUE_ALONE = 1  # content words beside a value, in what says no more than that


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
