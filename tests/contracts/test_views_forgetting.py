"""Forgetting leaves no trace in a view, whatever generation it is in."""

from itertools import count

import pytest
from rig import CONVERSATION, QUESTIONS, Crash, Hooked, held_by, mentions

from zibaldone.errors import ModelFailed

SECRET = "Marguerite"  # only message 6 has it
SECRET_SEQ = 6
LONG_SEQ = 8  # more than one unit in views that cut


def _half_built(rig):
    """A second generation beside the serving one, which has read the first seven messages."""
    rig.read_in_batches(7)

    def stop(messages):
        if messages[0].seq > 7:
            raise ModelFailed("the model is asleep")

    with pytest.raises(ModelFailed):
        rig.rebuild(Hooked(rig.view, stop))
    assert [state[2:] for state in rig.states()] == [(len(CONVERSATION), 1), (7, 0)]


def test_the_text_is_in_no_column_of_no_table(built):
    """After forgetting, no value in the database has the words, nor has an offer."""
    assert mentions(built.everything(), SECRET)
    built.forget([SECRET_SEQ])
    assert not mentions(built.everything(), SECRET)
    assert not mentions([built.offers()], SECRET)
    assert SECRET_SEQ not in built.sources()


def test_a_warm_cache_forgets_too(built):
    """A view that answered before, and one in another process, no longer know the message."""
    elsewhere = built.new_view()
    assert built.offers(view=elsewhere) == built.offers()
    built.forget([SECRET_SEQ])
    for view in (built.view, elsewhere, built.new_view()):
        assert not mentions([built.offers(view=view)], SECRET)
        explained = [offer[4][SECRET_SEQ - 1] for offer in built.offers(view=view)]
        assert explained == [None] * len(QUESTIONS)


@pytest.mark.parametrize("snapshot", [1, 2])
@pytest.mark.parametrize("read", [False, True], ids=["unread", "read"])
def test_a_recall_that_began_before_brings_nothing_back(rig, read, snapshot):
    """What an old snapshot still shows while somebody forgets it stays in no cache of the view."""
    rig.append(CONVERSATION)
    if read:
        assert rig.advance()
    question = rig.question("Who played the bassoon in Vienna?")
    rig.recall_while(question, lambda: rig.unlog([SECRET_SEQ]), snapshot)
    assert not mentions(held_by(vars(rig.view)), SECRET)
    assert not mentions([rig.offers()], SECRET)


def test_a_batch_under_way_brings_nothing_back(rig):
    """What is forgotten between the reading of a batch and its preparing stays in no cache of the view."""
    rig.append(CONVERSATION)
    waiting = [SECRET_SEQ]

    def forget(_):
        if waiting:
            rig.unlog([waiting.pop()])

    assert rig.advance(Hooked(rig.view, forget))
    assert not mentions(held_by(vars(rig.view)), SECRET)
    assert rig.faults() == []


def test_what_is_left_is_what_a_view_makes_that_never_read_the_message(built, new_rig):
    """Forgetting after reading and forgetting before reading come to the same rows and offers.

    A view that compacts messages together keeps the others' units where they are.
    """
    if not built.case.local:
        others = built.made_from() - {SECRET_SEQ, LONG_SEQ}
        built.forget([SECRET_SEQ, LONG_SEQ])
        assert built.made_from() == others
        assert built.faults() == []
        return
    built.offers()
    built.forget([SECRET_SEQ, LONG_SEQ])
    built.assert_as(new_rig().read(CONVERSATION, forgotten=[SECRET_SEQ, LONG_SEQ]))
    assert built.faults() == []


def test_a_half_built_generation_forgets_too(built, new_rig):
    """What goes while a generation is being built is in neither generation, nor in the finished one."""
    _half_built(built)
    built.forget([SECRET_SEQ])
    assert not mentions(built.everything(), SECRET)
    assert SECRET_SEQ not in built.sources()
    built.rebuild()
    assert built.faults() == []
    if built.case.local:
        built.assert_as(new_rig().read(CONVERSATION, forgotten=[SECRET_SEQ]))


def test_receipt_dry_run_and_stats_count_the_same(built):
    """A dry run counts what forgetting removes, and changes nothing; the rows that are left are the rest."""
    _half_built(built)
    before, whole = built.stats(), (built.rows(), built.states(), built.offers())
    foreseen = built.forget([SECRET_SEQ, LONG_SEQ], dry_run=True)
    assert (built.rows(), built.states(), built.offers()) == whole
    receipt = built.forget([SECRET_SEQ, LONG_SEQ])
    assert receipt.views == foreseen.views
    assert receipt.seqs == foreseen.seqs == (SECRET_SEQ, LONG_SEQ)
    removed = {counted.kind: counted.rows for counted in receipt.views[0].counts}
    assert all(removed.values()) if built.case.local else any(removed.values())
    assert built.stats() == {kind: rows - removed[kind] for kind, rows in before.items()}


def test_forgetting_everything_leaves_nothing(built):
    """Neither rows nor offers; what is said afterwards is read, and nothing of old comes back."""
    built.forget(range(1, len(CONVERSATION) + 1))
    assert not any(built.rows().values())
    assert set(built.stats().values()) == {0}
    assert built.sources() == set()
    (stored,) = built.add(CONVERSATION[3:4])
    assert stored.seq == len(CONVERSATION) + 1
    assert built.sources() <= {stored.seq}
    assert built.sources() or not built.case.all_of_it
    assert built.faults() == []


def test_forgetting_what_is_not_there_removes_nothing(built):
    """Seqs that never were, or went before, cost nothing and count nothing."""
    built.forget([SECRET_SEQ])
    before = built.rows(), built.offers()
    receipt = built.forget([SECRET_SEQ, 1000])
    assert receipt.seqs == ()
    assert {counted.rows for counted in receipt.views[0].counts} == {0}
    assert (built.rows(), built.offers()) == before


@pytest.mark.exhaustive
def test_many_messages_go_at_once(rig):
    """A thousand messages are forgotten in one call."""
    rig.read([CONVERSATION[0]] * 1100)
    receipt = rig.forget(range(1, 1051))
    assert len(receipt.seqs) == 1050
    assert rig.faults() == []
    assert rig.sources() <= set(range(1051, 1101))
    if rig.case.local:
        assert set(rig.stats().values()) == {50}


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.exhaustive), 7])
@pytest.mark.usefixtures("finds_everything")
def test_a_crash_while_forgetting_forgets_nothing_or_all(new_rig, step):
    """Wherever forgetting dies, the message is wholly there or wholly gone, in log and view alike."""
    seen = set()
    for number in count(1, step):
        rig = new_rig().read(CONVERSATION[:6])
        try:
            with rig.dies_before_statement(number):
                rig.forget([SECRET_SEQ])
        except Crash:
            seen.add((mentions(rig.everything(), SECRET), SECRET_SEQ in rig.made_from()))
            assert rig.faults() == []
        else:
            break
    assert (True, True) in seen
    assert seen <= {(True, True), (False, False)}
