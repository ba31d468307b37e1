"""One layer of an engine's paged cache: written by the engine's own kernel, read by what that was seen to do.

How keys and values lie in a cache differs among attention kernels, and some pack them. So the kernel is
asked, as a model's rotation is: it writes made-up keys into a block that no request uses, and where they turn
up is where later ones are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from zibaldone.errors import UnsupportedModel
from zibaldone.views.kvcache.model.tap import RawKV

# Puts keys and values (tokens, heads, dim) into slots (tokens,) of a cache.
WriteSlots = Callable[[Tensor, Tensor, Tensor], None]
_BASE = 64  # numbers below this are exact in every type
_SPARE_BLOCK = 0  # vLLM's null block: no request's tokens are ever in it


class PagedLayer:
    """(blocks, ...) of one layer: keys and values of `heads` heads, `block_tokens` tokens to a block."""

    def __init__(
        self, cache: Tensor, write: WriteSlots, heads: int, key_dim: int, value_dim: int, block_tokens: int
    ) -> None:
        self.cache, self._write = cache, write
        self.heads, self.key_dim, self.value_dim = heads, key_dim, value_dim
        self.block_tokens = block_tokens
        self._places: tuple[Tensor, Tensor] | None = None

    def write(self, kv: RawKV, slots: Sequence[int]) -> None:
        """Keys (heads, tokens, dim) as they are to be attended to, and values, into these slots."""
        device = self.cache.device
        keys = kv.keys.transpose(0, 1).contiguous().to(device)
        values = kv.values.transpose(0, 1).contiguous().to(device)
        self._write(keys, values, torch.tensor(slots, dtype=torch.int64, device=device))

    def read(self, slots: Sequence[int]) -> RawKV:
        """Keys and values of these slots, on the CPU. Raises UnsupportedModel where they cannot be read."""
        key_places, value_places = self.places()
        at = torch.tensor(slots, dtype=torch.int64)
        numbers, places = (at // self.block_tokens).unique(return_inverse=True)
        held = self.cache[numbers.to(self.cache.device)].reshape(len(numbers), -1).cpu()
        offsets = at % self.block_tokens
        keys = held[places[:, None, None], key_places[offsets]]
        values = held[places[:, None, None], value_places[offsets]]
        return RawKV(keys.transpose(0, 1).contiguous(), values.transpose(0, 1).contiguous())

    def places(self) -> tuple[Tensor, Tensor]:
        """(block_tokens, heads, dim) each: where in a flat block a number of a key, and of a value, lies.

        Writes into the spare block the first time.
        """
        if self._places is None:
            self._places = self._probe()
        return self._places

    def _probe(self) -> tuple[Tensor, Tensor]:
        shape = (self.block_tokens, self.heads)
        keys = torch.arange(self.block_tokens * self.heads * self.key_dim).view(*shape, self.key_dim)
        values = torch.arange(self.block_tokens * self.heads * self.value_dim).view(*shape, self.value_dim)
        values += keys.numel()
        total = keys.numel() + values.numel()
        slots = torch.arange(self.block_tokens, device=self.cache.device) + _SPARE_BLOCK * self.block_tokens
        seen = torch.zeros(self.cache[_SPARE_BLOCK].numel(), dtype=torch.int64)
        digit = 1
        while digit <= total:  # one digit of each number at a time; 0 stands for "nothing was written here"
            self.cache[_SPARE_BLOCK].zero_()
            self._write(self._digits(keys + 1, digit), self._digits(values + 1, digit), slots.to(torch.int64))
            seen += digit * self.cache[_SPARE_BLOCK].reshape(-1).cpu().double().round().long()
            digit *= _BASE
        self.cache[_SPARE_BLOCK].zero_()
        order = seen.argsort()
        if not torch.equal(seen[order][-total:], torch.arange(1, total + 1)):
            raise UnsupportedModel(
                "its cache does not keep keys and values as they are (a quantised cache, perhaps): what"
                " requests compute is not left, and is encoded from the log"
            )
        flat = order[-total:]
        return flat[: keys.numel()].view(keys.shape), flat[keys.numel() :].view(values.shape)

    def _digits(self, numbers: Tensor, digit: int) -> Tensor:
        return ((numbers // digit) % _BASE).to(self.cache.dtype).to(self.cache.device)
