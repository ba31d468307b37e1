"""Views of one's own: driven by the memory, and given so much of a text; the log and the index have all."""

import pytest

from zibaldone import InvalidInput, UnknownName
from zibaldone.text.bounds import MESSAGE_CHARS_READ, QUESTION_CHARS_READ
from zibaldone.views.base import Retrieved
from zibaldone.views.units_view import UnitsView

LENGTH = 100_000


class Reader(UnitsView):
    """A view that notes what it is given to read."""

    name = "reader"

    def __init__(self, database, tokenizer):
        super().__init__(tokenizer, "1")
        self.read, self.asked = [], []

    def prepare(self, messages, basis=None, progress=None):
        """Note the messages."""
        self.read += [message.content for message in messages]

    def commit(self, connection, generation, seqs, prepared):
        """Nothing to write."""

    def retrieve(self, take_snapshot, query):
        """Note the question."""
        self.asked.append(query.text)
        return Retrieved((), 0, 1.0, lambda _: None)


@pytest.fixture
def reader(memory):
    """One that the memory drives."""
    return memory.admin.attach(Reader)


def test_a_view_is_attached_once_and_asked_by_its_name(memory, reader):
    """Detached it is unknown."""
    with pytest.raises(InvalidInput, match="attached already"):
        memory.admin.attach(Reader)
    memory.recall("Tulip", user="ann", views=["reader"])
    assert reader.asked == ["Tulip"]
    memory.admin.detach(reader)
    with pytest.raises(UnknownName):
        memory.recall("Tulip", user="ann", views=["reader"])


@pytest.mark.parametrize("piece", ["a", "«a ", "👩\u200d", "```\nx = {1: 2};\n"])
def test_readers_get_so_much_of_a_hostile_text(memory, reader, piece):
    """The length of the message or the question bounds the work."""
    text = (piece * LENGTH)[:LENGTH]
    memory.add(text, user="ann")
    memory.maintain(user="ann", views=["reader"])
    memory.recall(text, user="ann", views=["reader"])
    (read,), (asked,) = reader.read, reader.asked
    assert text.startswith(read)
    assert 0 < len(read) <= MESSAGE_CHARS_READ
    assert 0 < len(asked) <= QUESTION_CHARS_READ


def test_the_log_and_the_index_have_all_of_a_long_message(memory):
    """Its last words are kept, and found."""
    content = "Nothing of note happened today. " * 3000 + "The heron is called Ottokar."
    (stored,) = memory.add(content, user="ann")
    assert memory.get(stored.seq, user="ann").content == content
    assert "Ottokar" in memory.recall("What is the heron called?", user="ann", budget_tokens=200).text


def test_a_maintenance_reports_messages_that_were_cut(memory, reader):
    """Those that are longer, and no others; once, and not by the messages view, which reads all."""
    memory.add(["short", "long " * MESSAGE_CHARS_READ, "x" * MESSAGE_CHARS_READ], user="ann")
    assert memory.maintain(user="ann", views=["messages"]).cut_short == 0
    assert memory.maintain(user="ann", views=["reader"]).cut_short == 1
    assert memory.maintain(user="ann", views=["reader"]).cut_short == 0


def test_a_recall_says_that_not_all_of_a_question_was_read(memory):
    """In its trace; the question itself stays as it was asked."""
    memory.add("The heron is called Ottokar.", user="ann")
    question = "pasted words " * 2000 + "What is the heron called?"
    recalled = memory.recall(question, user="ann")
    assert recalled.query == question
    assert f"question's {len(question)} characters" in recalled.trace.note
    assert "Ottokar" in recalled.text
    assert memory.recall("What is the heron called?", user="ann").trace.note == ""
