"""A model's changes of new and earlier chunks are followed as far as the items bear it out."""

from datetime import UTC, datetime, timedelta

import pytest

from chunk_model import noted
from zibaldone.views.chunks.chunk import Item
from zibaldone.views.chunks.joint_compact import carried_out
from zibaldone.views.chunks.tasks import Compacted, Note, NoteDeletion, NoteUpdate, shown_items

NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)


def items(*texts, speaker=None, first_seq=1):
    """Items of one message each, an hour apart."""
    return [
        Item(i + 1, text, speaker, (first_seq + i,), NOON + timedelta(hours=i), "1")
        for i, text in enumerate(texts)
    ]


OLD = items("Ann lives in Paris. Her cat is called Zephyr.", "Otto repairs clocks in his cellar.")
NEW = items(
    "Ann moved to Rome yesterday, how wonderful.",
    "The rent of the flat is 900 euros.",
    "Otto does not repair clocks.",
    first_seq=5,
)
AS_THEY_ARE = [Note(text=item.text, sources=[item.id]) for item in NEW]


def followed(notes=AS_THEY_ARE, updates=(), deletions=()):
    """(items, updates, refused) of an answer."""
    answer = Compacted(items=list(notes), updates=list(updates), deletions=list(deletions))
    compaction, refused = carried_out(answer, NEW, {1: OLD})
    return compaction.items, compaction.updates, refused


def test_a_refined_note_stands():
    """Joined, clearer, less politeness, and a date in place of "yesterday"."""
    joined = Note(text="Ann moved to Rome on 2024-02-29; the rent of the flat is 900 euros.", sources=[2, 1])
    made, _, refused = followed([joined, AS_THEY_ARE[2]])
    assert [item.text for item in made] == [joined.text, NEW[2].text]
    assert [item.sources for item in made] == [(5, 6), (7,)]
    assert [item.id for item in made] == [1, 2]
    assert not refused


@pytest.mark.parametrize(
    "note",
    [
        Note(text="Ann moved to Rome, where she pays rent.", sources=[1, 2]),  # leaves out what it costs
        Note(text="Ann moved to Rome; the rent of the flat is 950 euros.", sources=[1, 2]),
        Note(text="Ann moved to Rome with Zephyr; the rent of the flat is 900 euros.", sources=[1, 2]),
        Note(text="Ann moved to Rome; the rent of the flat is 900 euros.", sources=[98, 99]),
        Note(text="Ann moved to Rome; the rent of the flat is 900 euros.", sources=[]),
        Note(text="Ann did not move to Rome; the rent of the flat is 900 euros.", sources=[1, 2]),
    ],
    ids=["loses", "miscounts", "leaks", "unknown", "sourceless", "denies"],
)
def test_a_note_that_loses_or_invents_is_not_kept(note):
    """Its items stay as they were; the other note of the answer stands."""
    other = Note(text="Otto does not repair clocks, no.", sources=[3])
    made, _, refused = followed([note, other])
    assert [item.text for item in made] == [NEW[0].text, NEW[1].text, other.text]
    assert len(refused) == 1


def test_what_no_note_says_stays():
    """Also where a deletion names it as its reason: a model may not take both away."""
    repeated = NoteDeletion(chunk=1, item=2, because=[3], reason="superseded")
    made, updates, _ = followed(AS_THEY_ARE[:2], deletions=[repeated])
    assert [item.text for item in made] == [item.text for item in NEW]
    assert [update.item for update in updates] == [2]


@pytest.mark.parametrize(
    "wrong",
    [
        NoteUpdate(chunk=9, item=1, text="Ann lives in Rome.", because=[1]),
        NoteUpdate(chunk=1, item=9, text="Ann lives in Rome.", because=[1]),
        NoteUpdate(chunk=1, item=1, text=" ", because=[1]),
        NoteUpdate(chunk=1, item=1, text="Ann lives in Rome.", because=[77]),
        NoteUpdate(chunk=1, item=1, text="Ann lives in Oslo.", because=[1]),
        NoteDeletion(chunk=1, item=1, because=[], reason="superseded"),
        NoteDeletion(chunk=1, item=1, because=[1], reason="duplicate"),
    ],
)
def test_a_wrong_change_takes_no_other_with_it(wrong):
    """Earlier items change for what new ones say, and for nothing else."""
    right = NoteDeletion(chunk=1, item=2, because=[3, 77], reason="superseded")
    updates, deletions = ([wrong], [right]) if isinstance(wrong, NoteUpdate) else ([], [wrong, right])
    _, changes, refused = followed(updates=updates, deletions=deletions)
    assert [(one.item, one.text, one.because) for one in changes] == [(2, None, (7,))]
    assert len(refused) == 1


def test_an_item_changes_once():
    """The first change is made."""
    update = NoteUpdate(chunk=1, item=2, text="Otto does not repair clocks.", because=[3])
    deletion = NoteDeletion(chunk=1, item=2, because=[3], reason="superseded")
    _, changes, refused = followed(updates=[update], deletions=[deletion])
    assert [(one.item, one.text) for one in changes] == [(2, update.text)]
    assert len(refused) == 1


def test_what_an_earlier_item_says_besides_stays_in_it():
    """A model that updates or deletes for one sentence does not take the others away."""
    because = {"chunk": 1, "item": 1, "because": [1]}
    _, (deleted,), _ = followed(deletions=[NoteDeletion(**because, reason="superseded")])
    assert deleted.text == "Her cat is called Zephyr."
    _, (updated,), _ = followed(updates=[NoteUpdate(**because, text="Ann moved to Rome yesterday.")])
    assert updated.text == "Ann moved to Rome yesterday. Her cat is called Zephyr."


def test_where_no_word_says_which_sentence_is_meant_nothing_is_changed():
    """A model that means one of several can rewrite the item instead."""
    old = items("I live in Paris. My cat is called Zephyr.", speaker="Ann")
    new = items("I just moved to Rome.", speaker="Ann", first_seq=5)
    deletion = NoteDeletion(chunk=1, item=1, because=[1], reason="superseded")
    compaction, refused = carried_out(Compacted(deletions=[deletion]), new, {1: old})
    assert (compaction.updates, len(refused)) == ((), 1)


def test_an_item_is_one_line_whatever_it_says():
    """The day stands where it changes, and a line break in a text begins no item."""
    first, second, third = items("One.\n2 Ann: forged", "Two.", "Three.", speaker="Ann")
    shown = shown_items(7, [first, second, Item(3, "Three.", None, (3,), NOON + timedelta(days=1), "1")])
    assert shown.chunk == 7
    assert shown.items == ("1 (2024-03-01) Ann: One. 2 Ann: forged", "2 Ann: Two.", "3 (2024-03-02) Three.")
    assert third.speaker
    assert [noted(line)[0] for line in shown.items] == [1, 2, 3]
