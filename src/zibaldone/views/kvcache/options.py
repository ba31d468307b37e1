"""Validation of KVMemory's arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformers import GenerationConfig, PreTrainedModel

from zibaldone.core.validation import count, option, shown
from zibaldone.errors import InvalidInput
from zibaldone.views.kvcache.config import MemArt
from zibaldone.views.kvcache.model.turns import TurnFormat

_NEW_TOKENS = 128
# The kv view makes these itself: with others, memory would not stand where the question looks for it.
_OURS = (
    "inputs",
    "input_ids",
    "inputs_embeds",
    "attention_mask",
    "position_ids",
    "past_key_values",
    "cache",
    "cache_position",
    "cache_implementation",
    "use_cache",
    "num_beams",
    "num_return_sequences",
)


def generating(options: Mapping[str, Any], max_new_tokens: int | None) -> dict[str, Any]:
    """Options for the model's `generate`: greedy and 128 tokens, unless given otherwise."""
    if taken := [name for name in _OURS if name in options]:
        raise InvalidInput(
            f"{', '.join(taken)} cannot be given: KVMemory makes the input and the cache of one answer"
        )
    config = option("generation_config", options.get("generation_config"), GenerationConfig)
    if max_new_tokens is None:
        max_new_tokens = getattr(config, "max_new_tokens", None) or _NEW_TOKENS
    count("max_new_tokens", max_new_tokens, least=1)
    own = {"max_new_tokens": max_new_tokens}
    return {**own, **options} if config is not None else {**own, "do_sample": False, **options}


def attaching(model: object, *, config: object, form: object) -> None:
    """Raises InvalidInput for arguments that a model cannot be attached with; None stands for a default."""
    option("config", config, MemArt)
    option("format", form, TurnFormat)
    if not isinstance(model, PreTrainedModel) or not model.can_generate():
        raise InvalidInput(f"model must be a causal language model of Transformers, not {shown(type(model))}")
