"""Where somebody had never been, until they go: "we went to Japan" ends "I've never been to Japan".

English. The other way round nothing ends: "I've never been to Japan" after "we went to Japan" contradicts it,
and nobody knows which one is right.
"""

from __future__ import annotations

import regex

from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.words import terms
from zibaldone.views.updates.clauses import StatedClause

_PLACE = r"(?:the\s+)?(?P<place>(?-i:\p{Lu})[\p{L}\p{M}'’-]*(?:\s+(?-i:\p{Lu})[\p{L}\p{M}'’-]*){0,3})"
_WHEN = (
    r"(?=\W*$|\s*[,;:.!–—]|\s+(?:and|but|so|because|yet|before|again|now|last|this|yesterday|today|in\s+(?-i:\p{Lu})\p{L}*|on\s+(?-i:\p{Lu})\p{L}*"
    r"|for|at|with|twice|once|finally|sadly|either|until|since|over)\b)"
)
_FLAGS = regex.IGNORECASE | regex.VERBOSE
# Said of the place as such: "never been to Berlin in winter" may hold on.
_NEVER = lazy_pattern(
    rf"""(?:^\W*|\b(?:i|we)(?:['’]ve|\s+have)?\s+(?:still\s+|actually\s+)?)never\s+(?:been\s+to|visited|travell?ed\s+to|gone\s+to
    |set\s+foot\s+in)\s+{_PLACE}(?=\W*$|\s*[,;:.!–—]|\s+(?:and|but|so|before|yet|either|sadly)\b)""",
    _FLAGS,
)
_THERE = lazy_pattern(
    rf"""(?:^\W*(?:(?:and|so)\s+)?(?:finally\s+|just\s+)?|\b(?:i|we)(?:['’](?:ve|m|re)|\s+(?:have|am|are|was|were))?\s+(?:(?:finally|just|also|both|now)\s+)*)
    (?:been\s+to|went\s+to|visited|flew\s+to|travell?ed\s+to|made\s+it\s+to|(?:got\s+|came\s+|are\s+|am\s+)?back\s+from|arrived\s+in
    |landed\s+in|(?:spent\s+(?:\S+\s+){{1,4}}?)in|(?<=(?:['’](?:m|re)|am|are|was|were)\s+(?:(?:finally|now|just)\s+)*)in)\s+{_PLACE}{_WHEN}""",
    _FLAGS,
)
_UNREAL = lazy_pattern(
    r"\b(?:never|not|\p{L}+n['’]t|if|wish\p{L}*|dream\p{L}*|almost|nearly|supposed|imagin\p{L}+|pretend\p{L}*|would|might"
    r"|want\p{L}*|the\s+restaurant|the\s+caf[eé]|the\s+bar)\b",
    regex.IGNORECASE,
)


def never_visited(clause: StatedClause) -> frozenset[str]:
    """Terms of the place to which its speaker says never to have been; empty where there is none."""
    if clause.asks or clause.supposes:
        return frozenset()
    match = _NEVER.search(clause.text)
    return frozenset(terms(match["place"])) if match else frozenset()


def visited(clause: StatedClause) -> frozenset[str]:
    """Terms of the place where its speaker says to be or to have been; empty where there is none."""
    if clause.asks or clause.supposes or clause.denies or _UNREAL.search(clause.sentence):
        return frozenset()
    match = _THERE.search(clause.text)
    return frozenset(terms(match["place"])) if match else frozenset()
