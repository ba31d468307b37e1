"""Blocks go from one folder to another as a safetensors file, which is believed in nothing."""

import json
import struct

import numpy as np
import pytest
import torch
from kv_rig import USER, Rig, encodings, filled, line
from safetensors import safe_open
from safetensors.numpy import save_file

from zibaldone.errors import ForeignKV, InvalidImport, InvalidInput
from zibaldone.kv import Budget
from zibaldone.views.kvcache.storage.block_files import checksum

COUNT = 8


@pytest.fixture
def exported(tmp_path):
    """The blocks of eight messages in a file, what they were, and an answer."""
    path = tmp_path / "blocks.safetensors"
    with filled(tmp_path / "from", COUNT) as rig:
        assert rig.kv.export(user=USER, path=path) == COUNT
        return path, rig.made(), rig.ask()


@pytest.fixture
def target(tmp_path):
    """The same log elsewhere, with no block."""
    with Rig(tmp_path / "to") as rig:
        _talk(rig)
        yield rig


def _talk(rig, count=COUNT):
    for i in range(count):
        rig.say(line(i), session=str(i % 2 + 1), remember=False)


def _changed(path, *, facts=None, tensors=None):
    """The file with other metadata or tensors, whole in itself."""
    with safe_open(path, framework="numpy") as file:
        old = file.metadata()
        data = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
    save_file({**data, **(tensors or {})}, path, metadata={**old, **(facts or {})})


def _rows(path):
    """Sessions, places, checksums and tokens, messages and edges, as the file says them."""
    with safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["rows"])


def _with_rows(path, rows, *, crc=True):
    """The file with other rows, and their checksum unless that is to be wrong."""
    written = rows if isinstance(rows, str) else json.dumps(rows)
    _changed(path, facts={"rows": written, **({"crc": str(checksum(written.encode()))} if crc else {})})


def _tensor(path, name):
    with safe_open(path, framework="numpy") as file:
        return file.get_tensor(name).copy()


def test_a_round_trip_gives_equal_blocks_and_no_encoding(exported, target, monkeypatch):
    """Imported blocks are bit for bit what they were, and answer as they did."""
    path, made, answer = exported
    with encodings(monkeypatch) as seen:
        assert target.kv.import_(path, user=USER) == COUNT
        assert target.made() == made
        again = target.ask()
        assert target.kv.remember(user=USER).messages == 0
    assert seen == []
    assert (again.text, again.blocks, again.citations) == (answer.text, answer.blocks, answer.citations)
    assert target.memory.check_integrity().faults == ()


def test_what_the_file_lacks_is_encoded(exported, target, monkeypatch):
    """A log that went on since is caught up with, behind the imported blocks."""
    path, _, _ = exported
    late = target.memory.add([line(20)], user=USER, session="1")
    with encodings(monkeypatch) as seen:
        target.kv.import_(path, user=USER)
        target.kv.remember(user=USER)
    assert len(seen) == len(late) == 1
    with filled(target.folder.parent / "whole", COUNT) as whole:
        whole.say(line(20), session="1")
        assert target.made() == whole.made()


def test_the_name_of_the_user_may_change(exported, tmp_path):
    """Blocks belong to messages, not to a name."""
    path, made, _ = exported
    with Rig(tmp_path / "renamed") as rig:
        for i in range(COUNT):
            rig.say(line(i), user="anna", session=str(i % 2 + 1), remember=False)
        rig.kv.import_(path, user="anna")
        assert rig.made("anna") == made


@pytest.mark.parametrize("other", [{"seed": 3}, {"dtype": torch.float16}], ids=["weights", "dtype"])
def test_another_model_s_blocks_are_refused(exported, tmp_path, other):
    """A foreign fingerprint is an error that says what to do, and nothing is written."""
    path, _, _ = exported
    with Rig(tmp_path / "other", **other) as rig:
        _talk(rig)
        with pytest.raises(ForeignKV, match="another model"):
            rig.kv.import_(path, user=USER)
        assert rig.blocks() == []


@pytest.mark.parametrize("bit", [0, 7])
@pytest.mark.parametrize("place", [0, 3, 7])
def test_a_damaged_payload_is_refused(exported, target, place, bit):
    """One flipped bit of one block, and none of them is taken."""
    path, _, _ = exported
    payloads = _tensor(path, "blocks")
    payloads[place, 17] ^= 1 << bit
    _changed(path, tensors={"blocks": payloads})
    with pytest.raises(InvalidImport, match=rf"block {place} .* is damaged"):
        target.kv.import_(path, user=USER)
    assert target.blocks() == []


def test_damaged_boxes_are_refused(exported, target):
    """Boxes decide what is found: they are checked as the payloads are."""
    path, _, _ = exported
    boxes = _tensor(path, "boxes.1")
    boxes[2, 5] ^= 0x40
    _changed(path, tensors={"boxes.1": boxes})
    with pytest.raises(InvalidImport):
        target.kv.import_(path, user=USER)


POSITION, IDS, RUNS = 5, 6, 7  # in a row


def test_changed_token_ids_are_refused(exported, target):
    """From these a block is encoded again one day: they are what the message's tokens are."""
    path, _, _ = exported
    rows = _rows(path)
    rows["blocks"][0][IDS][0] += 1
    _with_rows(path, rows, crc=False)
    with pytest.raises(InvalidImport):
        target.kv.import_(path, user=USER)


@pytest.mark.parametrize(
    "change",
    [{RUNS: [[1, 3]]}, {RUNS: [[1, 99]]}, {POSITION: 5}, {1: 4, POSITION: 7}, {IDS: []}],
    ids=str,
)
def test_a_row_that_does_not_fit_is_refused(exported, target, change):
    """Tokens, their messages and their places agree, or nothing is taken."""
    path, _, _ = exported
    rows = _rows(path)
    for column, value in change.items():
        rows["blocks"][0][column] = value
    _with_rows(path, rows)
    with pytest.raises(InvalidImport):
        target.kv.import_(path, user=USER)


@pytest.mark.parametrize(
    "change",
    [
        {"blocks": 5},
        {"blocks": [5]},
        {"blocks": [["1"]]},
        {"messages": [1]},
        {"messages": {}},
        {"attended": 7},
        {"attended": ["x"]},
    ],
    ids=str,
)
def test_rows_that_make_no_sense_are_refused(exported, target, change):
    """Whatever stands there, it is a typed error."""
    path, _, _ = exported
    _with_rows(path, {**_rows(path), **change})
    with pytest.raises(InvalidImport):
        target.kv.import_(path, user=USER)
    assert target.blocks() == []


@pytest.mark.parametrize("written", ["{", "[]", "7", '{"blocks": []}'])
def test_metadata_that_makes_no_sense_is_refused(exported, target, written):
    """As are rows that are no rows."""
    path, _, _ = exported
    _with_rows(path, written)
    with pytest.raises(InvalidImport, match=path.name):
        target.kv.import_(path, user=USER)


def test_another_format_is_refused(exported, target):
    """Such as a later version's."""
    path, _, _ = exported
    _changed(path, facts={"format": "zibaldone-kv-99"})
    with pytest.raises(InvalidImport, match=path.name):
        target.kv.import_(path, user=USER)


@pytest.mark.parametrize(
    "tensors", [{"blocks": np.zeros((2, 8), np.uint8)}, {"boxes.0": np.zeros((0, 128), np.uint8)}]
)
def test_tensors_of_other_shapes_are_refused(exported, target, tensors):
    """Fewer or shorter blocks and boxes than the rows say."""
    path, _, _ = exported
    _changed(path, tensors=tensors)
    with pytest.raises(InvalidImport):
        target.kv.import_(path, user=USER)


@pytest.mark.parametrize("keep", [0, 4, 100, 0.5, 0.99])
def test_a_truncated_file_is_refused(exported, target, keep):
    """However much of it is there."""
    path, _, _ = exported
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data)) if isinstance(keep, float) else keep])
    with pytest.raises(InvalidImport, match="cannot be read"):
        target.kv.import_(path, user=USER)
    assert target.blocks() == []


@pytest.mark.parametrize(
    "data",
    [b"not a tensor in sight", b"\x80\x04pickle", struct.pack("<Q", 1 << 62) + b"{}", b'{"messages": []}'],
    ids=["text", "pickle", "endless-header", "json"],
)
def test_what_is_no_safetensors_file_is_refused(exported, target, data):
    """Nothing of it is run."""
    path, _, _ = exported
    path.write_bytes(data)
    with pytest.raises(InvalidImport, match="cannot be read"):
        target.kv.import_(path, user=USER)


def test_a_file_of_something_else_is_refused(target, tmp_path):
    """A safetensors file without our marks, and one that is not there."""
    save_file({"weight": np.zeros(3)}, tmp_path / "model.safetensors")
    with pytest.raises(InvalidImport, match="is no export of KV blocks"):
        target.kv.import_(tmp_path / "model.safetensors", user=USER)
    with pytest.raises(InvalidImport, match="cannot be read"):
        target.kv.import_(tmp_path / "nothing.safetensors", user=USER)


def test_blocks_of_another_log_are_refused(exported, tmp_path):
    """Messages that are others, or fewer, than those that the blocks were made of."""
    path, _, _ = exported
    with Rig(tmp_path / "other") as rig:
        _talk(rig, COUNT - 1)
        with pytest.raises(InvalidImport, match=r"message 8 .* is not what the blocks"):
            rig.kv.import_(path, user=USER)
        rig.say("w99 w98", remember=False)
        with pytest.raises(InvalidImport, match=r"message 8 .* is not what the blocks"):
            rig.kv.import_(path, user=USER)
        assert rig.blocks() == []


def test_a_pool_that_has_blocks_takes_no_others(exported, tmp_path):
    """Importing is for a pool that is empty."""
    path, made, _ = exported
    with filled(tmp_path / "full", COUNT) as rig:
        with pytest.raises(InvalidInput, match="has blocks already"):
            rig.kv.import_(path, user=USER)
        assert rig.made() == made


def test_nothing_to_export_is_an_error(target, tmp_path):
    """A user who said nothing has no blocks."""
    with pytest.raises(InvalidInput, match="has no blocks"):
        target.kv.export(user="nobody", path=tmp_path / "nobody.safetensors")
    assert not (tmp_path / "nobody.safetensors").exists()


def test_a_place_that_cannot_be_written_is_an_error(target, tmp_path):
    """The folder is not there."""
    target.kv.remember(user=USER)
    with pytest.raises(InvalidInput, match="cannot be written"):
        target.kv.export(user=USER, path=tmp_path / "no" / "such" / "folder.safetensors")


def test_what_was_in_sight_goes_with_the_blocks(tmp_path):
    """After a transfer, too, forgetting a message reaches the answers that recalled it."""
    path = tmp_path / "blocks.safetensors"
    with filled(tmp_path / "from", 4) as rig:
        rig.ask(remember=True)
        rig.kv.flush()
        rig.kv.export(user=USER, path=path)
        edges = rig.attended()
        log = tmp_path / "log.jsonl"
        rig.memory.export(user=USER, path=log)
    with Rig(tmp_path / "to") as rig:
        rig.memory.import_(log, user=USER)
        rig.kv.import_(path, user=USER)
        assert edges
        assert rig.attended() == edges


def test_an_export_of_a_pool_over_its_budget_is_whole_or_refused(tmp_path):
    """Blocks without bytes are made for it, or the rest is encoded afterwards; none is missing in the end."""
    path = tmp_path / "blocks.safetensors"
    said = [line(i, words=20) for i in range(3)]
    with Rig(tmp_path / "from", budget=Budget(user_bytes=7 * 4096)) as rig:
        rig.say(*said)
        rig.kv.export(user=USER, path=path)
    with Rig(tmp_path / "to") as rig:
        rig.say(*said, remember=False)
        try:
            rig.kv.import_(path, user=USER)
        except InvalidImport:
            return
        rig.kv.remember(user=USER)
        assert rig.memory.check_integrity().faults == ()
