"""A paged cache is written by the engine's kernel and read back, however the kernel lays things out."""

import pytest
import torch

from zibaldone.errors import UnsupportedModel
from zibaldone.views.kvcache.model.tap import RawKV
from zibaldone.views.kvcache.serving.paged_cache import PagedLayer

HEADS, KEY, VALUE, SIZE, BLOCKS = 2, 6, 4, 8, 5


def tokens_first(cache):
    """(blocks, heads, tokens, key | value): as GPU kernels have it."""

    def write(keys, values, slots):
        for key, value, slot in zip(keys, values, slots.tolist(), strict=True):
            cache[slot // SIZE, :, slot % SIZE] = torch.cat([key, value], dim=-1)

    return write


def packed(cache):
    """Keys turned on their side, values behind them: as CPU kernels have it."""
    flat = cache.view(BLOCKS, HEADS, -1)

    def write(keys, values, slots):
        for key, value, slot in zip(keys, values, slots.tolist(), strict=True):
            block, at = slot // SIZE, slot % SIZE
            flat[block, :, : KEY * SIZE].view(HEADS, KEY, SIZE)[:, :, at] = key
            flat[block, :, KEY * SIZE :].view(HEADS, SIZE, VALUE)[:, at] = value

    return write


def halved(cache):
    """A kernel that keeps half of what it is given."""
    exact = tokens_first(cache)
    return lambda keys, values, slots: exact(keys / 2, values / 2, slots)


def layer_of(kernel, dtype=torch.float32):
    cache = torch.full((BLOCKS, HEADS, SIZE, KEY + VALUE), 9.0, dtype=dtype)
    return PagedLayer(cache, kernel(cache), HEADS, KEY, VALUE, SIZE)


def some(tokens, dtype=torch.float32):
    random = torch.Generator().manual_seed(1)
    keys = torch.randn((HEADS, tokens, KEY), generator=random).to(dtype)
    return RawKV(keys, torch.randn((HEADS, tokens, VALUE), generator=random).to(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kernel", [tokens_first, packed])
def test_what_is_written_is_read(kernel, dtype):
    """Bit for bit, from slots in any order, and nothing but these slots changes."""
    layer, slots = layer_of(kernel, dtype), [39, 8, 17, 16, 30]
    layer.places()  # the spare block is filled and emptied here
    before = layer.read([9, 31])
    layer.write(some(5, dtype), slots)
    kv = layer.read(slots)
    assert torch.equal(kv.keys, some(5, dtype).keys)
    assert torch.equal(kv.values, some(5, dtype).values)
    assert torch.equal(layer.read([9, 31]).keys, before.keys)


def test_asking_leaves_the_requests_blocks_alone():
    """Only the spare block is written to find the layout, and it is empty afterwards."""
    layer = layer_of(packed)
    layer.places()
    assert not layer.cache[0].any()
    assert (layer.cache[1:] == 9).all()


def test_a_cache_that_does_not_keep_what_it_gets():
    """A quantised one, say: it is refused, and the sentence says what happens instead."""
    with pytest.raises(UnsupportedModel, match="encoded from the log"):
        layer_of(halved).read([8])
