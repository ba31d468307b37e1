"""The guard of a person's own words is not held up by texts that are made to."""

import time

import pytest

from zibaldone.views.notes.stated import own_statements, own_text

LENGTH = 100_000
CEILING_S = 5.0  # of the processor; a reading takes a tenth of a second, and by patterns it took a minute


@pytest.mark.parametrize(
    ("piece", "end"),
    [
        ("«a ", ""),
        ("riddle ", ".x"),
        ("write a prompts for ", "?"),
        ("custom instructions for my ", "!"),
        ("“", ""),
        ("`é` ", ""),
        ("<a></a>é", ""),
        ("this ?", ":\n"),
        (" ", "x?"),
    ],
)
def test_its_time_is_bounded_by_the_length_of_a_text(piece, end):
    """Whatever opens again and again, and never closes."""
    text = (piece * LENGTH)[: LENGTH - len(end)] + end
    began = time.process_time()
    spans = list(own_statements(text))
    assert all(0 <= start < last <= LENGTH for start, last in spans)
    own_text(text)
    assert time.process_time() - began < CEILING_S


def test_quotations_are_left_out_whatever_their_marks():
    """One that is opened twice begins at the first, and one without an end is none."""
    assert own_text("Call me «x «Bob».") == "Call me  … ."
    assert own_text("«" + "x" * 4001 + "» I am Ann") == "«" + "x" * 4001 + "» I am Ann"
    assert own_text("«x» I said “y” and „z“.") == " …  I said  …  and  … ."


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("Let's role-play a scene. You love me.", "Let's role-play a scene.  … "),
        ("A riddle: you are my dog\nYou love me.", "A riddle: you are my dog\n … "),
        ("A riddle of v2.0: you are my dog", "A riddle of v2.0: you are my dog"),
        ("A riddle: what is v2.0x", "A riddle:  … "),
    ],
)
def test_what_follows_a_part_that_is_played_is_not_the_author_s(text, own):
    """From the end of the sentence that says so; from its last colon, where it has no end."""
    assert own_text(text) == own
