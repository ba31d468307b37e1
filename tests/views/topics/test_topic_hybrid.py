"""Infini Memory-H: documents by summary, heading blocks by BM25; and the index below both readers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from topic_shelves import CURRENT, EMBEDDER, facts, ranked, shelf, texts

from zibaldone.errors import ModelUnavailable
from zibaldone.models.asker import Asker
from zibaldone.models.meter import Meter
from zibaldone.testing import ScriptedModel
from zibaldone.testing.fakes import Scripted
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.markdown.document import Document
from zibaldone.views.topics.markdown.entry import Entry
from zibaldone.views.topics.read.index import K1, B, ReadingIndex, bm25
from zibaldone.views.topics.read.ranking import ReadingResult
from zibaldone.views.topics.read.reader_h import read_hybrid


def read(
    question: str, *answers: Scripted, library: Library | None = None
) -> tuple[ReadingResult, ScriptedModel]:
    """Reader H's result with a model that answers so; without a model when there are no answers."""
    model = ScriptedModel(answers)
    asker = Asker(model if answers else None, Meter(None), EMBEDDER)
    return read_hybrid(ranked(question, library), asker, user="ann"), model


def test_current_counts_among_what_is_picked() -> None:
    """It has no summary to be picked by, and its entries belong to every context (Algorithm 3, line 17)."""
    plain = texts(read("What is in the kitchen?")[0])
    chosen = texts(read("What is in the kitchen?", {"documents": []})[0])
    recent = [entry.text for entry in CURRENT.entries]
    assert min(chosen.index(one) for one in recent) <= min(plain.index(one) for one in recent)
    assert set(chosen[: len(recent)]) == set(recent)


def test_what_a_model_picks_comes_in_whole_heading_blocks() -> None:
    """The block of the best entry first, all of it, and then the next."""
    reading, _ = read("Where is the headquarters of Globex?", {"documents": ["topic-0002"]})
    blocks = [(one.place.document, one.place.partition) for one in reading.hits]
    assert blocks[:2] == [("topic-0002", 0)] * 2
    runs = [block for at, block in enumerate(blocks) if not at or blocks[at - 1] != block]
    assert len(runs) == len(set(runs))


def test_invented_ids_are_left_out() -> None:
    """Those that exist count all the same."""
    reading, _ = read("Which beans grow?", {"documents": ["topic-7777", "topic-0003", "topic-0003"]})
    assert reading.documents == ("topic-0003",)
    assert not reading.note


@pytest.mark.parametrize(
    ("answers", "says"),
    [([{"documents": ["nowhere"]}] * 2, "nowhere"), ([ModelUnavailable("gone")], "gone")],
)
def test_without_a_choice_words_and_vectors_choose(answers: list[Scripted], says: str) -> None:
    """Ids that do not exist are shown to the model once; the reading says so, and loses no entry."""
    reading, model = read("Which beans grow?", *answers)
    assert len(model.requests) == reading.model_calls == len(answers)
    assert says in reading.note
    assert texts(reading) == texts(read("Which beans grow?")[0])
    assert texts(reading)[0] == "Bed number 0 has beans."


def test_bm25_is_the_formula_over_all_documents_together() -> None:
    """k1 = 1.5, b = 0.75, and statistics that do not depend on how entries are spread over documents."""
    one = facts(["tea tea milk", "milk", "sugar cake cake"])
    apart = [replace(one, id=f"topic-{n}", body=(block,)) for n, block in enumerate(one.entries)]
    together = ReadingIndex(shelf(one)).documents["topic-0001"].entries
    spread = [ReadingIndex(shelf(*apart)).documents[each.id].entries for each in apart]
    [scores] = bm25([together], ["tea", "milk"])
    assert [float(each[0]) for each in bm25(spread, ["tea", "milk"])] == pytest.approx(list(scores))
    norm = K1 * (1 - B + B * 3 / (7 / 3))
    idf_tea, idf_milk = 0.9808293, 0.4700036
    expected = idf_tea * 2 * (K1 + 1) / (2 + norm) + idf_milk * (K1 + 1) / (1 + norm)
    assert scores[0] == pytest.approx(expected)


def test_entries_of_one_message_keep_its_order_across_documents() -> None:
    """The part that was said first comes first, wherever it was filed."""
    late = Document("topic-0001", body=(Entry("Then I sold the boat.", 3, part=2),))
    early = Document("topic-0002", body=(Entry("I painted the boat.", 3, part=1),))
    index = ReadingIndex(shelf(late, early, current=Document("CURRENT")))
    assert [place.entry.part for place in index.places] == [1, 2]
