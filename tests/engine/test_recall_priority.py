"""Recalls go before the background's maintenance, which comes to its own all the same."""

import threading

import pytest

from zibaldone import Memory
from zibaldone.api.config import MAINTAINED
from zibaldone.engine.recall_priority import RecallPriority
from zibaldone.engine.worker import BackgroundWorker


def test_who_gives_way_waits_for_the_last_who_has_it():
    """And goes on at once then."""
    way, done = RecallPriority(longest_s=60), threading.Event()
    thread = threading.Thread(target=lambda: (way.pause(), done.set()))
    with way.held():
        with way.held():
            thread.start()
        assert not done.wait(0.02)
    thread.join(10)
    assert done.is_set()


class Counting(RecallPriority):
    """Notes how many had it whenever somebody gave way."""

    def __init__(self):
        super().__init__(longest_s=0.001)
        self.seen = []

    def pause(self):
        self.seen.append(self._under_way)
        super().pause()


@pytest.fixture
def maintained(tmp_path):
    """A memory with a worker that has not begun, and something to be read."""
    with Memory(tmp_path / "memory") as memory:
        memory.add([f"My sister Amalia has {n} boats in Porto." for n in range(3, 30)], user="ann")
        memory._wiring.recall_priority = Counting()
        memory._wiring.worker = BackgroundWorker(
            memory._wiring.maintain_in_background, memory._wiring.backlog.look
        )
        yield memory


def test_maintenance_gives_way_between_its_steps_and_ends(maintained):
    """A recall that never ends does not keep the views from what is new."""
    with maintained._wiring.recall_priority.held():
        maintained._wiring.maintain_in_background("ann")
    assert len(maintained._wiring.recall_priority.seen) > 2
    assert set(maintained._wiring.recall_priority.seen) == {1}
    lags = {view.view: view.lag for view in maintained.admin.stats(user="ann").views}
    assert {lags[name] for name in MAINTAINED} == {0}


@pytest.mark.parametrize("ask", ["recall", "search"])
def test_whoever_asks_has_the_way_until_they_are_answered(maintained, monkeypatch, ask):
    """Not before and not afterwards."""
    seen, way = [], maintained._wiring.recall_priority
    taken = maintained._wiring.variants.steadily

    def watched(*given):
        seen.append(way._under_way)
        return taken(*given)

    monkeypatch.setattr(maintained._wiring.variants, "steadily", watched)
    getattr(maintained, ask)("How many boats?", user="ann")
    assert (seen, way._under_way) == ([1], 0)
