"""Forgetting messages: no word of theirs stays, and what they had changed is as it was."""

from __future__ import annotations

import random

import pytest
from topic_talk import documents, said, tools

from zibaldone import Document, Entry
from zibaldone.views.topics.forgetting import forget
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.markdown.document import Heading, render

SAYINGS = (
    "I bought a {0} from {1} in May.",
    "My {0} is called {1} now.",
    "{1} and the {0} club meet on Monday.",
    "I take my {0} to {1} because {1} is the best {0} place. {1} loves {0}.",
    "The {0} teacher is {1}.",
)


def all_text(library: Library) -> str:
    """Everything that the library holds in words."""
    return "\n".join(render(one) for one in library.everything())


ZEBRA, PONY = Entry("I feed the zebra Quagga.", first=1), Entry("I brush the pony Rex.", first=2)
CHOIR, GIRAFFE = Entry("The choir meets on Monday.", first=3), Entry("长颈鹿吃树叶", first=1)


@pytest.mark.parametrize(
    ("body", "kept", "gone"),
    [
        ([Heading("Ponies"), Heading("Quagga, pony", 2), ZEBRA, PONY], {"Ponies"}, ["Quagga"]),
        (
            [
                *(Heading("Equine hobbies"), Heading("Striped animals", 2), ZEBRA, PONY),
                *(Heading("Music", 2), CHOIR),
            ],
            {"Music"},
            ["Equine", "equine", "Striped", "striped"],
        ),
        ([Heading("颈鹿, pony"), GIRAFFE, PONY], set(), ["颈"]),
    ],
    ids=["its words", "a model's own words for it", "pieces without spaces"],
)
def test_headings_do_not_speak_of_what_is_forgotten(body, kept, gone) -> None:
    """Those above it are made anew, of what is left; those that what is left bears out stay as they are."""
    library = Library({"topic-0001": Document("topic-0001", body=tuple(body))}, next_id=2)
    left = forget(library, [1], tools())
    (document,) = left.documents.values()
    assert kept <= {heading.title for heading in document.headings}
    assert not any(word in all_text(left) for word in gone)
    assert set(document.entries) == {one for one in body if isinstance(one, Entry)} - {ZEBRA, GIRAFFE}


def test_headings_of_other_documents_do_not_either() -> None:
    """A split leaves a heading over entries that it was not made of."""
    body = (Heading("Animals"), Heading("Quagga, pony", 2))
    stored = {
        "topic-0001": Document("topic-0001", body=(*body, ZEBRA)),
        "topic-0002": Document("topic-0002", "Quagga; a pony", body=(*body, PONY)),
    }
    step = forget(Library(stored, next_id=3), [1], tools())
    assert "Quagga" not in all_text(step)
    assert step.documents["topic-0002"].entries == (PONY,)


def words_of(memory) -> str:
    """All that Ann's documents say."""
    topics = memory.user("ann").topics
    return "\n".join(topics.text(one.id) for one in documents(memory))


@pytest.mark.parametrize("seed", range(2))
def test_no_word_of_many_forgotten_messages_stays(filed, seed: int) -> None:
    """Each message has a word of its own; documents were split and merged."""
    rng = random.Random(seed)
    named = ["".join(rng.choice("bdfgklmnpr") + rng.choice("aeiou") for _ in range(5)) for _ in range(60)]
    facts = [
        rng.choice(SAYINGS).format(rng.choice(("bassoon", "garden", "bakery", "kitchen")), word.capitalize())
        for word in named
    ]
    memory = filed(said(*facts))
    gone = rng.sample(range(1, 61), 30)
    for seqs in (gone[:1], gone[1:2], gone[2:10], gone[10:]):
        memory.forget(user="ann", seqs=seqs)
    held = words_of(memory).lower()
    assert [named[seq - 1] for seq in gone if named[seq - 1] in held] == []
    assert memory.admin.check().ok


def test_what_a_forgotten_entry_had_superseded_is_current_again() -> None:
    """And what a forgotten one was superseded by does not speak of it any more."""
    old, new = Entry("The capital is Lund.", 4, superseded_by=(6,)), Entry("It is Trond.", 6, supersedes=(4,))
    library = Library({"topic-0001": Document("topic-0001", body=(old, new))})
    assert [one.current for one in forget(library, [6], tools()).entries()] == [True]
    assert [one.supersedes for one in forget(library, [4], tools()).entries()] == [()]
