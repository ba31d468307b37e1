"""Preferences and decisions in German, Spanish, French and Portuguese."""

import pytest

from zibaldone import Memory
from zibaldone.views.profile.grammar import readings, supersedes

READ = [
    ("Ich mag keine Rosinen.", ("preference", "Rosinen")),
    ("Am liebsten trinke ich Pfefferminztee.", ("preference", "Pfefferminztee")),
    ("Wir haben uns für das blaue Sofa entschieden.", ("decision", "blaue Sofa")),
    ("Me encantan los trenes nocturnos.", ("preference", "trenes nocturnos")),
    ("Hemos decidido vender la furgoneta.", ("decision", "vender la furgoneta")),
    ("Je préfère les petits hôtels.", ("preference", "petits hôtels")),
    ("J'ai décidé de garder la voiture.", ("decision", "garder la voiture")),
    ("Prefiro as manhãs.", ("preference", "manhãs")),
    ("Acabei por escolher o sofá azul.", ("decision", "sofá azul")),
    ("Minha comida favorita é feijoada.", ("preference", "comida feijoada")),
]
NOTHING = [
    "Ich mag deine Antwort.",
    "Ich möchte lieber den kurzen Text.",
    "Wir haben uns noch nicht für ein Sofa entschieden.",
    "Me gustaría otra receta.",
    "A mi madre le encantan los trenes.",
    "El comité ha decidido cerrar la piscina.",
    "J'aimerais une autre recette.",
    "Ma mère adore les trains.",
    "Gosto dessa resposta.",
    "Ainda não decidimos a cor.",
]


@pytest.mark.parametrize(("statement", "wanted"), READ)
def test_what_one_likes_or_has_decided_is_read(statement, wanted):
    """With what it is about."""
    assert wanted in [(reading.kind, reading.topic) for reading in readings(statement)]


@pytest.mark.parametrize("statement", NOTHING)
def test_reactions_wishes_and_others_are_nothing(statement):
    """What was just said, what one would like now, what others like or decide."""
    assert readings(statement) == []


def test_what_is_taken_back_no_longer_holds():
    """The same thing, liked and then not."""
    (before,), (after,) = readings("Ich mag Rosinen."), readings("Ich mag keine Rosinen.")
    assert supersedes(after, before)


@pytest.mark.parametrize(
    ("question", "comes"),
    [
        ("Empfiehl mir ein Hotel in Rom.", True),
        ("Wie hieß das Hotel in Rom?", False),
        ("Empfiehl mir ein Buch.", False),
    ],
)
def test_advice_brings_the_preference_that_the_question_names(tmp_path, question, comes):
    """By a word of it, since the embedder knows no German."""
    with Memory(tmp_path) as memory:
        memory.add(["Ich mag kleine Hotels.", "Der Zug nach Bonn hatte Verspätung."], user="ann")
        recalled = memory.recall(question, user="ann", budget_tokens=500, floor=0)
    standing = {each.evidence.text for each in recalled.trace.decisions if each.evidence.standing}
    assert standing == ({"Ich mag kleine Hotels."} if comes else set())
