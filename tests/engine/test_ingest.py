"""Large calls: all of a call or none, and no more in memory than goes with it."""

import pytest

from zibaldone import IdConflict
from zibaldone.testing import FailingEmbedder, HashEmbedder
from zibaldone.views.messages import MessagesView

MANY = [{"content": f"Tulip {i}.", "id": str(i)} for i in range(2500)]


@pytest.fixture
def sizes(monkeypatch):
    """How many messages the view is given at a time."""
    seen = []
    prepare = MessagesView.prepare

    def counted(self, messages, *arguments, **options):
        seen.append(len(messages))
        return prepare(self, messages, *arguments, **options)

    monkeypatch.setattr(MessagesView, "prepare", counted)
    return seen


def test_a_large_call_is_prepared_in_parts(opened, sizes):
    """However many messages come at once, the view has few of them in hand, and reads them all."""
    memory = opened(embedder=HashEmbedder(8))
    assert [m.seq for m in memory.add(MANY, user="ann")] == list(range(1, 2501))
    assert max(sizes) <= 2048
    assert sum(sizes) == 2500
    assert memory.admin.stats(user="ann").views[0].lag == 0
    assert (2500,) in {unit.sources for unit in memory.recall("tulip 2499", user="ann").evidence}
    assert memory.admin.check().ok


def test_a_large_call_is_stored_whole_or_not_at_all(opened):
    """A fault in its last message leaves nothing of it."""
    memory = opened(embedder=HashEmbedder(8))
    with pytest.raises(IdConflict):
        memory.add([*MANY, {"content": "Another.", "id": "7"}], user="ann")
    assert memory.users() == []


def test_a_large_call_waits_for_no_embedder(opened):
    """It is stored while the embedder is down, found by its words, and read when the embedder is back."""
    embedder = FailingEmbedder(HashEmbedder(8))
    memory = opened(embedder=embedder)
    memory.add(MANY, user="ann")
    assert (2500,) in {unit.sources for unit in memory.recall("tulip 2499", user="ann").evidence}
    embedder.failing = False
    memory.maintain()
    assert memory.admin.stats(user="ann").views[0].lag == 0
