"""What models are used for is counted for good, and ceilings hold whoever asks."""

import threading
from contextlib import nullcontext
from datetime import date, datetime, timedelta, timezone

import pytest

from zibaldone import Ceilings, Usage
from zibaldone.errors import CeilingReached, InvalidInput, StorageFull
from zibaldone.models.meter import Meter
from zibaldone.testing import FrozenClock

DAY = date(2024, 3, 1)


def spend(meter, user="ann", calls=1, tokens=100, **more):
    """Record one use."""
    meter.record(user, "chunks", "compress", calls=calls, prompt_tokens=tokens, **more)


def test_figures_add_up_per_user_day_view_and_task(database):
    """Equal keys add up, and what is read back is what was spent, in another process too."""
    clock = FrozenClock()
    meter = Meter(database, clock=clock)
    meter.record("ann", "chunks", "compress", calls=2, prompt_tokens=10, completion_tokens=3, ms=40)
    meter.record("ann", "chunks", "compress", calls=1, prompt_tokens=5, degraded=1)
    meter.record("bea", "topics", "plan", calls=1, ms=7)
    clock.tick(timedelta(days=1))
    meter.record("ann", "chunks", "compress", calls=1)
    expected = [
        Usage("ann", DAY, "chunks", "compress", 3, 1, 15, 3, 40),
        Usage("ann", DAY + timedelta(days=1), "chunks", "compress", 1, 0, 0, 0, 0),
        Usage("bea", DAY, "topics", "plan", 1, 0, 0, 0, 7),
    ]
    assert meter.usage() == Meter(database).usage() == expected
    assert meter.usage("bea") == expected[2:]
    assert meter.total("ann").calls == 4


def test_the_day_is_one_of_utc(database):
    """An early morning east of Greenwich is still the day before."""
    early = datetime(2024, 3, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    meter = Meter(database, clock=lambda: early)
    spend(meter)
    assert [one.day for one in meter.usage()] == [date(2024, 2, 29)]


@pytest.mark.parametrize(
    ("ceilings", "others_may"),
    [
        (Ceilings(calls_per_user_per_day=2), True),
        (Ceilings(tokens_per_user_per_day=250), True),
        (Ceilings(tokens_per_day=250), False),
    ],
)
def test_a_day_s_ceiling_holds_until_the_next_day(database, ceilings, others_may):
    """What was spent today, by this process or another, counts; tomorrow it does not."""
    clock = FrozenClock()
    spend(Meter(database, clock=clock))
    meter = Meter(database, ceilings, clock)
    spend(meter)
    with pytest.raises(CeilingReached, match="2"), meter.reserve("ann", 50, 50):
        pass
    refused = nullcontext() if others_may else pytest.raises(CeilingReached)
    with refused, meter.reserve("bea", 50, 50):
        pass
    clock.tick(timedelta(days=1))
    with meter.reserve("ann", 50, 50):
        pass


def test_a_call_s_ceiling_counts_the_answer(database):
    """Prompt and the longest answer together must fit."""
    meter = Meter(database, Ceilings(tokens_per_call=100))
    with meter.reserve("ann", 60, 40):
        pass
    with pytest.raises(CeilingReached, match="tokens_per_call is 100"), meter.reserve("ann", 60, 41):
        pass


def test_threads_together_do_not_overshoot():
    """Calls under way count as what they may cost, so that ten at once make no more than the ceiling."""
    meter = Meter(None, Ceilings(calls_per_user_per_day=3))
    barrier = threading.Barrier(10, timeout=30)
    made, refused = [], []

    def call():
        barrier.wait()
        try:
            with meter.reserve("ann", 1, 1):
                made.append(1)
                spend(meter)
        except CeilingReached:
            refused.append(1)

    threads = [threading.Thread(target=call) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (len(made), len(refused)) == (3, 7)


def test_what_is_recorded_is_no_longer_reserved():
    """A call counts once, as what it cost, and leaves the rest of its room to others at once."""
    meter = Meter(None, Ceilings(calls_per_user_per_day=2, tokens_per_user_per_day=300))
    with meter.reserve("ann", 50, 150) as reserved:
        with pytest.raises(CeilingReached, match="tokens_per_user_per_day"), meter.reserve("ann", 50, 150):
            pass
        meter.record("ann", "chunks", "compress", calls=1, prompt_tokens=50, reserved=reserved)
        with meter.reserve("ann", 50, 150):
            pass
    assert meter.total("ann").prompt_tokens == 50


def test_figures_wait_while_the_storage_is_full(database, monkeypatch, caplog):
    """A disk that is full stops no recall: the figures are kept, and written with the next."""
    meter = Meter(database)

    def full(*users):
        raise StorageFull("no space")

    with monkeypatch.context() as patch:
        patch.setattr(database, "write", full)
        spend(meter)
    assert "not written yet" in caplog.text
    assert [one.calls for one in meter.usage()] == [1]
    assert Meter(database).usage() == []
    spend(meter)
    assert [one.calls for one in Meter(database).usage()] == [2]


@pytest.mark.parametrize("bad", [-1, 1.5, "10", True])
def test_a_ceiling_is_a_whole_number(bad):
    """Anything else is refused, by name."""
    with pytest.raises(InvalidInput, match="tokens_per_day"):
        Ceilings(tokens_per_day=bad)
