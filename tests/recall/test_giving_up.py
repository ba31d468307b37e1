"""A recall that nobody waits for any more stops at its next step."""

import asyncio
import threading

import pytest

from zibaldone import AsyncMemory, InvalidInput, RecallGivenUp
from zibaldone.core.deadline import Deadline, with_time_left
from zibaldone.views.base import Retrieved
from zibaldone.views.units_view import UnitsView

MANY = 20_000  # steps that are never reached, and end a test all the same


class Steps(UnitsView):
    """A view that takes many steps, and counts those it gets to."""

    name = "steps"

    def __init__(self, database, tokenizer):
        super().__init__(tokenizer, "1")
        self.taken = 0
        self.on_step = lambda: None

    def prepare(self, messages, basis=None, progress=None):
        """Nothing to read."""

    def commit(self, connection, generation, seqs, prepared):
        """Nothing to write."""

    def retrieve(self, take_snapshot, query):
        """Look again and again."""
        for _ in range(MANY):
            with take_snapshot():
                self.taken += 1
            self.on_step()
        return Retrieved((), 0, 1.0, lambda _: None)


@pytest.fixture
def steps(memory):
    """One that the memory drives, with a message to be asked about."""
    memory.add("The heron is called Ottokar.", user="ann")
    return memory.admin.attach(Steps)


def test_no_step_is_taken_after_the_deadline(memory, steps, monkeypatch):
    """The one under way ends; the recall raises, and nothing of it goes on."""
    now = 0.0

    def tick():
        nonlocal now
        now += 1.0

    steps.on_step = tick
    monkeypatch.setattr(Deadline, "after", lambda timeout_s: Deadline(timeout_s, lambda: now))
    with pytest.raises(RecallGivenUp, match="timeout_s"):
        memory.recall("heron?", user="ann", views=["steps", "messages"], timeout_s=5.0)
    assert steps.taken == 5


@pytest.mark.parametrize("ask", ["recall", "search"])
def test_nothing_begins_without_time(memory, steps, ask):
    """A call that waited for all its time asks no view."""
    with pytest.raises(RecallGivenUp):
        getattr(memory, ask)("heron?", user="ann", timeout_s=0)
    with pytest.raises(RecallGivenUp):
        memory.recall("heron?", user="ann", views=["steps"], timeout_s=0)
    assert steps.taken == 0


def test_a_recall_with_time_enough_is_what_it_is_without(memory, steps):
    """The limit changes nothing that is in time; it is a number of seconds, not below 0."""
    recalled = memory.recall("What is the heron called?", user="ann", timeout_s=600)
    assert recalled.text == memory.recall("What is the heron called?", user="ann").text
    assert "Ottokar" in recalled.text
    with pytest.raises(InvalidInput, match="timeout_s"):
        memory.recall("heron?", user="ann", timeout_s=-1)


def test_a_cancelled_recall_stops(tmp_path):
    """Whoever awaited it is gone: the thread does not go on to the end."""

    async def work():
        async with AsyncMemory(tmp_path) as memory:
            await memory.add("The heron is called Ottokar.", user="ann")
            steps = await memory.admin.attach(Steps)
            begun = threading.Event()
            steps.on_step = begun.set
            task = asyncio.create_task(memory.recall("heron?", user="ann", views=["steps"]))
            await asyncio.to_thread(begun.wait)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return steps.taken

    assert 0 < asyncio.run(work()) < MANY


def test_a_call_that_waited_has_less_time():
    """What is left of it goes to whoever answers; without a limit there is none."""
    assert with_time_left({"user": "ann", "timeout_s": 3.0}, 10.0, lambda: 11.0)["timeout_s"] == 2.0
    assert with_time_left({"timeout_s": 3.0}, 10.0, lambda: 20.0) == {"timeout_s": 0.0}
    assert with_time_left({"user": "ann"}, 10.0, lambda: 20.0) == {"user": "ann"}
