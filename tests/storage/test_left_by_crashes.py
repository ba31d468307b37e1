"""What a process that died in the midst of forgetting, or of a move, has left in a shared database."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from memories import open_memory
from zibaldone import MemAttention, Placement
from zibaldone.testing import HashEmbedder
from zibaldone.views.chunks import view as chunks_view
from zibaldone.views.chunks.storage import placement

CHUNKS = {
    "embedder": HashEmbedder(16),
    "chat": None,
    "chunks": MemAttention(chunk_gate_tokens=40),
    "placement": Placement(block_bytes=700, staged_blocks=0),
    "maintained": ["chunks"],
}


class Killed(BaseException):
    """As by kill -9: nobody handles it."""


@pytest.fixture
def memory(url):
    """Ann's, with all in blocks."""
    with open_memory(url, **CHUNKS) as memory:
        memory.add([f"Otto repaired clock {i} in his cellar in Porto." for i in range(30)], user="ann")
        memory.maintain()
        assert stored(memory)
        yield memory


def stored(memory):
    """Keys of the blocks that lie in the database."""
    with memory._database.read() as connection:
        return set(connection.execute(text("SELECT name FROM stored_objects")).scalars())


def in_use(memory):
    """Those that the directory knows."""
    with memory._database.read() as connection:
        return set(connection.execute(text("SELECT block FROM blocks WHERE released = 0")).scalars())


def die(*_, **__):
    raise Killed


def test_blocks_that_were_forgotten_go_with_the_next_look_of_a_worker(memory, monkeypatch):
    """Killed between the transaction that forgets and the deletion of the blocks: a worker deletes them."""
    with monkeypatch.context() as patched:
        patched.setattr(chunks_view, "release", die)
        with pytest.raises(Killed):
            memory.forget(user="ann", everything=True)
    assert stored(memory)
    assert memory._wiring.backlog.look() == ["ann"]
    memory.admin.start_worker(threads=1)
    assert memory._wiring.worker.idle(20)
    assert stored(memory) == in_use(memory) == set()


def test_a_block_of_a_move_that_died_goes_when_it_is_old(memory, monkeypatch):
    """Published and in no table: the user's next maintenance deletes it, once no move can be at it."""

    def killed(connection, *_):
        raise Killed

    memory.add([f"Otto sold clock {i} to a friend in Faro." for i in range(30)], user="ann")
    with monkeypatch.context() as patched:
        patched.setattr(placement, "_switch", killed)
        with pytest.raises(Killed):
            memory.maintain()
    orphans = stored(memory) - in_use(memory)
    assert orphans
    memory.maintain()
    assert orphans <= stored(memory)
    with memory._database.write() as connection:
        connection.execute(text("UPDATE stored_objects SET made_us = made_us - 7200 * 1000000::bigint"))
    memory.add([f"Otto found clock {i} again." for i in range(30)], user="ann")
    memory.maintain()
    assert stored(memory) == in_use(memory)
