"""Forgetting beside everything else: what others are at may fail by an error of ours, or goes on."""

import threading

import pytest

from zibaldone import ZibaldoneError
from zibaldone.testing import HashEmbedder

VIEWS = ["messages", "chunks", "hierarchy", "topics", "notes"]
ROUNDS = 6


@pytest.mark.wide
def test_forgetting_beside_maintenance_and_recall(opened_anywhere):
    """One forgets while others maintain and recall the same user: every error is typed, and all agrees."""
    memory = opened_anywhere(embedder=HashEmbedder(16), maintained=VIEWS)
    talk = [f"On day {i} Ann bought {i} tulips in Porto, and her dog Rex ate {i} of them." for i in range(30)]
    memory.add(talk, user="ann")
    memory.maintain()
    untyped, done = [], threading.Event()

    def again(call):
        while not done.is_set():
            try:
                call()
            except ZibaldoneError:
                continue
            except Exception as error:  # noqa: BLE001 - the subject of the test
                untyped.append(error)
                return

    threads = [
        threading.Thread(target=again, args=[call])
        for call in (
            lambda: memory.maintain(user="ann"),
            lambda: memory.recall("Where did Ann buy tulips?", user="ann", views=VIEWS),
            lambda: memory.user("ann").topics.documents(),
            lambda: memory.forget(user="ann", seqs=[1, 2], dry_run=True),
        )
    ]
    for thread in threads:
        thread.start()
    for number in range(ROUNDS):
        stored = memory.add([f"{line} Round {number}." for line in talk[:5]], user="ann")
        memory.forget(user="ann", seqs=[message.seq for message in stored[::2]])
    done.set()
    for thread in threads:
        thread.join()
    assert untyped == []
    memory.maintain(user="ann")
    assert memory.admin.check().ok
