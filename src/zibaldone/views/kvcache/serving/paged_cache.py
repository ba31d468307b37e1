"""One layer of an engine's paged cache, written by the engine's own kernel: how numbers lie there differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from zibaldone.views.kvcache.model.attention_hooks import RawKV

# Puts keys and values (tokens, heads, dim) into slots (tokens,) of a cache.
WriteSlots = Callable[[Tensor, Tensor, Tensor], None]


@dataclass(frozen=True, slots=True)
class PagedLayer:
    """Keys and values of `heads` heads, on a device."""

    device: torch.device
    write_slots: WriteSlots
    heads: int
    key_dim: int
    value_dim: int

    def write(self, kv: RawKV, slots: Sequence[int]) -> None:
        """Keys (heads, tokens, dim) as they are to be attended to, and values, into these slots."""
        keys = kv.keys.transpose(0, 1).contiguous().to(self.device)
        values = kv.values.transpose(0, 1).contiguous().to(self.device)
        self.write_slots(keys, values, torch.tensor(slots, dtype=torch.int64, device=self.device))
