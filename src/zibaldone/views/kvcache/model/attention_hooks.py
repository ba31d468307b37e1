"""Decoupled positional encoding (section 3.2.3, Eqs. 5-6): keys and queries before RoPE, and caches of them.

The model's code is not changed. While a tap is open in a thread, every attention layer is handed the identity
in place of its rotary tables, so its cache receives keys, and its attention function queries, from before
RoPE, whatever the family did to them (biases, norms, fused projections). The cache and the attention function
then rotate them with the model's own tables. With no tap open, everything is as it was.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from zibaldone.core.fork_safety import ForkSafeLock
from zibaldone.errors import UnsupportedModel
from zibaldone.models.cache_argument import cache_argument
from zibaldone.views.kvcache.model.inspection import (
    PROBE_TOKENS,
    SEVERAL_DIMENSIONS,
    Rotation,
    Table,
    attention_modules,
    check_config,
    probe,
    record,
    some_ids,
    spied,
    why_not_all,
)

# By how much of the largest number two passes may differ that are equal but for rounding.
NOISE = {torch.float32: 1e-5, torch.float64: 1e-9, torch.bfloat16: 0.02, torch.float16: 0.02}
_PREFIX = "zibaldone_"  # of the names of attention functions
_open = threading.local()  # .session: the tap session of this thread


@dataclass(frozen=True, slots=True)
class LayerShape:
    """Shape of one layer's keys and values."""

    kv_heads: int
    key_dim: int
    value_dim: int
    dtype: torch.dtype
    kv_of: tuple[int, ...] = ()  # by query head: whose keys it looks at


@dataclass(frozen=True, slots=True)
class RawKV:
    """Keys from before RoPE, and values, of one layer: (kv_heads, tokens, dim) each."""

    keys: Tensor
    values: Tensor

    @property
    def tokens(self) -> int:
        return self.keys.shape[-2]


Raw = tuple[RawKV, ...]  # by layer
# Which memory a layer attends to, given its raw queries (heads, tokens, dim): one-pass selection per layer.
Inject = Callable[[int, Tensor], RawKV]


@dataclass
class _Layer:
    module: nn.Module
    rotary: nn.Module
    extra_args: tuple[Any, ...]
    extra_kwargs: dict[str, Any]
    rotation: Rotation
    shape: LayerShape


@dataclass
class TapSession:
    """State of one open tap."""

    tap: Tap
    inject: Inject | None = None
    tables: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict)
    injected: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict)  # rotated keys, values
    handed: dict[int, tuple[int, int]] | None = (
        None  # what attention functions get: heads of queries, of keys
    )


class RawLayer(DynamicLayer):  # type: ignore[misc, unused-ignore]
    """A cache layer that rotates keys, and also keeps them from before rotation."""

    def __init__(self, tap: Tap, index: int, promised: int = 0) -> None:
        """`promised` tokens are announced to attention masks before they are in the cache."""
        super().__init__()
        self.tap, self.index, self.promised = tap, index, promised
        self.raw: list[tuple[Tensor, Tensor]] = []

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Store keys from before RoPE (Eq. 5); return all rotated (Eq. 6), with values."""
        session = _session()
        assert session is not None, "a raw cache is filled under its tap"
        cos, sin = session.tables[self.index]
        self.raw.append((key_states.detach(), value_states.detach()))
        rotated = self.tap.rotation(self.index).apply(key_states, cos, sin)
        keys, values = super().update(rotated, value_states, *args, **kwargs)
        return keys, values

    def get_seq_length(self) -> int:
        """Tokens in the cache, or the promised ones."""
        return int(super().get_seq_length()) or self.promised


def _session() -> TapSession | None:
    session: TapSession | None = getattr(_open, "session", None)
    return session


class Tap:
    """Hooks in an attached model, one tap at a time; `detach` restores the model."""

    def __init__(self, model: PreTrainedModel) -> None:
        """Find the attention layers and their rotations, and verify that a tapped pass equals a stock one.

        Raises UnsupportedModel, which says why.
        """
        check_config(model.config)
        _refuse_training(model)
        self.model = model
        self.lock = ForkSafeLock()  # held by whoever lets the model run
        self.original = model.config._attn_implementation  # noqa: SLF001 - there is no public reading of it
        if self.original.startswith(_PREFIX):
            raise UnsupportedModel("it is attached already: close that KVMemory first")
        modules = attention_modules(model)
        if len(modules) != model.config.get_text_config(decoder=True).num_hidden_layers:
            raise UnsupportedModel(why_not_all(model, len(modules)))
        calls, tables = record(model, modules)
        self._layers = [self._examine(module, calls[i], tables) for i, module in enumerate(modules)]
        self._index = {id(module): i for i, module in enumerate(modules)}
        self.name = _register(self.original)
        self._weights = _versions(model)
        self._hooks = [
            module.register_forward_pre_hook(_identity(i, self), with_kwargs=True)
            for i, module in enumerate(modules)
        ]
        try:
            model.set_attn_implementation(self.name)
            if model.config._attn_implementation != self.name:  # noqa: SLF001
                raise UnsupportedModel(f"{type(model).__name__} does not take another attention function")
            self._verify()
        except BaseException:
            self.detach()
            raise

    def detach(self) -> None:
        """Remove all hooks; idempotent."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        if self.model.config._attn_implementation == self.name:  # noqa: SLF001
            self.model.set_attn_implementation(self.original)

    @property
    def shapes(self) -> tuple[LayerShape, ...]:
        return tuple(layer.shape for layer in self._layers)

    @property
    def device(self) -> torch.device:
        """Device of the embedding, where ids go in."""
        device: torch.device = self.model.get_input_embeddings().weight.device
        return device

    def layer_device(self, index: int) -> torch.device:
        """Device of one layer."""
        return next(self._layers[index].module.parameters()).device

    def layer_of(self, module: nn.Module) -> int | None:
        """Number of an attention module of this model; None for others."""
        return self._index.get(id(module))

    def rotation(self, index: int) -> Rotation:
        return self._layers[index].rotation

    def cache(self, promised: int = 0) -> DynamicCache:
        """An empty cache that keeps raw keys; to be used with the tap open."""
        cache = DynamicCache()
        cache.layer_class_to_replicate = None
        cache.layers = [RawLayer(self, i, promised) for i in range(len(self._layers))]
        return cache

    @contextmanager
    def open(self, *, inject: Inject | None = None) -> Iterator[TapSession]:
        """Open the tap in this thread; `inject` gives each layer memory of its own.

        Raises UnsupportedModel for a model that is not any more what was attached.
        """
        self._check()
        before = _session()
        session = TapSession(self, inject)
        _open.session = session
        try:
            yield session
        finally:
            _open.session = before

    def rotate(self, index: int, keys: Tensor, positions: Tensor, final: int) -> Tensor:
        """Rotate raw keys (batch, heads, tokens, dim) of a layer to these positions (tokens,).

        `final` is the length that the sequence will have: some models' frequencies depend on it.
        """
        layer = self._layers[index]
        cos, sin = self.tables(index, positions, final)
        return layer.rotation.apply(keys, cos, sin)

    def inverse_frequencies(self, index: int) -> list[Tensor]:
        """Inverse frequencies of a layer's rotary module: (columns or half as many,) each."""
        return [
            buffer.detach().float().cpu()
            for name, buffer in self._layers[index].rotary.named_buffers()
            if name.endswith("inv_freq") and "original" not in name
        ]

    def tables(
        self, index: int, positions: Tensor, final: int, dtype: torch.dtype | None = None
    ) -> tuple[Tensor, Tensor]:
        """The model's own (cos, sin), each (1, tokens, ...), at these positions; in its dtype or `dtype`."""
        layer = self._layers[index]
        device = self.layer_device(index)
        with_final = torch.cat([positions.to(device), torch.tensor([max(final - 1, 0)], device=device)])
        dummy = torch.empty((1, 1, 1), dtype=dtype or self.model.dtype, device=device)
        with torch.no_grad():
            cos, sin = layer.rotary(dummy, with_final[None], *layer.extra_args, **layer.extra_kwargs)
        return cos[:, :-1], sin[:, :-1]

    def cache_of(
        self, parts: Sequence[Raw], start: int = 0, final: int = 0, *, raw: bool = False
    ) -> DynamicCache:
        """An ordinary cache of these parts in sequence, at positions from `start` (Eq. 6).

        `final` is the length that the sequence will have. With `raw` the cache goes on keeping raw keys.
        """
        cache = self.cache() if raw else DynamicCache()
        tokens = sum(part[0].tokens for part in parts)
        if not tokens:
            return cache
        positions = torch.arange(start, start + tokens)
        for index in range(len(self._layers)):
            device = self.layer_device(index)
            keys = torch.cat([part[index].keys.to(device) for part in parts], dim=-2)[None]
            values = torch.cat([part[index].values.to(device) for part in parts], dim=-2)[None]
            rotated = self.rotate(index, keys, positions, max(final, start + tokens))
            if raw:
                DynamicLayer.update(cache.layers[index], rotated, values)
            else:
                cache.update(rotated, values, index)
        return cache

    def forward(self, ids: Sequence[int], cache: DynamicCache, held: int, logits: int = 1) -> Tensor:
        """The last `logits` logits of a pass over these tokens, behind the `held` ones of a cache."""
        mask = torch.ones((1, held + len(ids)), dtype=torch.long, device=self.device)
        out = self.model(
            input_ids=torch.tensor([list(ids)], device=self.device),
            attention_mask=mask,
            **cache_argument(self.model, cache),
            use_cache=True,
            logits_to_keep=logits,
        )
        made: Tensor = out.logits[0]
        return made

    def whole(self, cache: DynamicCache, session: TapSession, without: int = 0) -> DynamicCache:
        """An ordinary cache of injected memory and of a pass, without its last `without` tokens."""
        made = DynamicCache()
        for index, layer in enumerate(cache.layers):
            keys, values = session.injected[index]
            end = layer.keys.shape[-2] - without
            made.update(
                torch.cat([keys, layer.keys[:, :, :end]], dim=-2),
                torch.cat([values, layer.values[:, :, :end]], dim=-2),
                index,
            )
        return made

    def taken(self, cache: DynamicCache) -> Raw:
        """Raw keys and values that a raw cache has caught, of its first row."""
        caught = []
        for layer in cache.layers:
            keys = torch.cat([k for k, _ in layer.raw], dim=-2)[0]
            values = torch.cat([v for _, v in layer.raw], dim=-2)[0]
            caught.append(RawKV(keys.clone(), values.clone()))
        return tuple(caught)

    def _check(self) -> None:
        if not self._hooks:
            raise UnsupportedModel("it was given back: attach it again")
        _refuse_training(self.model)
        if _versions(self.model) != self._weights:
            raise UnsupportedModel(
                "its weights have changed since it was attached, its blocks are another's: attach it anew"
            )

    def _examine(
        self, module: nn.Module, call: tuple[tuple[Any, ...], dict[str, Any]], tables: Sequence[Table]
    ) -> _Layer:
        args, kwargs = call
        given = kwargs.get("position_embeddings")
        if not (isinstance(given, tuple) and len(given) == 2 and all(isinstance(t, Tensor) for t in given)):
            raise UnsupportedModel(
                f"{type(module).__name__} is not handed (cos, sin) tables: positions cannot be taken out"
            )
        cos, sin = given
        made = next((table for table in tables if table.cos is cos), None)
        if made is None:
            raise UnsupportedModel(
                f"it could not be found which module makes the tables of {type(module).__name__}"
            )
        if cos.ndim != 3:
            raise UnsupportedModel(SEVERAL_DIMENSIONS)

        def keys(cos: Tensor, sin: Tensor) -> Tensor:
            return spied(module, args, {**kwargs, "position_embeddings": (cos, sin)})[0]

        k, v = spied(module, args, kwargs)
        shape = LayerShape(k.shape[1], k.shape[-1], v.shape[-1], k.dtype)
        return _Layer(module, made.module, made.args, made.kwargs, probe(keys, cos, sin), shape)

    @torch.no_grad()
    def _verify(self) -> None:
        """Check that a tapped pass, and raw keys rotated back, give the stock logits."""
        ids = some_ids(self.model, 2 * PROBE_TOKENS)
        stock = self.model(input_ids=ids, **cache_argument(self.model, DynamicCache()), use_cache=True).logits
        with self.open() as session:
            session.handed = {}
            cache = self.cache()
            half = self.model(
                input_ids=ids[:, :PROBE_TOKENS], **cache_argument(self.model, cache), use_cache=True
            ).logits
        for index, layer in enumerate(self._layers):
            if index not in session.handed:
                raise UnsupportedModel(
                    f"{type(layer.module).__name__} computes attention by itself, and not by a function of"
                    " Transformers that another could take the place of"
                )
            query_heads, key_heads = session.handed[index]
            if key_heads != layer.shape.kv_heads:
                raise UnsupportedModel(
                    f"{type(layer.module).__name__} repeats keys before its attention: that is not handled"
                )
            group = query_heads // key_heads
            kv_of = tuple(head // group for head in range(query_heads))
            layer.shape = replace(layer.shape, kv_of=kv_of)
        again = self.cache_of([self.taken(cache)], final=2 * PROBE_TOKENS)
        rest = self.model(
            input_ids=ids[:, PROBE_TOKENS:],
            **cache_argument(self.model, again),
            attention_mask=torch.ones_like(ids),
            use_cache=True,
        ).logits
        error = (torch.cat([half, rest], dim=1).float() - stock.float()).abs().max().item()
        allowed = NOISE.get(stock.dtype, NOISE[torch.float16]) * max(stock.float().abs().max().item(), 1.0)
        if not error <= allowed:
            raise UnsupportedModel(
                f"keys that are put back at their positions change its logits by {error:.3g}: this kind of"
                " attention cannot be reused in blocks"
            )


def _refuse_training(model: nn.Module) -> None:
    if model.training:
        raise UnsupportedModel("it is in training mode, in which keys are random: call model.eval() first")


def _versions(model: PreTrainedModel) -> int:
    """A number that changes with every in-place change of a weight, as by optimisers and adapters."""
    return hash(tuple((id(p), 0 if p.is_inference() else p._version) for p in model.parameters()))  # noqa: SLF001


def _identity(index: int, tap: Tap) -> Callable[..., tuple[tuple[Any, ...], dict[str, Any]] | None]:
    def hook(
        _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        session = _session()
        if session is None or session.tap is not tap:
            return None
        cos, sin = kwargs["position_embeddings"]
        session.tables[index] = cos, sin
        return args, {**kwargs, "position_embeddings": (torch.ones_like(cos), torch.zeros_like(sin))}

    return hook


def _register(original: str) -> str:
    """Register an attention function that rotates queries while a tap is open, and else is the original."""
    name = f"{_PREFIX}{original}"
    if name in ALL_ATTENTION_FUNCTIONS:
        return name
    stock = ALL_ATTENTION_FUNCTIONS.get(original)
    if stock is None and original != "eager":
        raise UnsupportedModel(f"its attention {original!r} is not a function of Transformers")

    def attention(
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        **kwargs: Any,
    ) -> Any:
        function = stock or sys.modules[type(module).__module__].eager_attention_forward
        session = _session()
        index = session.tap.layer_of(module) if session is not None else None
        if session is not None and index is not None:
            if session.handed is not None:
                session.handed[index] = query.shape[1], key.shape[1]
            if session.inject is not None:
                key, value = _injected(session, index, query, key, value, session.inject)
            # Eq. 6: the query's half.
            query = session.tap.rotation(index).apply(query, *session.tables[index])
        return function(module, query, key, value, attention_mask, **kwargs)

    AttentionInterface.register(name, attention)
    mask = ALL_MASK_ATTENTION_FUNCTIONS.get(original)
    if mask is not None:
        AttentionMaskInterface.register(name, mask)
    return name


def _injected(
    session: TapSession, index: int, query: Tensor, key: Tensor, value: Tensor, inject: Inject
) -> tuple[Tensor, Tensor]:
    """Put a layer's own memory before the keys of its pass, at positions 0 .. n-1 (Eqs. 1 and 6)."""
    memory = inject(index, query[0])
    promised = key.shape[-2] + memory.tokens
    positions = torch.arange(memory.tokens)
    keys = session.tap.rotate(index, memory.keys[None].to(key.device), positions, promised).to(key.dtype)
    values = memory.values[None].to(value.device, value.dtype)
    session.injected[index] = keys, values
    return torch.cat([keys, key], dim=-2), torch.cat([values, value], dim=-2)
