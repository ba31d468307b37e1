"""Positions put in after the fact: each layout is found by asking the layer, and others are refused."""

import pytest
import torch

from zibaldone.errors import UnsupportedModel
from zibaldone.views.kvcache.model.inspection import probe

DIM, TOKENS = 16, 12
X = torch.randn((1, 2, TOKENS, DIM), generator=torch.Generator().manual_seed(3))


def tables(width, *, paired=False, at=0, dtype=torch.float32):
    """(cos, sin) of positions from `at`; each frequency twice, side by side if `paired`, or once."""
    angles = torch.arange(at, at + TOKENS)[:, None] * 100.0 ** -torch.linspace(0, 1, width // 2)
    angles = angles.repeat_interleave(2, -1) if paired else torch.cat([angles, angles], -1)
    return angles.cos()[None].to(dtype), angles.sin()[None].to(dtype)


def halved(x):
    """The second half, negated, before the first."""
    first, second = x.chunk(2, -1)
    return torch.cat([-second, first], -1)


def alternating(x):
    """Each pair's second, negated, before its first."""
    return torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)


def half(cos, sin, x=X):
    return x * cos[:, None] + halved(x) * sin[:, None]


def interleaved(cos, sin, x=X):
    return x * cos[:, None] + alternating(x) * sin[:, None]


def narrow(cos, sin, x=X):
    """Tables of half the width, each number for a pair."""
    return interleaved(cos.repeat_interleave(2, -1), sin.repeat_interleave(2, -1), x)


def partial(cos, sin, x=X):
    """The first eight dimensions only."""
    return torch.cat([half(cos, sin, x[..., :8]), x[..., 8:]], -1)


def reversed_sign(cos, sin, x=X):
    return x * cos[:, None] - halved(x) * sin[:, None]


def nothing(cos, sin, x=X):
    return x.clone()


def half_tables(width, **more):
    cos, sin = tables(2 * width, **more)
    return cos[..., :width], sin[..., :width]


LAYOUTS = {
    "half": (half, lambda **m: tables(DIM, **m)),
    "interleaved": (interleaved, lambda **m: tables(DIM, paired=True, **m)),
    "narrow": (narrow, lambda **m: half_tables(DIM // 2, **m)),
    "partial": (partial, lambda **m: tables(8, **m)),
    "reversed": (reversed_sign, lambda **m: tables(DIM, **m)),
    "none": (nothing, lambda **m: tables(DIM, **m)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_found(layout):
    """A found rotation does at any positions what the layer does."""
    layer, made = LAYOUTS[layout]
    rotation = probe(layer, *made())
    cos, sin = made(at=40)
    y = torch.randn((1, 3, TOKENS, DIM), generator=torch.Generator().manual_seed(4))
    assert torch.allclose(rotation.apply(y, cos, sin), layer(cos, sin, y), atol=1e-6)


@pytest.mark.parametrize("dead", [(3,), (3, 6), (12, 2), (9, 1)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_found_where_keys_have_dimensions_of_nothing(layout, dead):
    """As where a norm has weights of 0 (Gemma 3 270M): such a dimension is something once it is rotated.

    What stands in both of a pair is nothing before and after, whatever the rotation.
    """
    layer, made = LAYOUTS[layout]

    def kept(x):
        weights = torch.ones(DIM)
        weights[list(dead)] = 0.0
        return x * weights

    rotation = probe(lambda cos, sin: layer(cos, sin, kept(X)), *made())
    cos, sin = made(at=40)
    y = kept(torch.randn((1, 3, TOKENS, DIM), generator=torch.Generator().manual_seed(4)))
    assert torch.allclose(rotation.apply(y, cos, sin), layer(cos, sin, y), atol=1e-6)


@pytest.mark.parametrize("layout", ["half", "interleaved", "partial"])
def test_computed_in_float32(layout):
    """A layer that rotates 16-bit keys in float32 is found to do so, and followed bit for bit."""
    layer, made = LAYOUTS[layout]
    x, (cos, sin) = X.bfloat16(), made()

    def wide(c, s):
        return layer(c.float(), s.float(), x.float()).bfloat16()

    rotation = probe(wide, cos.bfloat16(), sin.bfloat16())
    assert rotation.wide
    assert torch.equal(rotation.apply(x, cos, sin), wide(cos, sin))


UNKNOWN = {
    "bias of positions": lambda cos, sin: half(cos, sin) + sin[:, None],
    "three partners": lambda cos, sin: half(cos, sin) + X.roll(3, -1) * sin[:, None],
    "squares": lambda cos, sin: half(cos**2, sin),
    "scale by position": lambda cos, sin: (
        half(cos, sin) * (1 + torch.arange(TOKENS)[:, None] * 0.1 * (1 - cos)[:, None])
    ),
    "nonlinear": lambda cos, sin: half(cos, sin).tanh(),
}


@pytest.mark.parametrize("kind", UNKNOWN)
def test_unknown(kind):
    """Anything but a rotation of pairs is refused."""
    with pytest.raises(UnsupportedModel, match="keys differ by"):
        probe(UNKNOWN[kind], *tables(DIM))


def test_not_a_number():
    """Keys that are no numbers are refused, not believed."""
    with pytest.raises(UnsupportedModel):
        probe(lambda cos, sin: half(cos, sin) * torch.nan, *tables(DIM))
