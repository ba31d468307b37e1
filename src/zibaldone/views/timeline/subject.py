"""What a question about order, progress or a summary is about, without the words that only ask for one."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from zibaldone.search.question import Question
from zibaldone.text.dates import find_days
from zibaldone.text.words import terms, words

# "Can you walk me through the order in which I brought up different aspects of ..., in order? Mention only
# five items", "Summarize how ... developed over our conversations".
_FRAME = frozenset(
    terms(
        """order sequence timeline chronological chronology history list walk brought bring raise raised
        mention mentioned only items item aspects aspect different various facets throughout conversations
        conversation chats chat sessions session discussed discuss discussions discussion talked talk
        summarize summarise summary overview recap comprehensive complete clear quick brief short give tell
        show reconstruct outline describe progress progressed develop developed evolve evolved change changed
        introduced first over time far key main one two three four five six seven eight nine ten eleven twelve
        topics topic things thing
        kinds points steps stages including included related based please exactly so happened happen
        everything anything"""
    )
)


def of_subject(question: Question, text: str, today: date) -> Question:
    """The question with the terms of its subject; with none where it asks for the order of everything.

    The words of the times that it names are none of it: what was said then seldom says when.
    """
    dated = {word for days in find_days(text, today) for word in words(text[days.start : days.end])}
    kept = (pair for pair in question.terms if pair[1] not in _FRAME and pair[0] not in dated)
    return replace(question, terms=tuple(kept))
