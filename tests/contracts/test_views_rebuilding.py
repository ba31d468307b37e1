"""A view can be made anew, with another model if wished, and serves all the while."""

from itertools import count

import pytest
from rig import CONVERSATION, Crash, Hooked

from zibaldone.errors import ModelFailed


def _asleep_after(seq):
    def fail(messages):
        if messages[0].seq > seq:
            raise ModelFailed("the model is asleep")

    return fail


def test_a_rebuild_equals_a_first_build(built):
    """Made again from the same log, rows and offers are bit-equal, in an old instance and in a new one.

    The old generation goes when the new one serves.
    """
    rows, offers, counted = built.rows(), built.offers(), built.stats()
    (old,) = built.states()
    built.rebuild()
    (new,) = built.states()
    assert (new[0], new[1:]) == (old[0] + 1, old[1:])
    assert (built.rows(), built.stats()) == (rows, counted)
    assert built.offers() == built.offers(view=built.new_view()) == offers
    assert built.faults() == []


def test_a_rebuild_that_a_model_stopped_goes_on_where_it_was(built):
    """What a failed rebuild has read is not read again, and the old generation serves until the end."""
    built.read_in_batches(5)
    rows, offers = built.rows(), built.offers()
    with pytest.raises(ModelFailed):
        built.rebuild(Hooked(built.view, _asleep_after(5)))
    assert built.offers() == offers
    read = []
    built.rebuild(Hooked(built.view, lambda messages: read.append(messages[0].seq)))
    assert read == [6, 11]
    assert built.rows() == rows
    assert built.offers() == offers


@pytest.mark.usefixtures("finds_everything")
def test_what_is_added_during_a_rebuild_is_in_both_generations(built, new_rig):
    """A message that comes while a generation is built is served at once, and by the new one too."""
    built.read_in_batches(5)
    late = [CONVERSATION[3]]
    with pytest.raises(ModelFailed):
        built.rebuild(Hooked(built.view, _asleep_after(5)))
    (stored,) = built.add(late)
    assert stored.seq in built.sources()
    built.rebuild()
    built.assert_as(new_rig().read(CONVERSATION + late))


def test_another_model_is_built_beside_the_old_one(built, new_rig):
    """The old generation answers until the new one is whole; a view of the new model says that it is less.

    Then nothing of the old one is left: rows and offers are a first build's.
    """
    built.read_in_batches(5)
    offers = built.offers()
    newer = built.another_model()
    assert not built.advance(Hooked(newer, _asleep_after(5)))
    assert [state[1] for state in built.states()] == [built.view.fingerprint, newer.fingerprint]
    assert built.offers() == offers
    assert built.sources(view=newer) or not built.case.all_of_it
    assert all(offer[3] for offer in built.offers(view=newer))
    assert built.advance(newer)
    assert [state[1] for state in built.states()] == [newer.fingerprint]
    expected = new_rig()
    expected.append(CONVERSATION)
    assert expected.advance(expected.another_model())
    assert built.rows() == expected.rows()
    assert built.offers(view=newer) == expected.offers(view=expected.another_model())


def test_a_half_built_generation_of_a_third_model_is_thrown_away(built):
    """A build that was begun with a model that nobody uses any more leaves no rows."""
    built.read_in_batches(5)
    rows = built.rows()
    assert not built.advance(Hooked(built.another_model(), _asleep_after(5)))
    built.rebuild()
    assert built.rows() == rows
    assert len(built.states()) == 1


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.exhaustive), 9])
def test_a_crash_at_any_statement_of_a_rebuild_leaves_a_view_that_serves(built, step):
    """Wherever a rebuild dies the offers are the same, and the next one ends it."""
    built.read_in_batches(8)
    rows, offers = built.rows(), built.offers()
    numbers = count(1, step)
    for number in numbers:
        try:
            with built.dies_before_statement(number):
                built.rebuild()
        except Crash:
            assert built.offers(view=built.new_view()) == offers
        else:
            break
    assert next(numbers) > 10
    assert built.rows() == rows
    assert built.faults() == []


def test_rebuilding_what_never_read_anything(rig, new_rig):
    """It is the first build; of a user who never said anything it leaves neither a row nor a name."""
    rig.rebuild(user="nobody")
    assert rig.states("nobody") == []
    assert "nobody" not in rig.everything()
    rig.append(CONVERSATION)
    rig.rebuild()
    rig.assert_as(new_rig().read(CONVERSATION))
