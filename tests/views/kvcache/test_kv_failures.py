"""Crashes, torn files, full disks and other models: an error or a rebuild, never wrong keys."""

import errno
import os

import pytest
from kv_rig import PAPER, USER, filled, flip, leaked, line, secrets_of

from zibaldone import Config, Memory
from zibaldone.errors import BlockMissing, StorageBusy, StorageCorrupt, StorageFull
from zibaldone.testing import FrozenClock
from zibaldone.views.kvcache.retrieve.fetching import Fetcher
from zibaldone.views.kvcache.storage import manifest
from zibaldone.views.kvcache.storage.block_files import PoolFiles
from zibaldone.views.kvcache.view import KVView


class Crash(BaseException):
    """The process dies here."""


def _die(*_, **__):
    raise Crash


@pytest.fixture
def rig(tmp_path):
    """Eight messages in the pool."""
    with filled(tmp_path / "m") as made:
        yield made


@pytest.fixture
def boxed(tmp_path):
    """The same with the paper's settings, whose layers choose by boxes."""
    with filled(tmp_path / "boxed", config=PAPER) as made:
        yield made


def _crash_in_append(rig, monkeypatch):
    """Two messages whose bytes are written, and whose transaction never commits."""
    with monkeypatch.context() as patch:
        patch.setattr(manifest, "add", _die)
        written = []
        write = PoolFiles.write

        def noted(self, blocks, *others):
            written.append(sorted(blocks))
            write(self, blocks, *others)

        patch.setattr(PoolFiles, "write", noted)
        rig.say(line(20), line(21), session="new", remember=False)
        with pytest.raises(Crash):
            rig.kv.remember(user=USER)
    return written


def test_a_crash_between_bytes_and_rows_leaves_the_rows_as_they_were(rig, monkeypatch):
    """Written bytes are named by no row, only as intended."""
    before = rig.blocks()
    assert _crash_in_append(rig, monkeypatch) == [[8, 9]]
    assert rig.blocks() == before
    assert rig.view.files(rig.pool()).intended()[0] == [8, 9]
    assert rig.memory.admin.check().faults == ()


def test_what_a_crash_has_left_is_overwritten_when_the_message_is_forgotten(rig, monkeypatch):
    """Bytes that no row names go too."""
    before = [data for pair in rig.made().values() for data in pair]
    _crash_in_append(rig, monkeypatch)
    secrets = secrets_of([[rig.path().read_bytes()]], [before])
    assert leaked(secrets, rig.folder) == len(secrets) > 20
    rig.memory.forget(user=USER, seqs=[9, 10])
    assert leaked(secrets, rig.folder) == 0


def test_what_a_crash_has_left_is_overwritten_at_the_next_opening(tmp_path, monkeypatch):
    """Without a model, by whoever opens the folder."""
    with filled(tmp_path / "m") as rig:
        before = [data for pair in rig.made().values() for data in pair]
        _crash_in_append(rig, monkeypatch)
        secrets = secrets_of([[rig.path().read_bytes()]], [before])
    with Memory(tmp_path / "m", config=Config(clock=FrozenClock())):
        assert leaked(secrets, tmp_path / "m") == 0


def _named(rig, what):
    return [what in str(fault) for fault in rig.memory.admin.check().faults].count(True)


def _says(rig, expected):
    """An answer that is what it was, or none: what is damaged is made again or is an error."""
    try:
        assert rig.ask(turns=9).text == expected.text
    except StorageCorrupt:
        rig.view.heal(rig.database, USER)
        assert rig.ask(turns=9).text == expected.text


def test_a_torn_block_is_never_used(rig):
    """A changed byte is named by check_integrity, and noticed by an answer."""
    expected, made = rig.ask(turns=9), rig.made()
    torn = rig.blocks()[2]
    rig.view.tiers.drop(USER)
    flip(rig.path(), torn.slot * rig.pool().layout.stride_bytes + 5)
    assert _named(rig, f"block {torn.number} is torn") == 1
    _says(rig, expected)
    rig.kv.remember(user=USER)
    assert rig.made() == made
    assert rig.memory.admin.check().faults == ()


def test_torn_boxes_are_never_scored(boxed):
    """Boxes that are not what was written are named by check_integrity, and made again when they are read."""
    rig = boxed
    expected, made = rig.ask("w1 w9", turns=2).blocks, rig.made()
    torn = rig.blocks()[4]
    flip(rig.path("boxes-1"), (torn.number - 1) * rig.pool().layout.box_bytes(1) + 3)
    rig.view.indexes._held.take(USER)
    assert _named(rig, f"the boxes of block {torn.number} are torn") == 1
    assert rig.ask("w1 w9", turns=2).blocks == expected
    assert rig.made() == made
    assert rig.memory.admin.check().faults == ()


def _missing(monkeypatch, times):
    """Blocks move under whoever goes on from a session's end, so many times."""
    left, chain = iter(range(times)), Fetcher.chain

    def moving(self, *args):
        if next(left, None) is not None:
            raise BlockMissing("a KV block has just moved")
        return chain(self, *args)

    monkeypatch.setattr(Fetcher, "chain", moving)


def test_what_moves_without_end_is_said_as_busy(rig, monkeypatch):
    """Nothing is lost, and the error says to call again; the same call later does."""
    rig.say(line(20), remember=False)
    with monkeypatch.context() as patch:
        _missing(patch, 100)
        with pytest.raises(StorageBusy, match="call again"):
            rig.kv.remember(user=USER)
        with pytest.raises(StorageBusy, match="call again"):
            rig.ask()
    assert rig.kv.remember(user=USER).blocks == 9


@pytest.mark.parametrize("name", ["blocks", "boxes-0"])
@pytest.mark.parametrize("size", [0, 100])
def test_a_truncated_file_is_noticed(boxed, name, size):
    """Blocks and boxes that are not there any more are never taken for zeros."""
    rig = boxed
    expected = rig.ask(turns=9)
    os.truncate(rig.path(name), size)
    rig.view.tiers.drop(USER)
    rig.view.indexes._held.take(USER)
    assert rig.memory.admin.check().faults
    _says(rig, expected)
    rig.kv.remember(user=USER)
    assert rig.memory.admin.check().faults == ()


@pytest.mark.parametrize("name", ["blocks", "boxes-0"])
def test_what_an_integrity_check_finds_the_next_remember_mends(boxed, name):
    """Torn blocks and boxes are encoded again without a question."""
    rig = boxed
    made = rig.made()
    flip(rig.path(name), 5)
    assert _named(rig, "is torn" if name == "blocks" else "are torn") == 1
    rig.kv.remember(user=USER)
    assert rig.made() == made
    assert rig.memory.admin.check().faults == ()


def test_what_was_forgotten_by_a_process_that_died_is_gone_when_others_remember(rig, monkeypatch):
    """Its rows are gone and its files are not: a new pool of the same number does not take them over."""
    before = list(rig.made().values())
    with monkeypatch.context() as patch:
        patch.setattr(KVView, "refresh", lambda *_: None)
        rig.memory.forget(user=USER, everything=True)
    assert leaked(secrets_of(before, []), rig.folder)
    rig.view.indexes._held.take(USER)
    rig.view.tiers.drop(USER)
    rig.say(line(20))
    assert leaked(secrets_of(before, list(rig.made().values())), rig.folder) == 0


def test_a_disk_that_fills_in_the_middle_of_a_write_loses_nothing(rig, monkeypatch):
    """Half of a batch is written: no row names it."""
    before, real = rig.made(), os.pwrite
    left = iter([True, True])

    def filling(file, data, at):
        if next(left, False):
            return real(file, data, at)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", filling)
        rig.say(*(line(i) for i in range(20, 24)), session="new", remember=False)
        with pytest.raises(StorageFull, match="no space left"):
            rig.kv.remember(user=USER)
    assert rig.made() == before
    assert rig.kv.remember(user=USER).blocks == 12
    assert rig.memory.admin.check().faults == ()


def test_a_short_write_is_noticed(rig, monkeypatch):
    """A write that took only a part of the bytes, as on a full disk, is gone on with or raised."""
    real = os.pwrite

    def short(file, data, at):
        return real(file, data[: -(-len(data) // 2)], at)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", short)
        rig.say(line(20), session="new", remember=False)
        try:
            rig.kv.remember(user=USER)
        except StorageFull:
            return
    assert rig.memory.admin.check().faults == ()


def test_forgetting_on_a_full_disk_forgets(rig, monkeypatch):
    """The receipt comes though nothing can be encoded anew yet; that follows when there is room."""

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        assert rig.memory.forget(user=USER, seqs=[1]).purged is False
    rig.kv.remember(user=USER)
    assert 1 not in {seq for block in rig.blocks() for seq in block.tile.seqs}
    assert all(block.slot is not None for block in rig.blocks())
    assert rig.erasures() == ([], [])
