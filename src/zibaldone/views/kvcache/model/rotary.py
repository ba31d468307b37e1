"""Positions put into keys and queries after the fact: a layer's own rotation, found out by asking the layer.

Where families differ (halves or interleaved pairs, only a part of the dimensions, none at all, computed in
float32) the layer is probed with made-up tables of cosines and sines instead of being known by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from zibaldone.errors import UnsupportedModel

Keys = Callable[[Tensor, Tensor], Tensor]  # a layer's keys when it is handed these (cos, sin)
_SLACK = 4.0  # units in the last place by which our rotation may differ from the layer's


@dataclass(frozen=True, slots=True)
class Rotation:
    """y[d] = x[d] cos[f(d)] + sign(d) x[partner(d)] sin[f(d)] for the rotated dimensions; the rest stays."""

    dims: Tensor  # (r,) int64: which dimensions are rotated; empty in layers without positions
    partner: Tensor  # (r,) int64
    sign: Tensor  # (r,) +1 or -1
    frequency: Tensor  # (r,) int64: where in the last dimension of cos and sin
    wide: bool  # computed in float32, as some families do
    halves: bool  # all dimensions, the first half against the second: the common case has a short cut

    def apply(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Put `x` (batch, heads, tokens, dim) at the positions of cos and sin, (batch, tokens, ...) each."""
        if not len(self.dims):
            return x
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
        if self.halves:
            first, second = x.chunk(2, dim=-1)
            turned = torch.cat((-second, first), dim=-1)
            if self.wide:
                return (x.float() * cos + turned.float() * sin).to(x.dtype)
            return (x * cos + turned * sin).to(x.dtype)
        cos, sin = cos[..., self.frequency], sin[..., self.frequency]
        own, other = x[..., self.dims], x[..., self.partner] * self.sign.to(x.dtype)
        if self.wide:
            own, other = own.float(), other.float()
        y = x.clone()
        y[..., self.dims] = (own * cos + other * sin).to(x.dtype)
        return y


def probe(keys: Keys, cos: Tensor, sin: Tensor) -> Rotation:
    """Find a layer's rotation, and check it with real positions.

    `keys` gives (1, heads, tokens, dim) for tables shaped like `cos` and `sin`, which are real ones. Raises
    UnsupportedModel when the layer does something else with them.
    """
    ones, zeros = torch.ones_like(cos), torch.zeros_like(cos)
    ramp = ones * (2 + torch.arange(cos.shape[-1], device=cos.device, dtype=cos.dtype))
    plain, turned, doubled = (
        _columns(keys(*given)) for given in ((ones, zeros), (zeros, ones), (ones * 2, zeros))
    )
    live = plain.abs().amax(0) > 0  # a dimension whose norm has the weight 0 is not, before its rotation
    changed = (doubled - plain).abs().amax(0) > 0.5 * plain.abs().amax(0)
    dims = (changed | (~live & (turned.abs().amax(0) > 0))).nonzero()[:, 0]
    partner, sign = _partners(turned, plain, dims, live)
    by_cos, by_sin = (
        (_columns(keys(*given))[:, dims] / base[:, dims]).nanmedian(dim=0).values
        for given, base in (((ramp, zeros), plain), ((zeros, ramp), turned))
    )
    ratio = torch.where(live[dims], by_cos, by_sin)
    frequency = (ratio - 2).round().long().clamp(0, cos.shape[-1] - 1)
    real = keys(cos, sin)
    dim = real.shape[-1]
    half = dim // 2
    everything = torch.arange(dim, device=dims.device)
    halves = (
        len(dims) == dim == cos.shape[-1]
        and torch.equal(frequency, everything)
        and torch.equal(partner, (everything + half) % dim)
        and torch.equal(sign, torch.where(everything < half, -1.0, 1.0))
    )
    best: tuple[float, Rotation] | None = None
    raw = keys(ones, zeros)
    for wide in (False, True):
        rotation = Rotation(dims, partner, sign, frequency, wide, bool(halves))
        error = (rotation.apply(raw, cos, sin).float() - real.float()).abs().max().item()
        if best is None or error < best[0]:
            best = error, rotation
    assert best is not None
    allowed = _SLACK * torch.finfo(real.dtype).eps * real.float().abs().max().item()
    if not best[0] <= allowed:
        raise UnsupportedModel(
            f"its rotary positions are of a kind that the kv view does not know: keys differ by {best[0]:.3g}"
        )
    return best[1]


def _columns(keys: Tensor) -> Tensor:
    """(heads x tokens, dim)."""
    return keys[0].float().reshape(-1, keys.shape[-1])


def _partners(turned: Tensor, plain: Tensor, dims: Tensor, live: Tensor) -> tuple[Tensor, Tensor]:
    """Whose column each dimension takes where cosines are 0 and sines 1, and with which sign.

    Where the partner is no live dimension there is nothing to see: then it is the one that takes ours.
    """
    exact = "donot_use_mm_for_euclid_dist"  # small columns stand beside large ones
    same = torch.cdist(turned[:, dims].T, plain.T, compute_mode=exact)  # with the sign plus ...
    flipped = torch.cdist(turned[:, dims].T, -plain.T, compute_mode=exact)
    partner = torch.minimum(same, flipped).argmin(dim=1)
    rows = torch.arange(len(dims), device=dims.device)
    sign = torch.where(same[rows, partner] <= flipped[rows, partner], 1.0, -1.0)
    for row in (~live[dims]).nonzero()[:, 0]:
        other = (dims == partner[row]).nonzero()[:, 0]
        partner[other], sign[other] = dims[row], -sign[row]
    return partner, sign
