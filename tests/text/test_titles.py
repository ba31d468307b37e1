"""Titles of texts."""

import pytest

from zibaldone.text.titles import telling

GUITAR = ["Ann, my guitar lesson is today.", "Ann, the guitar lesson was great!", "Ann, a dog."]
MOBY = ["I read Moby-Dick.", "We like Moby-Dick.", "So long is Moby-Dick."]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (GUITAR, ["guitar", "lesson"]),
        (MOBY, ["Moby", "Dick"]),
        (["[a red boat]"], ["red", "boat"]),
        (["My guitar. [image: a red boat]"], ["guitar"]),
    ],
)
def test_the_words_of_most_texts_come_first(texts, expected):
    """As they are written, none of who talks; a caption where nothing else is said."""
    assert telling(texts, 3, parties=frozenset({"ann"}))[: len(expected)] == expected
