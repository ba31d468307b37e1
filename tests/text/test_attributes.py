"""What a question asks about a person, and which sentences may tell it."""

import pytest

from zibaldone.text.attributes import asked_attribute

ASKED = {
    "what's my name": "name",
    "Who am I?": "name",
    "Do you remember my name?": "name",
    "How old am I?": "age",
    "where do I live": "home",
    "Which town do I live in?": "home",
    "Where are we living now?": "home",
    "what do I do for work?": "work",
    "Who do I work for?": "work",
    "Do I have kids?": "children",
    "am i married?": "partner",
    "when's my birthday": "birthday",
    "what do i weigh now": "weight",
    "How tall am I?": "height",
    "Which languages do I speak?": "languages",
    "what car do i drive?": "car",
    "what am I allergic to?": "health",
    "What can't I eat?": "diet",
    "What are my hobbies?": "hobbies",
    "what am I studying?": "studies",
    "how much do I earn?": "pay",
    "What was my budget?": "budget",
    "do we have a pet?": "pets",
    "Wie alt bin ich?": "age",
    "¿Dónde vivo?": "home",
    "Où est-ce que j'habite ?": "home",
    "Qual é o meu nome?": "name",
    "Che lavoro faccio?": "work",
    "Hoe heet ik?": "name",
}
NOT_ASKED = [
    "What did I do yesterday?",
    "What do I do about the mould?",
    "Where did I move the keys?",
    "What is the name of the hotel?",
    "How old is the car?",
    "Where does my dad live?",
    "Which part do I need to order?",
    "What did I make for dinner?",
    "what's my blood type",
    "What is my passport number?",
    "Who is Marta?",
    "What do I eat for breakfast?",
]
TOLD = {
    "Hi, I'm Marta and I need a hand with my English": ["name"],
    "hello, rob here. quick question": ["name"],
    "Guten Tag, ich bin Frieda, 71, und lerne das Handy": ["name", "age"],
    "im 14 and i wanna play like slash": ["age"],
    "turning 40 on friday, help": ["age"],
    "i moved to Ghent last week, third floor no lift": ["home"],
    "just relocated near the harbour": ["home"],
    "on my feet all day at the salon": ["work"],
    "I teach year 4 and the kids ran riot": ["work"],
    "us two and the twins, so four seats": ["children"],
    "my hubby snores": ["partner"],
    "91.2 this morning": ["weight"],
    "I'm 1.82, do I need a bigger frame?": ["height"],
    "bad left knee, so no running": ["health"],
    "need a bike, under 200 euro": ["budget"],
    "Je m'appelle Luc et je travaille à la mairie": ["name", "work"],
    "vivimos en Cádiz con dos gatos": ["home"],
}
ALL = {asked.attribute.name: asked.attribute for text in ASKED if (asked := asked_attribute(text))}


@pytest.mark.parametrize(("question", "name"), ASKED.items())
def test_a_question_about_oneself_asks_for_an_attribute(question: str, name: str) -> None:
    asked = asked_attribute(question)
    assert asked is not None
    assert asked.attribute.name == name


@pytest.mark.parametrize("question", NOT_ASKED)
def test_other_questions_ask_for_none(question: str) -> None:
    assert asked_attribute(question) is None


@pytest.mark.parametrize(("statement", "names"), TOLD.items())
def test_an_attribute_is_told_in_other_words(statement: str, names: list[str]) -> None:
    for name in names:
        assert ALL[name].is_told(statement), name


@pytest.mark.parametrize(
    "statement",
    [
        "fix this: git push rejected non-fast-forward",
        "Could you summarise the second chapter?",
        "The meeting is at 14:30, room 12.",
        "thanks, that's lovely",
    ],
)
def test_what_tells_nothing_of_a_person_tells_no_attribute(statement: str) -> None:
    assert [name for name, attribute in ALL.items() if attribute.is_told(statement)] == []


def test_a_question_about_somebody_else_is_read_as_theirs() -> None:
    for question in ("Where does Felix live?", "how old is felix", "What's Felix's job?"):
        assert asked_attribute(question) is None
        assert asked_attribute(question, "Felix Moser") is not None


def test_a_page_of_text_asks_for_none() -> None:
    assert asked_attribute("where do I live? " * 30) is None
