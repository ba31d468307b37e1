"""Looking into a model: its attention layers, what they are called with, and what they give their cache."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache, PreTrainedModel

from zibaldone.errors import UnsupportedModel
from zibaldone.models.cache_argument import cache_argument

PROBE_TOKENS = 16
_CACHES = ("cache", "past_key_values", "layer_past")  # what families call the cache that a layer is handed


@dataclass(frozen=True, slots=True)
class Table:
    """A call of a module that made rotary tables."""

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    cos: Tensor


def attention_modules(model: nn.Module) -> list[nn.Module]:
    """Those that take rotary tables and a cache, in the order of layers."""
    attention = []
    for module in model.modules():
        if getattr(module, "layer_idx", None) is None:
            continue
        names = inspect.signature(module.forward).parameters
        if "position_embeddings" in names and _cache_name(module) and not _has_attention_inside(module):
            attention.append(module)
    return sorted(attention, key=lambda module: int(module.layer_idx))  # type: ignore[arg-type, unused-ignore]


def _has_attention_inside(module: nn.Module) -> bool:
    """A decoder layer with a number, which hands the tables on."""
    return any(
        inner is not module
        and getattr(inner, "layer_idx", None) is not None
        and _cache_name(inner) is not None
        for inner in module.modules()
    )


def _cache_name(module: nn.Module) -> str | None:
    """What the module calls the cache that it takes; None when it takes none."""
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
    """One stock pass: what each attention layer was called with, and which module made which tables."""
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
