"""Relevance means the same in every view: how much of a question memory knows of."""

import pytest
from rig import CONVERSATION, NOW, messages_from

from zibaldone.recall.recall import DEFAULT_FLOOR

DATED = "What happened in December?"  # memory has messages of that month
SPEAKERS = "Bea"  # one word, of somebody who spoke
KNOWN = "Which instrument does Bea play in the orchestra, the bassoon?"
NOTHING = "quantum chromodynamics lagrangian"
EMPTY = ""


def relevance(built, question: str) -> float:
    """What the view says of it."""
    return built.retrieve(built.question(question)).confidence


@pytest.mark.parametrize("question", [DATED, SPEAKERS])
@pytest.mark.usefixtures("finds_everything")
def test_a_time_or_a_person_that_memory_knows_is_reason_enough(built, question):
    """A question that names a month or a speaker of the log is wholly relevant, whatever its words."""
    assert relevance(built, question) == pytest.approx(1.0)


@pytest.mark.usefixtures("finds_everything")
def test_a_question_in_memorys_own_words_is_relevant(built):
    """What was talked about lies above the floor of recall."""
    assert relevance(built, KNOWN) > DEFAULT_FLOOR


@pytest.mark.parametrize("question", [NOTHING, EMPTY])
def test_a_question_about_nothing_is_not_relevant(built, question):
    """Of what nobody spoke of, and of a question without words, no view is sure."""
    assert relevance(built, question) < 0.1


@pytest.mark.usefixtures("finds_everything")
def test_what_is_not_read_yet_counts_as_well(built):
    """A question about the log's tail is as relevant as it will be when the view has read it."""
    built.append(messages_from(("4", "Zoe", "The zeppelin museum opens on Sunday."), start=NOW))
    assert relevance(built, "When does the zeppelin museum open?") > DEFAULT_FLOOR
    assert len(CONVERSATION) < built.serving().cursor + 2
