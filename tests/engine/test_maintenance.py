"""Maintenance where something is damaged, killed, or where there is nothing to do."""

import pytest

from zibaldone import MemAttention
from zibaldone.engine import maintenance
from zibaldone.engine.generations import building, serving
from zibaldone.errors import StorageCorrupt
from zibaldone.testing import HashEmbedder

CHUNKS = {
    "batch_messages": 4,
    "chunks": MemAttention(chunk_gate_tokens=40),
    "chat": None,
    "maintained": ["chunks"],
}
FACTS = [f"Fact {i}: Otto repaired clock number {i} in cellar {i} on a Tuesday." for i in range(12)]


@pytest.fixture
def memory(opened):
    """With small chunks, no model, and nothing to maintain but messages and chunks."""
    return opened(**CHUNKS)


def half_built(memory, monkeypatch, user="ann", view="chunks"):
    """A rebuild of the view dies after its first batch."""

    class Killed(BaseException):
        pass

    step = maintenance._step

    def dies(*args, **options):
        step(*args, **options)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(maintenance, "_step", dies)
        with pytest.raises(Killed):
            memory.builds.rebuild(user=user, view=view)


def generations_of(memory, view="chunks"):
    """(what serves, what is half built) of Ann's."""
    with memory._database.read() as connection:
        chosen = memory._wiring.views[view]
        return serving(connection, "ann", chosen), building(connection, "ann", chosen)


def test_a_damaged_view_holds_up_neither_its_users_other_views_nor_other_users(memory, monkeypatch):
    """The view is reported behind, with the reason; everything else is read."""
    for user in ("ann", "bea"):
        memory.add(FACTS, user=user)
    prepare = memory._wiring.chunks.prepare

    def torn(messages, basis=None):
        if basis.user == "ann":
            raise StorageCorrupt("block 7 is torn")
        return prepare(messages, basis)

    monkeypatch.setattr(memory._wiring.chunks, "prepare", torn)
    report = memory.maintain(views=["chunks", "hierarchy"])
    assert [(one.user, one.view, one.reason) for one in report.behind] == [
        ("ann", "chunks", "block 7 is torn")
    ]
    assert generations_of(memory, "hierarchy")[0].cursor == len(FACTS)
    assert memory.user("bea").chunks()
    monkeypatch.undo()
    assert memory.maintain(views=["chunks", "hierarchy"]).behind == ()
    assert memory.user("ann").chunks()


def test_bugs_are_not_taken_for_damage(memory, monkeypatch):
    """Only typed failures leave a view behind."""
    memory.add(FACTS, user="ann")
    monkeypatch.setattr(memory._wiring.chunks, "prepare", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        memory.maintain()


def test_a_killed_rebuild_is_finished_by_the_next_maintenance(memory, monkeypatch):
    """It goes on where it stopped, and takes the old one's place."""
    memory.add(FACTS, user="ann")
    memory.maintain()
    old, _ = generations_of(memory)
    half_built(memory, monkeypatch)
    assert generations_of(memory)[1].cursor == 4
    assert memory._wiring.backlog.look() == ["ann"]
    memory.maintain()
    served, unfinished = generations_of(memory)
    assert (served.number, unfinished) == (old.number + 1, None)
    assert memory._wiring.backlog.look() == []
    assert memory.admin.check().faults == ()


def test_what_a_killed_rebuild_left_under_other_settings_is_dropped(opened, memory, monkeypatch):
    """Back at the old settings, nothing of the half-built generation stays."""
    memory.add(FACTS, user="ann")
    memory.maintain()
    old, _ = generations_of(memory)
    memory.close()
    other = opened(**CHUNKS, embedder=HashEmbedder(32))
    half_built(other, monkeypatch)
    assert generations_of(other)[1] is not None
    other.close()
    again = opened(**CHUNKS)
    again.maintain()
    assert generations_of(again) == (old, None)
    assert again.admin.check().faults == ()


def test_progress_counts_what_a_rebuild_reads(opened, memory):
    """With other settings everything is read again, and the last call of progress says so."""
    memory.add(FACTS, user="ann")
    memory.maintain()
    memory.close()
    seen = []
    again = opened(**CHUNKS, embedder=HashEmbedder(32))
    again.maintain(progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (24, 24)
