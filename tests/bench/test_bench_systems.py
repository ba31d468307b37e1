"""The baselines and the engine, as systems."""

from pathlib import Path

import pytest

from zibaldone.bench.registry import LoCoMoOptions
from zibaldone.bench.systems import make_system
from zibaldone.errors import UnknownName

BUDGETED = ("bm25", "bm25-user", "dense", "zsum", "rag", "rag-pruned", "messages")


@pytest.fixture
def system(request, tools, talk):
    made = make_system(request.param, tools)
    made.load("u", talk)
    yield made
    made.close()


@pytest.mark.parametrize("system", BUDGETED, indirect=True)
@pytest.mark.parametrize("budget_tokens", [1, 60, 300])
def test_no_context_is_over_its_budget(system, tools, budget_tokens):
    """The whole text counts, headers included, and the tokens reported are those of the text."""
    context = system.recall("u", "Whose greyhound won a race?", budget_tokens)
    assert context.tokens == tools.count_tokens(context.text) <= budget_tokens


@pytest.mark.parametrize("system", [name for name in BUDGETED if name != "rag-pruned"], indirect=True)
def test_the_obvious_turn_is_found(system):
    """One turn of sixty speaks of it."""
    context = system.recall("u", "Whose greyhound won a race?", 200)
    assert "Ben: My greyhound won a race in Linz." in context.text


@pytest.mark.parametrize("system", ["bm25", "dense", "zsum", "rag", "full"], indirect=True)
def test_units_are_in_the_text_in_its_order(system):
    """What is judged is what a reader sees, in the order in which it is seen."""
    context = system.recall("u", "Whose greyhound won a race?", 300)
    places = [context.text.index(unit.text) for unit in context.units]
    assert places == sorted(places)


@pytest.mark.parametrize("system", [*BUDGETED, "full"], indirect=True)
def test_ranks_count_the_units_once_each(system):
    """1, 2, 3 ... whatever the order of the text."""
    context = system.recall("u", "Whose greyhound won a race?", 300)
    assert sorted(unit.rank for unit in context.units) == list(range(1, len(context.units) + 1))


@pytest.mark.parametrize("system", ["full"], indirect=True)
def test_full_context_holds_every_message_whatever_the_budget(system, talk):
    """It is the ceiling of recall and of cost."""
    context = system.recall("u", "Anything?", 1)
    assert all(message.content in context.text for message in talk)


@pytest.mark.parametrize("system", ["bm25"], indirect=True)
def test_bm25_gives_nothing_without_a_common_word(system):
    """It fills no budget with what did not match."""
    assert system.recall("u", "Zygote?", 300).units == ()


@pytest.mark.parametrize("system", ["rag"], indirect=True)
def test_chunks_are_pieces_of_sessions(system, tools):
    """No more than 128 tokens, several turns together."""
    units = system.recall("u", "greyhound", 400).units
    assert all(tools.count_tokens(unit.text) <= 129 for unit in units)
    assert any("Ann: " in unit.text and "Ben: " in unit.text for unit in units)


@pytest.mark.parametrize("system", ["rag-pruned"], indirect=True)
def test_pruning_leaves_the_rarest_words(system, tools):
    """A third of them, in their order: more chunks fit, and sentences are broken."""
    units = system.recall("u", "Whose greyhound won a race?", 300).units
    greyhound = next(unit.text for unit in units if "greyhound" in unit.text)
    assert "Linz." in greyhound
    assert "My greyhound won a race in Linz." not in greyhound
    assert tools.count_tokens(greyhound) < 80


@pytest.mark.parametrize("name", [*LoCoMoOptions(path=Path()).systems, "zsum"])
def test_a_user_without_messages_is_answered_with_nothing(name, tools):
    """No special case for callers."""
    system = make_system(name, tools)
    system.load("u", [])
    assert system.recall("u", "Anything?", 100).text == ""
    system.close()


def test_an_unknown_system_names_the_known(tools):
    """So that a typing error is repaired at once."""
    with pytest.raises(UnknownName, match=r"'bm52'.*bm25, dense"):
        make_system("bm52", tools)
