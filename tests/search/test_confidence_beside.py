"""How sure memory is of questions about a day that it knows, or about a speaker and one thing."""

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
        question, user="u", budget_tokens=300, now="2023-06-01T00:00:00Z", floor=0
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
