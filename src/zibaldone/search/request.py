"""Two things that a question says about its answer besides what it is about; English."""

from __future__ import annotations

from enum import StrEnum

import regex


class Aim(StrEnum):
    """What an answer has to be made of."""

    FACT = "fact"  # what some turn says
    OVERVIEW = "overview"  # an order, a history, a summary: something of every time
    SAID = "said"  # the assistant's own words


_LONGEST = 4000  # characters of a question that are read
# What was said in the time of an overview comes first: .375 for .346 of the evidence in records of a year.
_OVERVIEW = regex.compile(
    r"\b(?:summar(?:y|i[sz]e[sd]?|ies)|overview|recap|timeline|history\s+of|over\s+time|so\s+far|"
    r"(?:in|by)\s+(?:\p{L}+\s+)?(?:order|sequence)|(?:the|what)\s+(?:order|sequence)|"
    r"what\s+(?:has\s+|have\s+(?:i|we)\s+)?(?:happened|been\s+(?:up\s+to|doing)|been\s+going\s+on))\b",
    regex.IGNORECASE,
)
# "Which hotel did you recommend?", "remind me what you said about it", "your suggestions": without it
# questions about the assistant's words are answered with the user's.
_SAID = regex.compile(
    r"\bdid\s+you\s+(?!know\b)\w+|\byou(?:'d|'ve|\s+had|\s+have)?\s+(?:(?:also|just|once|previously|earlier)\s+)?"
    r"(?:said|told|gave|given|recommended|suggested|mentioned|explained|provided|listed|proposed|described|wrote)\b"
    r"|\byour\s+(?:previous|earlier|last|first|own|tips?|advice|suggestions?|recommendations?|answers?|words)\b",
    regex.IGNORECASE,
)


def aim_of(question: str) -> Aim:
    """Of a long question its two ends are read."""
    if len(question) > _LONGEST:
        question = f"{question[: _LONGEST // 2]}\n{question[-_LONGEST // 2 :]}"
    if _SAID.search(question):
        return Aim.SAID
    return Aim.OVERVIEW if _OVERVIEW.search(question) else Aim.FACT
