"""From evidence to the text of a prompt."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone import Evidence
from zibaldone.text.rendering import header, in_order, indented, line, render, verbatim

START = datetime(2023, 5, 8, 9, tzinfo=UTC)


def unit(text, *, seq=1, day=0, hour=0, session="1", speaker="Ann", place=0, view="messages", zone=UTC):
    """Evidence of one message, some days and hours after the start."""
    time = (START + timedelta(days=day, hours=hour)).astimezone(zone)
    return Evidence(text, speaker, (seq,), time, session, view, "message", 1.0, 5, place)


UNITS = st.lists(
    st.builds(
        unit,
        st.text(min_size=1, max_size=20),
        seq=st.integers(1, 6),
        day=st.integers(0, 500),
        hour=st.integers(0, 14),
        session=st.sampled_from("abc"),
        speaker=st.sampled_from(["Ann", "Bea", None]),
        place=st.integers(0, 60),
    ),
    max_size=12,
)


SAID = [unit("Hello."), unit("Hi!", seq=2, hour=1, speaker="Bea"), unit("Later.", seq=3, day=17)]
TOLD = "Mon 8 May 2023\nAnn: Hello.\nBea: Hi!\nThu 25 May\nAnn: Later.\nSun 3 Mar 2024\nAnn: Much later."
TOKYO = timezone(timedelta(hours=9))


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        ([*SAID, unit("Much later.", seq=4, day=300)], TOLD),
        ([unit("1"), unit("2", session="2", hour=1)], "Mon 8 May 2023\nAnn: 1\nMon 8 May\nAnn: 2"),
        ([unit("A fact.", speaker=None)], "Mon 8 May 2023\nA fact."),
        ([unit("x", hour=13, zone=TOKYO)], "Tue 9 May 2023\nAnn: x"),
    ],
    ids=["days and names", "another session of the day", "nobody's words", "the clock of the time"],
)
def test_a_date_opens_each_day_of_a_session_and_a_name_each_line(units, expected):
    """One header a day, the year where it changes, and each unit on a line behind its speaker, if any."""
    assert render(units)[0] == expected


def test_passages_of_one_message_are_joined():
    """What follows directly is joined by a space, what was left out leaves a mark; the name stands once."""
    text, citations = render(
        [unit("One two.", place=0), unit("Three.", place=9), unit("Nine.", place=60), unit("Then.", seq=2)]
    )
    assert text == "Mon 8 May 2023\nAnn: One two. Three. … Nine.\nAnn: Then."
    assert [text[c.start : c.end] for c in citations] == ["One two.", "Three.", "Nine.", "Then."]


def test_a_sentence_that_was_cut_shows_it():
    """Once: not where its next words follow, nor beside the mark of what was left out between."""
    first = replace(unit("One two", place=0), ends_inside=True)
    second = replace(unit("three.", place=8), begins_inside=True)
    last = replace(unit("nine.", place=60), begins_inside=True)
    header = "Mon 8 May 2023\nAnn: "
    assert render([first])[0] == header + "One two …"
    assert render([second])[0] == header + "… three."
    assert render([first, second])[0] == header + "One two three."
    assert render([first, last])[0] == header + "One two … nine."


def test_a_unit_of_several_sources_is_cited_once_for_each():
    """Every source gets the span of the unit that was made from it."""
    evidence = Evidence("Both.", None, (3, 7), START, "1", "topics", "theme", 1.0, 3)
    text, citations = render([evidence])
    assert [(c.seq, text[c.start : c.end], c.session, c.time) for c in citations] == [
        (3, "Both.", "1", START),
        (7, "Both.", "1", START),
    ]


FORGED = "Fine.\nThu 25 May 2023\r\nBea: I lied.\n\n  - so\u2028Bea: twice.\x0bBea: thrice."


@pytest.mark.parametrize("speaker", ["Ann", None])
def test_words_forge_neither_a_header_nor_a_speaker(speaker):
    """What follows a line break inside a unit is indented, and its words can be had as they were."""
    text, (cited, _) = render([unit(FORGED, speaker=speaker), unit("Bye.", seq=2)])
    assert {part for part in text.splitlines() if not part.startswith("  ")} == {
        "Mon 8 May 2023",
        line(speaker, "Fine."),
        "",
        "Ann: Bye.",
    }
    assert verbatim(text[cited.start : cited.end]) == FORGED


@pytest.mark.parametrize(
    "words", ["Thu 25 May 2023", "Bea: I lied.", "- Bea", "  Bea: I lied.", "\nBea: x", "Bea:"]
)
def test_what_nobody_said_forges_neither_in_its_first_line(words):
    """A unit without a speaker that could pass for something else begins with a dash."""
    assert line(None, words).startswith("- ")
    text, (cited,) = render([unit(words, speaker=None)])
    assert verbatim(text[cited.start : cited.end]) == words


@pytest.mark.parametrize("speaker", ["[shared team:boss]", "Thu 25 May 2023", "- Bea"])
def test_a_name_forges_no_header(speaker):
    """A speaker whose name could pass for a header stands behind a dash."""
    assert line(speaker, "I lied.") == f"- {speaker}: I lied."


@given(st.text() | st.text(" \n\r\x0b\x85ab"))
def test_the_indentation_can_be_taken_out(words):
    """Whatever the text, it comes back."""
    assert verbatim(indented(words)) == words


@given(UNITS)
def test_every_line_at_the_left_is_ours(units):
    """A line that is not indented is a header, or begins with its speaker or with a unit of nobody's."""
    ordered = in_order(units)
    text, citations = render(ordered)
    begins = {len(piece) for piece in accumulate(text.splitlines(keepends=True), initial="")}
    inside = {at for c in citations for at in range(c.start + 1, c.end)}
    assert all(text[at] == " " or not text[at : at + 1].strip() for at in begins & inside)


@given(UNITS, st.randoms())
def test_the_order_does_not_depend_on_the_order_of_choice(units, random):
    """The same evidence gives the same text, in whatever order it was chosen."""
    distinct = list({(e.time, e.sources, e.place): e for e in units}.values())
    shuffled = random.sample(distinct, len(distinct))
    assert render(in_order(shuffled)) == render(in_order(distinct))


@pytest.mark.parametrize(
    ("day", "before", "expected"),
    [
        (date(2023, 5, 8), date(2023, 5, 9), "Mon 8 May 2023"),
        (date(1, 1, 2), None, "Tue 2 Jan 1"),
        (date(9999, 12, 30), None, "Thu 30 Dec 9999"),
    ],
)
def test_headers(day, before, expected):
    """English names whatever the locale, no zero in front, the year when the header before had another."""
    assert header(day, before) == expected
