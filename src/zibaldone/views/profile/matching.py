"""Which entries a question calls for: the probability that an entry applies, word shared or not.

A logistic model of three things: how near the entry is to the question (a cosine, in standard deviations
above that of phrases that have nothing to do with each other, so that it means the same for every
embedder), whether the question asks for advice, which is what preferences are for, and whether it asks
back what was said, which no instruction changes the answer to. `zibaldone bench profile` fits it anew and
says how well it is calibrated. A constraint ("I'm allergic to peanuts") is matched by what it bears on: how
near the question is to the words of an area of life, as a whole and by its nearest word.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import regex

from zibaldone.models.base import Embedder, Vectors
from zibaldone.models.embedding import embed
from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.words import STOP_WORDS, words
from zibaldone.views.profile.clauses import Area, Kind, Reading
from zibaldone.views.profile.constraints import AREAS

_MOST_WORDS = 40  # of a question that are held against areas
APPLIES = 0.15  # what is less probable is left out
_ALWAYS = 0.9  # an instruction for every answer: how to answer, whatever is asked
_NAMED = 0.75  # who somebody is that the question names
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
    |put|create|get|buy|show|name|list|help)\b|\b(?:can|could|may|shall)\s+(?:i|we)\b|\bis\s+it\s+(?:ok|okay|safe|fine|alright|all\s+right
    |a\s+good|a\s+bad)\b|\b(?:safe|ok|okay)\s+for\s+(?:me|us)\b|\b(?:good|nice|quick|easy)\b[^.?!]{0,60}\?""",
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


# Of a constraint, set by hand on the development half of the questions of `bench profile`.
_AREA_BIAS, _AREA_NEARNESS = -6.3, 1.7


@dataclass(frozen=True, slots=True)
class Scale:
    """An embedder's cosines of phrases that have nothing to do with each other, and the areas of life."""

    mean: float
    deviation: float
    areas: Mapping[Area, Vectors]  # (d,) each

    def nearness(self, cosines: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        return np.asarray((cosines - self.mean) / self.deviation, dtype=np.float32)


def measure(embedder: Embedder) -> Scale:
    """One call of fifty phrases. Raises ModelFailed."""
    strangers = [phrase.strip() for phrase in _STRANGERS.replace("\n", "|").split("|")]
    all_of_them = embed(embedder, [*strangers, *AREAS.values()])
    vectors = all_of_them[: len(strangers)]
    cosines = [float(vectors[a] @ vectors[b]) for a, b in combinations(range(len(vectors)), 2)]
    areas = dict(zip(AREAS, all_of_them[len(strangers) :], strict=True))
    return Scale(float(np.mean(cosines)), max(float(np.std(cosines)), 1e-3), areas)


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


def words_of_areas(question: str) -> list[str]:
    """What of a question is embedded to know of which areas it is: its words, one by one."""
    return list(dict.fromkeys(word for word in words(question) if word not in STOP_WORDS))[:_MOST_WORDS]


def nearness_of_areas(scale: Scale, question_vector: Vectors, word_vectors: Vectors) -> dict[Area, float]:
    """How near a question is to each area: the mean of its own nearness and of that of its nearest word.

    A long question has a word of every area, a short one is drowned by words of no area.
    """
    near: dict[Area, float] = {}
    for area, vector in scale.areas.items():
        best = max((word_vectors @ vector).tolist(), default=0.0)
        whole, word = scale.nearness(np.array([question_vector @ vector, best], dtype=np.float32)).tolist()
        near[area] = (whole + word) / 2
    return near


def probability_of_area(nearness: float, question: str) -> float:
    """That what constrains an area applies to the question: to a wish for advice, or to none.

    "When did we bake the cake?" is as near to food as "what should we bake?".
    """
    advice = asks_advice(question) or bool(_REQUESTS.search(question))
    if not advice or looks_back(question):
        return 0.0
    return 1 / (1 + math.exp(-(_AREA_BIAS + _AREA_NEARNESS * nearness)))


def certain(reading: Reading, question: frozenset[str]) -> float:
    """What needs no cosine: an instruction for every answer, a person whom the question (its words) names."""
    if reading.kind == "instruction" and not reading.topic:
        return _ALWAYS
    return _NAMED if reading.kind == "relation" and not reading.value.isdisjoint(question) else 0.0


def _content(text: str) -> str:
    return " ".join(word for word in words(text) if word not in STOP_WORDS)
