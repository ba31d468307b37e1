"""Sentences and passages: where a text may be cut."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zibaldone import StaticEmbedder
from zibaldone.text.sentences import passages, sentences, torn

count = StaticEmbedder().count


def by_words(texts):
    """A tokenizer of one token a word, and one a line break."""
    return [len(text.split()) + text.count("\n") for text in texts]


def by_characters(texts):
    """A tokenizer of one token a character."""
    return [len(text) for text in texts]


def check_spans(text, spans):
    """In order, disjoint, not empty, stripped, and nothing visible is left out."""
    end = 0
    for start, stop in spans:
        assert end <= start < stop <= len(text)
        assert not text[end:start].strip()
        assert text[start:stop] == text[start:stop].strip()
        end = stop
    assert not text[end:].strip()


PROSE = st.lists(
    st.sampled_from(
        ["The cat", " sleeps", ".", "! ", "?", "\n", "\n\n", "  ", "。", "」", '"', "猫", "۔", "…", "\t", "é"]
    )
).map("".join)


@given(st.one_of(st.text(), PROSE))
def test_sentences_cover_all_that_is_visible(text):
    """Sentences stand in order, do not overlap and leave out white space only."""
    check_spans(text, sentences(text))


TABLE = (Path(__file__).parents[1] / "data" / "sentences.tsv").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("row", [row for row in TABLE if not row.startswith("#")])
def test_where_sentences_end(row):
    """As the table says."""
    text, expected = (cell.replace(r"\n", "\n").replace(r"\t", "\t") for cell in row.split("\t"))
    assert [text[start:end] for start, end in sentences(text)] == [
        one for one in expected.split(" || ") if one
    ]


@pytest.mark.parametrize("tokens", [by_words, by_characters, count], ids=["words", "characters", "llama"])
@given(text=st.one_of(st.text(), PROSE), limit=st.integers(1, 40))
@settings(deadline=None)
def test_passages_cover_all_that_is_visible_and_keep_the_limit(tokens, text, limit):
    """No passage is above the limit, unless it is a single character."""
    spans = passages(text, limit, tokens)
    check_spans(text, spans)
    for start, end in spans:
        assert end - start == 1 or tokens([text[start:end]])[0] <= limit


@given(st.lists(st.integers(1, 30), min_size=1, max_size=30), st.integers(30, 60))
def test_passages_end_with_sentences_where_sentences_fit(lengths, limit):
    """When every sentence is within the limit, none is cut."""
    text = " ".join(" ".join(["word"] * length) + "." for length in lengths)
    ends = {end for _, end in sentences(text)}
    assert all(end in ends for _, end in passages(text, limit, by_words))


@given(st.integers(1, 20), st.integers(1, 300))
def test_a_long_sentence_is_cut_between_words(limit, length):
    """Words stay whole while each is within the limit."""
    text = " ".join(f"w{i}" for i in range(length))
    pieces = [text[start:end] for start, end in passages(text, limit, by_words)]
    assert " ".join(pieces).split() == text.split()


def test_the_space_between_sentences_counts():
    """Empty lines and runs of spaces are tokens too, and two short sentences far apart are two passages."""
    far = "One." + " " * 5000 + "Two."
    assert passages(far, 64, count) == [(0, 4), (5004, 5008)]
    lines = "line\n\n\n\n\n\n" * 60
    assert max(count([lines[start:end] for start, end in passages(lines, 64, count)])) <= 64


@pytest.mark.parametrize(
    "text",
    [
        "a" + " " * 60_000 + "b",
        "\n" * 200_000,
        '." ' * 20_000,
        "[ " * 20_000,
        "1234 " * 20_000 + "then. " * 7_000,
    ],
)
def test_no_text_takes_more_than_linear_time(text):
    """Runs of space, line breaks and marks are passed in one go."""
    began = time.process_time()
    check_spans(text, sentences(text))
    assert time.process_time() - began < 5


def test_where_a_text_was_torn():
    """Inside a sentence, or between two of them."""
    text = "Ask Dr. Lee first. Then go home."
    assert torn(text, 0, 7) == (False, True)
    assert torn(text, 8, 18) == (True, False)
    assert torn(text, 0, 18) == torn(text, 19, len(text)) == (False, False)


def words_in(texts):
    return [len(text.split()) for text in texts]


def pieces_of(text, limit):
    return [text[start:end] for start, end in passages(text, limit, words_in)]


IDEAS = """Some ideas:

1. Visit the old harbour. It is quiet in the morning.
2. Eat at the market hall. Bring cash.
3. Take the night ferry. Book a cabin.
"""


def test_a_list_is_cut_between_its_items():
    """No item is torn, though every one of them has a sentence border inside."""
    pieces = pieces_of(IDEAS, 14)
    assert pieces[1:] == ["2. Eat at the market hall. Bring cash.", "3. Take the night ferry. Book a cabin."]


def test_a_line_that_leads_on_stays_with_what_it_leads_to():
    """Such as "Some ideas:", which says nothing alone."""
    assert pieces_of(IDEAS, 14)[0].startswith("Some ideas:\n\n1. Visit")


def test_code_is_cut_at_its_fences():
    """A block of code that fits is whole, blank lines and all."""
    code = "```python\nx = 1\n\ny = 2\n```"
    assert code in pieces_of(
        f"Before it there are words. And more of them.\n\n{code}\n\nAfter it too, some more.", 8
    )
