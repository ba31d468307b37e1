"""Notes without a model: the few forms in which people state a rule, an allergy or a fact of themselves.

Read are a person's own sentences alone: nothing that a machine says, and nothing in code, quotations or
pasted text. English. Where it is in doubt, it is no note.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import regex

from zibaldone.core import EDITOR, MACHINES, PROFILE, Message
from zibaldone.text.sentences import sentences
from zibaldone.text.spellings import base_form
from zibaldone.text.statements import statements
from zibaldone.text.words import words
from zibaldone.views.notes import hand
from zibaldone.views.notes.note import Kind, kind_of
from zibaldone.views.notes.own_words import own_statements

_LONGEST = 300  # characters of a sentence that is read
_LEAST_WORDS = 3  # "Never again." is no rule
_POLITE = r"(?:(?:please|and|also|ok|okay|so|hey|oh)\b[,\s]*)*"
_RULE = regex.compile(
    rf"\W*{_POLITE}(?:you\s+(?:should|must|need\s+to|have\s+to)\s+)?(?:always|never)\s+(?P<verb>\p{{L}}+)\b",
    regex.IGNORECASE,
)
_FROM_NOW_ON = regex.compile(
    rf"\W*{_POLITE}from\s+now\s+on\b[,:]?\s*(?P<rest>.+)|(?P<rest>.+?),?\s+from\s+now\s+on\W*",
    regex.IGNORECASE,
)
# "Remember that night when ..." asks for nothing to be kept.
_REMEMBER = regex.compile(
    rf"\W*{_POLITE}remember\s+that\s+(?!\p{{L}}+\s+(?:i|we|you|when|where)\b)(?P<rest>.+)", regex.IGNORECASE
)
_ALLERGY = regex.compile(
    r"\b(?:(?:I|we)\b|(?:my|our)\s+\p{L}+).*\b(?:allergic\s+to\s+\p{L}|\p{L}+\s+allergy\b|allergy\s+to\s+\p{L})",
    regex.IGNORECASE,
)
_PREFERS = regex.compile(r"\bI\s+(?:\p{L}+ly\s+)?prefer\s+\p{L}", regex.IGNORECASE)
_HEDGES = frozenset("not no never if maybe might would could used was were isn aren don doesn didn".split())
_NO_ORDERS = frozenset("been seen done had said told mind fear happy nice good again".split())
_MYSELF = frozenset("i we my our".split())


@dataclass(frozen=True, slots=True)
class StatedNote:
    """A note that a message states word for word: content[start:end]."""

    kind: Kind
    start: int
    end: int
    by_hand: bool = False


def stated(message: Message) -> list[StatedNote]:
    """The notes that a message states, in their order; the words of a person's own edit whole."""
    if message.role == EDITOR and (edit := hand.read(message)) is not None:
        return [StatedNote(edit.kind, 0, len(message.content), by_hand=True)] if edit.text else []
    if message.is_noise:
        return []
    if (kind := kind_of(message.metadata.get(PROFILE))) is not None:  # of a program that keeps notes, too
        return [StatedNote(kind, start, end) for start, end in sentences(message.content)]
    return list(_own(message)) if is_persons(message) else []


def is_persons(message: Message) -> bool:
    """True if a person says it: no machine, no noise and no edit of notes or documents."""
    return message.voice not in MACHINES and message.voice != EDITOR and not message.is_noise


def _own(message: Message) -> Iterator[StatedNote]:
    for start, end in own_statements(message.content):
        if end - start <= _LONGEST:
            kind = kind_stated(message.content[start:end], message.speaker, among_people=bool(message.name))
            if kind is not None:
                yield StatedNote(kind, start, end)


def kind_stated(sentence: str, speaker: str = "user", *, among_people: bool = False) -> Kind | None:
    """The kind of note that a sentence states; None for most. People tell each other no rules of ours."""
    spoken = words(sentence)
    if len(spoken) < _LEAST_WORDS:
        return None
    if match := _REMEMBER.fullmatch(sentence):
        return kind_stated(match["rest"], speaker, among_people=among_people) or "fact"
    if match := _FROM_NOW_ON.fullmatch(sentence):
        if _MYSELF.isdisjoint(words(match["rest"])[:1]):
            return None if among_people else "instruction"
    elif (match := _RULE.match(sentence)) and _is_told(match["verb"]):
        return None if among_people else "instruction"
    if _HEDGES.isdisjoint(spoken):
        if _ALLERGY.search(sentence):
            return "constraint"
        if _PREFERS.search(sentence):
            return "preference"
    return "fact" if statements(sentence, speaker) else None


def _is_told(verb: str) -> bool:
    """True for a verb as it is in "always answer": not "never seen", "always wanted", "always happening"."""
    lower = verb.lower()
    return lower not in _NO_ORDERS and base_form(lower) == lower and not lower.endswith(("ed", "ing"))
