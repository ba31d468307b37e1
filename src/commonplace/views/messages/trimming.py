"""Leave out of a turn the sentences that say nothing, so that the budget goes further.

What stays is verbatim; "…" stands where something was left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet

import regex

from commonplace.rendering import OMISSION
from commonplace.text.sentences import Span, sentences
from commonplace.text.words import content_words, terms

_NOTHING = 1.5  # a sentence of less mass than one and a half words that occur only once
_KEPT = 0.8  # share of a turn's distinct content words that must stay
_NOTE = regex.compile(r"\s*\[[^\[\]\n]*\]\s*$")  # what stands for a part that is not text: "[image: a dog]"


def trimmed(text: str, asked: AbstractSet[str], mass: Callable[[Iterable[str]], float]) -> str:
    """`text` without its empty sentences: those of little mass, with no digit and no term that was asked.

    The emptiest go first, as long as most of the turn's content words stay. A text of several lines (a list,
    code) is left alone. `mass` says how much a sentence's terms tell.
    """
    note = _NOTE.search(text)
    body = text[: note.start()] if note else text
    spans = sentences(body)
    if len(spans) < 2 or "\n" in body:
        return text
    said = [body[start:end] for start, end in spans]
    inside = [content_words(sentence) for sentence in said]
    whole = set().union(*inside)
    stems = [set(terms(sentence)) for sentence in said]
    kept = set(range(len(spans)))
    for worth, sentence in sorted((mass(stems[i]), i) for i in kept):
        if worth >= _NOTHING or len(kept) == 1:
            break
        rest = set().union(*(inside[i] for i in kept if i != sentence))
        tells = stems[sentence] & asked or any(c.isdigit() for c in said[sentence])
        if not tells and len(rest) >= _KEPT * len(whole):
            kept.remove(sentence)
    return _joined(body, spans, kept) + text[len(body) :] if len(kept) < len(spans) else text


def _joined(text: str, spans: list[Span], kept: AbstractSet[int]) -> str:
    """The kept sentences, with one mark for each run of others between or before them."""
    pieces: list[str] = []
    for sentence in sorted(kept):
        start, end = spans[sentence]
        if sentence and sentence - 1 not in kept:
            pieces.append(f" {OMISSION} " if pieces else f"{OMISSION} ")
        elif sentence:
            pieces.append(text[spans[sentence - 1][1] : start])
        pieces.append(text[start:end])
    if len(spans) - 1 not in kept:
        pieces.append(f" {OMISSION}")
    return "".join(pieces)
