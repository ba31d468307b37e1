"""Crashes, torn files, full disks and other models: an error or a rebuild, never wrong keys."""

import errno
from pathlib import Path

import pytest
from kv_rig import CONFIG, PAPER, USER, filled, flip, leaked, line, secrets_of, without_model

from zibaldone.errors import BlockMissing, StorageBusy, StorageCorrupt, StorageFull, StorageUnusable
from zibaldone.views.kvcache.retrieve.fetching import Fetcher
from zibaldone.views.kvcache.storage import manifest, store
from zibaldone.views.kvcache.view import KVView


class Crash(BaseException):
    """The process dies here."""


@pytest.fixture
def rig(tmp_path):
    """Eight messages in the pool."""
    with filled(tmp_path / "m") as made:
        yield made


def _crash_in_append(rig, monkeypatch):
    """Two messages whose bytes are written, and whose transaction never commits."""

    def die(*_):
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(manifest, "add", die)
        rig.say(line(20), line(21), session="new", remember=False)
        with pytest.raises(Crash):
            rig.kv.remember(user=USER)


@pytest.mark.parametrize("forgotten", [True, False], ids=["forgotten", "opened again"])
def test_what_a_crash_has_left_is_removed(tmp_path, monkeypatch, forgotten):
    """When the message is forgotten, or, without a model, by whoever opens the folder next."""
    with filled(tmp_path / "m") as rig:
        before = [data for pair in rig.made().values() for data in pair]
        rows = rig.blocks()
        _crash_in_append(rig, monkeypatch)
        assert rig.blocks() == rows
        assert rig.memory.admin.check().faults == ()
        secrets = secrets_of([[path.read_bytes() for path in rig.path().parent.iterdir()]], [before])
        assert leaked(secrets, rig.folder) == len(secrets) > 4
        if forgotten:
            rig.memory.forget(user=USER, seqs=[9, 10])
    if not forgotten:
        without_model(tmp_path / "m").close()
    assert leaked(secrets, tmp_path / "m") == 0


@pytest.mark.parametrize("asked", [True, False], ids=["asked", "checked"])
@pytest.mark.parametrize("config", [CONFIG, PAPER], ids=["default", "paper"])
@pytest.mark.parametrize(
    "damage", [lambda path: flip(path, 5), lambda path: path.write_bytes(b""), Path.unlink]
)
def test_what_is_damaged_is_never_used(tmp_path, config, damage, asked):
    """A check names it; a question is answered as before, or not; the next remember() mends it."""
    with filled(tmp_path / "m", config=config) as rig:
        expected, made = rig.ask(turns=9).text, rig.made()
        damage(rig.path())
        faults = [str(fault) for fault in rig.memory.admin.check().faults]
        assert any("block 1 is torn" in fault for fault in faults)
        if asked:
            try:
                assert rig.ask(turns=9).text == expected
            except StorageCorrupt:
                rig.view.heal(rig.database, USER)
                assert rig.ask(turns=9).text == expected
        rig.kv.remember(user=USER)
        assert rig.made() == made
        assert rig.memory.admin.check().faults == ()


def test_what_moves_without_end_is_said_as_busy(rig, monkeypatch):
    """Nothing is lost, and the error says to call again; the same call later does."""

    def moving(*_):
        raise BlockMissing("a KV block has just moved")

    rig.say(line(20), remember=False)
    with monkeypatch.context() as patch:
        patch.setattr(Fetcher, "chain", moving)
        with pytest.raises(StorageBusy, match="call again"):
            rig.kv.remember(user=USER)
        with pytest.raises(StorageBusy, match="call again"):
            rig.ask()
    assert rig.kv.remember(user=USER).blocks == 9


def test_what_was_forgotten_by_a_process_that_died_is_gone_when_others_remember(rig, monkeypatch):
    """Its rows are gone and its files are not: a new pool of the same number does not take them over."""
    before = list(rig.made().values())
    with monkeypatch.context() as patch:
        patch.setattr(KVView, "refresh", lambda *_: None)
        rig.memory.forget(user=USER, everything=True)
    assert leaked(secrets_of(before, []), rig.folder)
    rig.say(line(20))
    assert leaked(secrets_of(before, list(rig.made().values())), rig.folder) == 0


def test_a_disk_that_fills_in_the_middle_of_a_write_loses_nothing(rig, monkeypatch):
    """Half of a batch is written: no row names it."""
    before, real = rig.made(), Path.replace
    left = iter([True, True])

    def filling(path, target):
        if next(left, False):
            return real(path, target)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", filling)
        rig.say(*(line(i) for i in range(20, 24)), session="new", remember=False)
        with pytest.raises(StorageFull, match="no space left"):
            rig.kv.remember(user=USER)
    assert rig.made() == before
    assert rig.kv.remember(user=USER).blocks == 12
    assert rig.memory.admin.check().faults == ()


def test_forgetting_on_a_full_disk_forgets(rig, monkeypatch):
    """The receipt comes though nothing can be encoded anew yet; that follows when there is room."""

    def full(*_):
        raise StorageUnusable("cannot be removed")

    with monkeypatch.context() as patch:
        patch.setattr(store, "_remove", full)
        assert rig.memory.forget(user=USER, seqs=[1]).purged is False
    rig.kv.remember(user=USER)
    assert 1 not in rig.seqs()
    assert all(block.crc is not None for block in rig.blocks())
