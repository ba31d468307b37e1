"""Entries that say the same of a name with another value, seen when a question is asked.

Consolidation marks what it is sure of. Here the question says which name is the subject, so that a repeated
wording is enough: of `Ann works for Acme` and `Ann works for Globex`, asked of Ann, the later one holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import regex

from zibaldone.text.words import STOP_WORDS
from zibaldone.views.topics.read.naming import Name

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{N}]+)*|[!?,;:]")
_POSSESSIVE = regex.compile(r"['’]s?$")
_LIVELY = frozenset("!?")
_SUBJECT, _VALUE = "\0", "\1"
_MOST_WORDS = 24  # a longer sentence is no plain statement
_MOST_PLAIN = 2  # words of a value that is no name


def outdated(
    rows: Iterable[int], texts: Sequence[str], subject: Name, names: Mapping[int, Sequence[Name]]
) -> dict[int, int]:
    """Of rising rows that hold the subject, each that a later one replaces, and which that is.

    `names` are the names in each row's text, the subject included.
    """
    latest: dict[tuple[str, ...], list[tuple[int, Name]]] = {}
    for row, text in zip(rows, texts, strict=True):
        for wording, value in wordings(text, subject, names[row]):
            latest.setdefault(wording, []).append((row, value))
    found: dict[int, int] = {}
    for said in latest.values():
        row, value = said[-1]
        for earlier, other in said[:-1]:
            if other != value and earlier != row:
                found[earlier] = max(row, found.get(earlier, row))
    return found


def wordings(text: str, subject: Name, names: Sequence[Name]) -> Iterator[tuple[tuple[str, ...], Name]]:
    """The text with the subject and a value taken out, and that value; for every value it may be about."""
    tokens = [_POSSESSIVE.sub("", word) for word in _WORD.findall(text)]
    if len(tokens) > _MOST_WORDS:
        return
    tokens = _replaced(tokens, subject, _SUBJECT)
    if tokens.count(_SUBJECT) != 1:
        return
    others = [name for name in names if name != subject and not set(name) & set(subject)]
    others = [name for name in others if not any(name != more and set(name) < set(more) for more in others)]
    low = [token.casefold() for token in tokens]
    for name in others:
        left = _replaced(tokens, name, _VALUE)
        if left.count(_VALUE) == 1:
            yield tuple(token.casefold() for token in left), name
    if others or not _LIVELY.isdisjoint(tokens):
        return
    for size in range(1, _MOST_PLAIN + 1):
        for at in range(len(low) - size + 1):
            value = tuple(low[at : at + size])
            left = [*low[:at], _VALUE, *low[at + size :]]
            if _SUBJECT not in value and STOP_WORDS.isdisjoint((value[0], value[-1])) and _says(left):
                yield tuple(left), value


def _says(wording: Sequence[str]) -> bool:
    """Whether there is a word of a relation left."""
    return any(token not in STOP_WORDS and token not in (_SUBJECT, _VALUE) for token in wording)


def _replaced(tokens: Sequence[str], name: Name, mark: str) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(tokens):
        if tuple(tokens[at : at + len(name)]) == name:
            found.append(mark)
            at += len(name)
        else:
            found.append(tokens[at])
            at += 1
    return found
