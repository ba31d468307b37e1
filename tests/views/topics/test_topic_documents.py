"""Topic documents: what is written is read again, and of what people write nothing is lost."""

import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from topic_texts import bodies, documents, entries, lines

from zibaldone import InvalidInput
from zibaldone.errors import InvalidImport
from zibaldone.views.topics.markdown.document import Document, Event, Heading, Text
from zibaldone.views.topics.markdown.entry import AI, Entry, When, merged
from zibaldone.views.topics.markdown.parsing import parse, parse_body
from zibaldone.views.topics.markdown.printing import regions, render, render_body

often = settings(max_examples=80, deadline=None)

WRITTEN = """\
---
id: cats-3f2a
summary: cats, Moss; Ann has a cat named Moss.
token_count: 61
created_time: 2023-05-08
update_log:
- {time: '2023-05-08T13:56Z', event: created}
- time: 2023-06-01T09:00+02:00
  event: merged
  of: [pets-1, pets-2]
aux: {}
---

# Cats

- <seq=3,time=2023-05-08,superseded_by=12> Ann has no pets.
- <seq=12-15,time=2023-05-20,msgs=12+15,supersedes=3> Ann has a cat named Moss.

## Food

Ask the vet about this part.

- <seq=16,source=AI,label="diet, strict"> Moss may eat:
  - fish

  - no cheese
- <seq=17,source="Dr. Moss, vet"> No milk.
"""


def test_a_document_as_it_is_written():
    """The printed form of every kind of line, and what is read from it."""
    document = parse(WRITTEN)
    assert render(document) == WRITTEN
    old, new, food, milk = document.entries
    assert (old.seq, old.superseded_by, old.current) == ("3", (12,), False)
    assert (new.first, new.last, new.sources, new.supersedes) == (12, 15, (12, 15), (3,))
    assert (food.source, food.label, food.text) == (
        AI,
        "diet, strict",
        "Moss may eat:\n- fish\n\n- no cheese",
    )
    assert milk.source == "Dr. Moss, vet"
    assert document.update_log[1] == Event(
        "merged", When("2023-06-01T09:00+02:00"), {"of": ["pets-1", "pets-2"]}
    )
    assert document.title == "Cats"


@often
@given(documents)
def test_what_is_rendered_is_read_again(document):
    """Any document comes back as it was, and its text byte for byte."""
    text = render(document)
    assert parse(text) == document
    assert render(parse(text)) == text
    assert parse(text.replace("\n", "\r\n")) == parse("\ufeff" + text) == document


@often
@given(bodies)
def test_a_body_alone_is_read_again(body):
    """A body without front matter comes back as it was."""
    body = Document("", body=body).body
    assert parse_body(render_body(body)) == body


@often
@given(lines)
def test_a_text_settles_at_the_first_reading(text):
    """However odd a text by hand, reading what was made of it changes nothing more."""
    body = parse_body(text)
    assert parse_body(render_body(body)) == body


@often
@given(lines)
def test_no_word_of_a_text_is_lost(text):
    """Every word of a body by hand is still there when the document is written again."""
    rendered = render_body(parse_body(text))
    assert _words(text) <= _words(rendered)


@often
@given(st.lists(entries(), min_size=1, max_size=5))
def test_nothing_in_a_fact_makes_an_entry_of_its_own(facts):
    """A fact that quotes entries, headings, fences or front matter stays one entry."""
    document = Document("x", body=tuple(facts))
    assert parse(render(document)).entries == tuple(facts)


@pytest.mark.parametrize(
    ("blocks", "printed"),
    [
        ([Entry("a\n- <seq=2> b\n- c", 1)], "- <seq=1> a\n  \\- <seq=2> b\n  - c"),
        ([Entry("a\n \\- <seq=2> b", 1)], "- <seq=1> a\n   \\\\- <seq=2> b"),
        ([Entry("a\n# b\n---\n```", 1), Entry("c")], "- <seq=1> a\n  # b\n  ---\n  ```\n- c"),
        ([Entry("<seq=1> x")], "- <seq=?> <seq=1> x"),
        ([Entry("- -"), Entry("* *", marker="*")], "- <seq=?> - -\n* <seq=?> * *"),
        ([Entry("x", extra=(("ip", "1"),))], "- <seq=?,ip=1> x"),
        ([Entry("x", 1, label="a\x07")], '- <seq=1,label="a\\u0007"> x'),
        ([Entry("a"), Text("  code"), Heading("H"), Text("  code")], "- a\n\n\\  code\n\n# H\n\n  code"),
        ([Heading("H"), Text("\\  code")], "# H\n\n\\\\  code"),
        ([Text("# a\n- b\n```\n* * *")], "\\# a\n\\- b\n\\```\n* * *"),
        ([Text("a"), Text(" \n"), Text("b")], "a\n\nb"),
        ([Heading("a\nb", 9)], "###### a b"),
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
        ("* <SEQ=12–15> x", Entry("x", 12, 15, marker="*")),
        ("3. <seq=15-12> x", Entry("x", 12, 15, marker="3.")),
        ("- <seq=12+15> x", Entry("x", 12, 15, sources=(12, 15))),
        ("- <time=last spring> x", Entry("x", time=When("last spring"))),
        ("- <seq=1,time=empty,source=> x", Entry("x", 1)),
        ("- <seq=one> x", Entry("x", extra=(("seq_as_written", "one"),))),
        ("- <seq=1,seq=2> x", Entry("x", 1, extra=(("seq_as_written", "2"),))),
        ("- <seq=1,ip=10.0.0.1> x", Entry("x", 1, extra=(("ip", "10.0.0.1"),))),
        ("- <seq=1,source=Moss, the vet> x", Entry("x", 1, source="Moss, the vet")),
        ("- <seq=1,label=a=b> x", Entry("x", 1, label="a=b")),
        ("- <seq=1>x", Entry("x", 1)),
        ("- <seq=1", Entry("<seq=1")),
        ("- <https://a.example/?q=1> x", Entry("<https://a.example/?q=1> x")),
        ("- <> x", Entry("<> x")),
        ("+ [ ] call", Entry("[ ] call", marker="+")),
        ("-", Entry("")),
    ],
)
def test_an_entry_by_hand(line, entry):
    """Signatures that are incomplete, unknown or misspelt keep what they say, and links are text."""
    assert parse_body(line) == (entry,)


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("Just words.\nTwo lines.", [Text("Just words.\nTwo lines.")]),
        ("- a\nwrapped\n  indented\n\n  later", [Entry("a\nwrapped\nindented\n\nlater")]),
        ("- a\n\nAfter a gap.", [Entry("a"), Text("After a gap.")]),
        ("- a\n  - b\n    - c", [Entry("a\n- b\n  - c")]),
        ("- a\n  - <seq=2> b\n    more\n  - c", [Entry("a"), Entry("b\nmore", 2), Entry("c")]),
        ("- a\n> quoted", [Entry("a"), Text("> quoted")]),
        ("- a\n---\n- b", [Entry("a"), Text("---"), Entry("b")]),
        ("1984. It began.", [Text("1984. It began.")]),
        ("#tag\n####### seven", [Text("#tag\n####### seven")]),
        ("# A #\n##\tB", [Heading("A #", 1), Heading("B", 2)]),
        ("x\n# H\ny\n- a", [Text("x"), Heading("H"), Text("y"), Entry("a")]),
        ("```py\n# no heading\n- no entry\n\n```", [Text("```py\n# no heading\n- no entry\n\n```")]),
        ("```\n- <seq=1> kept", [Text("```"), Entry("kept", 1)]),
        ("```\n- <seq=1> kept\n```", [Text("```"), Entry("kept", 1), Text("```")]),
        ("\\# no heading\n\\- no entry", [Text("# no heading\n- no entry")]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", [Text("| a | b |\n|---|---|\n| 1 | 2 |")]),
    ],
)
def test_a_body_by_hand(text, blocks):
    """Free text stays where it stood, and what Markdown shows as part of a bullet is part of its entry."""
    assert parse_body(text) == tuple(blocks)


def test_front_matter_by_hand():
    """A colon, a comment, names nobody knows, words that YAML takes for other things: all is kept."""
    document = parse(
        "---\nsummary: cats: Ann's \n# mine\ntags: [a, yes]\nid: 2023-05-08\ntoken_count: many\n"
        "update_log: edited by me\naux: {at: 1:30, n: 2}\n---\n- a\n"
    )
    assert document.summary == "cats: Ann's"
    assert document.id == "2023-05-08"
    assert document.token_count == 0
    assert document.update_log == (Event("edited by me"),)
    assert document.aux == {"at": "1:30", "n": 2, "tags": ["a", "yes"], "comments": ["mine"]}
    assert document.entries == (Entry("a"),)


@pytest.mark.parametrize("text", ["---\n\nWords between rules.\n\n---\n", "---\nid: never closed\n", "---"])
def test_rules_are_no_front_matter(text):
    """Lines across the page around plain words are part of the body."""
    assert parse(text) == Document("", body=(Text(text),))


@pytest.mark.parametrize(
    ("front", "message"),
    [
        ("id: x\naux: {a: [1}", r"line 3: the value of 'aux' cannot be read: .*; put texts in quotes"),
        ("id: x\naux: &a [*a]", "line 3: the value of 'aux' cannot be read"),
        ("aux: " + "[" * 100_000, "line 2: the value of 'aux' cannot be read"),
        ("] odd\nid: x", "line 2: what stands before the first name cannot be read"),
    ],
    ids=["bracket", "alias", "depth", "start"],
)
def test_front_matter_of_which_no_sense_can_be_made(front, message):
    """The error names the line and what to do."""
    with pytest.raises(InvalidImport, match=message):
        parse(f"---\n{front}\n---\n- a\n")


@pytest.mark.parametrize(
    ("written", "start"),
    [
        ("2023", datetime(2023, 1, 1, tzinfo=UTC)),
        ("2023-05", datetime(2023, 5, 1, tzinfo=UTC)),
        ("2023-05-08", datetime(2023, 5, 8, tzinfo=UTC)),
        ("2023-05-08 13:56", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("2023-05-08T13:56:01+02:00", datetime(2023, 5, 8, 11, 56, 1, tzinfo=UTC)),
        ("2023-13-40", None),
        ("next week", None),
    ],
)
def test_a_time_is_as_precise_as_it_was_written(written, start):
    """It is printed as it was written, and can be compared where it is a time."""
    assert When(written).start == start
    assert parse_body(f"- <seq=1,time={written}> x")[0].time == When(written)


@given(st.datetimes(timezones=st.timezones()) | st.dates())
def test_a_moment_keeps_its_value(moment):
    """What is made of a date or an aware datetime means just that."""
    value = When.of(moment).value
    if isinstance(moment, datetime):
        assert isinstance(value, datetime)
        assert value - moment.astimezone(UTC) == timedelta()
        assert value.utcoffset() == moment.utcoffset()
    else:
        assert value == moment


def test_times_are_short():
    """No seconds where there are none, and Z for UTC."""
    zone = timezone(timedelta(hours=2))
    assert str(When.of(datetime(2023, 5, 8, 13, 56, tzinfo=UTC))) == "2023-05-08T13:56Z"
    assert str(When.of(datetime(2023, 5, 8, 13, 56, 7, tzinfo=zone))) == "2023-05-08T13:56:07+02:00"
    assert str(When.of(date(2023, 5, 8))) == "2023-05-08"


@often
@given(bodies, st.integers(1, 6))
def test_partitions_are_the_whole_body(body, level):
    """Cut at any level the sections follow each other without a gap, each at the lines that regions says."""
    document = Document("x", body=body)
    cut = document.partitions(level)
    assert tuple(block for section in cut for block in section.body) == document.body
    shown = render_body(document.body).split("\n")
    for region in regions(document, level):
        assert "\n".join(shown[region.start - 1 : region.end]) == render_body(region.section.body)


def test_a_section_knows_its_headings():
    """The path leads from the topmost heading down, and a new heading closes those of its level and below."""
    document = Document("x", body=parse_body("a\n# A\n## B\n### C\n## D\n# E"))
    assert [s.path for s in document.partitions()] == [
        (),
        ("A",),
        ("A", "B"),
        ("A", "B", "C"),
        ("A", "D"),
        ("E",),
    ]
    assert [s.path for s in document.partitions(1)] == [(), ("A",), ("E",)]


def test_a_heading_goes_with_its_last_entry():
    """Headings that held entries and hold nothing now go; those that were empty, or hold text, stay."""
    document = Document(
        "x", body=parse_body("# A\n## B\n- <seq=1> one\n# C\n# D\nmine\n- <seq=2> two\n# E\n- <seq=3> three")
    )
    kept = document.map_entries(lambda entry: (entry,) if entry.first == 3 else ())
    assert render_body(kept.body) == "# C\n\n# D\n\nmine\n\n# E\n\n- <seq=3> three"


@pytest.mark.parametrize(
    ("under", "expected"),
    [
        (["A"], "# A\n\n- a\n- new\n\n## B\n\n- b\n\n# C"),
        (["A", "B"], "# A\n\n- a\n\n## B\n\n- b\n- new\n\n# C"),
        (["A", "X"], "# A\n\n- a\n\n## B\n\n- b\n\n## X\n\n- new\n\n# C"),
        (["X", "B"], "# A\n\n- a\n\n## B\n\n- b\n\n# C\n\n# X\n\n## B\n\n- new"),
        ([], "# A\n\n- a\n\n## B\n\n- b\n\n# C\n\n- new"),
    ],
)
def test_entries_go_below_their_headings(under, expected):
    """At the end of the section's own entries; missing headings are added below those that are there."""
    document = Document("x", body=parse_body("# A\n- a\n## B\n- b\n# C"))
    headings = [Heading(title, level) for level, title in enumerate(under, 1)]
    assert render_body(document.with_entries([Entry("new")], headings).body) == expected


def test_merged_entries_keep_their_sources():
    """The newest holds, a person before the assistant at equal recency, and every source is named."""
    one = Entry("Ann has a cat.", 3, superseded_by=(9,), extra=(("ip", "1"),))
    two = Entry("Ann has a cat!", 15, source=AI, supersedes=(2,))
    three = Entry("A cat, Ann has.", 15, source="Ann")
    both = merged([two, three, one])
    assert (both.text, both.source, both.seq, both.sources) == (three.text, "Ann", "3-15", (3, 15))
    assert (both.supersedes, both.superseded_by, both.extra) == ((2,), (), (("ip", "1"),))
    assert merged([one, replace(one, first=4, last=4)]).superseded_by == (9,)


def test_a_part_is_told_where_a_message_has_several():
    """It orders what one message says wherever its entries stand; what is no place is kept as written."""
    assert render_body([Entry("x", 3, part=2), Entry("y", 3)]) == "- <seq=3,part=2> x\n- <seq=3> y"
    first, second, odd = parse_body("- <seq=3,part=1> x\n- <seq=3,part=2> y\n- <seq=3,part=last> z")
    assert first.recency < second.recency
    assert (odd.part, odd.extra) == (0, (("part_as_written", "last"),))


def test_a_long_range_is_not_every_message_in_it():
    """A range of a million seqs names its ends; a list of more than can be meant is kept as text."""
    assert Entry("x", 1, 1_000_000).sources == (1, 1_000_000)
    many = tuple(range(1, 3000))
    assert parse_body(render_body([Entry("x", 1, sources=many)]))[0].sources == many
    hostile = "+".join(f"{start}-{start + 1000}" for start in range(1, 10**6, 1001))
    assert parse_body(f"- <seq=1,msgs={hostile}> x")[0].extra == (("msgs_as_written", hostile),)


@pytest.mark.parametrize(
    "fields",
    [
        {"first": -1},
        {"last": 2},
        {"part": -1},
        {"extra": (("seq", "1"),)},
        {"extra": (("a b", "1"),)},
        {"marker": "x"},
    ],
)
def test_what_no_entry_can_be(fields):
    """Values that could not be read again are refused."""
    with pytest.raises(InvalidInput):
        Entry("x", **fields)


def _words(text: str) -> Counter[str]:
    return Counter(word.casefold() for word in re.findall(r"[^\W\d_]+", text))
