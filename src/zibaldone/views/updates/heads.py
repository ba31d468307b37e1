"""What a clause gives a value of: the head of its subject, and what only says which one that is.

"The book for the course costs 20" is of the book, and "the course book" is too: what stands behind a
preposition, before the last noun or before "'s" says which book. Two clauses whose heads differ are of two
things where the head of one merely qualifies the other's. An aspect is a head that stands for what it is of:
"the fee for the course is 18" says what the course costs. English.
"""

from __future__ import annotations

from typing import NamedTuple

import regex

from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.words import terms
from zibaldone.views.updates.clauses import StatedClause, Value, meaning


class Subject(NamedTuple):
    """The terms of a noun phrase."""

    head: frozenset[str]
    qualifiers: frozenset[str]


_VERB = (
    r"(?:is|are|was|were|be|been|has|have|had|costs?|takes?|took|starts?|begins?|ends?|opens?|closes?|leaves?|departs?"
    r"|arrives?|runs?|lasts?|weighs?|pays?|charges?|comes?|goes|went|holds?|seats?|meets?|sits?|stands?|will|now|moved"
    r"|['’]s(?=\s+(?:now|at|on|\d|[$€£])))"
)
_SUBJECT = lazy_pattern(
    rf"^\W*(?:(?:and|but|so|also|actually|okay|ok|well|turns\s+out|apparently|by\s+the\s+way|btw|fyi|from\s+now\s+on|now|today"
    rf"|as\s+of\s+\p{{L}}+|(?:i\s+)?(?:just\s+)?(?:saw|heard|read|noticed|realised|realized|learnt|learned|was\s+told)\s+that),?\s+)*(?P<phrase>(?!(?:i|we|you|he|she|they|it|there|this|that)\b)[^,;:.!?\d]{{2,70}}?)(?:\s+|(?=['’]s)){_VERB}(?!\p{{L}})",
    regex.IGNORECASE,
)
# "I pay 20 for the book for the course": what is behind the value
_PAID_FOR = lazy_pattern(r"^[^,;.!?]{0,20}?\b(?:for|on)\s+(?P<phrase>[^,;.!?\d]{2,60})", regex.IGNORECASE)
_PAYS = lazy_pattern(r"\b(?:pay|paying|paid|spend|spending|spent|charged?)\b", regex.IGNORECASE)
_QUALIFIES = lazy_pattern(
    r"\s+(?:for|of|to|in|at|on|from|with|about|before|after|by|near|under|behind|inside|outside|beside|next\s+to|between"
    r"|during|around|above|below|that|which|who|where)\s+",
    regex.IGNORECASE,
)
_POSSESSED = lazy_pattern(r"['’]s?\s+", regex.IGNORECASE)
_ASPECTS = frozenset(
    terms(
        """price cost fee charge rate total amount tuition rent bill budget date time start beginning end
        ending deadline due length duration size number capacity weight height age version location venue
        address
        name level score limit goal target price tag opening closing schedule slot"""
    )
)


def of_two_things(newer: StatedClause, new_value: Value, older: StatedClause, old_value: Value) -> bool:
    """Whether what one value is of only qualifies what the other is of."""
    first, second = _subject(newer, new_value), _subject(older, old_value)
    if first is None or second is None or first.head & second.head:
        return False
    if (first.head | second.head) & _ASPECTS:
        return False
    return bool(first.head & second.qualifiers or second.head & first.qualifiers)


def _subject(clause: StatedClause, value: Value) -> Subject | None:
    match = _SUBJECT.match(clause.text[: value.start])
    if match is None and _PAYS.search(clause.text, 0, value.start):
        match = _PAID_FOR.match(clause.text[value.end :])
    if match is None:
        return None
    core, *behind = _QUALIFIES.split(match["phrase"], maxsplit=1)
    *owners, last = _POSSESSED.split(core)
    spoken = [word for word in regex.findall(r"[\p{L}\p{M}\p{N}-]+", last) if meaning(word)]
    if not spoken:
        return None
    head = meaning(spoken[-1])
    return Subject(head, meaning(" ".join([*owners, *spoken[:-1], *behind])) - head)
