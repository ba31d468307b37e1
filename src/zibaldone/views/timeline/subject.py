"""What a question about order, progress or a summary is about, without the words that only ask for one."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from zibaldone.search.question import Question
from zibaldone.text.dates import find_days
from zibaldone.text.words import words


def of_subject(question: Question, text: str, today: date) -> Question:
    """The question with the terms of its subject; with none where it asks for the order of everything.

    The words of the times that it names are none of it: what was said then seldom says when.
    """
    dated = {word for days in find_days(text, today) for word in words(text[days.start : days.end])}
    kept = () if question.asks_everything else (pair for pair in question.terms if pair[0] not in dated)
    return replace(question, terms=tuple(kept))
