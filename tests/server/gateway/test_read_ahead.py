"""What was stored is read in the user's process before they ask again, and holds nobody up."""

import asyncio
from functools import partial
from types import SimpleNamespace

import pytest

from zibaldone.server.gateway.exchange import BackgroundTasks, Workshop
from zibaldone.server.memory_pool import DividedMemory
from zibaldone.server.metrics import Metrics


class OneProcess(DividedMemory):
    """Notes who is read ahead, and whether the process was theirs meanwhile."""

    lanes = 1
    admin = SimpleNamespace(is_embedded=True)

    def __init__(self):
        self.read = []

    def lane(self, user):
        return 0

    def user(self, name):
        return SimpleNamespace(preload=partial(self.preload, name))

    async def preload(self, user):
        self.read.append((user, self.shop.turns(user).locked()))


@pytest.fixture
def read_ahead():
    """What a coroutine function makes a shop read ahead, after everything that was to come has come."""

    def read_ahead(work):
        async def run():
            memory = OneProcess()
            shop = Workshop(memory, None, None, BackgroundTasks(), Metrics(), recall_timeout_s=1.0)
            memory.shop = shop
            await work(shop)
            await asyncio.sleep(0.02)
            await shop.background.drain(1.0)
            assert not shop._to_read
            return memory.read

        return asyncio.run(run())

    return read_ahead


def test_it_is_read_once_while_nobody_recalls(read_ahead):
    """A later one takes an earlier one's place; the process does nothing else meanwhile."""

    async def stored_twice(shop):
        shop.read_ahead("ann", after_s=0.005)
        shop.read_ahead("ann", after_s=0.0)

    assert read_ahead(stored_twice) == [("ann", True)]


def test_who_asks_again_does_not_wait_for_it(read_ahead):
    """Their recall reads it; others' is read."""

    async def asked_at_once(shop):
        shop.read_ahead("ann", after_s=0.005)
        shop.read_ahead("bob", after_s=0.005)
        shop.leave_unread("ann")

    assert read_ahead(asked_at_once) == [("bob", True)]


def test_it_is_left_where_somebody_recalls(read_ahead):
    """Their process has other things to do."""

    async def busy(shop):
        async with shop.turns("bob"):
            shop.read_ahead("ann", after_s=0.0)
            await asyncio.sleep(0.01)

    assert read_ahead(busy) == []


def test_a_server_that_ends_reads_nothing_ahead_any_more(read_ahead):
    """The processes end next, and would be called in the middle of it."""

    async def ended(shop):
        shop.read_ahead("ann", after_s=0.005)
        await shop.end(1.0)

    assert read_ahead(ended) == []
