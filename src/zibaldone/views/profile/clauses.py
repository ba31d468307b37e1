"""The clause of a first person, and what all that is read from one has in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import regex

from zibaldone.text.patterns import lazy_pattern

Kind = Literal["instruction", "preference", "decision", "relation", "fact"]
KINDS: tuple[Kind, ...] = get_args(Kind)
FLAGS = regex.IGNORECASE | regex.VERBOSE
Area = Literal["food", "alcohol", "medicine", "exercise", "travel", "hearing", "sight", "animals"]  # of life


@dataclass(frozen=True, slots=True)
class Reading:
    """What a statement is in a profile."""

    kind: Kind
    topic: str = ""  # in its words: what an instruction is meant for ("": for everything), what is preferred
    subject: str = ""  # of two readings of one kind and subject the later one holds; "": stands alone
    value: frozenset[str] = frozenset()  # terms that differ where it says something else of its subject
    areas: frozenset[Area] = (
        frozenset()
    )  # that it constrains, whatever is asked about them: see `constraints`


BEFORE = r"""(?:^\W*|[,;:.!?()–—]\s*|\s-+\s|\b(?:and|but|so|because|since|cause|although|though|while|as
|also|plus|
yeah|yes|well|okay|ok|no|honestly|personally|actually|however|then|overall|think|guess|mean|feel|know|
(?:realized|realised|found|noticed|learned|think|know|guess|said|means?)\s+that
|(?:says?|said|told\s+me)(?:\s+that)?)\s+)"""
ADVERBS = r"""(?:(?:really|kinda|kind\s+of|sort\s+of|also|always|usually|generally|personally|actually|just
|still|now|
definitely|absolutely|mostly|typically|often|normally|much|strongly|truly|particularly|especially|recently
|finally|
ultimately|eventually|both|already|only|do|simply|quite|so|totally|genuinely|honestly|currently|all|very
|pretty|even|
originally|initially|officially|together|mutually|since|then|thus|deeply)\s+)*"""
SUBJECT = rf"{BEFORE}(?P<who>I|we)"
PLAIN = rf"{SUBJECT}\s+(?:both\s+)?{ADVERBS}"
HAVE = rf"{SUBJECT}(?:['’]ve|\s+have|\s+had)?\s+{ADVERBS}"
AM = rf"{SUBJECT}(?:['’](?:m|re)|\s+am|\s+are|m)\s+{ADVERBS}"

# What was just said, not what one likes: "I like that idea", "I love it", "I like how you put it"
REACTION = lazy_pattern(
    r"""(?:it(?!\s+when)|its|that|this|these|those|them|him|her|you|your|yours|u|how|what|hearing
    |seeing\s+(?:you|your)|where
    |(?:\p{L}+ing|to\s+\p{L}+)\s+(?:it|this|that|them|these|those|him|her)\b
    |to\s+(?:know|hear|see|think\s+about|say|thank|ask|note|point|imagine)
    |(?:all\s+)?(?:the|their|his|her|its)\s+(?:\w+\s+){0,2}(?:colou?rs?|texture|vibes?|energy
    |pic(?:ture)?s?|photos?|view|leaves|work|theme|design|style|
    atmosphere|name|pattern|designs|outfit|smile|setup|social\s+aspect)|any\s+of|either\s+of|none\s+of
    |all\s+the|the\s+(?:\w+\s+)?(?:idea|ideas|sound|suggestions?|plan|approach|way|look|thought|concept
    |options?|first|second|third|
    last|tips?|structure|examples?|breakdown|detail|details|format|advice|feedback|changes?|outline|draft
    |version|script)
    |(?:all|both)?\s*(?:of\s+)?(?:these|those|that|this|it|your?|them)|one\s+of\s+(?:these|those|them)
    |both\s*[.,!;]|when\s+you
    |a\s+(?:copy|list|version|draft|summary|detailed|breakdown))\b|[^\p{L}\p{N}]*$""",
    FLAGS,
)
TO_YOU = frozenset("you your yours yourself u ya".split())
_OBJECT_ENDS = lazy_pattern(
    r"\s*(?:[,.:](?!\p{N})|[;!?()–—]|\s-+\s|\b(?:because|since|so|but|as|when|while|which|though|although"
    r"|and\s+I|and\s+we|anymore|"
    r"any\s+more|any\s+longer|these\s+days|at\s+all|too|either|right\s+now)\b)",
    regex.IGNORECASE,
)


def first_phrase(text: str) -> str:
    """The first phrase, up to what explains or qualifies it."""
    end = _OBJECT_ENDS.search(text)
    return (text[: end.start()] if end and end.start() else text).strip()
