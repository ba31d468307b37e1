"""Titles of texts."""

import time

from zibaldone.text.titles import telling


def test_a_text_of_many_words_takes_time_by_its_length():
    """Ten times the words, not a hundred times the time."""

    def seconds(count):
        text = " ".join(f"w{number:x}q" for number in range(count))
        taken = []
        for _ in range(3):  # the least of them says what the text takes, and not what else goes on
            start = time.process_time()
            telling([text], 8)
            taken.append(time.process_time() - start)
        return min(taken)

    seconds(100)  # whatever is made once
    assert seconds(4_000) < 60 * max(seconds(400), 0.01)


def test_no_room_is_no_words():
    """A title whose opening has all the words there may be."""
    assert telling(["Rex the dog"], 0) == []


def test_the_words_of_most_texts_come_first():
    """A pair together, and no name of those who talk."""
    texts = ["Ann, my guitar lesson is today.", "The guitar lesson was great!", "A new dog."]
    assert telling(texts, 3, parties=frozenset({"ann"}))[0] == "guitar lesson"


def test_a_caption_counts_where_nothing_else_is_said():
    """Beside words it is not what was spoken of."""
    assert telling(["[a red boat]"], 2) == ["red", "boat"]
    assert telling(["My guitar. [image: a red boat]"], 2) == ["guitar"]


def test_a_name_of_two_parts_is_not_told_twice():
    """Each word is shown as it is written in the name."""
    texts = ["I read Moby-Dick.", "We like Moby-Dick.", "So long is Moby-Dick."]
    assert telling(texts, 3)[0] == "Moby Dick"


def test_words_that_mean_what_the_texts_mean_come_first():
    """Of those that the texts speak of."""
    texts = ["The guitar and the amplifier.", "A guitar with the amplifier.", "The mud."]
    assert telling(texts, 1) == ["guitar"]
    assert telling(texts, 1, likeness=lambda words: [float(word == "mud") for word in words]) == ["mud"]
