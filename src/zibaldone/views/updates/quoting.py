"""The few words of a newer sentence that say what holds now."""

from __future__ import annotations

from collections.abc import Iterable

from zibaldone.text.words import terms
from zibaldone.views.updates.clauses import StatedClause, clauses_of_sentence

_MOST_WORDS = 10
_OMISSION = "…"


def words_of_change(content: str, start: int, end: int, old: str) -> str:
    """Of content[start:end] the clause that says what is new, ten words at most.

    It has another value of the old sentence's kind, or else most in common with that sentence. On one line;
    what was left out is shown as "…".
    """
    sentence = " ".join(content[start:end].split())
    if len(sentence.split()) <= _MOST_WORDS:
        return sentence
    before = set(terms(old))
    parts = [clause for clause in clauses_of_sentence(sentence, 0, len(sentence)) if clause.text.strip()]
    before_values = _values(clauses_of_sentence(old, 0, len(old)))
    kinds = {kind for kind, _ in before_values}
    chosen = max(
        parts,
        key=lambda clause: (
            any(kind in kinds for kind, _ in _values([clause]) - before_values),
            len(before & set(terms(clause.text))) + bool(clause.values) - clause.asks,
        ),
        default=None,
    )
    quoted = chosen.text.strip() if chosen else sentence
    spoken = quoted.split()
    head = "" if sentence.startswith(quoted) else f"{_OMISSION} "
    if len(spoken) > _MOST_WORDS:
        last = (
            max((len(chosen.text[: value.end].split()) for value in chosen.values), default=0)
            if chosen
            else 0
        )
        first = max(0, last - _MOST_WORDS)
        head = head if not first else f"{_OMISSION} "
        quoted = " ".join(spoken[first : first + _MOST_WORDS])
    tail = "" if sentence.endswith(quoted) else f" {_OMISSION}"
    return f"{head}{quoted.rstrip(',;:')}{tail}"


def _values(clauses: Iterable[StatedClause]) -> set[tuple[str, str]]:
    """By kind, and as they compare."""
    return {(value.kind, value.norm) for clause in clauses for value in clause.values}
