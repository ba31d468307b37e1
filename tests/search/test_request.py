"""How a question wants to be answered, and what it is about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone.search.request import Aim, Request, read_request
from zibaldone.text.remembered import forget_texts

AIMS = [
    ("Which bakery did I go to?", Aim.FACT),
    ("When is my dentist appointment?", Aim.FACT),
    ("How many books did I read?", Aim.LIST),
    ("What are all my allergies?", Aim.LIST),
    ("Did both of them come?", Aim.LIST),
    ("Can you give me a summary of my house move?", Aim.OVERVIEW),
    ("In which order did I bring up my book club?", Aim.OVERVIEW),
    ("How did my fitness evolve over the months?", Aim.OVERVIEW),
    ("How did the race go?", Aim.FACT),
    ("What do I owe Tom altogether?", Aim.LIST),
    ("What does Ann do to relax?", Aim.LIST),
    ("What do Rob's sons like?", Aim.LIST),
    ("What does Ann love most about Rome?", Aim.FACT),
    ("What does Ann do for a living?", Aim.FACT),
    ("What do I do about the leak?", Aim.FACT),
    ("What does the valve do?", Aim.FACT),
    ("What did Ann do yesterday?", Aim.FACT),
    ("What is my current salary?", Aim.UPDATE),
    ("Where do I live now?", Aim.UPDATE),
    ("Am I still vegan?", Aim.UPDATE),
    ("Can you recommend a book?", Aim.ADVICE),
    ("How should I plan my garden?", Aim.ADVICE),
    ("Which hotel did you recommend?", Aim.SAID),
    ("What was your advice on the boiler?", Aim.SAID),
    ("How many days passed between the vet visit and the surgery?", Aim.FACT),
    ("How many weeks did it take the bank to answer?", Aim.FACT),
    ("How many years has Nora lived in Porto?", Aim.FACT),
    ("How many more days do I have until the exam?", Aim.FACT),
    ("How many months ago did I start the diet?", Aim.FACT),
    ("After how many weeks did both of them write?", Aim.FACT),
    ("In how many days is my exam?", Aim.FACT),
    ("In how many of the cities did I live?", Aim.LIST),
    ("How many minutes did the climb last?", Aim.FACT),
    ("How many days did I skip training?", Aim.LIST),
    ("How many hours did I sleep last week?", Aim.LIST),
    ("How many day trips did we make?", Aim.LIST),
    ("How many hours passed on trains in total?", Aim.LIST),
    ("By what date do I finish all my modules?", Aim.FACT),
    ("When did both of them arrive?", Aim.FACT),
    ("What is on my shopping list?", Aim.FACT),
    ("Which film did I take off my list?", Aim.FACT),
    ("List doctors I saw.", Aim.LIST),
    ("Give me a list of my doctors.", Aim.LIST),
    ("Which books would you recommend for the trip?", Aim.ADVICE),
    ("What should I cook for both of them?", Aim.ADVICE),
    ("Which books did I say that I should read?", Aim.LIST),
    ("Kan ik melk drinken?", Aim.FACT),  # another language is read as a fact asked for
    ("", Aim.FACT),
]
SUBJECTS = [
    ("Can you list the order in which I brought up my book club?", "my book club?"),
    ("Can you give me a summary of my house move?", "my house move?"),
    ("Walk me through the various aspects of my thesis so far", "my thesis"),
    ("Please remind me of my sister's birthday", "my sister's birthday"),
    ("Can you please tell me where my keys are?", "where my keys are?"),
    ("Who adopted a greyhound?", "Who adopted a greyhound?"),
    ("Summarize how my garden changed over time", "how my garden"),
    ("What changed in my garden?", "What changed in my garden?"),
    ("Name just three things about my cat", "about my cat"),
    ("Summarize everything", ""),
    ("Please.", ""),
]


@pytest.mark.parametrize(("question", "aim"), AIMS)
def test_a_question_says_what_it_wants(question, aim):
    """By its grammar."""
    assert read_request(question).aim is aim


@pytest.mark.parametrize(("question", "subject"), SUBJECTS)
def test_what_only_says_how_to_answer_is_not_what_it_is_about(question, subject):
    """Words that speak of the conversation would find whatever does so too."""
    assert read_request(question).subject == subject


@given(st.text() | st.lists(st.sampled_from([question for question, _ in AIMS + SUBJECTS])).map(" ".join))
def test_any_text_is_a_request(text):
    """Whatever is asked has an aim, and a subject that is what was left of it."""
    request = read_request(text)
    assert isinstance(request.aim, Aim)
    letters = iter(text)
    assert all(letter in letters for letter in "".join(request.subject.split()))  # in the same order
    assert not request.subject or any(map(str.isalnum, request.subject))


@pytest.mark.parametrize(
    "phrase", ["how much ", "full and ", "summarize what ", "I want to ", " ", "did you "]
)
def test_a_text_of_pages_is_read_by_its_ends(phrase):
    """It is its own subject; looking for a form in all of it would take minutes."""
    text = "List all my kettles. " + phrase * 12_000
    assert read_request(text) == Request(read_request(text).aim, text)
    assert read_request("kettle " * 12_000 + "Which one did you recommend?").aim is Aim.SAID


def test_a_question_does_not_outlive_what_is_forgotten():
    """It may be a message that was just said."""
    read_request("A question with a secret in it?")
    assert read_request.cache_info().currsize
    forget_texts()
    assert not read_request.cache_info().currsize


@pytest.mark.parametrize(
    ("question", "aim"),
    [
        ("Was war im April los?", Aim.OVERVIEW),
        ("Welche Mengen hast du für die Feier vorgeschlagen?", Aim.SAID),
        ("Was soll ich für Birgit kochen?", Aim.ADVICE),
        ("Wie viele Garderoben will die Kita?", Aim.LIST),
        ("Wo wohne ich jetzt?", Aim.UPDATE),
        ("Wann kommt der Wagen?", Aim.FACT),
        ("¿Qué me recomendaste para la cena?", Aim.SAID),
        ("¿Qué pasó en diciembre?", Aim.OVERVIEW),
        ("Recomiéndame un restaurante", Aim.ADVICE),
        ("¿Dónde vivo ahora?", Aim.UPDATE),
        ("Quel restaurant m'as-tu conseillé ?", Aim.SAID),
        ("Où est-ce que j'habite maintenant ?", Aim.UPDATE),
        ("O que aconteceu em maio?", Aim.OVERVIEW),
        ("Quantos livros li?", Aim.LIST),
        ("¿Qué es Marte?", Aim.FACT),
        ("A que horas é o voo?", Aim.FACT),
        ("¿Cuándo es la reserva?", Aim.FACT),
        ("Wann ist der Kochkurs?", Aim.FACT),
        ("Wo ist meine Bestellung?", Aim.FACT),
    ],
)
def test_other_languages_say_how_they_want_to_be_answered(question, aim):
    """German, Spanish, French and Portuguese, by their own words."""
    assert read_request(question).aim is aim
