"""How sure memory is of a question, by what was stated and not by what was only asked."""

import pytest

from zibaldone import Memory


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path) as memory:
        memory.add(
            [
                {"role": "user", "name": name, "content": text, "time": f"2023-05-{day:02}T10:00:00Z"}
                for day, (name, text) in enumerate(
                    [
                        ("Ann", "I read a novel about a lighthouse keeper in Norway."),
                        ("Ben", "We planted tomatoes behind the shed this morning."),
                        ("Ann", "My brother repaired the bicycle before the race."),
                        ("Ben", "The orchestra rehearsed the slow movement again."),
                        ("Ann", "I baked a rye loaf and burned the crust."),
                    ]
                    * 5,
                    1,
                )
            ],
            user="u",
        )
        yield memory


def confidence(memory, question):
    return memory.recall(
        question, user="u", budget_tokens=300, now="2023-06-01T00:00:00Z", min_confidence=0
    ).confidence


def test_a_known_day_alone_is_reason_enough(memory):
    """Whatever happened on it can be told."""
    assert confidence(memory, "What happened in May?") == 1


def test_a_known_day_does_not_make_sure_of_what_else_is_asked(memory):
    """What memory has words for is likelier than what it has none for; neither is certain, nor emptied."""
    told = confidence(memory, "Who repaired the bicycle before the race in May 2023?")
    untold = confidence(memory, "Which patent lawyer filed the trademark appeal in May 2023?")
    assert 0.01 < untold < told < 1


def test_a_speaker_does_not_make_sure_of_the_one_thing_that_is_asked(memory):
    """It may be of anybody whom memory knows."""
    assert 0.01 < confidence(memory, "What has Ann sued?") < 0.96


LIFE = [
    "I accepted the Octopus offer, my last day at the bank is in March.",
    "My sister Ann moved to Leeds last week.",
    "Remind me to water the plants on Friday.",
    "I had the flu all week and slept badly.",
]


def told(tmp_path, *more):
    """A small memory of one person and an assistant, which says something after each message."""
    memory = Memory(tmp_path)
    for text in LIFE:
        memory.add([{"content": text}, {"role": "assistant", "content": "All right."}], user="u")
    if more:
        memory.add(list(more), user="u", session="more")
    return memory


def test_a_question_and_that_nobody_knows_are_no_evidence(tmp_path):
    """To have been asked before, and not answered, makes memory no surer."""
    question = "what's my salary"
    asked = {"content": question}, {"role": "assistant", "content": "I don't know your salary."}
    stated = ({"content": "My salary is 52,000 a year since the spring."},)
    sure = []
    for number, more in enumerate(((), asked, stated)):
        with told(tmp_path / str(number), *more) as memory:
            sure.append(confidence(memory, question))
    assert sure[1] <= sure[0] * 1.2 < 0.1 < 0.8 < sure[2]


def test_a_question_that_somebody_answered_is_evidence(tmp_path):
    """Its words are those that the answer leaves out; what the same speaker says next answers nothing."""
    asked = {"name": "Ann", "content": "Where did you buy the lute?"}
    sure = {}
    for name in ("Ben", "Ann"):
        with told(tmp_path / name, asked, {"name": name, "content": "In Cremona."}) as memory:
            sure[name] = confidence(memory, "Where was the lute bought?")
    assert sure["Ann"] < sure["Ben"]


def test_a_small_memory_gives_what_clearly_leads(tmp_path):
    """Its best unit has a word of the question; that memory has none of the others says little there."""
    with told(tmp_path) as memory:
        assert "Leeds" in memory.recall("Which city did Ann relocate to?", user="u").text
        untold = confidence(memory, "Who won the chess tournament in Reykjavik?")
        assert untold < 0.1 < 0.3 < confidence(memory, "Which city did Ann relocate to?")


def test_a_statement_in_the_question_s_own_words_is_evidence(opened):
    """A question that has all words of it is answered by it."""
    memory = opened()
    memory.add(["My dog is called Biscuit.", "I like long walks.", "We had rain."], user="ann")
    for question in ("Is my dog called Biscuit?", "What is my dog Biscuit called?"):
        assert memory.recall(question, user="ann").confidence > 0.5
