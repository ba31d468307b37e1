"""A question is made once, and every view gets all of it."""

from datetime import date

import numpy as np
import pytest

from zibaldone import Filter, Message, ModelFailed
from zibaldone.search.question import Aim
from zibaldone.views.base import Retrieved
from zibaldone.views.units_view import UnitsView


class Listener(UnitsView):
    """A view that notes the questions that it gets."""

    name = "listener"

    def __init__(self, database, tokenizer):
        super().__init__(tokenizer, "1")
        self.questions = []

    def prepare(self, messages, basis=None, progress=None):
        """Nothing to read."""

    def commit(self, connection, generation, seqs, prepared):
        """Nothing to write."""

    def retrieve(self, take_snapshot, question):
        """Note the question."""
        self.questions.append(question)
        return Retrieved((), 0, 1.0, lambda _: None)


class Encoder:
    """An embedder of whole texts, which notes them and may fail."""

    name, dimension = "encoder", 4

    def __init__(self):
        self.texts, self.is_down = [], False

    def embed(self, texts):
        """The same vector for all."""
        self.texts += texts
        if self.is_down:
            raise ModelFailed("it is down")
        return np.ones((len(texts), self.dimension), dtype=np.float32)


@pytest.fixture
def encoder():
    return Encoder()


@pytest.fixture
def heard(opened, encoder):
    """A memory, and the questions that reach a view which has read nothing."""
    memory = opened(embedder=encoder)
    memory.add(
        [
            Message("My orthodontist moved to Vienna.", name="Bea", time="2023-05-08T10:00:00Z"),
            Message("The fair was lovely.", name="Ann", time="2023-07-02T10:00:00Z"),
        ],
        user="ann",
    )
    listener = memory.admin.attach(Listener)

    def heard(text, **options):
        memory.recall(text, user="ann", views=["listener"], **options)
        return listener.questions[-1]

    return heard


def test_a_view_gets_people_spelling_days_and_aim_of_the_user_s_messages(heard):
    """Whatever it has read itself."""
    question = heard("What did Bea tell about her orthodntist in May?")
    assert question.speakers == ("Bea",)
    assert "orthodontist" in [form for form, _ in question.terms]
    assert question.days[0][0] == date(2023, 5, 1).toordinal()
    assert question.aim is Aim.FACT
    assert heard("Which fair did you recommend?").aim is Aim.SAID


def test_a_view_gets_what_the_question_may_recall(heard):
    """Limits of the recall, and the end of what is known."""
    question = heard("fair", filter=Filter(until="2023-06-01"))
    assert question.within == {1}
    assert question.before.isoformat().startswith("2023-06-01")


def test_the_embedder_is_asked_once_for_all_views(opened, encoder):
    """Neither a second view nor the notes that mark what is outdated ask again."""
    memory = opened(embedder=encoder)
    memory.add(["I play the bassoon.", "Always answer in verse."], user="ann")
    memory.maintain(user="ann", views=["messages", "notes", "topics", "hierarchy"])
    encoder.texts.clear()
    memory.recall("Who plays the bassoon?", user="ann", views=["messages", "notes", "topics", "hierarchy"])
    assert encoder.texts.count("Who plays the bassoon?") == 1
