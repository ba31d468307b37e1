"""The paper's blocks: one grid over all of a user's messages, which begins with the prefix and grows."""

import pytest
import torch
from kv_rig import PAPER, QUESTION, USER, Rig, filled, line

from zibaldone.api.kv import MemArt
from zibaldone.errors import InvalidInput
from zibaldone.views.kvcache.generate.selection import LayeredMemory
from zibaldone.views.kvcache.model.encoding import joined
from zibaldone.views.kvcache.model.turns import PREFIX
from zibaldone.views.kvcache.storage import manifest

BOS, PIN = 1, 5  # the tiny model's prefix


def test_blocks_are_cut_from_one_stream_that_begins_with_the_prefix(tmp_path):
    """Section 3.2.1: every BS tokens a block, over messages and sessions; BOS is the first of block 0."""
    with Rig(tmp_path / "m", config=PAPER) as rig:
        for i in range(4):
            rig.say(line(i, words=3), session=str(i % 2))
        blocks = sorted(rig.blocks(), key=lambda block: block.chronological)
        stream = [token for block in blocks for token in block.tile.ids]
        said = [token for m in rig.memory.messages(user=USER) for token in rig.view.encoder.turn_ids(m)]
        assert stream == [BOS, PIN, *said]
        assert [block.tile.position for block in blocks] == [0, 8, 16]
        assert [block.tokens for block in blocks] == [8, 8, 2]
        assert rig.memory.admin.check().faults == ()


def test_keys_are_those_of_one_plain_pass_over_the_stream(tmp_path):
    """Eq. 5: each token behind all before it, the prefix once, however messages came in."""
    with Rig(tmp_path / "m", config=PAPER) as rig:
        for i in range(4):
            rig.say(line(i, words=3), session=str(i))
        encoder = rig.view.encoder
        ids = [token for m in rig.memory.messages(user=USER) for token in encoder.turn_ids(m)]
        whole = encoder.run([BOS, PIN, *ids], [])
        blocks = sorted(rig.blocks(), key=lambda block: block.chronological)
        fetched = joined(rig.view.fetcher.fetch(rig.reader(), blocks))
        for made, one in zip(fetched, whole, strict=True):
            assert torch.allclose(made.keys, one.keys, atol=1e-5)


def test_the_presets_are_those_of_the_paper_s_two_models():
    """Section 4.2; what is stored is the same, so one pool serves both."""
    llama, qwen = MemArt.paper(), MemArt.paper("qwen")
    assert (llama.block_tokens, llama.top_k, llama.normalization) == (16, 128, "softmax")
    assert (qwen.block_tokens, qwen.top_k, qwen.normalization) == (16, 256, "reciprocal_rank")
    assert llama.aggregation == qwen.aggregation == "max"
    assert llama.stored == qwen.stored
    assert MemArt.paper("llama") == llama
    with pytest.raises(InvalidInput, match="'llama' or 'qwen'"):
        MemArt.paper("gemma")


def _chosen(monkeypatch):
    """By layer, the first token of the memory that it chose, filled while questions are asked."""
    first, choose = {}, LayeredMemory._choose

    def noted(self, layer, queries):
        raw = choose(self, layer, queries)
        first[layer] = raw.keys[:, 0]
        return raw

    monkeypatch.setattr(LayeredMemory, "_choose", noted)
    return first


def test_the_block_with_the_first_token_can_be_chosen(tmp_path, monkeypatch):
    """A layer whose best block is 0 attends to the prefix at position 0; nothing stands there otherwise."""
    first = _chosen(monkeypatch)
    with filled(tmp_path / "m", config=PAPER) as rig:
        prefix = rig.view.encoder.prefix
        assert rig.ask(turns=100).kv_tokens == sum(block.tokens for block in rig.blocks())
        assert all(torch.equal(first[layer], prefix[layer].keys[:, 0]) for layer in (0, 1))
        (block,) = [block for block in rig.blocks() if block.tile.runs[0][0] == PREFIX]
        generation = rig.pool().generation
        for high, in_sight in ((1e3, True), (0.0, False)):  # its boxes bound everything, or nothing
            box = torch.tensor([high, -high])[None, :, None].expand(4, 2, 8).contiguous()  # by layer and head
            with rig.database.write() as connection:
                data = box.numpy().tobytes()
                manifest.set_keys(connection, generation, block.number, block.crc, data)
            rig.ask(turns=1)
            assert [torch.equal(first[n], prefix[n].keys[:, 0]) for n in (0, 1)] == [in_sight] * 2


def test_without_a_message_the_prefix_stands_before_the_question(tmp_path):
    """An empty pool has no block 0 to choose."""
    with Rig(tmp_path / "paper", config=PAPER) as rig, Rig(tmp_path / "best") as best:
        assert rig.ask().text == best.ask().text


def test_what_the_paper_has_no_place_for_is_refused():
    with pytest.raises(InvalidInput, match="context_tokens=None"):
        MemArt(select="per_layer", context_tokens=16)


def test_messages_cannot_be_given_where_each_layer_chooses(tmp_path):
    with filled(tmp_path / "m", config=PAPER) as rig, pytest.raises(InvalidInput, match="seqs"):
        rig.kv.generate(QUESTION, user=USER, seqs=[])


def test_a_block_that_grew_after_a_question_does_not_stop_the_next(tmp_path):
    """Ask, add, ask: the short last block is no more, and the one in its place is found."""
    with Rig(tmp_path / "m", config=PAPER) as rig:
        for i in range(8):
            rig.say(line(i, words=3))
            assert set(rig.ask(turns=100).blocks) == {block.number for block in rig.blocks()}
        assert rig.memory.admin.check().faults == ()
