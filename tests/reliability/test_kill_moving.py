"""kill -9 while blocks move into a bucket: one place has them all, and the move ends or is undone."""

import random
import signal
import subprocess
import sys
import threading
from collections import Counter

import pytest
from sqlalchemy import select

from anywhere import EVERYWHERE
from bucket_server import BucketMisbehaviour
from memories import open_memory
from small_blocks import SMALL_BLOCKS
from zibaldone.storage.folder_layout import BLOCKS
from zibaldone.storage.moving import move_blocks, undo_move
from zibaldone.storage.opening import open_database
from zibaldone.storage.schema import blocks
from zibaldone.storage.schema import bucket as places

pytestmark = pytest.mark.wide

TEXTS = [f"The harbour of Lindesnes says that berth {berth} is free for my boat." for berth in range(20)]
CLI = "from zibaldone.cli.app import app; app()"


def told(where):
    """What everybody's chunks say."""
    with open_memory(where, **SMALL_BLOCKS) as memory:
        assert memory.admin.check().faults == ()
        return {user: memory.user(user).chunks() for user in ("ann", "bea")}


def of_memory(bucket, folder):
    """Keys of the memory's objects in the bucket."""
    return {key.partition("/blocks/")[2] for key in bucket.objects if f"/{folder}/blocks/" in key}


class Killer:
    """Kills a process at the bucket's request of that number, which is done or not, or soon after it."""

    def __init__(self, bucket, at, *, is_done, soon_after_s):
        self._at, self._is_done, self._soon_after_s = at, is_done, soon_after_s
        self._lock, self._next, self._process = threading.Lock(), bucket._next, None
        self.requests = 0
        self.hit = ""

    def count(self, request):
        """In the place of the bucket's own."""
        happens = self._next(request)
        with self._lock:
            self.requests += self._process is not None
            if self._process is None or self.requests != self._at:
                return happens
            self.hit = request.split()[0]
            if self._soon_after_s:
                threading.Timer(self._soon_after_s, self._process.kill).start()
                return happens
            self._process.kill()
            return happens if self._is_done else BucketMisbehaviour.DENIED

    def move(self, where, url):
        """The command, in a process of its own: a bucket's client is not carried across a fork."""
        command = [sys.executable, "-c", CLI, "move-blocks", url, "--memory", str(where)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as self._process:
            pass
        assert self._process.returncode in (0, -signal.SIGKILL)
        self._process = None


@EVERYWHERE
@pytest.mark.parametrize("kills", [8, pytest.param(60, marks=pytest.mark.exhaustive)])
def test_a_killed_move(anywhere, bucket, kills, monkeypatch):
    """Nothing is lost; run again it ends, undone it leaves nothing, and what is forgotten is nowhere."""
    chance = random.Random(7)
    monkeypatch.setattr(bucket._server, "handle_error", lambda *_: None)  # a killed client's
    hits, ends = Counter(), Counter()
    requests = 16  # of a whole move, at first a guess
    for kill in range(kills):
        where = anywhere(f"memory-{kill}")
        with open_memory(where, **SMALL_BLOCKS) as memory:
            memory.add(TEXTS[:10], user="ann")
            memory.add(TEXTS[10:], user="bea")
            memory.maintain()
        before = told(where)
        killer = Killer(
            bucket,
            1 + kill * requests // kills,  # so that every step of a move has its turn
            is_done=chance.random() < 0.5,
            soon_after_s=chance.choice([0, chance.random() * 0.03]),
        )
        with monkeypatch.context() as patched:
            patched.setattr(bucket, "_next", killer.count)
            killer.move(where, bucket.url)
        hits[killer.hit] += 1
        requests = max(requests, killer.requests)
        assert told(where) == before
        database = open_database(where, busy_timeout_s=5)
        with database.read() as connection:
            place = connection.execute(select(places)).first()
        if place is None:
            ends["not begun"] += 1
        elif place.moving and chance.random() < 0.4:
            undo_move(database)
            assert of_memory(bucket, place.id) == set()
            assert told(where) == before
            ends["undone"] += 1
        else:
            with open_memory(where, **SMALL_BLOCKS) as memory:
                memory.forget(user="ann", everything=True)
            if place.moving:
                move_blocks(database, bucket.url)
            ends["done again" if place.moving else "done"] += 1
            with database.read() as connection:
                in_use = connection.execute(select(blocks.c.block).where(blocks.c.released == 0)).scalars()
                assert of_memory(bucket, place.id) == set(in_use)
            assert told(where) == {"ann": [], "bea": before["bea"]}
            assert database.shared or not [*(where / BLOCKS).rglob("*.block")]
        database.close()
    assert hits["PUT"] + hits["GET"] >= kills / 2
    assert ends["done again"] > 0
