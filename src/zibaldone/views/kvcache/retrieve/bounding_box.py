"""Key compression: a block's axis-aligned bounding box (section 3.2.1, Eq. 2)."""

from __future__ import annotations

import torch
from torch import Tensor


def bounding_box(keys: Tensor) -> Tensor:
    """(..., tokens, dim) -> (..., 2, dim): s_max and s_min over the tokens (Eq. 2), in the keys' own dtype.

    Minima and maxima of numbers are such numbers, so nothing is rounded.
    """
    return torch.stack((keys.amax(dim=-2), keys.amin(dim=-2)), dim=-2)


def enclosing(first: Tensor, second: Tensor) -> Tensor:
    """The box around two boxes (..., 2, dim): of keys before and after they were quantised."""
    upper = torch.maximum(first[..., 0, :], second[..., 0, :])
    lower = torch.minimum(first[..., 1, :], second[..., 1, :])
    return torch.stack((upper, lower), dim=-2)
