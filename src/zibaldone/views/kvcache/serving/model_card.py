"""Model card: facts about the pool's model that an engine needs (rotation of keys, pinned prefix).

An engine has a model of its own and hands no rotary tables out, so whoever attaches the model stores them
once: of each layer the rotation that was found by probing it, and the frequencies of its tables.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from zibaldone.errors import ForeignKV, StorageUnusable, UnsupportedModel
from zibaldone.views.kvcache.model.attention_hooks import Raw, RawKV
from zibaldone.views.kvcache.model.encoding import Encoder
from zibaldone.views.kvcache.model.inspection import Rotation

_FORMAT = "zibaldone-model-card-1"
_SLACK = 1e-4  # by which tables made of frequencies may differ from the model's own, in float32
_PROBED = (0, 1, 2, 7, 60, 511)  # positions
_ROTATION = ("dims", "partner", "sign", "frequency")
_SHAPE = (
    "model_type",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "vocab_size",
)


@dataclass(frozen=True, slots=True)
class Frequencies:
    """cos[position, i] = scaling * cos(position * radians[i]), and sin likewise."""

    radians: Tensor  # (columns,) float32, by position
    scaling: float

    def tables(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """(cos, sin) for these positions, (1, tokens, columns) float32 each."""
        angles = positions.float()[:, None] * self.radians[None]
        return (angles.cos() * self.scaling)[None], (angles.sin() * self.scaling)[None]


@dataclass(frozen=True, slots=True)
class CardLayer:
    """One attention layer."""

    rotation: Rotation
    frequencies: Frequencies
    kv_heads: int
    key_dim: int

    def rotate(self, keys: Tensor, positions: Tensor) -> Tensor:
        """Rotate raw keys (layers alike, heads, tokens, key_dim) to these positions.

        The tables are of the keys' dtype.
        """
        cos, sin = self.frequencies.tables(positions)
        return self.rotation.apply(keys, cos.to(keys.dtype), sin.to(keys.dtype))

    def on(self, device: torch.device) -> CardLayer:
        """The same on a device."""
        rotation = {name: getattr(self.rotation, name).to(device) for name in _ROTATION}
        frequencies = replace(self.frequencies, radians=self.frequencies.radians.to(device))
        return replace(self, rotation=replace(self.rotation, **rotation), frequencies=frequencies)

    @property
    def alike(self) -> tuple[object, ...]:
        """Equal for layers whose keys are rotated in the same way."""
        tensors = [getattr(self.rotation, name) for name in _ROTATION] + [self.frequencies.radians]
        rotation = self.rotation.wide, self.rotation.halves, self.frequencies.scaling
        return *rotation, self.kv_heads, self.key_dim, *(tuple(tensor.tolist()) for tensor in tensors)


@dataclass(frozen=True)
class ModelCard:
    """Card of one model, tokenizer and format: of one fingerprint."""

    prefix_ids: tuple[int, ...]
    prefix: Raw | None  # raw keys and values of these
    layers: tuple[CardLayer, ...]
    shape: dict[str, Any]  # as shape_of gives it

    def check(self, config: Any) -> None:
        """Raises ForeignKV if the configuration is of another model than the pool's."""
        served = shape_of(config)
        if other := {n: (v, served[n]) for n, v in self.shape.items() if n in served and served[n] != v}:
            differences = ", ".join(f"{name} {ours} and {theirs}" for name, (ours, theirs) in other.items())
            raise ForeignKV(
                f"the blocks were made by another model than the one that is served ({differences}): serve"
                " the model that KVMemory has attached"
            )

    def write(self, path: Path) -> None:
        """Write the card, replacing it. Raises StorageUnusable."""
        facts = {
            "format": _FORMAT,
            "prefix_ids": list(self.prefix_ids),
            "shape": self.shape,
            "layers": [
                {
                    "scaling": layer.frequencies.scaling,
                    "wide": layer.rotation.wide,
                    "halves": layer.rotation.halves,
                    "kv_heads": layer.kv_heads,
                    "key_dim": layer.key_dim,
                }
                for layer in self.layers
            ],
        }
        tensors: dict[str, Tensor] = {}
        for number, layer in enumerate(self.layers):
            for name in _ROTATION:
                tensors[f"{number}.{name}"] = getattr(layer.rotation, name).cpu().clone()
            tensors[f"{number}.radians"] = layer.frequencies.radians.clone()
            if self.prefix is not None:
                tensors[f"{number}.prefix_keys"] = self.prefix[number].keys.cpu().contiguous()
                tensors[f"{number}.prefix_values"] = self.prefix[number].values.cpu().contiguous()
        beside = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            save_file(tensors, beside, {"card": json.dumps(facts)})
            beside.replace(path)
        except OSError as error:
            raise StorageUnusable(f"no model card can be written to {str(path)!r}: {error}") from error

    @staticmethod
    def read(path: Path) -> ModelCard:
        """Read a card. Raises StorageUnusable if there is none, or it is not one of ours."""
        try:
            with safe_open(path, "pt") as file:
                facts = json.loads((file.metadata() or {})["card"])
                if facts["format"] != _FORMAT:
                    raise ValueError(f"its format is {facts['format']!r}, not {_FORMAT!r}")
                layers = tuple(_layer(file, number, made) for number, made in enumerate(facts["layers"]))
                prefix = None
                if facts["prefix_ids"]:
                    prefix = tuple(
                        RawKV(
                            file.get_tensor(f"{number}.prefix_keys"),
                            file.get_tensor(f"{number}.prefix_values"),
                        )
                        for number in range(len(layers))
                    )
        except Exception as error:  # whatever a damaged file makes the library raise
            raise StorageUnusable(
                f"no model card can be read from {str(path)!r} ({error}): KVMemory.prompt() writes it where"
                " there is none; is this the memory's folder?"
            ) from error
        ids = tuple(int(token) for token in facts["prefix_ids"])
        return ModelCard(ids, prefix, layers, dict(facts["shape"]))


def card_path(root: Path, fingerprint: str) -> Path:
    """Path of a fingerprint's card, in the folder of all pools."""
    return root / "models" / f"card-{blake2b(fingerprint.encode(), digest_size=12).hexdigest()}.safetensors"


def shape_of(config: Any) -> dict[str, Any]:
    """Configuration values that tell models apart; weights are not looked at."""
    text = config.get_text_config(decoder=True)
    named = {name: getattr(text, name, None) for name in _SHAPE}
    return {name: value for name, value in named.items() if isinstance(value, int | str)}


def card_of(encoder: Encoder) -> ModelCard:
    """The card of an attached model. Raises UnsupportedModel for tables that are not of fixed frequencies."""
    tap = encoder.tap
    layers = tuple(
        CardLayer(tap.rotation(number), _frequencies(encoder, number), shape.kv_heads, shape.key_dim)
        for number, shape in enumerate(tap.shapes)
    )
    return ModelCard(encoder.prefix_ids, encoder.prefix, layers, shape_of(tap.model.config))


def _frequencies(encoder: Encoder, number: int) -> Frequencies:
    """Frequencies of one layer's tables, checked against them."""
    tap = encoder.tap
    positions = torch.tensor([at for at in _PROBED if at < encoder.window])
    cos, sin = (table[0].cpu() for table in tap.tables(number, positions, encoder.window, torch.float32))
    scaling = float(cos[0, 0])  # of position 0
    for held in tap.inverse_frequencies(number):
        for radians in (held, torch.cat((held, held)), held.repeat_interleave(2)):
            if radians.shape[0] != cos.shape[-1]:
                continue
            frequencies = Frequencies(radians.clone(), scaling)
            ours = frequencies.tables(positions)
            if max((ours[0][0] - cos).abs().max(), (ours[1][0] - sin).abs().max()) <= _SLACK * scaling:
                return frequencies
    raise UnsupportedModel(
        f"the rotary tables of its layer {number} are not of fixed frequencies: ask it by KVMemory.generate,"
        " no other engine can be given its keys"
    )


def _layer(file: Any, number: int, facts: Any) -> CardLayer:
    dims, partner, sign, frequency, radians = (
        file.get_tensor(f"{number}.{name}") for name in (*_ROTATION, "radians")
    )
    rotation = Rotation(dims, partner, sign, frequency, bool(facts["wide"]), bool(facts["halves"]))
    frequencies = Frequencies(radians, float(facts["scaling"]))
    return CardLayer(rotation, frequencies, int(facts["kv_heads"]), int(facts["key_dim"]))
