"""Files of the pool, which tell nobody whose they are, and what others forget meanwhile."""

import pytest
from kv_rig import PAPER, USER, Rig, filled, line

from zibaldone import log
from zibaldone.api.kv import KVMemory
from zibaldone.errors import StorageBusy


def test_a_recall_of_keys_says_where_they_answer(tmp_path):
    with filled(tmp_path / "m", 1) as rig:
        found = rig.memory.recall("w1 w2", user=USER, views=["kv"], min_confidence=0)
    assert (found.evidence, "KVMemory.generate" in found.trace.views[0].note) == ((), True)


def _forgetting(monkeypatch, rig, *seqs):
    """Another process forgets one of these messages after the other, each time that all is caught up."""
    caught_up, left = KVMemory._catch_up, iter(seqs)

    def then_forgotten(self, user):
        caught_up(self, user)
        if (seq := next(left, None)) is not None:
            with rig.database.write() as connection:
                rig.view.forget(connection, USER, [seq])
                log.remove(connection, USER, [seq])
                log.touch(connection, USER, deleted=True)

    monkeypatch.setattr(KVMemory, "_catch_up", then_forgotten)


def test_what_others_unmake_between_catching_up_and_asking_is_encoded_first(tmp_path, monkeypatch):
    """Turns after it are not left out; while others forget without a pause the error says to call again."""
    with filled(tmp_path / "m") as rig:
        with monkeypatch.context() as patch:
            _forgetting(patch, rig, 1)
            answer = rig.ask(turns=20)
        assert {cited.seq for cited in answer.citations} == set(range(2, 9))
        assert not {block.number for block in rig.blocks() if block.crc is None}
        with monkeypatch.context() as patch:
            _forgetting(patch, rig, 2, 3, 4, 5, 6)
            with pytest.raises(StorageBusy, match="call again"):
                rig.ask(turns=20)
        assert rig.ask(turns=20).citations


def test_files_tell_nobody_whose_they_are(tmp_path):
    """Names of users and sessions are in no path, and only the owner of the process can read them."""
    with Rig(tmp_path / "m", config=PAPER) as rig:
        rig.say(line(1), user="marguerite", session="vienna")
        paths = list((rig.folder / "kv").rglob("*"))
        modes = {path.stat().st_mode & 0o077 for path in paths if path.is_file()}
    assert paths
    assert not any(name in str(path) for path in paths for name in ("marguerite", "vienna"))
    assert modes == {0}
