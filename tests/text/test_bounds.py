"""How much of a text is read, of every shape."""

import time

import pytest

from zibaldone import Message
from zibaldone.text.bounds import MESSAGE_CHARS_READ, QUESTION_CHARS_READ, as_read, question_as_read
from zibaldone.text.faithfulness import SourceTexts
from zibaldone.text.names import names
from zibaldone.text.titles import telling


def test_a_longer_message_is_read_from_its_beginning_to_the_end_of_a_word():
    """So that places in it are places in the log's, and no half of a word is taken for one."""
    message = Message("word " * MESSAGE_CHARS_READ)
    read = as_read(message).content
    assert message.content.startswith(read)
    assert MESSAGE_CHARS_READ - 10 < len(read) <= MESSAGE_CHARS_READ
    assert read.endswith("word")
    whole = Message("x" * MESSAGE_CHARS_READ)
    assert as_read(whole) is whole


def test_a_question_is_read_at_both_ends():
    """People ask before or after what they paste."""
    read = question_as_read("Where does Ann live? " + "pasted " * 20_000 + "And what is her dog called?")
    assert read.startswith("Where does Ann live? ")
    assert read.endswith(" And what is her dog called?")
    assert set(read.split()) <= {*"Where does Ann live? pasted And what is her dog called?".split()}
    assert len(read) <= QUESTION_CHARS_READ


@pytest.mark.parametrize(
    "read",
    [
        lambda times: telling([" ".join(f"w{number:x}q" for number in range(times))], 8),
        lambda times: names("Lee met Roe " * times),
        lambda times: SourceTexts(["I never said no, and Name did not. No. " * times], "").refusal(
            "Ann lives, not."
        ),
    ],
    ids=["titles", "names", "faithfulness"],
)
def test_ten_times_the_text_takes_nowhere_near_a_hundred_times_as_long(read):
    """Whatever it is made of."""

    def seconds(times):
        taken = []
        for _ in range(3):  # the least of them says what the text takes, and not what else goes on
            began = time.process_time()
            read(times)
            taken.append(time.process_time() - began)
        return min(taken)

    seconds(10)  # whatever is made once
    assert seconds(1_000) < 60 * max(seconds(100), 0.01)
