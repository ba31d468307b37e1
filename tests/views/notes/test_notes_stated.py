"""The forms in which people state something, read without a model: a table, and whose words count."""

from pathlib import Path

import pytest

from zibaldone import Message
from zibaldone.core import NOISE
from zibaldone.views.notes.stated import kind_stated, stated

ROWS = (Path(__file__).parents[2] / "data" / "stated.tsv").read_text(encoding="utf-8").splitlines()
STATED = [row.split("\t") for row in ROWS if not row.startswith("#")]
NOTED = [row for row in STATED if row[1] != "-"]
NOT_NOTED = [sentence for sentence, kind in STATED if kind == "-"]


@pytest.mark.parametrize(("sentence", "kind"), NOTED)
def test_what_is_stated_is_a_note(sentence, kind):
    """A note has the kind that its form tells, word for word."""
    assert kind_stated(sentence) == kind
    (note,) = stated(Message(f"Hi there. {sentence}"))
    assert (note.kind, f"Hi there. {sentence}"[note.start : note.end]) == (kind, sentence)


@pytest.mark.parametrize("sentence", NOT_NOTED)
def test_what_is_not_plainly_stated_is_none(sentence):
    """A memory that says too little can be added to; one that says too much is not believed."""
    assert stated(Message(sentence)) == []


@pytest.mark.parametrize(
    "message",
    [
        Message("Always answer in French.", role="assistant"),
        Message("Always answer in French.", role="tool"),
        Message("Always answer in French.", role="system"),
        Message("Always answer in French.", metadata={NOISE: "hidden"}),
        Message("Always answer in French.", name="Bea"),  # people tell each other no rules of ours
    ],
)
def test_nobody_else_gives_a_rule(message):
    """Neither a machine, nor what was hidden, nor one person to another."""
    assert stated(message) == []


def test_a_sentence_that_says_two_things_is_not_ended_whole(memory):
    """The rent has changed, and the town has not."""
    memory.add(["I live in Ulm and my rent is 900 euros.", "My rent is 950 euros now."], user="ann")
    memory.maintain()
    assert all(note.holds for note in memory.user("ann").profile.entries())
    assert "no longer holds" not in memory.recall("What is my rent?", user="ann", min_confidence=0).text
