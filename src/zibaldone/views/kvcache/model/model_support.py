"""Which models the kv view takes, by their configuration; the tap checks the rest by trying."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zibaldone.errors import UnsupportedModel


def check_config(config: Any) -> None:
    """Raises UnsupportedModel, which says why keys of this model cannot be moved to other positions."""
    text = config.get_text_config(decoder=True)
    if getattr(config, "is_encoder_decoder", False):
        raise UnsupportedModel("it is an encoder-decoder model: the kv view takes causal language models")
    if getattr(text, "alibi", False):
        raise UnsupportedModel(
            "it has no rotary positions, but biases by distance (ALiBi): its keys cannot be moved to other"
            " places"
        )
    if getattr(text, "kv_lora_rank", None):
        raise UnsupportedModel(
            "its attention is latent (MLA): what it caches differs between versions of Transformers, and is"
            " not handled"
        )
    if getattr(text, "num_kv_shared_layers", 0):
        raise UnsupportedModel("some of its layers reuse the keys of others, which is not handled")
    kinds = set(getattr(text, "layer_types", None) or ())
    if odd := sorted(kind for kind in kinds if kind not in ("full_attention", "sliding_attention")):
        raise UnsupportedModel(
            f"it has layers of kind {', '.join(odd)}: their state cannot be cut into blocks of tokens"
        )
    for rope in _rope_parameters(text):
        kind = rope.get("rope_type") or rope.get("type")
        if kind == "dynamic":
            raise UnsupportedModel(
                "its rotary frequencies depend on the longest text seen (dynamic NTK): set a fixed rope type"
            )
        if kind == "longrope":
            raise UnsupportedModel(
                "its rotary frequencies change once a text is longer than the model was first made for"
                " (longrope): keys of short turns would not be those of a long text"
            )
        if rope.get("mrope_section"):
            raise UnsupportedModel(
                "its positions have several dimensions (multimodal models): text only for now"
            )


def window_of(config: Any) -> int:
    """Tokens that the model was made for."""
    return int(config.get_text_config(decoder=True).max_position_embeddings)


def why_not_all(model: Any, rotary: int) -> str:
    """Why only so many of a model's layers are handed rotary tables and a cache."""
    name, text = type(model).__name__, model.config.get_text_config(decoder=True)
    if rotary:
        return (
            f"only {rotary} of the {text.num_hidden_layers} layers of {name} have rotary attention with a"
            " cache: the others keep a state that cannot be cut into blocks, or have no positions to take out"
        )
    if getattr(text, "rotary_dim", None):
        return (
            f"the attention layers of {name} make their rotary tables themselves: positions can only be taken"
            " out of layers that are handed (cos, sin)"
        )
    return (
        f"{name} has no rotary positions, but learned ones, or biases by distance (ALiBi): its keys cannot be"
        " moved to other places"
    )


def _rope_parameters(text: Any) -> Iterator[Mapping[str, Any]]:
    given = getattr(text, "rope_parameters", None) or getattr(text, "rope_scaling", None)
    if not isinstance(given, Mapping):
        return
    if any(isinstance(value, Mapping) for value in given.values()):  # one per kind of layer
        yield from (value for value in given.values() if isinstance(value, Mapping))
    else:
        yield given
