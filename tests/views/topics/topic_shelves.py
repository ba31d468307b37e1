"""A small library for reading, made by hand, and what tests of the readers share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

import numpy as np

from zibaldone.core import Message, Scope
from zibaldone.models.static import shared_static_embedder
from zibaldone.search.question import Question, parse_question
from zibaldone.search.ranker import Explanation, Scores
from zibaldone.search.unit_index import UnitIndex
from zibaldone.views.topics.entry_units import to_units
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.markdown.document import Document, Heading
from zibaldone.views.topics.markdown.entry import Entry, When
from zibaldone.views.topics.read.index import ReadingIndex
from zibaldone.views.topics.read.ranking import RankedEntries, ReadingResult, ScoredUnits, rank

TODAY = date(2024, 3, 1)
START = datetime(2024, 2, 1, tzinfo=UTC)
EMBEDDER = shared_static_embedder()
EMPTY = np.zeros(0, dtype=np.float32)
NO_SCORES = Scores(EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, 0.0)

PEOPLE = Document(
    "topic-0001",
    summary="Ann, employer, home; where Ann works and lives.",
    body=(
        Heading("Work"),
        Entry("Ann works for Acme.", first=1, superseded_by=(5,), time=When("2023-05-08")),
        Entry("Ann works for Globex.", first=5, supersedes=(1,), time=When("2023-06-01")),
        Heading("Home"),
        Entry("Ann lives in a small flat with two cats.", first=2),
    ),
)
FIRMS = Document(
    "topic-0002",
    summary="companies; where they have their headquarters.",
    body=(
        Heading("Companies"),
        Entry("The headquarters of Globex is in Lyon.", first=3),
        Entry("The headquarters of Acme is in Turin.", first=4),
        Heading("Cities"),
        Entry("Lyon lies where two rivers meet.", first=6),
    ),
)
GARDEN = Document(
    "topic-0003",
    summary="garden; what grows there.",
    body=(
        Heading("Garden"),
        *(
            Entry(f"Bed number {n} has {what}.", first=20 + n)
            for n, what in enumerate(("beans", "peas", "kale"))
        ),
    ),
)
CURRENT = Document("CURRENT", body=(Entry("The kettle is broken since Friday.", first=40),))


def shelf(*documents: Document, current: Document = CURRENT) -> Library:
    """A library of these documents, or of the usual ones."""
    return Library({one.id: one for one in documents or (PEOPLE, FIRMS, GARDEN)}, current)


def ranked(question: str, library: Library | None = None) -> RankedEntries:
    """A question, ranked against the entries of a library; each message has its own session."""
    library = library or shelf()
    index = ReadingIndex(library)
    by_message: dict[int, list[Entry]] = {}
    for place in index.places:
        by_message.setdefault(place.entry.last, []).append(place.entry)
    said = [
        unit
        for seq, entries in by_message.items()
        for unit in to_units(
            entries,
            Message(
                "", name=entries[0].source, time=START + timedelta(minutes=seq), session=str(seq), seq=seq
            ),
            EMBEDDER,
        )
    ]
    units = UnitIndex(EMBEDDER.dimension, EMBEDDER)
    if said:
        units.extend(said, EMBEDDER.embed([unit.text for unit in said]))
    now = datetime.combine(TODAY, time(), UTC)
    asked = parse_question(Question(question, Scope("ann"), 100, now), units).embedded(EMBEDDER)
    nothing = ScoredUnits(asked, (), NO_SCORES, Explanation.of_nothing(), [()] * len(asked.terms), None)
    return rank(index, ScoredUnits.of(units, asked) if said else nothing, EMBEDDER.embed)


def facts(texts: Sequence[str], id_: str = "topic-0001") -> Document:
    """A document with these entries, said one after the other."""
    return Document(id_, body=(Heading("Facts"), *(Entry(text, first=n) for n, text in enumerate(texts, 1))))


def texts(reading: ReadingResult) -> list[str]:
    """Texts of the entries found, best first."""
    return [one.place.entry.text for one in reading.hits]
