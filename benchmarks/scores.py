"""Scores of a generated answer against the gold one, as papers quote them for LoCoMo. Pure functions."""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from functools import cache

import Stemmer

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = frozenset({"a", "an", "the", "and"})
_BLEU_TOKEN = re.compile(r"n't|'\w+|\w+(?=n't)|\w+|[^\w\s]")
_REFUSALS = ("no information available", "not mentioned")


@cache
def _stemmer() -> Stemmer.Stemmer:
    return Stemmer.Stemmer("porter")


def f1_original(prediction: str, answer: str, category: str) -> float:
    """Token F1 as LoCoMo's own code scores it, by category name.

    Multiset F1 over Porter stems without punctuation, articles and "and". Multi-hop: both sides split at
    commas, mean over the gold parts of each one's best F1. Open-domain: the gold answer ends at its first
    ";". Adversarial: 1 for a refusal. (NLTK's Porter departs from Porter's in a handful of rules.)
    """
    if category == "adversarial":
        return float(any(refusal in prediction.lower() for refusal in _REFUSALS))
    if category == "open-domain":
        answer = answer.split(";")[0]
    if category == "multi-hop":
        parts = prediction.split(",")
        gold_parts = answer.split(",")
        return sum(max(_multiset_f1(part, gold) for part in parts) for gold in gold_parts) / len(gold_parts)
    return _multiset_f1(prediction, answer)


def bleu1(prediction: str, answer: str) -> float:
    """Clipped unigram precision times the brevity penalty, lower-cased.

    Equals NLTK's sentence_bleu with weights (1, 0, 0, 0) up to its word_tokenize: smoothing never matters at
    order one, where no match at all is 0.
    """
    ours, gold = _BLEU_TOKEN.findall(prediction.lower()), _BLEU_TOKEN.findall(answer.lower())
    matched = (Counter(ours) & Counter(gold)).total()
    if not matched:
        return 0.0
    brevity = 1.0 if len(ours) > len(gold) else math.exp(1 - len(gold) / len(ours))
    return brevity * matched / len(ours)


def _multiset_f1(prediction: str, answer: str) -> float:
    ours, gold = Counter(_stems(prediction)), Counter(_stems(answer))
    common = (ours & gold).total()
    return 2 * common / (ours.total() + gold.total()) if common else 0.0


def _stems(text: str) -> list[str]:
    words = text.replace(",", "").lower().translate(_NO_PUNCTUATION).split()
    stems: list[str] = _stemmer().stemWords([word for word in words if word not in _ARTICLES])
    return stems
