"""Files of the pool, which tell nobody whose they are, and the tiers in memory before them."""

import pytest
import torch
from kv_rig import PAPER, USER, Rig, filled, line

from zibaldone import log
from zibaldone.api.kv import KVMemory
from zibaldone.errors import StorageBusy
from zibaldone.views.kvcache.model.attention_hooks import RawKV
from zibaldone.views.kvcache.storage.tiers import Hits, Lru, size_of


def _raw(value, tokens=2):
    return (RawKV(torch.full((1, tokens, 4), float(value)), torch.zeros(1, tokens, 4)),)


SIZE = size_of(_raw(0))


def test_the_least_lately_used_goes_first():
    """A block that was asked for stays longer than an older one; one that would never fit pushes none out."""
    lru = Lru(3 * SIZE)
    for key in "abc":
        lru.put(key, _raw(0))
    assert lru.get("a") is not None
    lru.put("d", _raw(0))
    lru.put("e", _raw(0, tokens=100))
    assert [lru.get(key) is not None for key in "abcde"] == [True, False, True, True, False]


def test_an_answer_says_where_its_blocks_came_from(tmp_path):
    """From disk the first time, from main memory the second."""
    with filled(tmp_path / "m") as rig:
        rig.view.tiers.drop(USER)
        count = len(rig.ask().blocks)
        assert count > 1
        rig.view.tiers.drop(USER)
        assert rig.ask().trace.hits == Hits(disk=count)
        assert rig.ask().trace.hits == Hits(host=count)


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
        assert not {block.number for block in rig.blocks() if block.boxes_crc is None}
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
        modes = {rig.path(name, "marguerite").stat().st_mode & 0o077 for name in ("blocks", "boxes-0")}
    assert paths
    assert not any(name in str(path) for path in paths for name in ("marguerite", "vienna"))
    assert modes == {0}
