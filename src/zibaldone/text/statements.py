"""Plain statements of the kind "my <attribute> is <value>": who says what of whom.

Two statements of one subject and relation with different values contradict each other, and the later one
holds. Only forms whose subject and relation are beyond doubt are read; English.
"""

from __future__ import annotations

from dataclasses import dataclass

import regex

from zibaldone.text.patterns import late
from zibaldone.text.words import STOP_WORDS, terms, words

_ADVERBS = r"(?:(?:now|currently|actually|just|still|recently|also|really|finally)\s+)*"
_VALUE = r"(?P<value>[^,.;:!?]{1,60})"
_IS = rf"(?:is|are|['’]s|was\s+changed\s+to|(?:has\s+)?changed\s+to)\s+{_ADVERBS}"
_ATTRIBUTE = rf"\b(?P<whose>my|our)\s+(?P<attribute>(?:[\p{{L}}-]+\s+){{0,3}}?[\p{{L}}-]+)\s*{_IS}{_VALUE}"
_I = r"\b(?:I|we)(?:['’](?:m|re|ve)|\s+am|\s+are|\s+have)?\s+" + _ADVERBS
_RELATIONS = (
    ("live in", rf"{_I}(?:live|living|moved|moving|relocated|relocating)\s+(?:here\s+)?(?:in|to)\s+{_VALUE}"),
    ("work at", rf"{_I}(?:work|working|started\s+working|got\s+a\s+job)\s+(?:at|for)\s+{_VALUE}"),
    ("work as", rf"{_I}(?:work|working|started\s+working)\s+as\s+(?:an?\s+)?{_VALUE}"),
    ("be years old", r"\b(?:I['’]m|I\s+am|I\s+(?:just\s+)?turned)\s+(?P<value>\d{1,3})(?:\s+years\s+old)?\b"),
)
_PATTERNS = tuple((name, late(pattern, regex.IGNORECASE)) for name, pattern in _RELATIONS)
_OWN = late(_ATTRIBUTE, regex.IGNORECASE)
# An attribute that has one value at a time; "my friend is ..." may be said of several friends.
_SINGLE = frozenset(
    terms(
        """address age birthday boss budget car city colour color deadline diet email employer flight goal
        height home hometown husband wife job landlord major manager name nickname number
        occupation partner password phone plan plate position profession rent role room salary
        schedule school size title username weight"""
    )
)
_HEDGED = frozenset("not never wish want would could might may if maybe hope used when before almost".split())
_LONGEST_VALUE = 6  # words


@dataclass(frozen=True, slots=True)
class PlainStatement:
    """One value of one relation of one subject."""

    subject: str  # who says it, of themselves
    relation: str
    value: frozenset[str]  # its terms


def statements(sentence: str, speaker: str) -> list[PlainStatement]:
    """Return the speaker's statements about themselves; none if the sentence asks, hedges or denies."""
    if sentence.rstrip().endswith("?") or not _HEDGED.isdisjoint(words(sentence)):
        return []
    values = []
    for match in _OWN.finditer(sentence):
        attribute = terms(match["attribute"])
        if attribute and (
            attribute[-1] in _SINGLE or words(match["attribute"])[0] in ("favorite", "favourite")
        ):
            values.append((" ".join(attribute), match["value"]))
    for relation, pattern in _PATTERNS:
        values += [(relation, match["value"]) for match in pattern.finditer(sentence)]
    stated = []
    for relation, value in values:
        kept = [word for word in words(value) if word not in STOP_WORDS][:_LONGEST_VALUE]
        if kept:
            stated.append(PlainStatement(speaker.casefold(), relation, frozenset(terms(" ".join(kept)))))
    return stated


def supersedes(later: PlainStatement, earlier: PlainStatement) -> bool:
    """True if the later one gives another value for the same subject and relation."""
    return (
        (later.subject, later.relation) == (earlier.subject, earlier.relation)
        and not later.value <= earlier.value
        and not earlier.value <= later.value
    )
