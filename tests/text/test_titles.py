"""Titles of texts."""

import time

from zibaldone.text.titles import telling


def test_a_text_of_many_words_takes_time_by_its_length():
    """Ten times the words, not a hundred times the time."""

    def seconds(count):
        text = " ".join(f"w{number:x}q" for number in range(count))
        start = time.process_time()
        telling([text], 8)
        return time.process_time() - start

    seconds(100)  # whatever is made once
    assert seconds(20_000) < 60 * max(seconds(2_000), 0.02)


def test_no_room_is_no_words():
    """A title whose opening has all the words there may be."""
    assert telling(["Rex the dog"], 0) == []


def test_the_words_of_most_texts_come_first():
    """A pair together, and no name of those who talk."""
    texts = ["Ann, my guitar lesson is today.", "The guitar lesson was great!", "A new dog."]
    assert telling(texts, 3, parties=frozenset({"ann"}))[0] == "guitar lesson"
