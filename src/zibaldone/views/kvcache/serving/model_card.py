"""Model card: facts about the pool's model that an engine needs (rotation of keys, pinned prefix).

An engine has a model of its own and hands no rotary tables out, so whoever attaches the model stores them
once: of each layer the rotation that was found by probing it, and the frequencies of its tables.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from zibaldone.errors import ForeignKV, StorageUnusable, UnsupportedModel
from zibaldone.views.kvcache.model.attention_hooks import Raw, RawKV
from zibaldone.views.kvcache.model.encoding import Encoder
from zibaldone.views.kvcache.model.inspection import Rotation

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
        """Rotate raw keys (1, heads, tokens, key_dim) to these positions.

        The tables are of the keys' dtype.
        """
        cos, sin = self.frequencies.tables(positions)
        return self.rotation.apply(keys, cos.to(keys.dtype), sin.to(keys.dtype))

    def on(self, device: torch.device) -> CardLayer:
        """The same on a device."""
        rotation = {name: getattr(self.rotation, name).to(device) for name in _ROTATION}
        frequencies = replace(self.frequencies, radians=self.frequencies.radians.to(device))
        return replace(self, rotation=replace(self.rotation, **rotation), frequencies=frequencies)


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
        beside = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            torch.save(self, beside)
            beside.replace(path)
        except (OSError, RuntimeError) as error:  # of the disk, of the library
            raise StorageUnusable(f"no model card can be written to {str(path)!r}: {error}") from error

    @staticmethod
    def read(path: Path) -> ModelCard:
        """Read a card. Raises StorageUnusable if there is none, or it is not one of ours."""
        try:
            card: ModelCard = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:  # whatever a damaged file makes the library raise
            raise StorageUnusable(
                f"no model card can be read from {str(path)!r} ({error}): KVMemory.prompt() writes it where"
                " there is none; is this the memory's folder?"
            ) from error
        return card


torch.serialization.add_safe_globals([ModelCard, CardLayer, Rotation, Frequencies, RawKV])


def card_path(root: Path, fingerprint: str) -> Path:
    """Path of a fingerprint's card, in the folder of all pools."""
    return root / "models" / f"card-{blake2b(fingerprint.encode(), digest_size=12).hexdigest()}.pt"


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
