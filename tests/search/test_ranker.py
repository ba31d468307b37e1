"""What brings a message to the front."""

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from zibaldone import Scope, StaticEmbedder
from zibaldone.search.lexical import K1, B
from zibaldone.search.question import Question, parse_question
from zibaldone.search.ranker import features, score
from zibaldone.search.unit import Unit
from zibaldone.search.unit_index import UnitIndex
from zibaldone.text.words import terms
from zibaldone.views.messages import MessagesView

STATIC = StaticEmbedder()
ZEROS = 256
START = datetime(2024, 1, 8, tzinfo=UTC)


class Speechless:
    """An embedder that finds nothing similar to anything."""

    name = "speechless"
    dimension = ZEROS

    def embed(self, texts):
        """A zero row each."""
        return np.zeros((len(texts), self.dimension), dtype=np.float32)

    def like(self, word):
        """None."""
        return []


def read(text, index):
    """A question, as an index reads it, without a vector."""
    return parse_question(Question(text, Scope("u"), 100, START), index)


def channel(evidence, name):
    """What one channel said of a unit."""
    return next(score for score in evidence.channels if score.channel == name)


CHESS = [("[1] Ann: My sister plays chess.", ""), ("[2] Bea: My sister plays chess.", "")]
LUNCH = [
    (f"[{day}] Ann: We had lunch at the harbour.", day) for day in ("2023-04-02", "2023-06-03", "2023-09-20")
]
REGATTA = [(f"[{month}] Ann: The regatta was splendid.", f"2023-{month:02}-09") for month in (4, 7, 10)]
COMES_FIRST = {
    "the question's words": ("Who keeps bees on a roof?", [("Bea: I keep bees on the roof.", "")], 0),
    "a part of a sentence without spaces": ("京都旅行", [("Ann: 週末は京都へ旅行に行きました。", "")], 0),
    "the word before a synonym": (
        "Was the physician kind?",
        [("[a] Bea: The doctor was kind.", ""), ("[b] Bea: The physician was kind.", "")],
        1,
    ),
    "the speaker that is named": ("Does Ann's sister play chess?", CHESS, 0),
    "the other speaker": ("Does Bea's sister play chess?", CHESS, 1),
    "the day that is named": ("Where did we eat on 2023-06-03?", LUNCH, 1),
    "another day": ("Where did we eat on 2023-09-20?", LUNCH, 2),
    "the month that is named": ("How was the regatta in July 2023?", REGATTA, 1),
    "another month": ("How was the regatta in April 2023?", REGATTA, 0),
    "what was told of a day beforehand": (
        "What lunch is there on 9 July 2023?",
        [(f"[{day}] Ann: Lunch at the harbour is tomorrow.", day) for day in ("2023-05-12", "2023-07-08")],
        1,
    ),
    "what was told soon after a day": (
        "How was the regatta of 9 July 2023?",
        [(f"[{day}] Ann: The regatta was splendid.", day) for day in ("2023-07-05", "2023-07-13")],
        1,
    ),
    "days that are said relatively, on both sides": (
        "What leaked last Friday?",  # asked on Friday 1 March 2024
        [(f"[{day}] Ann: Yesterday the roof leaked.", day) for day in ("2023-10-11", "2024-02-24")],
        1,
    ),
}


@pytest.mark.parametrize(("question", "said", "first"), COMES_FIRST.values(), ids=COMES_FIRST)
def test_of_messages_alike_the_one_that_fits_comes_first(talk, question, said, first):
    """Words, speakers and days bring a message up, each alone."""
    talk.fill()
    seqs = [talk.say(line, on=day or "2023-06-01")[0] for line, day in said]
    assert talk.ranked(question)[0] == seqs[first]


def test_neighbours_are_those_of_the_same_session_in_time(talk):
    """A message that was stored next, but belongs to another session, is no neighbour."""
    talk.fill()
    _, stranger = talk.say("[x] Ann: I adopted a greyhound from the shelter.", "[y] Bea: Lovely!")
    (neighbour,) = talk.say("[x] Bea: Lovely!")
    ranked = talk.ranked("Who adopted a greyhound from the shelter?")
    assert ranked.index(neighbour) < ranked.index(stranger)


@pytest.mark.parametrize("mark", ["?", "\uff1f"])
def test_among_people_what_follows_a_question_comes_before_one(talk, mark):
    """Of the same words, those after a question gain and those that ask lose, by the mark alone."""
    talk.fill()
    asks, _ = talk.say(f"[x] Ann: Bees on the roof{mark}", "[x] Bea: Well.")
    _, says = talk.say("[y] Bea: Well.", "[y] Ann: Bees on the roof.")
    _, replies = talk.say(f"[z] Bea: Well{mark}", "[z] Ann: Bees on the roof.")
    ranked = talk.ranked("Who has bees on the roof?")
    assert ranked.index(replies) < ranked.index(says) < ranked.index(asks)


def test_asked_when_what_names_a_day_gains(talk):
    """A message with a time in it gains where a time is asked for, and nowhere else."""
    talk.fill()
    dated, other = talk.say("[x] Ann: The regatta was yesterday.", "[y] Ann: The regatta was lovely.")
    for question, gains in ("When was the regatta?", True), ("How was the regatta?", False):
        clues = [channel(talk.candidate(question, seq), "clues").score for seq in (dated, other)]
        assert (clues[0] > clues[1]) is gains


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("Who is the physician?", "Bea: The doctor was kind."),
        ("Whose automobile broke down?", "Bea: My car broke."),
        ("Which movie?", "Bea: That film bored me."),
    ],
)
def test_synonyms_reach(talk, asked, said):
    """A word of like meaning is found by the lexical channel, below the word itself."""
    talk.fill()
    (seq,) = talk.say(said)
    assert channel(talk.candidate(asked, seq), "lexical").score > 0
    assert talk.ranked(asked)[0] == seq


def test_a_code_is_not_taken_for_those_that_are_spelt_like_it(talk):
    """Of serial numbers that differ in a few letters, the one that is asked for comes first."""
    codes = ["qz" + "".join("abc"[n // 3**i % 3] for i in range(6)) for n in range(0, 240, 3)]
    seqs = talk.say(*(f"[{n // 10}] Bea: The part {code} came." for n, code in enumerate(codes)))
    for n in range(0, 80, 9):
        assert talk.ranked(f"What did I say about {codes[n]}?")[0] == seqs[n]


def test_the_lexical_channel_is_bm25(tmp_path, talk):
    """Without synonyms it is BM25 over terms, as counted by hand with natural logarithms."""
    talk.memory._wiring.views["messages"] = MessagesView(Speechless(), Speechless(), STATIC)
    lines = [
        "The bees swarmed over the roof.",
        "Bees, bees, bees and honey.",
        "A long roof, a long ladder, a long day and a long story about a long ladder.",
        "Nothing.",
        "Swarming bees make honey on the roof of the house next door, honey everywhere.",
    ]
    seqs = talk.say(*(f"[{i}] Ann: {line}" for i, line in enumerate(lines)))
    documents = [terms(line) for line in lines]
    mean = sum(map(len, documents)) / len(documents)
    for question in ("bees on the roof", "honey", "a long ladder, honey, and swarming bees"):
        for seq, document in zip(seqs, documents, strict=True):
            expected = 0.0
            for term in dict.fromkeys(terms(question)):
                df = sum(term in other for other in documents)
                tf = document.count(term)
                idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
                expected += idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * len(document) / mean))
            found = channel(talk.candidate(question, seq), "lexical").score
            assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_an_assistant_s_words_are_found_when_they_are_asked_for(talk):
    """A question about what the assistant said gets it; the same words asked of the user do not."""
    talk.fill()
    (reply,) = talk.say("Helper: Give pear trees bone meal as fertiliser in March.", role="assistant")
    talk.say("Bea: My pear trees look poor in March.")
    assert talk.ranked("Which fertiliser for pear trees did you suggest?")[0] == reply
    assert talk.ranked("Which fertiliser for pear trees did I suggest?")[0] != reply


def test_what_an_assistant_alone_said_is_not_held_back(talk):
    """A name or a day that no person spoke of brings the assistant's words; said by both, the person's."""
    talk.fill()
    named, dated = talk.say(
        "[x] Helper: The novel is Piranesi.", "[y] Helper: The fair opens on 9 July 2024.", role="assistant"
    )
    (own,) = talk.say("[z] Bea: My boat is called Albatross.")
    (said_again,) = talk.say("[z] Helper: Albatross is a fine name for a boat.", role="assistant")
    assert talk.ranked("Who or what is Piranesi?")[0] == named
    assert talk.ranked("What was said about 9 July 2024?")[0] == dated
    ranked = talk.ranked("What is Albatross?")
    assert ranked.index(own) < ranked.index(said_again)


def index_of(*said):
    """Of (session, role, text), a minute apart; passages of one message where the text is a list."""
    units = []
    for seq, (session, role, text) in enumerate(said, 1):
        time, kind = START + seq * timedelta(minutes=1), "message" if isinstance(text, str) else "passage"
        for part, passage in enumerate([text] if isinstance(text, str) else text):
            units.append(Unit((seq,), part, passage, kind, 10, session, role, None, time))
    index = UnitIndex(STATIC.dimension, STATIC)
    index.extend(units, STATIC.embed([unit.text for unit in units]))
    return index


def asked(index, scoring=score):
    """The scores of the question "bassoon bees"."""
    return scoring(index, read("bassoon bees", index).embedded(STATIC))


def test_a_person_s_message_is_ranked_as_one_however_it_was_cut():
    """The half without a word of the question scores as the other half; an assistant's does not."""
    halves = ["The bees sleep below my bassoon.", "Thursday it will rain again."]
    dear = ("Gravel", "Paper", "Butter", "Cork", "Linen", "Coal")
    others = [("a", "user", f"{what} and envelopes are dear.") for what in dear]
    for role, is_one in (("user", True), ("assistant", False)):
        found = asked(index_of(("a", role, halves), *others))
        assert found.lexical[0] > 0
        assert bool(found.lexical[0] == found.lexical[1]) is is_one
        assert bool(found.dense[0] == found.dense[1]) is is_one


def test_a_match_in_a_long_message_weighs_less_than_in_a_short_one():
    """The length is the message's, not the passage's."""
    same, filler = "The bees sleep below my bassoon.", "Gravel and envelopes are dear this Thursday again."
    found = asked(index_of(("a", "user", [same, filler]), ("a", "user", same)))
    assert found.lexical[0] < found.lexical[2]


def test_a_unit_has_the_best_of_its_session():
    """It has more than the words of another session; what may not be recalled does not count."""
    index = index_of(
        ("a", "user", "The bees sleep below my bassoon."),
        ("a", "user", "It rains."),
        ("b", "user", "Gravel is dear."),
        ("b", "user", "Paper is dear."),
        ("b", "assistant", "A bassoon is no home for bees."),
    )
    best = asked(index, features)[0]["session"]
    assert best[0] == best[1] > best[2] == best[3] == best[4]
    inside = np.array([False, True, True, True, True])
    narrowed, _ = asked(index, lambda *given: features(*given, inside))
    assert narrowed["session"][1] < best[1]


def test_what_an_assistant_goes_on_about_makes_no_word_common():
    """A word weighs as much as it is rare in what people say."""
    people = [("a", "user", f"{what} is dear.") for what in ("Gravel", "Paper", "Cork", "My bassoon")]
    chatter = [("a", "assistant", "Tune the bassoon well.")] * 8
    alone, beside = (asked(index_of(*said), features)[0]["lexical"][3] for said in (people, people + chatter))
    assert beside == pytest.approx(alone)


def test_an_answer_brings_what_it_answers(talk):
    """What an assistant says comes with the user's turn before it, though that has no word of it."""
    talk.fill()
    (asked,) = talk.say("[x] Bea: What about my trees?", on="2023-06-01")
    (reply,) = talk.say("[x] Helper: Give pears bone meal as fertiliser.", on="2023-06-02", role="assistant")
    ranked = talk.ranked("Which fertiliser did you suggest?")
    assert ranked[:2] == [reply, asked]


def test_a_short_answer_brings_its_question_and_a_question_its_answer(talk):
    """Among people; a long answer stands for itself."""
    talk.fill()
    question, answer = talk.say("[x] Ann: Do you still fence at the weekend?", "[x] Bea: Never again.")
    ranked = talk.ranked("fence at the weekend")
    assert ranked.index(answer) == ranked.index(question) + 1


def test_a_log_about_one_thing_finds_that_thing(talk):
    """Sixty turns about a cat are no reason to answer a question about it with the one about a pin."""
    talk.say(*(f"[{i}] Bea: Our cat is called Mortimer, I said {i} times." for i in range(60)))
    (pin,) = talk.say("[x] Bea: My pin is zebra-4711.")
    assert talk.ranked("What is our cat called?")[-1] == pin or pin not in talk.ranked(
        "What is our cat called?"
    )
