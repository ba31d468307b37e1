"""What the speaker is and has."""

from __future__ import annotations

import regex

from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.statements import statements
from zibaldone.text.words import terms, words
from zibaldone.views.profile.clauses import (
    ADVERBS,
    AM,
    BEFORE,
    FLAGS,
    HAVE,
    SUBJECT,
    TO_YOU,
    Reading,
    first_phrase,
)
from zibaldone.views.profile.constraints import FOR_A_WHILE, qualifies
from zibaldone.views.profile.preferences import IS_FAN

_STATES = r"""married|single|divorced|widowed|engaged(?:\s+to)|retired|unemployed|self-employed|pregnant
|diabetic|colou?r-?blind|deaf|blind|left-handed|disabled|autistic|bilingual|dyslexic|asthmatic|celiac
|coeliac|gluten-free|transgender|gay|lesbian|
bisexual|jewish|muslim|christian|catholic|hindu|buddhist|an?\s+only\s+child|freelancing|based\s+in
|(?:originally\s+)?from|
\d{1,3}\s*(?:years?\s+old|yo\b|cm\b|feet\b|ft\b)"""
_DIET = r"(?P<diet>vegetarian|vegan|pescatarian)"
# One at a time: "I'm vegetarian", and later "so pescatarian now, I guess"
_EATS = lazy_pattern(
    rf"(?:(?:{AM}(?:an?\s+)?(?:strict\s+)?|{HAVE}(?:went|gone|go|turned|become|became)\s+(?:fully\s+|back\s+to\s+|an?\s+)?"
    rf"|{HAVE}been\s+(?:an?\s+)?){_DIET}\b(?!\s+(?:\p{{L}}+\s+)?(?:recipes?|food|meals?|dish(?:es)?|restaurants?))"
    rf"|^\W*(?:(?:so|and|well|yeah|but),?\s+){{0,2}}{ADVERBS}{_DIET}\s+(?:now(?!\s+and\b)|again"
    rf"|these\s+days)\b)(?!{FOR_A_WHILE})",
    FLAGS,
)
_IS_STATE = lazy_pattern(rf"{AM}(?P<state>{_STATES})\b(?P<rest>[^.;!?]*)", FLAGS)
_IS_A = lazy_pattern(
    rf"{AM}(?:working\s+as\s+)?an?\s+(?P<what>(?!(?:bit|little|lot|few|couple|big|huge|fan|lover|tad|mess"
    rf"|wreck|total|complete|huge|great|strong|firm|"
    rf"sucker|good|bad|better|terrible|week|month|day|step|day|few|kind|sort|part|member|friend|believer"
    rf"|work|person|man|woman|girl|guy|while|pro|long|long-?time)\b)"
    rf"[\p{{L}}\p{{N}}-]+[^,.;:!?]*)",
    FLAGS,
)
_POSSESSIONS = r"""kids?|children|child|sons?|daughters?|brothers?|sisters?|siblings?|twins|dogs?|cats?
|pets?|pupp(?:y|ies)|kittens?|horse|parrot|rabbits?|toddlers?|boys?|girls?|\d{1,2}[\s-](?:year|month)s?[\s-]olds?|car|
truck|van|motorcycle|bike|house|apartment|flat|garden|degree|phd|doctorate|master['’]?s|bachelor['’]?s
|diabetes|asthma|adhd|allerg(?:y|ies)|disability|
anxiety|depression|arthritis|migraines?|epilepsy|celiac(?:\s+disease)?|hypertension|insomnia|dyslexia
|eczema|mortgage|licen[cs]e|visa|business|startup|
company|laptop|phone|computer|camera|piano|guitar|boat|wife|husband|girlfriend|boyfriend|roommates?
|years\s+of\s+experience"""
_HAS = lazy_pattern(
    rf"{SUBJECT}(?:['’]ve\s+got|\s+have\s+got|\s+have|\s+own|\s+adopted)\s+{ADVERBS}(?!been\b|to\b|not\b|no\b"
    rf"|had\b|seen\b|never\b"
    rf"|\p{{L}}+ed\b)(?P<what>(?:[\p{{L}}\p{{N}}'’+-]+\s+){{0,4}}?(?:{_POSSESSIONS}))\b(?!['’])(?!\s+(?:in\s+mind"
    rf"|question|issue|problem|party|appointment|show|loan\s+question))",
    FLAGS,
)
# "I have a lurcher called Biscuit"; what a document or a program calls so is no possession
_HAS_NAMED = lazy_pattern(
    rf"{SUBJECT}(?:['’]ve\s+got|\s+have\s+got|\s+have|\s+own|\s+{ADVERBS}(?:got|adopted))\s+{ADVERBS}"
    rf"(?P<what>an?\s+(?:[\p{{L}}-]+\s+){{0,2}}?(?!(?:class|function|method|table|column|variable|field|file"
    rf"|folder|script|module|package|branch|repo|repository|model|object|component|document|note|notes|chapter"
    rf"|character|tab|sheet|page|section|button|type|key|node|test|dataset|endpoint|service|server|database)\b)"
    rf"[\p{{L}}-]+\s+(?:called|named)\s+(?-i:\p{{Lu}}\p{{Ll}}+))\b",
    FLAGS,
)
_JOB = lazy_pattern(
    rf"{HAVE}(?P<what>(?:got|gotten|landed|found|accepted|started|begun|began|taken|took)\s+(?:an?|my|the)\s+"
    rf"(?:[\p{{L}}-]+\s+){{0,2}}?(?:job|position|role|post|internship|apprenticeship)\s+(?P<how>as|at|with|in"
    rf"|for)\s+(?:an?\s+|the\s+)?(?P<value>[^.,;!?]+))",
    FLAGS,
)
_OF_LIFE = lazy_pattern(
    rf"""{HAVE}(?P<what>(?:was|were|been)\s+(?:born|raised|diagnosed|adopted)
    |(?:was|were|been|got|gotten)\s+promoted\s+to|gave\s+birth\s+to|quit\s+(?:my\s+job|smoking|drinking)
    |stopped\s+(?:eating|drinking|smoking)|left\s+my\s+job|retired
    |bought\s+(?:an?|our|my)\s+(?:\p{{L}}+\s+){{0,2}}?(?:house|flat|apartment|home|cottage|farm|car|van|boat)
    |(?:started|began|begun)\s+(?:an?|my|our)\s+(?:\p{{L}}+\s+)?(?:phd|doctorate|master['’]?s|bachelor['’]?s
    |degree|mba|business|company)
    |(?:wear|take)\s+(?:an?\s+)?size\s+\d+|coach\s+(?:the|an?|my)
    |work\s+(?:nights|days|shifts|remotely|part[\s-]time|full[\s-]time|from\s+home)|grew\s+up\s+(?:in|on|near
    |with)|graduated\s+(?:from|with|in)|majored\s+in|
    suffer\s+from|suffered\s+from|weigh\s+\d+|drive\s+an?|speak\s+(?-i:\p{{Lu}}\p{{L}}+)|own\s+an?|run\s+(?:an?|my
    |our)\s+(?:own\s+)?(?:\p{{L}}+\s+)?(?:business|company|shop|store|startup|bakery|studio|restaurant|farm
    |agency|blog)
    |teach\s+(?:\p{{L}}+\s+(?:at|to|in)|year\s+\d+|grade\s+\d+)|study\s+\p{{L}}+\s+at|play\s+the\s+\p{{L}}+|been\s+(?:married
    |sober|retired|learning\s+(?-i:\p{{Lu}}\p{{L}}+))|earn\s+(?:about\s+|around\s+)?[$€£]?\d)
    \b[^.;!?]*""",
    FLAGS,
)
_NAMED_THING = lazy_pattern(
    rf"{SUBJECT}(?:['’]ve\s+got|\s+have|\s+own|\s+bought"
    rf"|\s+drive)\s+an?\s+(?P<what>(?-i:\p{{Lu}}[\p{{L}}\p{{N}}-]+)[^,.;:!?]*)",
    FLAGS,
)
_STUDYING = lazy_pattern(
    rf"{AM}(?P<what>(?:studying|majoring|training\s+(?:as|to\s+become)|learning\s+(?=(?-i:\p{{Lu}}\p{{Ll}}+)))\s*[^.;!?]*)",
    FLAGS,
)
_AGED = lazy_pattern(
    r"\bI(?:['’]m|\s+am|\s+(?:just\s+)?turned)\s+\d{1,3}(?:\s+years\s+old|\s*(?:[.,;!)]|$|\s+and\b"
    r"|\s+now\b))",
    regex.IGNORECASE,
)
_PLACE = (
    r"(?:in|to)\s+(?:the\s+)?(?:(?-i:\p{Lu})|an?\s+(?:\p{L}+\s+){0,2}(?:city|town|village|suburb|house"
    r"|apartment|flat|farm|studio|condo)\b)"
)
# `statements` looks for the words wherever they stand; a fact is told in a clause of its own
_PLAIN_FORMS = {
    "be years old": _AGED,
    "live in": lazy_pattern(
        rf"{SUBJECT}(?:['’](?:m|re|ve)|\s+am|\s+are|\s+have)?\s+{ADVERBS}\p{{L}}+\s+(?:here\s+)?{_PLACE}",
        FLAGS,
    ),
    "work at": lazy_pattern(
        rf"{SUBJECT}(?:['’](?:m|re|ve)|\s+am|\s+are|\s+have)?\s+{ADVERBS}(?:work|working|started\s+working"
        rf"|got\s+a\s+job(?!\s+for\b))\s+(?:at|for)\s+(?:an?\s|the\s|(?-i:\p{{Lu}}))",
        FLAGS,
    ),
    "work as": lazy_pattern(
        rf"{SUBJECT}(?:['’](?:m|re|ve)|\s+am|\s+are|\s+have)?\s+{ADVERBS}(?:work|working|started\s+working)\s+as\s",
        FLAGS,
    ),
}
_OWN_IS = lazy_pattern(
    rf"{BEFORE}(?:my|our)\s+(?:[\p{{L}}-]+\s+){{0,3}}?[\p{{L}}-]+\s+(?:is|are|was\s+changed|has\s+changed"
    rf"|changed)\b",
    FLAGS,
)
_ASKING_STATE = lazy_pattern(
    r"\b(?:hope|wish|maybe|perhaps|might|used\s+to|would|could|imagine|suppose|pretend\w*|dream)\b",
    regex.IGNORECASE,
)


def fact(statement: str) -> Reading | None:
    if _ASKING_STATE.search(statement):
        return None
    for plain in statements(statement, "i"):
        if not _PLAIN_FORMS.get(plain.relation, _OWN_IS).search(statement):
            continue
        if plain.relation.split()[0] in ("favorit", "favourit") or not plain.value:
            continue
        return Reading(
            "fact", f"{plain.relation} {' '.join(sorted(plain.value))}", plain.relation, plain.value
        )
    if (match := _EATS.search(statement)) and not qualifies(statement, match.end("diet")):
        diet = match["diet"].casefold()
        return Reading("fact", diet, "diet", frozenset({diet}), frozenset({"food"}))
    if (match := _JOB.search(statement)) and TO_YOU.isdisjoint(words(match["what"])):
        how, place = match["how"].casefold(), match["value"]
        relation = "work as" if how == "as" else "work at"
        if how not in ("as", "at") and not (how == "with" and place[0].isupper()):
            return Reading("fact", match["what"].strip())  # "in May", "for the money", "with my dad's help"
        value = frozenset(terms(first_phrase(regex.split(r"\s+(?:at|with|for|in)\s", place)[0])))
        return Reading("fact", match["what"].strip(), relation if value else "", value)
    if (match := _IS_STATE.search(statement)) and TO_YOU.isdisjoint(words(match["rest"])):
        return Reading("fact", f"{match['state']} {first_phrase(match['rest'])}".strip())
    if (
        (match := _IS_A.search(statement))
        and not IS_FAN.search(statement)
        and TO_YOU.isdisjoint(words(match["what"]))
        and terms(match["what"])
    ):
        return Reading("fact", first_phrase(match["what"]))
    for pattern in (_HAS_NAMED, _HAS, _OF_LIFE, _STUDYING, _NAMED_THING):
        if (match := pattern.search(statement)) and TO_YOU.isdisjoint(words(match["what"])):
            return Reading("fact", first_phrase(match["what"]))
    return None
