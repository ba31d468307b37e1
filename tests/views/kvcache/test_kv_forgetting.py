"""Forgetting reaches rows, token ids, boxes and bytes, and what was made in sight of the message."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from kv_rig import (
    PAPER,
    USER,
    Rig,
    database_bytes,
    filled,
    held,
    leaked,
    line,
    secrets_of,
    token_bytes,
    told,
    without_model,
)

from zibaldone.views.kvcache.retrieve.index import index_of
from zibaldone.views.kvcache.storage import manifest, store
from zibaldone.views.kvcache.storage.store import KVStore


class Crash(BaseException):
    """The process dies here."""


def die(*_):
    raise Crash


def _everything(made):
    return [data for pair in made.values() for data in pair]


@pytest.fixture
def never(tmp_path):
    """Blocks of a memory that never had the third of the eight messages."""
    talks = [(USER, str(i % 2 + 1), range(i, i + 1)) for i in range(8) if i != 2]
    with told(tmp_path / "never", *talks) as rig:
        return rig.made()


@pytest.mark.parametrize("attached", [True, False], ids=["model", "no model"])
def test_the_bytes_are_in_no_file(tmp_path, never, attached):
    """No file has a key or value of the message, nor the database its tokens; the rest is made anew."""
    with filled(tmp_path / "m") as rig:
        secrets = secrets_of([_everything(rig.made())], [_everything(never)])
        assert leaked(secrets, rig.folder) == len(secrets) > 50
        assert token_bytes(line(2)) in database_bytes(rig.folder)
        if attached:
            rig.memory.forget(user=USER, seqs=[3])
    if not attached:
        with without_model(tmp_path / "m") as memory:
            receipt = memory.forget(user=USER, seqs=[3])
            assert {one.view: one.counts[0].rows for one in receipt.views}["kv"] == 1
            assert memory.admin.check().faults == ()
    assert leaked(secrets, tmp_path / "m") == 0
    assert token_bytes(line(2)) not in database_bytes(tmp_path / "m")
    with Rig(tmp_path / "m") as rig:
        assert {block.number for block in rig.blocks() if block.crc is None} == {9, 10}
        rig.kv.remember(user=USER)
        assert rig.made() == never


def test_blocks_that_run_over_messages_lose_the_tokens_of_one(tmp_path):
    """With blocks on a grid, what is left of the segment is cut anew."""
    with Rig(tmp_path / "m", config=PAPER) as rig, Rig(tmp_path / "n", config=PAPER) as expected:
        rig.say(*(line(i) for i in range(4)))
        rig.forget(seqs=[1, 3])  # the prefix stays before the others
        expected.say(line(1), line(3))
        assert rig.made() == expected.made()
        assert rig.seqs() == {2, 4}


def test_bytes_that_no_row_names_are_leftovers(tmp_path):
    """Verifying a forgetting finds none; it finds blocks and folders of nobody."""
    with filled(tmp_path / "m", config=PAPER):
        pass
    with without_model(tmp_path / "m") as memory:
        receipt = memory.forget(user=USER, seqs=[3], keep_texts=True)
        assert memory.admin.verify(receipt).ok
        (folder,) = (path for path in (tmp_path / "m" / "kv").iterdir() if path.name != "models")
        (folder / "1-99-00000000.block").write_bytes(b"\1" * 9000)
        (folder / "old").mkdir()
        where = {left.where for left in memory.admin.verify(receipt).leftovers}
        assert {f"kv/{folder.name}/1-99-00000000.block", f"kv/{folder.name}/old"} <= where


def test_what_waits_to_be_made_anew_is_not_searched(tmp_path):
    """Until then its blocks have no boxes: the other messages answer."""
    with filled(tmp_path / "m", config=PAPER):
        pass
    with without_model(tmp_path / "m") as memory:
        memory.forget(user=USER, seqs=[1])
    with Rig(tmp_path / "m", config=PAPER) as rig:
        with rig.database.read() as connection:
            index = index_of(connection, rig.pool(), torch.device("cpu"))
        assert {seq for block in index.blocks for seq in block.tile.seqs} == {7, 8}
        assert rig.ask().text
        assert rig.seqs() == set(range(2, 9))
        assert all(block.crc is not None for block in rig.blocks())


@pytest.mark.parametrize("where", [(store, "_remove"), (KVStore, "clean"), (manifest, "set_keys")])
def test_a_crash_while_forgetting_is_made_good(tmp_path, monkeypatch, never, where):
    """Files that no row names go at the next opening; who dies while encoding anew has forgotten."""
    with filled(tmp_path / "m") as rig:
        secrets = secrets_of([_everything(rig.made())], [_everything(never)])
        with monkeypatch.context() as patch:
            patch.setattr(*where, die)
            with pytest.raises(Crash):
                rig.forget(seqs=[3])
        assert bool(leaked(secrets, rig.folder)) is (where != (manifest, "set_keys"))
    with without_model(tmp_path / "m") as memory:
        assert leaked(secrets, tmp_path / "m") == 0
        assert memory.admin.check().faults == ()
    with Rig(tmp_path / "m") as rig:
        rig.kv.remember(user=USER)
        assert rig.made() == never


def test_forgetting_everything_leaves_no_file(tmp_path):
    """The user's folder goes with the last message, with a model attached and without."""
    with filled(tmp_path / "m") as rig:
        rig.say(line(1), user="zoe")
        rig.memory.forget(user=USER, everything=True)
        assert len(list((rig.folder / "kv").iterdir())) == 1
        assert rig.made() == {}
    with without_model(tmp_path / "m") as memory:
        memory.forget(user="zoe", everything=True)
    assert held(tmp_path / "m") == b""
    assert not list((tmp_path / "m" / "kv").iterdir())


def test_a_pool_of_another_model_is_overwritten_too(tmp_path):
    """Forgetting with one model attached reaches blocks that another one made."""
    with filled(tmp_path / "m") as rig:
        data = _everything(rig.made())
        without = [data for key, pair in rig.made().items() if key[0] != "1" for data in pair]
        secrets = secrets_of([data], [without])
    with Rig(tmp_path / "m", seed=7) as rig:
        rig.memory.forget(user=USER, session="1")
        assert leaked(secrets, rig.folder) == 0


def test_two_clean_up_at_once(tmp_path):
    """What one has removed the other does not miss."""
    with filled(tmp_path / "m"):
        pass
    with without_model(tmp_path / "m") as memory:
        with ThreadPoolExecutor(4) as pool:
            receipts = list(pool.map(lambda seq: memory.forget(user=USER, seqs=[seq]), range(1, 9)))
        assert all(receipt.purged is not False for receipt in receipts)
        assert not held(tmp_path / "m")
