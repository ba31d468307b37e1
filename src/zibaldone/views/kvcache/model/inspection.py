"""Inspects a model: whether its configuration is supported, its attention layers, and how they rotate keys.

Where families differ (halves or interleaved pairs, part of the dimensions, none at all, computed in float32)
a layer is probed with made-up tables of cosines and sines instead of being known by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache, PreTrainedModel

from zibaldone.errors import UnsupportedModel
from zibaldone.models.cache_argument import cache_argument

SEVERAL_DIMENSIONS = "its positions have several dimensions (multimodal models): text only for now"
_NOT_HANDLED = {  # settings of a configuration
    "alibi": "it has no rotary positions, but biases by distance (ALiBi): its keys cannot be moved to other"
    " places",
    "kv_lora_rank": "its attention is latent (MLA): what it caches differs between versions of Transformers,"
    " and is not handled",
    "num_kv_shared_layers": "some of its layers reuse the keys of others, which is not handled",
}
_ROPES_NOT_HANDLED = {
    "dynamic": "its rotary frequencies depend on the longest text seen (dynamic NTK): set a fixed rope type",
    "longrope": "its rotary frequencies change once a text is longer than the model was first made for"
    " (longrope): keys of short turns would not be those of a long text",
}


def check_config(config: Any) -> None:
    """Raises UnsupportedModel, with the reason, if keys of this model cannot be moved to other positions."""
    text = config.get_text_config(decoder=True)
    if getattr(config, "is_encoder_decoder", False):
        raise UnsupportedModel("it is an encoder-decoder model: the kv view takes causal language models")
    for setting, reason in _NOT_HANDLED.items():
        if getattr(text, setting, None):
            raise UnsupportedModel(reason)
    kinds = set(getattr(text, "layer_types", None) or ())
    if odd := sorted(kind for kind in kinds if kind not in ("full_attention", "sliding_attention")):
        raise UnsupportedModel(
            f"it has layers of kind {', '.join(odd)}: their state cannot be cut into blocks of tokens"
        )
    for rope in _rope_parameters(text):
        kind = str(rope.get("rope_type") or rope.get("type"))
        if kind in _ROPES_NOT_HANDLED:
            raise UnsupportedModel(_ROPES_NOT_HANDLED[kind])
        if rope.get("mrope_section"):
            raise UnsupportedModel(SEVERAL_DIMENSIONS)


def window_of(config: Any) -> int:
    """Tokens of the model's window."""
    return int(config.get_text_config(decoder=True).max_position_embeddings)


def why_not_all(model: Any, rotary: int) -> str:
    """Reason why only `rotary` of a model's layers are handed rotary tables and a cache."""
    text = model.config.get_text_config(decoder=True)
    return (
        f"only {rotary} of the {text.num_hidden_layers} layers of {type(model).__name__} are handed rotary"
        " tables and a cache: the others have learned positions, biases by distance (ALiBi), a state that"
        " cannot be cut into blocks, or tables that they make themselves"
    )


def _rope_parameters(text: Any) -> Iterator[Mapping[str, Any]]:
    given = getattr(text, "rope_parameters", None) or getattr(text, "rope_scaling", None)
    if not isinstance(given, Mapping):
        return
    if any(isinstance(value, Mapping) for value in given.values()):  # one per kind of layer
        yield from (value for value in given.values() if isinstance(value, Mapping))
    else:
        yield given


PROBE_TOKENS = 16
_CACHES = ("cache", "past_key_values", "layer_past")  # what families call the cache that a layer is handed


@dataclass(frozen=True, slots=True)
class Table:
    """A call of a module that has made rotary tables."""

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    cos: Tensor


def attention_modules(model: nn.Module) -> list[nn.Module]:
    """Modules that take rotary tables and a cache, in the order of layers."""
    attention = []
    for module in model.modules():
        if getattr(module, "layer_idx", None) is None:
            continue
        names = inspect.signature(module.forward).parameters
        if "position_embeddings" in names and _cache_name(module) and not _has_attention_inside(module):
            attention.append(module)
    return sorted(attention, key=lambda module: int(module.layer_idx))  # type: ignore[arg-type, unused-ignore]


def _has_attention_inside(module: nn.Module) -> bool:
    """True for a decoder layer with a number, which hands the tables on to its attention."""
    return any(
        inner is not module
        and getattr(inner, "layer_idx", None) is not None
        and _cache_name(inner) is not None
        for inner in module.modules()
    )


def _cache_name(module: nn.Module) -> str | None:
    """Name of the module's cache argument; None if it has none."""
    names = inspect.signature(module.forward).parameters
    return next((name for name in _CACHES if name in names), None)


def some_ids(model: PreTrainedModel, tokens: int) -> Tensor:
    """(1, tokens) random ids, the same every time."""
    size = model.config.get_text_config(decoder=True).vocab_size
    ids = torch.randint(0, size, (1, tokens), generator=torch.Generator().manual_seed(0))
    return ids.to(model.get_input_embeddings().weight.device)


@torch.no_grad()
def record(
    model: PreTrainedModel, modules: Sequence[nn.Module]
) -> tuple[list[tuple[tuple[Any, ...], dict[str, Any]]], list[Table]]:
    """Record one stock pass: arguments of each attention layer, and which module made which tables."""
    calls: dict[int, tuple[tuple[Any, ...], dict[str, Any]]] = {}
    tables: list[Table] = []

    def before(number: int) -> Callable[..., None]:
        def hook(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            calls[number] = args, dict(kwargs)

        return hook

    def made(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], out: object) -> None:
        if not (isinstance(out, tuple) and len(out) == 2 and isinstance(out[0], Tensor)):
            return
        rest = {name: value for name, value in kwargs.items() if name not in ("x", "position_ids")}
        left = args[2 - sum(name in kwargs for name in ("x", "position_ids")) :]
        tables.append(Table(module, tuple(left), rest, out[0]))

    hooks = [m.register_forward_pre_hook(before(i), with_kwargs=True) for i, m in enumerate(modules)]
    hooks += [
        m.register_forward_hook(made, with_kwargs=True)
        for m in model.modules()
        if "rotary" in type(m).__name__.lower() or "rope" in type(m).__name__.lower()
    ]
    try:
        model(
            input_ids=some_ids(model, PROBE_TOKENS), **cache_argument(model, DynamicCache()), use_cache=True
        )
    finally:
        for hook in hooks:
            hook.remove()
    if len(calls) != len(modules):
        raise UnsupportedModel("some of its attention layers are not run in every pass")
    return [calls[i] for i in range(len(modules))], tables


class _CallSeen(Exception):
    def __init__(self, keys: Tensor, values: Tensor) -> None:
        super().__init__()
        self.keys, self.values = keys, values


class _Spy(DynamicCache):  # type: ignore[misc, unused-ignore]
    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        raise _CallSeen(key_states, value_states)


@torch.no_grad()
def spied(module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
    """The (keys, values) that a layer gives its cache."""
    try:
        module(*args, **{**kwargs, _cache_name(module) or _CACHES[0]: _Spy()})
    except _CallSeen as seen:
        if seen.keys.ndim != 4 or seen.keys.shape[:3] != seen.values.shape[:3]:
            raise UnsupportedModel(
                "it caches latents in place of keys and values (MLA), which is not handled"
            ) from None
        return seen.keys, seen.values
    raise UnsupportedModel(f"{type(module).__name__} does not use the cache that it is given")


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

    def apply(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Put `x` (batch, heads, tokens, dim) at the positions of cos and sin, (batch, tokens, ...) each."""
        if not len(self.dims):
            return x
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
        cos, sin = cos[..., self.frequency], sin[..., self.frequency]
        own, other = x[..., self.dims], x[..., self.partner] * self.sign.to(x.dtype)
        if self.wide:
            own, other = own.float(), other.float()
        y = x.clone()
        y[..., self.dims] = (own * cos + other * sin).to(x.dtype)
        return y


def probe(keys: Keys, cos: Tensor, sin: Tensor) -> Rotation:
    """Find a layer's rotation, and verify it at real positions.

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
    best: tuple[float, Rotation] | None = None
    raw = keys(ones, zeros)
    for wide in (False, True):
        rotation = Rotation(dims, partner, sign, frequency, wide)
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
    """For each dimension its partner, where cosines are 0 and sines 1, and the sign.

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
