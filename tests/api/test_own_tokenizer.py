"""A tokenizer of one's own: budgets are in its tokens, and what is stored is the same without it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone import Config, InvalidInput, Memory


class PerCharacter:
    """As many tokens as characters."""

    def count(self, texts):
        return [len(text) for text in texts]


class PerWord:
    """As many as words: fewer than ours."""

    def count(self, texts):
        return [len(text.split()) for text in texts]


TALK = [
    f"On day {n} I saw {n} herons at the lake, and {'two' if n % 2 else 'three'} swans." for n in range(200)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A talk of two hundred messages, read by all that recall uses."""
    path = tmp_path_factory.mktemp("talk")
    with Memory(path) as memory:
        memory.add(TALK, user="u")
        memory.add("From now on, answer in German.", user="u")
        memory.maintain()
    return path


@pytest.fixture(scope="module", params=[PerCharacter, PerWord], ids=lambda kind: kind.__name__)
def counting(request, folder):
    """A memory with a tokenizer of its own, and that tokenizer."""
    with Memory(folder, config=Config(tokenizer=request.param())) as memory:
        yield memory, request.param()


@given(budget=st.integers(1, 3000))
@pytest.mark.parametrize("question", ["Which herons did I see?", "What happened in all, in order?"])
@pytest.mark.wide
def test_a_budget_is_in_its_tokens(counting, budget, question):
    """Kept, whatever it is, and used where there is more to say."""
    memory, tokenizer = counting
    recalled = memory.recall(question, user="u", budget_tokens=budget, min_confidence=0)
    assert recalled.tokens == tokenizer.count([recalled.text])[0] == memory.admin.count_tokens(recalled.text)
    assert recalled.tokens <= budget
    all_of_it = sum(tokenizer.count(TALK))
    if 500 <= budget <= all_of_it:
        assert recalled.tokens >= 0.6 * budget
    for unit in recalled.evidence:
        assert unit.tokens >= tokenizer.count([unit.text])[0]


def test_what_is_stored_does_not_depend_on_it(folder, tmp_path):
    """A folder that one tokenizer wrote is read with another; nothing is made anew."""
    long = " ".join(TALK)
    texts = {}
    for name, tokenizer in (("ours", None), ("theirs", PerCharacter())):
        with Memory(tmp_path / name, config=Config(tokenizer=tokenizer)) as memory:
            memory.add([*TALK[:20], long], user="u")
            memory.maintain()
        with Memory(tmp_path / name) as memory:
            assert all(view.lag == 0 for view in memory.admin.stats().views if view.view == "messages")
            texts[name] = memory.recall("Which herons?", user="u", min_confidence=0).text
    assert texts["ours"] == texts["theirs"]


def test_search_and_the_profile_count_with_it(counting):
    """A passage's tokens, and the room of a system prompt."""
    memory, tokenizer = counting
    passages = memory.search("herons", user="u", limit=5)
    assert len(passages) == 5
    assert all(unit.tokens >= tokenizer.count([unit.text])[0] for unit in passages)
    text = memory.user("u").profile.text(100)
    assert "German" in text
    assert tokenizer.count([text])[0] <= 100
    assert memory.user("u").profile.text(3) == ""


class Broken:
    """Counts whatever it is told to."""

    def __init__(self, counts):
        self.counts = counts

    def count(self, texts):
        return self.counts


@pytest.mark.parametrize(
    "tokenizer",
    [3, "gpt-4o", len, Broken(None), Broken([1]), Broken([0, -1]), Broken([0, 1.5]), Broken([0, 0])],
    ids=range(8),
)
def test_what_is_no_tokenizer(tokenizer, tmp_path):
    """Is refused when the memory is opened."""
    with pytest.raises(InvalidInput, match="tokenizer"):
        Memory(tmp_path, config=Config(tokenizer=tokenizer))
