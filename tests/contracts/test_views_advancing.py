"""A view's output is a function of the log, and is committed together with its cursor."""

import threading
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rig import CONVERSATION, Crash, Hooked, Rig

from zibaldone.engine import maintenance
from zibaldone.errors import ModelFailed


def _snapshot(rig):
    return rig.rows(), rig.states()


# Between the statements before which an attempt dies; with 1 it dies before each in turn.
STEPS = [pytest.param(1, marks=pytest.mark.exhaustive), 11]


def _crash_before_statements(rig, act, step):
    """Run `act` until it survives, each time crashing later; returns what was seen between."""
    seen = []
    for number in count(1, step):
        try:
            with rig.dies_before_statement(number):
                act()
        except Crash:
            seen.append(_snapshot(rig))
        else:
            return seen
    raise AssertionError


@pytest.mark.parametrize("step", STEPS)
def test_a_crash_at_any_statement_of_an_advance_leaves_both_output_and_cursor_or_neither(rig, step):
    """Wherever an advance dies, the view is where it was before or where it is afterwards."""
    rig.append(CONVERSATION)
    before = _snapshot(rig)
    seen = _crash_before_statements(rig, rig.advance, step)
    after = _snapshot(rig)
    assert len(seen) > 5 / step
    assert before != after
    assert {str(one) for one in seen} <= {str(before), str(after)}
    assert str(before) in map(str, seen)
    assert step > 1 or str(after) in map(str, seen)


@pytest.mark.parametrize("step", STEPS)
def test_a_crash_at_any_statement_of_an_add_leaves_no_half_of_it(new_rig, step):
    """Wherever an add dies, neither the log nor the view has a part of it."""
    rig = new_rig()
    if not rig.case.local:
        pytest.skip("reads in maintenance only, never in the add itself")
    seen = _crash_before_statements(rig, lambda: rig.add(CONVERSATION[:4]), step)
    assert len(seen) > 5 / step
    assert {str(one) for one in seen} == {str(_snapshot(new_rig()))}
    assert rig.faults() == []
    assert rig.stats() == new_rig().read(CONVERSATION[:4]).stats()


def test_a_crash_between_the_output_and_the_cursor_leaves_neither(rig, monkeypatch):
    """When the cursor cannot be moved, the output that was written before it is gone too."""
    rig.append(CONVERSATION)
    before = _snapshot(rig)

    def crash(*_):
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(maintenance, "move_cursor", crash)
        with pytest.raises(Crash):
            rig.advance()
    assert _snapshot(rig) == before
    assert rig.advance()
    assert rig.faults() == []


@pytest.mark.parametrize("examples", [pytest.param(12, marks=pytest.mark.exhaustive), 2])
def test_batches_of_any_size_give_the_same_result(new_rig, examples):
    """However the messages arrive and however many are read at once, rows and offers come out bit-equal."""
    expected = new_rig().read(CONVERSATION)
    rows, offers = expected.rows(), expected.offers()

    @settings(max_examples=examples, deadline=None)
    @given(
        cuts=st.lists(st.integers(0, len(CONVERSATION)), max_size=6),
        together=st.lists(st.booleans(), min_size=7, max_size=7),
        asked_between=st.booleans(),
        batch=st.integers(1, 6),
    )
    def check(cuts, together, asked_between, batch):
        rig = new_rig()
        borders = sorted({0, *cuts, len(CONVERSATION)})
        rig.read_in_batches(batch)
        for start, end, both in zip(borders, borders[1:], together, strict=False):
            (rig.add if both else rig.append)(CONVERSATION[start:end])
            if asked_between:
                rig.offers()
        assert rig.advance()
        assert rig.rows() == rows
        assert rig.offers() == offers
        assert rig.offers(view=rig.new_view()) == offers

    check()


def test_an_interrupted_advance_goes_on_where_it_stopped(new_rig):
    """A model that fails in the middle costs nothing that was committed, and the result is the same."""
    rig = new_rig()
    rig.read_in_batches(5)
    rig.append(CONVERSATION)
    batches = []

    def fail_once(messages):
        batches.append(messages[0].seq)
        if len(batches) == 2:
            raise ModelFailed("the model is asleep")

    hooked = Hooked(rig.view, fail_once)
    assert not rig.advance(hooked)  # and so it says that it is behind
    assert [state[2] for state in rig.states()] == [5]
    assert rig.advance(hooked)
    assert batches == [1, 6, 6, 11]
    rig.assert_as(new_rig().read(CONVERSATION))


@pytest.mark.parametrize("processes", [1, 2])
def test_two_racing_advancers_give_one_result(new_rig, processes):
    """Two advancers that read the same batch commit it once, over one database object or over two."""
    rig = new_rig()
    rig.read_in_batches(5)
    rig.append(CONVERSATION)
    databases = [rig.database]
    if processes == 2:
        databases.append(Rig(rig.place, rig.case, rig.key).database)
    barrier = threading.Barrier(2, timeout=30)
    answers = []

    def advance(database):
        first = iter([True])
        view = Hooked(rig.new_view(), lambda _: next(first, False) and barrier.wait())
        answers.append(maintenance.advance(database, "ann", view))

    threads = [threading.Thread(target=advance, args=(databases[i % processes],)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    databases[-1].close() if processes == 2 else None
    assert answers == [True, True]
    assert rig.rows() == new_rig().read(CONVERSATION).rows()
    assert rig.faults() == []


def test_the_cursor_ends_at_the_end_of_the_log(built):
    """After an advance nothing is left to read, and advancing again changes nothing."""
    before = _snapshot(built)
    assert built.serving().cursor == len(CONVERSATION)
    assert built.advance()
    assert _snapshot(built) == before


def test_a_lagging_view_is_not_skipped_ahead(rig):
    """Messages added while the view lags wait for those before them."""
    rig.append(CONVERSATION[:3])
    prepared = rig.view.prepare(CONVERSATION[3:])
    with rig.database.write() as connection:
        stored = maintenance.log.append(connection, "ann", CONVERSATION[3:], CONVERSATION[3].time).stored
        seqs = [message.seq for message in stored]
        assert not maintenance.commit_new(connection, "ann", rig.view, seqs, prepared)
    assert rig.states() == []
    assert rig.advance()
    assert rig.faults() == []


def test_what_is_forgotten_while_a_model_reads_it_does_not_come_back(new_rig):
    """A message that goes between prepare and commit leaves no unit behind."""
    rig = new_rig()
    rig.append(CONVERSATION)
    once = iter([4])
    hooked = Hooked(rig.view, lambda _: [rig.forget([seq]) for seq in once])
    assert rig.advance(hooked)
    assert rig.rows() == new_rig().read(CONVERSATION, forgotten=[4]).rows()
    assert 4 not in rig.sources()
