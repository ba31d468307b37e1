"""Titles of texts."""

import pytest

from zibaldone.text.titles import telling

GUITAR = ["Ann, my guitar lesson is today.", "Ann, the guitar lesson was great!", "Ann, a dog."]
MOBY = ["I read Moby-Dick.", "We like Moby-Dick.", "So long is Moby-Dick."]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (GUITAR, ["guitar lesson"]),
        (MOBY, ["Moby Dick"]),
        (["[a red boat]"], ["red", "boat"]),
        (["My guitar. [image: a red boat]"], ["guitar"]),
    ],
)
def test_the_words_of_most_texts_come_first(texts, expected):
    """A pair together, a name as it is written, none of who talks; a caption where nothing else is said."""
    assert telling(texts, 3, parties=frozenset({"ann"}))[: len(expected)] == expected


def test_words_that_mean_what_the_texts_mean_come_first():
    """Of those that the texts speak of."""
    texts = ["The guitar and the amplifier.", "A guitar with the amplifier.", "The mud."]
    assert telling(texts, 1) == ["guitar"]
    assert telling(texts, 1, likeness=lambda words: [float(word == "mud") for word in words]) == ["mud"]
