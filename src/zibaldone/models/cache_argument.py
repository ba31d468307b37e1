"""The argument by which a causal language model of Transformers takes its keys and values.

They are `past_key_values` up to Transformers 5.23, and in code that comes with a model; `cache` from 5.24 on.
"""

from __future__ import annotations

import inspect
from typing import Any


def cache_argument(model: Any, cache: Any) -> dict[str, Any]:
    """The keyword, with its value, by which the model's `forward` and `generate` take this cache."""
    names = inspect.signature(model.forward).parameters
    return {"cache" if "cache" in names else "past_key_values": cache}
