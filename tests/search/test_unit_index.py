"""The index as it grows, against one that was made at once."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from zibaldone import Scope, StaticEmbedder
from zibaldone.search.question import Question, parse_question
from zibaldone.search.ranker import score
from zibaldone.search.saved import SavedIndex
from zibaldone.search.unit import PASSAGE, Unit
from zibaldone.search.unit_index import UnitIndex

START = datetime(2024, 3, 1, 9, tzinfo=UTC)
EMBEDDER = StaticEmbedder()
TEXTS = ["Did the bassoon arrive?", "Yes, on Monday.", "Ann plays in Lisbon", "?", "the of", "In 2023 I ran."]
TEXTS += ["Running to a concert.", "She runs concerts."]
PLACED = (
    *("days", "ends_asking", "_has_question", "by_assistant", "with_assistant"),
    *("_askers", "_replies", "source_rows", "source_seqs", "_order", "_counts", "_is_passage"),
)


def ask(text, index):
    """A question, as an index reads it."""
    return parse_question(Question(text, Scope("u"), 100, START), index)


@st.composite
def talks(draw):
    """Units by batches as they come: mostly later than those before, sometimes between them."""
    units: list[Unit] = []
    for seq, minutes in enumerate(draw(st.lists(st.integers(-3, 9), min_size=1, max_size=14)), 1):
        role, session = draw(st.sampled_from(["user", "assistant", "user"])), draw(st.sampled_from("aab"))
        time = (units[-1].time if units else START) + timedelta(minutes=minutes)
        texts = draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3))
        units.extend(
            Unit((seq,), part, text, PASSAGE if len(texts) > 1 else "message", 5, session, role, None, time)
            for part, text in enumerate(texts)
        )
    cuts = sorted(draw(st.sets(st.integers(1, len(units)), max_size=5)) | {0, len(units)})
    return units, cuts


def vectors_of(units):
    """(n, d), unit length."""
    return EMBEDDER.embed([unit.text for unit in units])


def assert_same(one, other):
    """Every array that says who stands where is the same, to the bit."""
    for name in PLACED:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for radius, window in one.windows.items():
        for name in ("_order", "_low", "_high", "sizes", "relative_lengths"):
            np.testing.assert_array_equal(
                getattr(window, name), getattr(other.windows[radius], name), err_msg=f"{name} of {radius}"
            )


def copied(saved):
    """As it comes from a file: in arrays of its own."""
    return SavedIndex({name: np.array(array) for name, array in saved.arrays.items()})


@given(talks(), st.lists(st.integers(0, 5), min_size=6, max_size=6), st.sets(st.integers(0, 41), max_size=3))
def test_saved_and_opened(talk, keeping, gone):
    """Saved in segments, opened, grown and with rows taken out, it is the index that was made at once."""
    units, cuts = talk
    segments: list[SavedIndex] = []
    kept, reopened = (UnitIndex(EMBEDDER.dimension, EMBEDDER) for _ in range(2))
    for start, end in pairwise(cuts):
        for index in (kept, reopened):
            index.extend(units[start:end], vectors_of(units[start:end]))
        kept.settle()  # ahead of any question: it changes nothing
        stay = min(keeping.pop(), len(segments))
        segments = [*segments[:stay], reopened.save(stay)]
        reopened = UnitIndex(EMBEDDER.dimension, EMBEDDER, list(map(copied, segments)))
        once_more = copied(reopened.save())
        for name, array in kept.save().arrays.items():
            np.testing.assert_array_equal(once_more[name], array, err_msg=name)
        assert reopened.synonyms("show") == kept.synonyms("show")
        assert dict(reopened._vocabulary) == dict(kept._vocabulary)
        assert list(reopened.units) == list(kept.units)
        assert_same(reopened, kept)
    at_once = UnitIndex(EMBEDDER.dimension, EMBEDDER)
    at_once.extend(units, vectors_of(units))
    assert_same(kept, at_once)
    for index in (kept, reopened):
        index.remove({row for row in gone if row < len(units)})
    assert list(reopened.units) == list(kept.units)
    assert_same(reopened, kept)
    if not len(kept):
        return
    question, asked = (ask("Did Ann's basson arrive on Monday?", index) for index in (kept, reopened))
    assert question == asked
    scores = [score(index, question.embedded(EMBEDDER)) for index in (kept, reopened)]
    np.testing.assert_array_equal(scores[0].total, scores[1].total)
    assert scores[0].confidence == scores[1].confidence


@given(talks(), st.integers(0, 40))
def test_vectors_that_come_later(talk, embedded):
    """Units that got their vectors when they were in are ranked as those that came with them."""
    units, cuts = talk
    embedded = min(embedded, len(units))
    at_first = cuts[len(cuts) // 2] if cuts[len(cuts) // 2] <= embedded else 0
    vectors = vectors_of(units)
    vectors[embedded:] = 0
    later, at_once = (UnitIndex(EMBEDDER.dimension, EMBEDDER) for _ in range(2))
    later.extend(units[:at_first], vectors[:at_first])
    later.extend(units[at_first:], np.zeros_like(vectors[at_first:]))
    question = ask("When did Ann play the bassoon?", later).embedded(EMBEDDER)
    score(later, question)
    later.embed(at_first, vectors[at_first:embedded])
    at_once.extend(units, vectors)
    assert_same(later, at_once)
    np.testing.assert_allclose(score(later, question).total, score(at_once, question).total, atol=1e-4)
