"""What a recalled context is judged by."""

import pytest

from zibaldone.bench.metrics import answer_coverage, evidence_density, is_found

TURN = "I adopted a greyhound called Comet yesterday"  # adopted greyhound called comet yesterday


def test_a_turn_inside_one_unit_is_found():
    """Names before it and captions behind it do no harm, and case does not count."""
    assert is_found(TURN, ["Ann: so, I ADOPTED a greyhound called comet yesterday! [image: a dog]"])


def test_four_fifths_of_the_content_words_suffice():
    """80 % is found, less is not."""
    assert is_found(TURN, ["adopted greyhound called comet"])
    assert not is_found(TURN, ["adopted greyhound called"])


def test_words_spread_over_several_units_are_not_found():
    """The words must stand together, for a reader has to see the turn."""
    assert not is_found(TURN, ["adopted greyhound", "called comet yesterday"])


def test_a_turn_of_stop_words_is_judged_by_all_its_words():
    """It would otherwise be found anywhere, or nowhere."""
    assert is_found("Yes, I did", ["Ben: yes I did."])
    assert not is_found("So I did", ["Ann: cello soup"])


def test_nothing_is_found_in_nothing():
    """An empty recall has no evidence."""
    assert not is_found(TURN, [])


def test_answer_coverage_is_the_share_of_content_words():
    """Stop words of the answer are not asked for."""
    assert answer_coverage("the Lisbon trip", "## Lisbon\nAnn: we flew") == 0.5
    assert answer_coverage("Not to be", "to be") is None


def test_units_count_by_their_distinct_answer_words():
    """Exactly one, exactly two, three or more: xMemory's figure 4."""
    density = evidence_density("red green blue", ["red red", "red green", "red green blue", "tea"], [1] * 4)
    assert (density.units, density.one_hit, density.two_hit, density.multi_hit) == (4, 1, 1, 1)


def test_cover_is_the_shortest_prefix_of_the_ranking():
    """Units are taken best first until every word of the answer has been seen."""
    density = evidence_density("red green", ["tea", "red", "green red", "green"], [5, 7, 11, 13])
    assert (density.cover_units, density.cover_tokens) == (3, 23)


def test_what_is_never_covered_has_no_cover():
    """A missing word is told apart from a late one."""
    assert evidence_density("red green", ["red"], [1]).cover_units is None


@pytest.mark.parametrize("answer", ["", "the"])
def test_an_answer_without_content_words_has_no_density(answer):
    """There is nothing to look for."""
    assert evidence_density(answer, ["the"], [1]) is None
