"""What people have decided on."""

from __future__ import annotations

import regex

from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.words import terms
from zibaldone.views.profile.clauses import (
    ADVERBS,
    AM,
    BEFORE,
    FLAGS,
    HAVE,
    REACTION,
    SUBJECT,
    Reading,
    first_phrase,
)

_DECIDED = lazy_pattern(
    rf"""{HAVE}(?P<verb>decided|chose|chosen|opted|settled\s+on|settled\s+for|went\s+with|gone\s+with
    |picked(?!\s+up|\s+(?:him|her|them|you|
    us|it|me|\w+)\s+up)|agreed\s+(?=to\b|on\b|that\b|with\b)|committed\s+to|resolved\s+to|made\s+up\s+(?:my
    |our)\s+minds?|made\s+(?:the|a|my|our)\s+decision
    |selected|rejected|declined|turned\s+down|accepted|ruled\s+out|compromised\s+on|finali[sz]ed
    |switched\s+(?=to|from)|ended\s+up\s+(?:choosing|
    going\s+with|picking|buying)|concluded\s+that|insisted\s+on)\b\s*(?P<object>.*)""",
    FLAGS,
)
_GOING_WITH = lazy_pattern(
    rf"(?:{AM}going(?:\s+to\s+go)?|{SUBJECT}(?:['’]ll|\s+will)\s+{ADVERBS}go"
    rf"|{BEFORE}let['’]?s\s+go)\s+with\s+(?P<object>.+)",
    FLAGS,
)
_DECISION_IS = lazy_pattern(r"\b(?:my|our)\s+(?:final\s+)?decision\s+(?:is|was|to)\s+(?P<object>.+)", FLAGS)
_NOT_YET = lazy_pattern(
    r"\b(?:haven['’]?t|hasn['’]?t|not\s+yet|never|can['’]?t|couldn['’]?t|almost"
    r"|nearly)\s+(?:\w+\s+)?(?:decide|chose|chosen|pick|settle)",
    regex.IGNORECASE,
)
_INSTEAD = lazy_pattern(r"\b(?:over|instead\s+of|rather\s+than)\b", regex.IGNORECASE)


def decision(statement: str) -> Reading | None:
    if _NOT_YET.search(statement):
        return None
    for pattern in (_DECIDED, _GOING_WITH, _DECISION_IS):
        for match in pattern.finditer(statement, overlapped=True):
            chosen = match["object"]
            if REACTION.match(chosen) or not terms(first_phrase(chosen)):
                continue
            against = regex.match(
                r"(?:not|against|that\s+\w+\s+(?:won['’]?t|will\s+not))\b", chosen, regex.IGNORECASE
            )
            bare = regex.sub(
                r"^(?:on|to|not\s+to|against|that|for|not)\s+",
                "",
                first_phrase(chosen),
                flags=regex.IGNORECASE,
            )
            what = _INSTEAD.split(bare, maxsplit=1)[0]
            return Reading(
                "decision",
                first_phrase(chosen),
                "decide " + " ".join(terms(what)[:4]),
                frozenset({"against" if against else "for"}),
            )
    return None
