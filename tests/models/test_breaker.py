"""What fails again and again is left alone for a while."""

import pytest

from zibaldone import StaticEmbedder
from zibaldone.errors import ModelUnavailable
from zibaldone.models.asker import Asker
from zibaldone.models.breaker import Breaker
from zibaldone.models.meter import Meter
from zibaldone.testing import ScriptedModel

STATIC = StaticEmbedder()
GOOD = {"colours": ["red"]}


@pytest.fixture
def seconds():
    """A clock of seconds that stands still."""

    class Seconds:
        now = 1000.0

        def __call__(self):
            return self.now

    return Seconds()


def test_rests_grow_until_something_succeeds(seconds):
    """Half a minute at first, twice as long each time, ten minutes at most; a success ends it."""
    breaker, rests = Breaker(seconds), []
    for _ in range(3):
        assert breaker.resting("key") == ""
        breaker.failed("key", reason="no")
    for _ in range(6):
        began = seconds.now
        while breaker.resting("key"):
            seconds.now += 1
        rests.append(seconds.now - began)
        breaker.failed("key", reason="no")
    assert rests == [30, 60, 120, 240, 480, 600]
    seconds.now += 600
    assert breaker.resting("key") == ""
    breaker.succeeded("key")
    assert breaker.resting("key") == ""


def test_a_task_that_a_model_never_answers_well_is_left_alone(task, seconds):
    """After three questions, six full answers, the offline answer comes at once, and says why."""
    model, meter = ScriptedModel(lambda _: "no"), Meter(None)
    asker = Asker(model, meter, STATIC, seconds)
    answers = [asker.ask(task, user="ann") for _ in range(10)]
    assert len(model.requests) == 6
    assert [answer.calls for answer in answers] == [2] * 3 + [0] * 7
    assert "not asked for 30 s more, after 3 failures in a row" in answers[-1].degraded
    (usage,) = meter.usage()
    assert (usage.calls, usage.degraded) == (6, 10)


def test_what_one_user_says_breaks_nobody_else_s_task(task, seconds):
    """Bad answers to one user's questions leave the others' to the model."""
    model = ScriptedModel(["no"] * 6 + [GOOD])
    asker = Asker(model, Meter(None), STATIC, seconds)
    for _ in range(4):
        asker.ask(task, user="ann")
    assert asker.ask(task, user="bea").result.colours == ["red"]


def test_a_model_that_is_down_is_left_alone_by_who_cannot_wait(task, seconds):
    """Nobody waits for a time-out again and again; the patient, who come back less and less often, ask."""
    model, meter = ScriptedModel(lambda _: ModelUnavailable("down", requests=2)), Meter(None)
    asker = Asker(model, meter, STATIC, seconds)
    for user in ("ann", "bea", "cid", "dot"):
        assert "down" in asker.ask(task, user=user).degraded
    assert len(model.requests) == 2
    with pytest.raises(ModelUnavailable, match="down"):
        asker.ask(task, user="ann", patient=True)
    assert len(model.requests) == 3
    assert sum(usage.calls for usage in meter.usage()) == 6
