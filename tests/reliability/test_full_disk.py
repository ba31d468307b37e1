"""A full disk: nothing can be stored, and forgetting makes room again. On a small file system of its own."""

import subprocess
from collections import deque
from functools import partial

import pytest

from zibaldone import Memory, StorageFull
from zibaldone.testing import HashEmbedder

pytestmark = pytest.mark.wide

LONG = " ".join(f"word{i}" for i in range(400))


@pytest.fixture
def small(tmp_path):
    """A folder on a file system of 40 MiB."""
    place = tmp_path / "small"
    place.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(place)]
    try:
        subprocess.run(mounting, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system can be mounted here, which takes the rights of root: {error}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def again(call, error):
    """Call until there is no room."""
    with pytest.raises(error):
        deque(iter(call, "never"), maxlen=0)


def fill(place, memory):
    """What somebody else writes, and then what the memory is given, until nothing goes in any more."""
    with (place / "filler").open("ab", buffering=0) as file:
        for size in (2**20, 2**12):
            again(partial(file.write, bytes(size)), OSError)
    again(partial(memory.add, LONG, user="ann", session="new"), StorageFull)


def test_forgetting_frees_a_full_disk(small):
    """The room that was kept is used: what was chosen goes from all files, and adds go on."""
    with Memory(small / "memory", embedder=HashEmbedder(16)) as memory:
        memory.add([f"{i} {LONG}" for i in range(400)], user="ann", session="old")
        memory.maintain()
        fill(small, memory)
        receipt = memory.forget(user="ann", session="old", keep_texts=True)
        assert (receipt.messages, receipt.purged) == (400, True)
        assert memory.admin.verify(receipt).leftovers == ()
        assert memory.add("There is room again.", user="ann")
        assert memory.admin.check().ok


def test_room_is_kept_again_when_there_is_some(small):
    """The next maintenance after the disk was cleared keeps room for the next time."""
    with Memory(small / "memory", embedder=HashEmbedder(16)) as memory:
        memory.add([f"{i} {LONG}" for i in range(400)], user="ann")
        memory.maintain()
        before = (small / "memory" / "reserve").stat().st_size
        fill(small, memory)
        memory.forget(user="ann", seqs=[1])
        assert not (small / "memory" / "reserve").exists()
        (small / "filler").unlink()
        memory.maintain()
        assert (small / "memory" / "reserve").stat().st_size == before


def test_what_was_acknowledged_stays(small):
    """Also for who opens the memory on the full disk; when there is room, all works."""
    with Memory(small / "memory", embedder=HashEmbedder(16)) as memory:
        fill(small, memory)
        stored = memory.messages(user="ann")
        assert [message.seq for message in stored] == [*range(1, len(stored) + 1)]
    with Memory(small / "memory", embedder=HashEmbedder(16)) as memory:
        assert memory.messages(user="ann") == stored
        assert memory.admin.check().faults == ()
        again(partial(memory.add, LONG, user="ann"), StorageFull)
        (small / "filler").unlink()
        assert memory.add("A tulip.", user="ann")
        assert memory.recall("tulip", user="ann")
