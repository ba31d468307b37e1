"""Topic documents: what is written is read again, and of what people write nothing is lost."""

import re
from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from topic_texts import bodies, documents, lines

from zibaldone import Document, Entry
from zibaldone.views.topics.markdown.document import (
    Event,
    Heading,
    parse,
    parse_body,
    regions,
    render,
    render_body,
)
from zibaldone.views.topics.markdown.entry import AI, When

often = settings(max_examples=80, deadline=None)

WRITTEN = """\
---
id: cats-3f2a
summary: cats, Moss; Ann has a cat named Moss.
token_count: 61
created_time: '2023-05-08'
update_log:
- time: 2023-05-08T13:56Z
  event: created
---

# Cats

- <seq=3,time=2023-05-08,superseded_by=12> Ann has no pets.
- <seq=12-15,time=2023-05-20,msgs=12+15,supersedes=3> Ann has a cat named Moss.

## Food

- <seq=16,source=AI> Moss may eat:
  - fish

  - no cheese
- <seq=17,source="Dr. Moss, vet"> No milk.
"""


def test_a_document_as_it_is_written():
    """The printed form of every kind of line, and what is read from it."""
    created = Event("created", When("2023-05-08T13:56Z"))
    summary = "cats, Moss; Ann has a cat named Moss."
    document = Document("cats-3f2a", summary, 61, When("2023-05-08"), (created,), parse(WRITTEN))
    old, new, food, milk = document.entries
    assert (old.seq, old.superseded_by, old.current) == ("3", (12,), False)
    assert (new.first, new.last, new.sources, new.supersedes) == (12, 15, (12, 15), (3,))
    assert (food.source, food.text) == (AI, "Moss may eat:\n- fish\n\n- no cheese")
    assert milk.source == "Dr. Moss, vet"
    assert document.title == "Cats"
    assert render(document) == WRITTEN
    assert parse(WRITTEN.replace("source=AI", 'source=AI,label="diet, strict"')) == document.body


@often
@given(documents)
def test_what_is_rendered_is_read_again(document):
    """The body of any document comes back as it was."""
    text = render(document)
    assert parse(text.replace("\n", "\r\n")) == parse("\ufeff" + text) == parse(text) == document.body


@often
@given(lines)
@example("<seq=?>Ann likes tea.")
def test_no_word_of_a_text_is_lost(text):
    """Every word of a body by hand is still there when the document is written again.

    "<seq=?>" is none: it says that an entry has no signature.
    """
    rendered = render_body(parse_body(text))
    assert _words(text.replace("<seq=?>", " ")) <= _words(rendered)


@pytest.mark.parametrize(
    ("blocks", "printed"),
    [
        ([Entry("a\n- <seq=2> b\n- c", 1)], "- <seq=1> a\n  - <seq=2> b\n  - c"),
        ([Entry("a\n# b\n---\n```", 1), Entry("c")], "- <seq=1> a\n  # b\n  ---\n  ```\n- c"),
        ([Entry("<seq=1> x")], "- <seq=?> <seq=1> x"),
        ([Entry("x", 1, source="a\x07")], '- <seq=1,source="a\\u0007"> x'),
        ([Entry(""), Entry("- -")], "-\n- - -"),
        ([Heading("a\nb", 6)], "###### a b"),
    ],
)
def test_what_only_looks_like_structure(blocks, printed):
    """It is marked so that it is read as what it is."""
    body = Document("", body=tuple(blocks)).body
    assert render_body(body) == printed
    assert parse_body(printed) == body


@pytest.mark.parametrize(
    ("line", "entry"),
    [
        ("- <seq=12, time=2023-05-08 , source = AI> x", Entry("x", 12, time=When("2023-05-08"), source=AI)),
        ("* <SEQ=12–15> x", Entry("x", 12, 15)),
        ("3. <seq=15-12> x", Entry("x", 12, 15)),
        ("- <seq=12+15> x", Entry("x", 12, 15, sources=(12, 15))),
        ("- <time=last spring> x", Entry("x", time=When("last spring"))),
        ("- <seq=1,time=,source=> x", Entry("x", 1)),
        ("- <seq=1>x", Entry("x", 1)),
        ("- <seq=one> x", Entry("<seq=one> x")),
        ("- <seq=1,seq=2> x", Entry("<seq=1,seq=2> x")),
        ("- <seq=1,ip=10.0.0.1> x", Entry("<seq=1,ip=10.0.0.1> x")),
        ("- <seq=1", Entry("<seq=1")),
        ("- <https://a.example/?q=1> x", Entry("<https://a.example/?q=1> x")),
        ("+ [ ] call", Entry("[ ] call")),
        ("-", Entry("")),
    ],
)
def test_an_entry_by_hand(line, entry):
    """Any bullet will do, and what is no signature that can be read is text."""
    assert parse_body(line) == (entry,)


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("Just words.\nTwo lines.", [Entry("Just words.\nTwo lines.")]),
        ("- a\nwrapped\n  indented\n\n  later", [Entry("a\nwrapped\nindented\n\nlater")]),
        ("- a\n\nAfter a gap.", [Entry("a"), Entry("After a gap.")]),
        ("- a\n  - b\n    - c", [Entry("a\n- b\n  - c")]),
        ("- a\n---\n- b", [Entry("a"), Entry("b")]),
        ("1984. It began.", [Entry("1984. It began.")]),
        ("#tag\n####### seven", [Entry("#tag\n####### seven")]),
        ("# A #\n##\tB", [Heading("A #", 1), Heading("B", 2)]),
        ("x\n# H\ny\n- a", [Entry("x"), Heading("H"), Entry("y"), Entry("a")]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", [Entry("| a | b |\n|---|---|\n| 1 | 2 |")]),
    ],
)
def test_a_body_by_hand(text, blocks):
    """A paragraph is an entry, and what Markdown shows as part of a bullet is part of its entry."""
    assert parse_body(text) == tuple(blocks)


@pytest.mark.parametrize("text", ["---\n\nWords between rules.\n\n---\n", "---\nid: never closed\n"])
def test_rules_are_no_front_matter(text):
    """Lines across the page around plain words are part of the body."""
    assert _words(text) <= _words(render_body(parse(text)))


@pytest.mark.parametrize(
    ("written", "start"),
    [
        ("2023-05-08", datetime(2023, 5, 8, tzinfo=UTC)),
        ("2023-05-08 13:56", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("2023-05-08T13:56:01+02:00", datetime(2023, 5, 8, 11, 56, 1, tzinfo=UTC)),
        ("2023-13-40", None),
        ("2023", None),
        ("next week", None),
    ],
)
def test_a_time_is_as_precise_as_it_was_written(written, start):
    """It is printed as it was written, and can be compared where it is a time."""
    assert When(written).start == start
    assert parse_body(f"- <seq=1,time={written}> x")[0].time == When(written)


@often
@given(bodies)
def test_partitions_are_the_whole_body(body):
    """The sections follow each other without a gap, each at the lines that regions says."""
    document = Document("x", body=body)
    cut = document.partitions()
    assert tuple(block for section in cut for block in section.body) == document.body
    shown = render_body(document.body).split("\n")
    for region in regions(document):
        assert "\n".join(shown[region.start - 1 : region.end]) == render_body(region.section.body)


def test_a_part_is_told_where_a_message_has_several():
    """It orders what one message says wherever its entries stand."""
    assert render_body([Entry("x", 3, part=2), Entry("y", 3)]) == "- <seq=3,part=2> x\n- <seq=3> y"
    first, second, odd = parse_body("- <seq=3,part=1> x\n- <seq=3,part=2> y\n- <seq=3,part=last> z")
    assert first.recency < second.recency
    assert odd == Entry("<seq=3,part=last> z")


def test_a_long_range_is_not_every_message_in_it():
    """A range of a million seqs names its ends; a list of more than can be meant is kept as text."""
    assert Entry("x", 1, 1_000_000).sources == (1, 1_000_000)
    many = tuple(range(1, 3000))
    assert parse_body(render_body([Entry("x", 1, sources=many)]))[0].sources == many
    hostile = "+".join(f"{start}-{start + 1000}" for start in range(1, 10**6, 1001))
    assert parse_body(f"- <seq=1,msgs={hostile}> x")[0].text == f"<seq=1,msgs={hostile}> x"


def _words(text: str) -> Counter[str]:
    return Counter(word.casefold() for word in re.findall(r"[^\W\d_]+", text))
