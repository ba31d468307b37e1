"""How much of a text is read, of every shape."""

from zibaldone import Message
from zibaldone.text.bounds import MESSAGE_CHARS_READ, QUESTION_CHARS_READ, as_read, question_as_read


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
