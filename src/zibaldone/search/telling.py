"""The units that may tell what is asked of a person: where they live, how old they are (text/attributes)."""

from __future__ import annotations

import numpy as np

from zibaldone.search.lexical import Ints
from zibaldone.search.question import Question
from zibaldone.search.unit_index import UnitIndex
from zibaldone.text.words import term_of

_MOST_READ = 256  # units whose text is read, the newest ones


def rows_telling(index: UnitIndex, question: Question) -> Ints:
    """Rows, rising, of who is asked about; of people, where that is who asks.

    A memory of a few days is read whole; in a long one are read the units that have a word of the attribute.
    """
    if question.attribute is None:
        return np.zeros(0, dtype=np.int64)
    rows = _of_person(index, question)
    if len(rows) > _MOST_READ:
        terms = {term for word in question.attribute.words for _, term in term_of(word)}
        having = [index.lexical.postings(term)[0] for term in sorted(terms)]
        rows = np.intersect1d(rows, np.concatenate(having))[-_MOST_READ:]
    telling = [row for row in rows.tolist() if question.attribute.is_told(index.units[row].text)]
    return np.array(telling, dtype=np.int64)


def _of_person(index: UnitIndex, question: Question) -> Ints:
    if not question.asks_own and question.speakers:
        of_speakers = [index.speakers.get(name, []) for name in question.speakers]
        return np.unique(np.concatenate([np.array(rows, dtype=np.int64) for rows in of_speakers]))
    return np.flatnonzero(index.by_assistant == 0)
