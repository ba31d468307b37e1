"""What a model says is held against the very sources that it names."""

from __future__ import annotations

import time

import pytest

from zibaldone.text.faithfulness import SourceTexts, names_and_numbers, nearest, with_sources

SAID = (
    "I live in Oslo with two cats, Moss and Fern. I don't eat fish, but I love soup.",
    "I stopped smoking in March. My garden cost 300 dollars. I never went to Rome.",
)


def refusal(statement, sources, context=""):
    """Why these sources do not bear it out."""
    return SourceTexts(sources, context).refusal(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "Ann lives in Oslo.",
        "Ann lives in Oslo with 2 cats.",
        "Ann does not eat fish.",
        "Ann doesn't eat fish but loves soup.",
        "Ann lives in Oslo and never eats fish.",
        "The user said that she loves soup.",
        "Ann never went to Rome.",
        "Ann stopped smoking in March.",
        "Ann no longer smokes.",
        "Fish Ann does not eat.",
        "Ann lived in Oslo on 8 May 2023.",
        "Ann loved soup (2023-05-08).",
        "Ann lives with a cat named Fern.",
    ],
)
def test_what_the_sources_say_is_borne_out(statement: str) -> None:
    """In any order and inflection, by name instead of "I", with the day it was said."""
    assert refusal(statement, SAID, "Ann 2023-05-08") == ""


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("Ann does not live in Oslo.", "opposite"),
        ("Ann doesn't live in Oslo with two cats.", "opposite"),
        ("Ann never loves soup.", "opposite"),
        ("Ann eats fish.", "opposite"),
        ("Ann does not eat soup.", "opposite"),
        ("Ann smokes.", "opposite"),
        ("Ann went to Rome.", "opposite"),
        ("Ann lives in Oslo, not.", "opposite"),
        ("Nobody lives in Oslo.", "opposite"),
        ("Ann stopped living in Oslo.", "opposite"),
        ("Ann hardly loves soup.", "opposite"),
    ],
)
def test_a_negation_that_is_put_in_or_left_out_is_refused(statement: str, fault: str) -> None:
    """Wherever it stands, and whichever word denies."""
    assert fault in refusal(statement, SAID, "Ann")


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("Ann lives in Oslo and owns a yacht.", "yacht"),
        ("Ann lives in Oslo, Norway.", "norway"),
        ("Ann has 3 cats.", "3"),
        ("Ann's garden cost 301 dollars.", "301"),
        ("Ann happily lives in Oslo.", "happily"),
    ],
)
def test_an_invented_word_is_refused(statement: str, word: str) -> None:
    """A single one, in whatever company."""
    assert f"'{word}'" in refusal(statement, SAID, "Ann")


@pytest.mark.parametrize(
    ("statement", "sources"),
    [
        ("Ann lives in Oslo.", ()),
        ("Ann.", SAID),
        ("It is so.", SAID),
        ("", SAID),
        ("Ann lives.", ("I eat.",)),
    ],
)
def test_a_statement_needs_something_to_bear_it_out(statement: str, sources: tuple[str, ...]) -> None:
    """Who speaks is no source by itself."""
    assert refusal(statement, sources, "Ann")


def test_a_statement_is_held_against_its_own_sources_only() -> None:
    """What another message says is no help."""
    assert refusal("Ann loves soup.", SAID[1:], "Ann")


def test_the_answer_no_denies_the_question_before_it() -> None:
    """And yes does not."""
    assert refusal("Ann does not like tea.", ["Do you like tea? No."], "Ann") == ""
    assert refusal("Ann does not like tea.", ["Do you like tea? Yes."], "Ann")


def test_other_scripts_are_held_too() -> None:
    """Where no space stands between words, pairs of characters count."""
    assert refusal("我喜欢茶", ["我喜欢茶。"]) == ""
    assert refusal("我不喜欢茶", ["我喜欢茶。"])
    assert refusal("Ich esse keinen Fisch.", ["Ich esse Fisch."])


def test_keywords_deny_nothing() -> None:
    """Of a title or keyword only its words are asked."""
    given = SourceTexts(SAID)
    assert given.invented("fish, Rome, cats") == []
    assert given.invented("fish, yachts, Norway") == ["yachts", "norway"]


@pytest.mark.parametrize(
    ("statement", "sources"),
    [
        ("Ann has not tried surfing.", ["Have you tried surfing?", "No, I have not."]),
        ("Keeping bees is not hard for Ann.", ["Is keeping bees hard?!", "Not really."]),
        ("Ann is going to see the boat.", ["I can't wait to see the boat! I'm going."]),
        ("Ann won the cup.", ["I still can't believe I won the cup."]),
        ("Ann's advice is to ask and to share.", ["Don't be afraid to ask and to share. My advice!"]),
        ("Ann is behind Bea.", ["Don't hesitate, Bea--I'm behind you."]),
        ("Ann should paint the fence.", ["I really should paint the fence shouldn't I."]),
        ("Ann met a cousin on a hike.", ["I had a not-so-great time on a hike: I met a cousin."]),
        ("Ann's team faced a storm and won't quit.", ["My team faced a storm and we won't quit."]),
        ("Ann has a warm heart.", ["No doubt Ann has a warm heart."]),
        ("Ann never gives up, and rehearsals are long.", ["I never give up.", "Rehearsals are long."]),
    ],
)
def test_what_denies_nothing_of_the_rest(statement: str, sources: list[str]) -> None:
    """A question, which says neither; idioms, tags, and a "not" that another takes back."""
    assert refusal(statement, sources, "Ann") == ""


@pytest.mark.parametrize(
    ("statement", "sources"),
    [
        ("Ann has not tried surfing.", ["Have you tried surfing?", "Yes, I have."]),
        ("Ann won't see the boat.", ["I can't wait to see the boat!"]),
        ("Ann shares her notes.", ["I'm afraid I don't share my notes."]),
        ("Ann paints the fence.", ["I won't paint the fence."]),
        ("Ann quit her job.", ["I won't quit my job."]),
        ("Ann never gives up, and rehearsals are never long.", ["I never give up.", "Rehearsals are long."]),
        ("Rehearsals are long.", ["I do not find that scripts, castings, and rehearsals are long."]),
        ("Ann eats eggs.", ["I don't eat fish, and eggs."]),
    ],
)
def test_what_denies_still_does(statement: str, sources: list[str]) -> None:
    """Beside idioms that do not."""
    assert "opposite" in refusal(statement, sources, "Ann")


@pytest.mark.parametrize(
    ("text", "found"),
    [("She met Ann Lee in 2023.", {"ann", "lee", "2023"}), ("Nothing here.", set()), ("007 cats", {"7"})],
)
def test_names_and_numbers_are_what_may_not_change(text: str, found: set[str]) -> None:
    """The first word of a sentence is capitalised whatever it means."""
    assert names_and_numbers(text) == found


def test_long_texts_take_time_in_proportion() -> None:
    """Ten times the text takes nowhere near a hundred times as long."""

    def seconds(times: int) -> float:
        began = time.process_time()
        refusal("Ann lives in Oslo, not.", ["I never said no, and Name did not. No. " * times])
        return time.process_time() - began

    seconds(10)
    assert seconds(1_000) < 60 * max(seconds(100), 0.01)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("Ann took a friend to the pool.", "I'm taking a friend to the pool."),
        ("Ann thinks that trains are late.", "Trains are late."),
        ("Pottery helps Ann to relax.", "Pottery is not just a hobby - it helps me relax."),
        ("Schools should be funded.", "I don't want that, so I think schools should be funded."),
    ],
)
def test_another_form_of_a_word_is_the_word(statement: str, said: str) -> None:
    """Of an irregular verb; and who thinks so may be said."""
    assert refusal(statement, [said], "Ann") == ""


TALK = ("How are your turtles?", "They cost 90 euros.", "Nice!", "I have had them for 3 years.")


@pytest.mark.parametrize(
    ("statement", "sources", "fault"),
    [
        ("Ann has had them for 3 years.", [3], ""),
        ("Ann has had the turtles for 3 years.", [0, 3], ""),
        ("Ann has had the yachts for 3 years.", [3], "yachts"),
        ("Ann has had the 90 turtles.", [3], "90"),
    ],
)
def test_a_word_said_nearby_makes_that_a_source(statement: str, sources: list[int], fault: str) -> None:
    """So that the statement goes with it; a number is taken from nowhere else, and nothing is invented."""
    found, why = with_sources(
        statement, [3], nearest([3], range(4)), lambda some: SourceTexts([TALK[n] for n in some], "Ann")
    )
    assert found == sources
    assert fault in why if fault else not why


def test_what_is_said_nearby_turns_nothing_round() -> None:
    """The question says plainly what the answer that is named denies."""
    talk = ("Are you allergic to penicillin?", "No, not allergic.")
    found, why = with_sources(
        "Ann is allergic to penicillin.", [1], [0], lambda some: SourceTexts([talk[n] for n in some], "Ann")
    )
    assert (found, bool(why)) == ([1], True)


def test_what_is_said_far_away_is_no_source() -> None:
    """Nor what is named already."""
    assert nearest([10], range(30)) == [9, 11, 8, 12, 7, 13, 6, 14, 5, 15, 4, 16, 3, 17, 2, 18]


@pytest.mark.parametrize(
    ("statement", "sources"),
    [
        ("Ann bought a kayak.", ["Haven't slept well this week, just wanted to tell you I bought a kayak."]),
        ("The stairs make Ann sad.", ["I can't run any more, which makes the stairs hard and me sad."]),
        ("Otto regretted it.", ["I couldn't come to the wedding, which Otto regretted."]),
        (
            "Ann did not join the choir and took a dance class.",
            ["I took a dance class.", "I didn't join the choir."],
        ),
        ("Ann does not ski and bought a sledge.", ["I don't ski.", "I bought a sledge."]),
    ],
)
def test_a_denial_ends_where_another_clause_begins(statement: str, sources: list[str]) -> None:
    """What is told, what a "which" adds, and a past tense after "did not" are no part of it."""
    assert refusal(statement, sources, "Ann") == ""


@pytest.mark.parametrize(
    ("statement", "sources"),
    [
        ("Ann bakes.", ["I don't cook, bake or fry anything."]),
        ("Ann's brother plays chess.", ["I have no brother who plays chess."]),
        (
            "Ann did not join the choir and took a dance class.",
            ["I didn't join the choir or take a dance class."],
        ),
        ("Ann did not call and write.", ["I didn't call. I write every week."]),
        ("Ann wants to swim.", ["I don't want to run or to swim, ever."]),
        ("Ann visited a glacier.", ["A glacier is a place that I have never visited."]),
        ("Ann has been to a glacier.", ["A glacier that I have never been to."]),
    ],
)
def test_a_denial_reaches_to_the_end_of_its_clause(statement: str, sources: list[str]) -> None:
    """Lists, the brother she does not have, bare verbs after "did not", the place "that I never visited"."""
    assert "opposite" in refusal(statement, sources, "Ann")


@pytest.mark.parametrize(
    ("statement", "sources"),
    [
        (
            "Ann hasn't finished The Overstory yet.",
            ["The Overstory is a long book.", "I haven't finished it yet."],
        ),
        ("Ann can't live without chess.", ["Chess is my world -- I can't live without it."]),
        ("Ann never visited Lisbon.", ["Lisbon must be lovely!", "It must be. I never visited that."]),
    ],
)
def test_what_a_denied_pronoun_means_is_denied(statement: str, sources: list[str]) -> None:
    """Where "I haven't finished it" is said, it denies of the book what a statement says of it by name."""
    assert refusal(statement, sources, "Ann") == ""


@pytest.mark.parametrize(
    ("statement", "sources"),
    [
        ("Ann doesn't like Lisbon.", ["I don't like crowds. I like Lisbon."]),
        ("Ann finished The Overstory.", ["The Overstory is a long book.", "I haven't finished it yet."]),
        ("Ann doesn't own a boat.", ["I own a boat.", "It rained.", "The wine? I don't like it."]),
        (
            "Ann can't live without chess.",
            ["Chess is my world.", "It rained.", "The rain? I can't live without it."],
        ),
    ],
)
def test_a_denied_pronoun_means_what_was_just_spoken_of(statement: str, sources: list[str]) -> None:
    """Nothing further away, and nothing but what the clause itself denies."""
    assert "opposite" in refusal(statement, sources, "Ann")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("Ann showed her garden.", "Look, my garden! [image: a photo of a garden]"),
        ("Ann compared Oslo to Bergen.", "Oslo is just like Bergen."),
        ("Ann wants a plan for the garden.", "Can you give me a plan for the garden?"),
        ("Ann wants to swim more.", "My goal is to swim more."),
        ("Ann's clock has been slow since.", "My clock has been slow from then on."),
        ("Ann knitted something with a hood.", "I knitted this! [image: a photo of a coat with a hood]"),
        ("Somebody sent Ann a parcel.", "A parcel was sent to me!"),
    ],
)
def test_words_that_a_statement_may_have_of_its_own(statement: str, said: str) -> None:
    """What is done in speaking, to show, to compare, to wish what is asked for; a part of a compound."""
    assert refusal(statement, [said], "Ann") == ""


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("Ann wants a garden.", "The garden is full of snow."),
        ("Ann's teammates celebrated.", "My team celebrated!"),
        ("Ann rents a room.", "The mushrooms are in the cellar, with the rent."),
        ("Everybody sent Ann a parcel.", "A parcel was sent to me!"),
    ],
)
def test_words_that_it_may_not(statement: str, said: str) -> None:
    """A wish where nobody asks for anything; more than is said."""
    assert "which no source of it says" in refusal(statement, [said], "Ann")
