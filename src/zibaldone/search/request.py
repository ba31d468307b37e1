"""How a question wants to be answered, apart from what it is about; by grammar.

"Can you list the order in which I brought up my book club, in five items?" is about a book club. The other
words say what to do with it: they match whatever talks about talking, and hide the subject. In English these
words are taken out; in the languages of `asking` they only say how to answer, and others are facts asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import regex

from zibaldone.search.asking import LANGUAGES, wants_advice
from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.periods import Period
from zibaldone.text.remembered import remembered
from zibaldone.text.unaccented import unaccented
from zibaldone.text.words import is_english, words


class Aim(StrEnum):
    """What an answer has to be made of."""

    FACT = "fact"  # what some turn says
    LIST = "list"  # all there is of something: which ones, how many, both
    OVERVIEW = "overview"  # an order, a history, a summary: something of every time
    UPDATE = "update"  # what holds now
    ADVICE = "advice"  # new words, to suit whoever asks
    SAID = "said"  # the assistant's own words


@dataclass(frozen=True, slots=True)
class Request:
    """A question, read for what it wants."""

    aim: Aim
    subject: str  # its text without the words that only say how to answer; "" where it has none
    period: Period | None = None  # that a model says it is about; by grammar: see text/periods


EVERYTHING = "What happened so far?"  # a request that is about all there is

_LONGEST = 4000  # characters of a question that are read for what it wants
_TALK = r"(?:conversations?|chats?|discussions?|sessions?|talks?|messages|exchanges|interactions)"
_ADJECTIVES = (
    r"(?:(?:comprehensive|complete|full|detailed|brief|short|quick|clear|concise|thorough|general|overall|coherent|"
    r"chronological|numbered|bulleted|high-level)(?:\s*,\s*|\s+and\s+|\s+)){0,6}"
)
_THINGS = (
    r"(?:aspects?|topics?|ideas?|things|points?|items?|themes?|subjects?|elements?|facets?|issues|concerns|concepts|"
    r"considerations|details|areas|steps|stages|phases)"
)
_NUMBER = r"(?:\d+|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_ITEMS = r"items?|things|points|bullets|bullet\s+points|lines|sentences|words|entries|steps"
_SPOKE = (
    r"(?:(?:brought|bring)\s+(?:(?:things|it|this|that|them|everything)\s+)?up|mention(?:ed)?|discuss(?:ed)?|talk(?:ed)?\s+about|raise[d]?|asked\s+(?:you\s+)?about|covered|"
    r"told\s+you(?:\s+about)?|spoke\s+about|spoken\s+about|went\s+over|gone\s+over|introduced?|shared)"
)
# What only says how to answer.
_FRAMES = tuple(
    lazy_pattern(frame, regex.IGNORECASE)
    for frame in (
        r"^\s*(?:hey|hi|hello|ok(?:ay)?|so|well|um+|hmm+)\b[\s,]*",
        r"\b(?:can|could|would|will)\s+you\s+(?:please\s+|kindly\s+)?(?=\p{L})",
        r"\bplease\b",
        r"\bhow\s+(?:much|many|often)\b",
        r"\b(?:do\s+you\s+(?:remember|recall|know)|i\s+(?:want|would\s+like|'d\s+like)\s+(?:you\s+)?to(?:\s+know)?)\b",
        r"\b(?:help\s+me\s+(?:to\s+)?(?:remember|recall|understand|reconstruct)|remind\s+me(?:\s+of|\s+about)?)\b",
        r"\b(?:walk|take|run|guide|talk)\s+me\s+through\b",
        r"\b(?:give|tell|show|write|provide|offer)\s+(?:me|us)\b",
        rf"\b(?:(?:an?|the)\s+)?{_ADJECTIVES}(?:summary|overview|recap|rundown|outline|account|timeline|list)\s+(?:of|about|on)\b",
        r"\b(?:summari[sz]e|recap|reconstruct|list|outline)\b(?=\s+(?:how|what|the|my|all|everything|our|which|when|in)\b)",
        r"\b(?:in\s+)?(?:what|which)\s+(?:order|sequence)\s+did\s+(?:i|we)\s+(?:bring\s+up|mention|discuss|raise|tell\s+you\s+about)\b",
        r"\b(?:the\s+)?(?:order|sequence|timeline)\s+(?:in\s+which|that|of\s+(?:how|when))\b",
        r"\b(?:in|by)\s+(?:the\s+)?(?:right\s+|correct\s+|chronological\s+)?(?:order|sequence)\b",
        rf"\b(?:(?:the|each|every|all|some)\s+)?(?:of\s+)?(?:the\s+)?(?:different|various|main|key|several|specific)\s+{_THINGS}\s+(?:of|about|in|for|around|with|to)\b",
        rf"\b(?:the|each|every|all)\s+{_THINGS}\s+(?:of|about|related\s+to|relating\s+to|regarding|concerning)\b",
        r"\b(?:related|relating)\s+to\b|\bregarding\b|\bconcerning\b",
        rf"\b(?:that\s+)?(?:i|we|you)(?:'ve|\s+have|'d|\s+had)?\s+(?:(?:first|also|previously|already|both)\s+)?{_SPOKE}\b",
        (
            rf"\b(?:throughout|across|over|during|in|from|based\s+on|within)\s+(?:all\s+)?(?:of\s+)?(?:our|my|these|the|several|multiple|"
            rf"past|previous|earlier)\s+(?:\p{{L}}+\s+)?{_TALK}(?:\s+(?:together|so\s+far))?\b"
        ),
        rf"\b(?:(?:mention|include|list|give|name|say)\s+)?(?:only|just|exactly|at\s+most|in|as)(?:\s+and\s+only)?\s+{_NUMBER}\s+(?:{_ITEMS})\b",
        r"\b(?:so\s+far|over\s+time|step\s+by\s+step|in\s+total|altogether|from\s+start\s+to\s+finish|along\s+the\s+way)\b",
    )
)
# Nor does this say what an overview is of: how it went on, and that all of it is wanted.
_OF_OVERVIEWS = tuple(
    lazy_pattern(frame, regex.IGNORECASE)
    for frame in (
        r"\b(?:(?:has|have|had|did)\s+)?(?:happen|evolve|progress|develop|unfold|change)(?:d|ed)?\b(?=\s*(?:and|or|,|\p{P}|$))",
        r"\b(?:everything|anything|(?:all\s+)?(?:the\s+)?things|different|various)\b",
    )
)
_OVERVIEW = lazy_pattern(
    r"\b(?:summar(?:y|i[sz]e[sd]?|ies)|overview|recap|rundown|timeline|chronolog\p{L}*|bring\s+me\s+up\s+to\s+(?:date|speed)|"
    r"(?:in|by)\s+(?:\p{L}+\s+)?(?:order|sequence)|(?:the|what)\s+(?:order|sequence)\b|history\s+of|over\s+time|step\s+by\s+step|"
    r"(?:evolved?|progress(?:ed)?|develop(?:ed)?|unfold(?:ed)?|changed?)\b[^.?!]{0,60}\b(?:over|throughout|across|since|from)\b|"
    r"how\s+(?:did|have|has)\b[^.?!]{0,80}\b(?:evolve|progress|develop|unfold|change)d?\b|"
    r"what\s+(?:has\s+|have\s+(?:i|we)\s+)?(?:happened|been\s+(?:up\s+to|doing)|been\s+going\s+on)|so\s+far)",
    regex.IGNORECASE,
)
_LIST = lazy_pattern(
    r"(?:^\s*|\b(?:please|you|to|me|and|an?(?:\s+\p{L}+)?)\s+)list\b|\blist\s+(?:of|all|the|my|our|out|every|each|what|which|how|who)\b|"
    r"\b(?:how\s+(?:many|often)|all\s+(?:of\s+)?(?:the|my|our|his|her|their)|every|each\s+of|"
    r"what\s+are|(?:what|which)\s+(?:kinds?|types?|sorts?)\s+of|which\s+(?:of\s+)?(?:the\s+|my\s+|our\s+)?\p{L}+s\b|both|how\s+much\b[^?]{0,200}\b(?:total|altogether)|"
    r"number\s+of|(?:compare|difference\s+between|in\s+common))\b",
    regex.IGNORECASE,
)
_TOTAL = lazy_pattern(r"\b(?:in\s+total|altogether|all\s+told)\b", regex.IGNORECASE)
# One time or reason is asked for, whatever it is of: "when did both of them come?"
_ONE_TIME = lazy_pattern(
    r"^\W*(?:when|why|(?:(?:by|on|at|until|since)\s+)?(?:what|which)\s+(?:date|day|time|month|year))\b",
    regex.IGNORECASE,
)
# How long something took, or what lies between two times, is told by the turns about these two.
_INTERVAL = lazy_pattern(
    r"\b(?:after|within)\s+how\s+many\b|\bin\s+how\s+many\s+(?:minute|hour|day|week|month|year)s\b|\bhow\s+many\s+(?:\p{L}+\s+)?(?:second|minute|hour|day|night|week|weekend|month|year)s\s+"
    r"(?:(?:are|were|is|was)\s+(?:there|it|that)\s+|(?:do|did|does|will)\s+\p{L}+\s+(?:still\s+)?have\s+|(?:are|were)\s+(?=left\b))?"
    r"(?:(?:will\s+|had\s+|have\s+|has\s+)?(?:pass(?:ed)?|elapsed?|g(?:o|one)\s+by|went\s+by|lay|lie)\b|"
    r"(?:between|from|until|till|before|after|since|later|ago|apart|left|to)\b|"
    r"(?:did|does|do|will|would|has|have|had)\s+(?:[^\s?]+\s+){1,5}?(?:tak(?:e|en)|last(?:ed)?(?!\s+\p{L}))\b|"
    r"(?:has|have|had)\s+(?:[^\s?]+\s+){1,3}?(?:been|lived|known|worked|owned)\b)",
    regex.IGNORECASE,
)
# "What instruments does she play?": not "What does ..." nor "What's ..."
_WHICH_ONES = lazy_pattern(
    r"\b(?:what|which)\s+(?:(?:kinds?|types?|sorts?)\s+of\s+)?(?:\p{L}{3,}\s+)?"
    r"(?!(?:does|was|has|this|its|his|is)\b)\p{L}{2,}[^\W\d_su]s\s+(?:has|have|had|does|do|did|are|were|can|could|will|would)\b",
    regex.IGNORECASE,
)
# What somebody does now and again, and what they like, is all of it: "what does Ann do to relax?"
_HABITS = lazy_pattern(
    r"\bwhat\s+(?:do|does)\s+(?:(?!(?:it|this|that)\b)[\p{L}'’]+\s+){1,4}?(?:usually\s+|often\s+)?"
    r"(?:(?<!\b(?:i|we|you|to)\s+)do(?=\s+\p{L})(?!\s+(?:for\s+(?:a\s+living|work)|about)\b)|like|enjoy|love|hate|collect|eat|drink|play|read|watch|cook|grow)\b(?!\s+(?:most|best|more)\b)",
    regex.IGNORECASE,
)
_UPDATE = lazy_pattern(
    r"\b(?:now|currently|current|latest|these\s+days|nowadays|at\s+the\s+moment|at\s+present|still|any\s*more|most\s+recent(?:ly)?|"
    r"up[\s-]to[\s-]date|updated|as\s+of)\b",
    regex.IGNORECASE,
)
_ADVICE = lazy_pattern(
    r"\b(?:recommend|suggest|advi[sc]e|should\s+i|should\s+we|what\s+would\s+be\s+a\s+good|how\s+(?:can|could|should|would|do|might)\s+(?:i|we|you)|"
    r"what\s+(?:can|could)\s+i|what(?:'s|\s+is|\s+are)\s+(?:the\s+best|a\s+good|some)|which\s+\p{L}+\s+(?:would|should|do\s+you)|"
    r"i(?:'m|\s+am)\s+(?:looking|trying|planning|thinking|considering|wondering|about)|(?<!\b(?:do|did)\s)i\s+(?:want|need|'d\s+like|would\s+like)|"
    r"help\s+me|any\s+(?:ideas|tips|suggestions)|(?:can|could|would)\s+you\s+(?:please\s+)?(?:help|write|draft|create|make|plan|explain|show|"
    r"provide|generate|design|describe|format|implement|solve))\b",
    regex.IGNORECASE,
)
# New words are asked for, however many: "which films would you recommend?"
_ADVISED = lazy_pattern(
    r"\byou(?:'d|\s+would)?\s+(?:recommend|suggest|advise)\b|\b(?:should|shall)\s+(?:i|we)\b|\bany\s+(?:ideas|tips|suggestions)\b",
    regex.IGNORECASE,
)
# Of the assistant's own words: "which hotel did you recommend?", "remind me what you said about it"
_ASSISTANT = lazy_pattern(
    r"\bdid\s+you\s+(?!know\b)\w+|\byou(?:'d|'ve|\s+had|\s+have)?\s+(?:(?:also|just|once|previously|earlier)\s+)?"
    r"(?:said|told|gave|given|recommended|suggested|mentioned|explained|provided|listed|proposed|advised|described|"
    r"wrote|written|shared|showed|shown|offered|created|came\s+up|outlined|generated|drafted)\b"
    r"|\byour\s+(?:previous|earlier|last|first|own)\s+\w+"
    r"|\byour\s+(?:tips?|advice|suggestions?|recommendations?|answers?|repl(?:y|ies)|explanations?|words)\b",
    regex.IGNORECASE,
)


@remembered(256)
def read_request(text: str) -> Request:
    """Never raises; a text of several sentences is one request.

    A text of pages is mostly material: it is its own subject, and its ends say what is wanted.
    """
    if len(text) > _LONGEST:
        return Request(_aim(f"{text[: _LONGEST // 2]}\n{text[-_LONGEST // 2 :]}"), text)
    aim = _aim(text)
    subject = text
    for frame in (*_FRAMES, *_OF_OVERVIEWS) if aim is Aim.OVERVIEW else _FRAMES:
        subject = frame.sub(" ", subject)
    subject = " ".join(subject.split())
    return Request(aim, subject if any(map(str.isalnum, subject)) else "")


def _aim(text: str) -> Aim:
    aim = _english_aim(text)
    return aim if aim is not Aim.FACT or is_english(words(text)) else _aim_elsewhere(unaccented(text))


def _aim_elsewhere(text: str) -> Aim:
    """Of a question in another language; of none that is told apart, a fact."""
    for asking in LANGUAGES:
        if asking.of_assistant.search(text):
            return Aim.SAID
        if asking.overview.search(text):
            return Aim.OVERVIEW
    if wants_advice(text):
        return Aim.ADVICE
    if any(asking.all_of_it.search(text) for asking in LANGUAGES):
        return Aim.LIST
    return Aim.UPDATE if any(asking.update.search(text) for asking in LANGUAGES) else Aim.FACT


def _english_aim(text: str) -> Aim:
    if _ASSISTANT.search(text):
        return Aim.SAID
    if _OVERVIEW.search(text):
        return Aim.OVERVIEW
    if _ADVISED.search(text):
        return Aim.ADVICE
    is_one = _ONE_TIME.search(text) or _INTERVAL.search(text)
    if _TOTAL.search(text) or (not is_one and _asks_for_all(text)):
        return Aim.LIST
    if _UPDATE.search(text):
        return Aim.UPDATE
    return Aim.ADVICE if _ADVICE.search(text) else Aim.FACT


def _asks_for_all(text: str) -> bool:
    return any(pattern.search(text) for pattern in (_LIST, _WHICH_ONES, _HABITS))
