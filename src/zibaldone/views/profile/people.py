"""Who somebody is to the speaker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import regex

from zibaldone.search.question import Acquaintance
from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.salience import names
from zibaldone.text.sentences import Span
from zibaldone.text.words import terms, words
from zibaldone.views.profile.clauses import ADVERBS, FLAGS, SUBJECT, TO_YOU, Reading

_KIN = r"""(?:(?:step|half|grand|great|foster|god|ex)-?\s?)*(?:mother|father|mom|mum|mama|dad|papa|parent
|sister|brother|sibling|twin|wife|husband|
spouse|partner|fianc[eé]e?|girlfriend|boyfriend|son|daughter|child|kid|baby|aunt|uncle|cousin|niece|nephew
|grandma|grandpa|
granddad|granny|friend|best\s+friend|buddy|colleague|coworker|co-worker|boss|manager|supervisor|mentor
|assistant|roommate|flatmate|
housemate|neighbou?r|teacher|professor|tutor|coach|trainer|doctor|dentist|therapist|lawyer|attorney
|accountant|advisor|adviser|landlord|
landlady|client|teammate|co-?founder|business\s+partner|nanny|babysitter|agent|editor|in-law|mother-in-law
|father-in-law|
sister-in-law|brother-in-law|dog|cat|puppy|kitten|horse|parrot|rabbit|hamster|pet)"""
_NAME = (
    r"(?P<name>(?-i:(?:Dr\.?\s+|Mr\.?\s+|Mrs\.?\s+|Ms\.?\s+"
    r"|Prof\.?\s+)?\p{Lu}[\p{Ll}'’-]+(?:\s+\p{Lu}[\p{Ll}'’-]+){0,2}))"
)
_KIN_NAME = lazy_pattern(
    rf"\b(?:my|our)\s+(?:[\p{{L}}-]+\s+){{0,2}}?(?P<kin>{_KIN})s?,?\s+(?:named\s+|called\s+)?{_NAME}", FLAGS
)
_NAME_KIN = lazy_pattern(
    rf"{_NAME}(?:,|\s+is|\s+was|['’]s|\s*\(|,?\s+who(?:['’]s|\s+is))\s+(?:also\s+)?(?:my"
    rf"|our)\s+(?:[\p{{L}}-]+\s+){{0,2}}?(?P<kin>{_KIN})\b",
    FLAGS,
)
_KIN_IS = lazy_pattern(
    rf"\b(?:my|our)\s+(?:[\p{{L}}-]+\s+)?(?P<kin>{_KIN})(?:(?:['’]s\s+name)?\s+is|['’]s)\s+(?:now\s+)?(?:called\s+"
    rf"|named\s+)?{_NAME}(?=\s*(?:[.,;!()–—]|and\b|now\b|$))",
    FLAGS,
)
_KIN_STATES = lazy_pattern(
    rf"^\W*(?:(?:and|but|so|also)\s+)?my\s+(?:[\p{{L}}-]+\s+)?(?P<kin>{_KIN})\s+(?P<verb>is\s+(?:an?"
    rf"|now\s+an?|\d+)|works?|lives?|was\s+born|is\s+allergic|has\s+(?:an?|two|three"
    rf"|\d+))\b(?P<rest>[^,;.!?]*)",
    FLAGS,
)
_PARTNER = "partner"
_COUPLE = lazy_pattern(
    rf"{SUBJECT}(?:['’](?:m|re|ve)|\s+(?:am|are|have|got|started|began))?\s+{ADVERBS}(?:been\s+)?(?P<kin>)"
    rf"(?:dating|seeing|engaged\s+to|married(?:\s+to)?)\s+(?:someone,?\s+|somebody,?\s+|an?\s+\p{{L}}+(?:,\s+"
    rf"|\s+called\s+|\s+named\s+))?{_NAME}",
    FLAGS,
)
# What is told of somebody there is not so.
_IMAGINED = lazy_pattern(
    r"\b(?:imagin(?:e|ing)|pretend\w*|suppos(?:e|ing)|role-?play\w*|hypothetical\w*|in\s+(?:my|a)\s+dream"
    r"|(?:stor(?:y|ies)|novel|tale|poem|screenplay|script|scene|joke)\s+(?:where|in\s+which|about|with))\b",
    regex.IGNORECASE,
)
_TITLE = lazy_pattern(r"(?:Dr|Mr|Mrs|Ms|Prof)\.?$")
_NAMES_ONE = lazy_pattern(r"\S+(?:\s\S+)?\s+(?:is|was)\s|\S+['’]s\s")
_NO_KIN_NAME = lazy_pattern(
    r"(?:I|My|Me|I['’]\w+|The|A|An|And|But|So|It|This|That|He|She|They|We|You|In|On|At|Who|When|American"
    r"|\p{Lu}\p{Ll}+(?:ish|ese))$"
)
_ONE_AT_A_TIME = frozenset(
    """wife husband spouse boss landlord girlfriend boyfriend fiance fiancee fiancé fiancée manager supervisor
    mother father mom mum dad""".split()
)


def relation(statement: str) -> Reading | None:
    if _IMAGINED.search(statement):
        return None
    for pattern in (_KIN_NAME, _NAME_KIN, _KIN_IS, _COUPLE):
        for match in pattern.finditer(statement):
            in_front = statement if pattern is _NAME_KIN else ""
            if (reading := _of_name(match, in_front)) is not None:
                # A bare name, out of a question, stands beside what is told of them, not in its place.
                return replace(reading, subject="") if only_names(statement) else reading
    stated = _KIN_STATES.search(statement)
    if stated is None or not TO_YOU.isdisjoint(words(stated["rest"])):
        return None
    kin, act = " ".join(words(stated["kin"])), words(stated["verb"])[0]
    return Reading(
        "relation",
        f"{stated['kin']} {stated['rest'].strip()}",
        f"{kin} {act}" if act in ("works", "lives") else "",
        frozenset(terms(stated["rest"])),
    )


def people_in(question: str) -> Iterator[Span]:
    """Where a question names somebody by what they are to the speaker: "a gift for my wife Anjali"."""
    if not _IMAGINED.search(question):
        for match in _KIN_NAME.finditer(question):
            if _of_name(match, question) is not None:
                yield match.span()


def only_names(text: str) -> bool:
    """Whether it is no more than what somebody is called: "my wife Anjali", out of a question."""
    return _KIN_NAME.fullmatch(text) is not None


def _of_name(match: regex.Match[str], in_front: str = "") -> Reading | None:
    """`in_front`: the statement, where the name begins it and may be no name ("Thankfully, my son ...")."""
    name = regex.sub(r"['’]s?$", "", match["name"])
    parts = [part for part in name.split() if part not in _NO_PART and not _TITLE.match(part)]
    if not parts or _NO_KIN_NAME.match(parts[0]) or not names(f"x {' '.join(parts)}"):
        return None
    if (
        in_front
        and not _NAMES_ONE.match(match.group())
        and not any(parts[0] in seen for seen in names(in_front))
    ):
        return None
    person = " ".join(parts)
    kin = " ".join(words(match["kin"])) or _PARTNER
    subject = kin if kin in _ONE_AT_A_TIME else f"{kin} {parts[0].casefold()}"
    return Reading("relation", f"{match['kin'] or kin} {person}", subject, frozenset(words(person)))


def acquaintance(reading: Reading) -> Acquaintance | None:
    """Who a relation's reading names; None where it tells of somebody without a name."""
    called = [word for word in reading.topic.split() if not reading.value.isdisjoint(words(word))]
    if not called or not all(word[0].isupper() for word in called):
        return None
    kin = frozenset(words(reading.topic)) - reading.value
    return Acquaintance(kin, " ".join(called)) if kin else None


_NO_PART = frozenset(
    """Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July
    August September October November December""".split()
)
