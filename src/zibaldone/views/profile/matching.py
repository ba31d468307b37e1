"""Which entries a question calls for: the probability that an entry applies, word shared or not.

A logistic model of three things: how near the entry is to the question (a cosine, in standard deviations
above that of phrases that have nothing to do with each other, so that it means the same for every
embedder), whether the question asks for advice, which is what preferences are for, and whether it asks
back what was said, which no instruction changes the answer to. A constraint ("I'm allergic to peanuts") is
matched by what it bears on: by how much nearer the question is to an area of life than to what constrains
nobody, and than to other areas.
"Run this script" is near to sport, and nearer to software.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations, pairwise

import numpy as np
import numpy.typing as npt
import regex

from zibaldone.models.base import Embedder, Vectors
from zibaldone.models.embedding import embed
from zibaldone.search.asking import wants_advice
from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.remembered import remembered
from zibaldone.text.words import STOP_WORDS, is_english, words
from zibaldone.views.profile.clauses import Area, Kind, Reading
from zibaldone.views.profile.constraints import AREAS
from zibaldone.views.profile.elsewhere import areas_named_elsewhere, names_topic, telling

APPLIES = 0.15  # what is less probable is left out
_ALWAYS = 0.9  # an instruction for every answer: how to answer, whatever is asked
_NAMED = 0.75  # who somebody is that the question names, and what it names in other languages
_ADVICE = lazy_pattern(
    r"""\b(?:suggest\w*|recommend\w*|advice|advise|ideas?|tips?|options?|should\s+(?:i|we)|(?:would|could
    |can)\s+you\s+(?:please\s+)?help|help\s+(?:me|us)|
    how\s+(?:can|could|should|might|would|do)\s+(?:i|we)|what\s+(?:should|could|can|would)\s+(?:i|we)
    |what\s+are\s+some|ways?\s+(?:to|i|we)|looking\s+(?:for|to)|
    trying\s+to|planning|thinking\s+(?:of|about)|i\s+want|i['’]d\s+like|best)\b""",
    regex.IGNORECASE | regex.VERBOSE,
)
# To do something for somebody, or whether they may: advice as far as constraints are concerned.
_REQUESTS = lazy_pattern(
    r"""^\W*(?:please\s+)?(?:(?:can|could|would|will)\s+you\s+(?:please\s+)?)?(?:give|find|plan|book|order|pick|choose|make|write|prepare
    |put|create|get|buy|show|name|list|help|recommend|reserve|pack|bring|set\s+up|cook|bake|think\s+of|come\s+up|tell\s+(?:me|us)\s+how)\b
    |\b(?:can|could|may|shall)\s+(?:i|we)\b
    |\b(?:would|is|are)\s+[^.?!]{1,60}\b(?:ok|okay|safe|fine|alright|all\s+right|good|bad|wise|allowed|for\s+(?:me|us))\b
    |\b(?:safe|ok|okay|good)\s+for\s+(?:me|us)\b|\bfor\s+(?:me|us)\s*[?.!]*\s*$|\b(?:good|nice|quick|easy)\b[^.?!]{0,60}\?
    |\bany\s+(?:good\s+)?(?:thoughts|ideas?|suggestions?)\b|\bi\s+need\b|\bwhat\s+goes\b
    |\bwhich\s+(?:\p{L}+\s+){1,4}?(?:suits?|fits?|would|should|could|(?:is|are)\s+(?:the\s+)?(?:best|good|worth|right))\b""",
    regex.IGNORECASE | regex.VERBOSE,
)
# What somebody is to do, which is no subject: "book me a table" is about no book.
_DOING = lazy_pattern(
    r"""^\W*(?:please\s+)?(?:(?:can|could|would|will)\s+you\s+(?:please\s+)?)?(?:give|find|plan|book|order|pick|choose|make|write
    |prepare|put|create|get|buy|show|name|list|help|recommend|suggest|reserve|set|think|come|tell|draft|run|check|explain)\b
    (?:\s+(?:me|us|up|together|of)\b)*|\b(?:suggest|recommend)\w*|\b(?:ideas?|tips?|options?|advice|best|good|nice)\b""",
    regex.IGNORECASE | regex.VERBOSE,
)
_LOOKS_BACK = lazy_pattern(
    r"""\b(?:did\s+(?:i|we|you)|have\s+(?:i|we|you)|had\s+(?:i|we|you)|was\s+i|were\s+we|(?:i|we
    |you)\s+(?:said|mentioned|told|brought\s+up|discussed|talked)|
    how\s+many|in\s+(?:what\s+)?order|list\s+the\s+order|summar\w+|across\s+(?:my|our|all)|over\s+(?:time
    |our)|our\s+(?:conversations?|chats?)|
    how\s+(?:has|have)|walk\s+me\s+through)\b""",
    regex.IGNORECASE | regex.VERBOSE,
)
# What a question word asks for: no content word of the question says it, and entries do ("dates", "prices").
_ASKS_FOR = (
    (
        r"\bwhen\b(?!\s+(?:i|we|you|he|she|they|it)\b)|\b(?:what|which)\s+(?:date|day|time)\b",
        "date time schedule",
    ),
    (r"\bwhere\b", "place location"),
    (r"\bwho(?:m|se)?\b", "person name"),
    (r"\bhow\s+much\b", "amount cost"),
    (r"\bhow\s+many\b", "number count"),
    (r"\bhow\s+long\b", "duration time"),
)
_ASKED_FOR = tuple((lazy_pattern(pattern, regex.IGNORECASE), text) for pattern, text in _ASKS_FOR)
# Phrases about things that have nothing to do with each other: how near two of them are is near by chance.
_STRANGERS = """train travel|knitting patterns|tax returns|guitar chords|bread baking|knee surgery
|chess openings|garden fences
wedding speeches|database backups|bird watching|football scores|house insurance|job interviews
|spicy noodles|desert photography
car repair|bedtime stories|language lessons|city parking|skin allergies|rock climbing|school timetables
|board games|old coins
electric bikes|poetry readings|salary negotiation|cat food|winter coats|patent law|movie reviews
|swimming training|kitchen shelves
museum tickets|sleep habits|phone contracts|office chairs|river fishing|birthday cakes"""


# What no constraint bears on: a question that is nearer to one of these than to an area is not of that area.
_ELSEWHERE = """code script program|server database query repository|browser files install app
bug test function loop|branch commit Python Java|model data features
report table spreadsheet slides|meeting agenda calendar schedule|email letter memo
numbers results quarter rows columns|essay paragraph text article|novel story poem title
speech toast scene thesis|translate word sentence|budget mortgage stocks options
tax salary insurance|bank loan contract accountant|exam homework course semester
maths history lesson student|learn study language|job career interview boss
project deadline workload team|colleague client customers|paint fence wall repair
car bike engine tyre|clean tools furniture|plants pests lawn|film music song band
photo video camera lens|game book chess|laptop phone computer printer
password screen mouse keyboard|charger battery wifi|friend wedding birthday present
funeral marriage relationship|name title idea|clothes shoes dress jacket
news politics election law|science physics space energy|art design logo drawing
religion church prayer|deal offer negotiation sale|speed performance memory size
excuse apology complaint|police safety lock alarm"""


@dataclass(frozen=True, slots=True)
class MatchWeights:
    """Of a logistic model; cosines are in standard deviations above those of strangers."""

    bias: float
    nearness: float
    advice: float
    looks_back: float


# Decisions, facts and people have no questions of their own: fitted on whether their message is evidence for
# any question, which it seldom is. One who asks about a decision finds it as a message.
_OF_EVENTS = MatchWeights(bias=-6.3, nearness=0.38, advice=-0.7, looks_back=0.6)
WEIGHTS: dict[Kind, MatchWeights] = {
    "instruction": MatchWeights(bias=-5.6, nearness=0.8, advice=-0.4, looks_back=-3.9),
    "preference": MatchWeights(bias=-8.6, nearness=0.96, advice=4.0, looks_back=-3.1),
    "decision": _OF_EVENTS,
    "relation": MatchWeights(bias=-6.5, nearness=0.55, advice=0.5, looks_back=1.8),
    "fact": _OF_EVENTS,
}


# Of an area, fitted on the development half of the questions of `bench profile`: by how much nearer it is
# than what constrains nobody, and than the nearest other area. A wrong constraint is worse than none.
_AREA_BIAS, _OVER_ELSEWHERE, _OVER_AREAS = -1.22, 0.67, 0.26
_AREA_APPLIES = 0.5


@dataclass(frozen=True, slots=True)
class Scale:
    """An embedder's cosines of phrases that have nothing to do with each other, and the areas of life."""

    mean: float
    deviation: float
    areas: Mapping[Area, Vectors]  # (n, d) each
    elsewhere: Vectors  # (n, d)

    def nearness(self, cosines: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        return np.asarray((cosines - self.mean) / self.deviation, dtype=np.float32)


def measure(embedder: Embedder) -> Scale:
    """One call of about a hundred phrases. Raises ModelFailed."""
    strangers, elsewhere = _phrases(_STRANGERS), _phrases(_ELSEWHERE)
    of_areas = [phrase for phrases in AREAS.values() for phrase in phrases]
    all_of_them = embed(embedder, [*strangers, *elsewhere, *of_areas])
    vectors = all_of_them[: len(strangers)]
    cosines = [float(vectors[a] @ vectors[b]) for a, b in combinations(range(len(vectors)), 2)]
    first = len(strangers) + len(elsewhere)
    ends = list(accumulate(map(len, AREAS.values()), initial=first))
    areas = {area: all_of_them[start:end] for area, (start, end) in zip(AREAS, pairwise(ends), strict=True)}
    deviation = max(float(np.std(cosines)), 1e-3)
    return Scale(float(np.mean(cosines)), deviation, areas, all_of_them[len(strangers) : first])


def _phrases(text: str) -> list[str]:
    return [phrase.strip() for phrase in text.replace("\n", "|").split("|")]


def entry_words(reading: Reading, statement: str) -> str:
    """What of an entry is embedded: what it is meant for, or else its words, those of its topic twice."""
    if reading.kind == "instruction":
        return _content(reading.topic) or _content(statement)
    return f"{_content(reading.topic)} {_content(statement)}".strip()


def question_words(question: str) -> str:
    """What of a question is embedded."""
    return " ".join([_content(question), *(text for pattern, text in _ASKED_FOR if pattern.search(question))])


def asks_advice(question: str) -> bool:
    return bool(_ADVICE.search(question))


def looks_back(question: str) -> bool:
    return bool(_LOOKS_BACK.search(question))


def probabilities(
    kinds: Sequence[Kind], nearness: npt.NDArray[np.float32], question: str
) -> npt.NDArray[np.float32]:
    """(n,) that each entry applies to the question, from its kind and its nearness (n,)."""
    advice, back = float(asks_advice(question)), float(looks_back(question))
    chosen = [WEIGHTS[kind] for kind in kinds]
    bias = np.array([w.bias + w.advice * advice + w.looks_back * back for w in chosen], dtype=np.float32)
    slope = np.array([w.nearness for w in chosen], dtype=np.float32)
    return np.asarray(1 / (1 + np.exp(-(bias + slope * nearness))), dtype=np.float32)


def subject_words(question: str) -> str:
    """What of a question is embedded to know of which area it is: not what is to be done about it."""
    return _content(_DOING.sub(" ", question))


def probabilities_of_areas(scale: Scale, question: str, question_vector: Vectors) -> dict[Area, float]:
    """That what constrains an area applies to the question: to a wish for advice, or to none.

    "When did we bake the cake?" is as near to food as "what should we bake?". What is not likely is 0.
    """
    if not is_english(words(question)) and wants_advice(question):
        named = areas_named_elsewhere(question)
        return {area: _NAMED if area in named else 0.0 for area in scale.areas}
    advice = asks_advice(question) or bool(_REQUESTS.search(question))
    if not advice or looks_back(question) or not question_vector.any():
        return dict.fromkeys(scale.areas, 0.0)
    near = {area: float(np.max(vectors @ question_vector)) for area, vectors in scale.areas.items()}
    elsewhere = float(np.max(scale.elsewhere @ question_vector))
    likely: dict[Area, float] = {}
    for area, nearest in near.items():
        other = max(cosine for rival, cosine in near.items() if rival != area)
        power = _OVER_ELSEWHERE * (nearest - elsewhere) + _OVER_AREAS * (nearest - other)
        probability = 1 / (1 + math.exp(-(_AREA_BIAS + power / scale.deviation)))
        likely[area] = probability if probability >= _AREA_APPLIES else 0.0
    return likely


_spoken, _wants_advice = (
    remembered(8)(words),
    remembered(8)(wants_advice),
)  # of a question, once for all entries


def certain(reading: Reading, question: str) -> float:
    """What needs no cosine: an instruction for every answer, a person whom the question names.

    And, in other languages than English, which few embedders know, an instruction whose topic it names, and a
    preference where it asks for advice too.
    """
    if reading.kind == "instruction" and not reading.topic:
        return _ALWAYS
    spoken = _spoken(question)
    if reading.kind == "relation":
        return _NAMED if not reading.value.isdisjoint(spoken) else 0.0
    called_for = reading.kind == "instruction" or (reading.kind == "preference" and _wants_advice(question))
    if called_for and not is_english(spoken) and names_topic(reading.topic, question):
        return _NAMED
    return 0.0


def _content(text: str) -> str:
    spoken = words(text)
    content = [word for word in spoken if word not in STOP_WORDS]
    return " ".join(content) if is_english(spoken) else telling(" ".join(content))
