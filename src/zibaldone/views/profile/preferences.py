"""What people like and dislike, and what of it they say again or take back."""

from __future__ import annotations

import regex

from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.words import terms, words
from zibaldone.views.profile.clauses import (
    ADVERBS,
    AM,
    FLAGS,
    PLAIN,
    REACTION,
    SUBJECT,
    TO_YOU,
    Reading,
    first_phrase,
)

_PREFERS = lazy_pattern(
    rf"{PLAIN}(?:would\s+)?(?P<verb>prefer|love|like|enjoy|adore|hate|dislike|detest|loathe|despise"
    rf"|favou?r|avoid)"
    r"\s+(?P<object>.+)",
    FLAGS,
)
_WOULD_PREFER = lazy_pattern(
    rf"{SUBJECT}(?:['’]d|\s+would)\s+{ADVERBS}(?P<verb>prefer|rather)\s+(?P<object>.+)", FLAGS
)
_ALWAYS_LOVED = lazy_pattern(
    rf"{SUBJECT}(?:(?:['’]ve|\s+have)\s+(?:always|never)|\s+never)\s+{ADVERBS}(?P<verb>loved|liked|preferred"
    rf"|hated|enjoyed|disliked"
    r"|avoided)\s+(?P<object>.+)",
    FLAGS,
)
_DISLIKES = lazy_pattern(
    rf"{SUBJECT}\s+{ADVERBS}(?P<verb>(?:don['’]?t|do\s+not|never)\s+{ADVERBS}(?:like|enjoy|eat|drink|smoke"
    rf"|care\s+for|love|prefer)|"
    rf"(?:can['’]?t|cannot|can\s+not)\s+{ADVERBS}(?:stand|eat|drink|tolerate|bear|handle"
    rf"|digest))\s+(?P<object>.+)",
    FLAGS,
)
_IS_FOND = lazy_pattern(
    rf"{AM}(?P<verb>(?:not\s+{ADVERBS})?(?:allergic|sensitive|intolerant|partial)\s+to|(?:not\s+)?(?:a\s+"
    rf"|an\s+)?"
    rf"(?:big\s+|huge\s+|avid\s+|great\s+|real\s+|massive\s+|long-?time\s+)?(?:fan|lover)\s+of"
    rf"|(?:not\s+{ADVERBS})?(?:fond\s+of|keen\s+on|"
    r"into|passionate\s+about|obsessed\s+with|crazy\s+about|afraid\s+of|scared\s+of|terrified\s+of))"
    r"\s+(?P<object>.+)",
    FLAGS,
)
IS_FAN = lazy_pattern(
    rf"{AM}(?:more\s+of\s+)?an?\s+(?P<object>(?:[\p{{L}}-]+\s+){{1,3}}?)(?:fan|lover|enthusiast|person"
    rf"|buff|geek|addict)\b(?!\s+of)",
    FLAGS,
)
_INTOLERANT = lazy_pattern(rf"{AM}(?P<object>[\p{{L}}-]+)[\s-]+intolerant\b(?P<verb>)", FLAGS)
_FAVOURITE = lazy_pattern(
    r"""\b(?P<whose>my|our)\s+(?:all[\s-]time\s+|absolute\s+|personal\s+|current\s+)*(?:favou?rite
    |preferred|go-to)\s+
    (?P<object>(?:[\p{L}\p{N}'’-]+\s+){0,4}?[\p{L}\p{N}'’-]+)\s*(?:is|are|['’]s|has\s+always\s+been
    |would\s+be|remains?)\s+
    (?P<value>[^,.;:!?]{2,80})""",
    FLAGS,
)
_IS_FAVOURITE = lazy_pattern(
    r"""^\W*(?:(?:and|but|so|also|yeah|well)\s+)?(?P<value>[^,.;:!?]{2,60}?)\s*(?:is
    |are)\s+(?:definitely\s+|still\s+|by\s+far\s+|one\s+of\s+)*
    my\s+(?:all[\s-]time\s+|absolute\s+)?favou?rites?\b\s*(?P<object>[^,.;:!?]{0,60})""",
    FLAGS,
)
_PREFERENCE_IS = lazy_pattern(r"\bmy\s+preference\s+(?:is|for)\s+(?P<object>.+)", FLAGS)
_WORKS_BEST = lazy_pattern(
    rf"{PLAIN}(?P<verb>work|learn|study|focus|think|sleep|concentrate)\s+(?:best|better)\s+(?P<object>.+)",
    FLAGS,
)
_LARGE = frozenset("huge big total massive real great true avid serious".split())  # fans of what was said
_LIKING = lazy_pattern(  # without one of these there is nothing to look for
    r"""prefer|love|lik|enjoy|ador|hat|detest|loath|despis|favou?r|avoid|rather|drink|eat\b|smoke|care
    |stand\b|tolerate|bear|handle|digest|
    allerg|sensitiv|intoler|partial|\bfan\b|fond|keen|into|passionate|obsessed|crazy|afraid|scared
    |terrified|best|better|go-to|
    enthusiast|person|buff|geek|addict""",
    FLAGS,
)
_HEDGES = lazy_pattern(
    r"\b(?:used\s+to|if\s+only|wish|pretend\w*|imagine|suppose|hypothetical\w*)\b", regex.IGNORECASE
)
_AGAINST = lazy_pattern(
    r"\b(?:hate|dislike|detest|loathe|despise|avoid|never|not|\w+n['’]t|dont|cannot|disliked|hated|allergic"
    r"|afraid|scared|terrified|intolerant|sensitive)",
    regex.IGNORECASE,
)
_OVER = lazy_pattern(r"\b(?:over|rather\s+than|instead\s+of|more\s+than|than)\b", regex.IGNORECASE)
_TO = lazy_pattern(rf"\bto\b|{_OVER.pattern}", regex.IGNORECASE)
_SHORT_PAIR = 5  # words of "tea to coffee"; in longer ones "to" is mostly an aim


def preference(statement: str) -> Reading | None:
    if not _LIKING.search(statement) or _HEDGES.search(statement):
        return None
    if (match := IS_FAN.search(statement)) and not (TO_YOU | _LARGE) & set(words(match["object"])[-1:]):
        return _preferring(match.group(), "", match["object"])
    if (match := _FAVOURITE.search(statement)) and TO_YOU.isdisjoint(words(match["value"])):
        subject = " ".join(terms(match["object"]))
        return Reading(
            "preference",
            f"{match['object']} {match['value']}",
            f"favourite {subject}",
            frozenset(terms(match["value"])),
        )
    if (match := _IS_FAVOURITE.search(statement)) and REACTION.match(match["value"]) is None:
        return Reading("preference", f"{match['value']} {match['object']}".strip())
    for pattern in (
        _WOULD_PREFER,
        _PREFERS,
        _ALWAYS_LOVED,
        _DISLIKES,
        _IS_FOND,
        _INTOLERANT,
        _WORKS_BEST,
        _PREFERENCE_IS,
    ):
        for match in pattern.finditer(statement, overlapped=True):
            liked = first_phrase(match["object"])
            if REACTION.match(match["object"]) or not TO_YOU.isdisjoint(words(liked)[:6]) or not terms(liked):
                continue
            groups = match.groupdict()
            verb = groups.get("verb") or ""
            return _preferring(match.group(), verb, liked)
    return None


def _preferring(clause: str, verb: str, liked: str) -> Reading:
    """With the subject that a later preference of the same would have."""
    lowered = verb.casefold()
    if "prefer" in lowered or lowered == "rather":
        better, *rest = (_TO if len(liked.split()) <= _SHORT_PAIR else _OVER).split(liked, maxsplit=1)
        if rest:  # "tea over coffee", and later "coffee over tea"
            pair = sorted([" ".join(sorted(set(terms(side)))) for side in (better, rest[0])])
            return Reading("preference", liked, "prefer " + " / ".join(pair), frozenset(terms(better)))
        return Reading("preference", liked)
    against = bool(_AGAINST.search(clause[: clause.rfind(liked)]))
    head = " ".join(terms(liked)[:3])
    return Reading("preference", liked, f"like {head}", frozenset({"against" if against else "for"}))
