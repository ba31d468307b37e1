"""What stored keys and values depend on: another model's are never mixed in, however alike it is."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

import torch
import transformers

from zibaldone.core import Message
from zibaldone.views.kvcache.config import MemArt
from zibaldone.views.kvcache.model.turns import TurnFormat

_SAMPLED = 1024  # numbers of each tensor
_VERSION = 2  # raise it when other bytes would be stored of the same tokens
_VOLATILE = ("_name_or_path", "transformers_version", "dtype", "torch_dtype", "architectures", "use_cache")
_TEXT = "Tübingen, 7 a.m.: \u201cyes\u201d?\n"
_TIME = datetime(2024, 3, 1, 9, 30, tzinfo=UTC)
_SAMPLES = tuple(
    Message(_TEXT, role=role, name=name, time=time)
    for role in ("user", "assistant", "system", "tool")
    for name in (None, "Bo")
    for time in (None, _TIME)
)


def of_model(model: Any) -> str:
    """A digest of configuration, weights (a sample of every tensor, adapters included) and dtype."""
    digest = blake2b(digest_size=12)
    config = {name: value for name, value in model.config.to_dict().items() if name not in _VOLATILE}
    config = {name: value for name, value in config.items() if not name.startswith("_")}
    digest.update(json.dumps(config, sort_keys=True, default=str).encode())
    digest.update(str(model.dtype).encode())
    for name, tensor in sorted(model.state_dict().items()):
        flat = tensor.detach().reshape(-1)
        step = max(1, flat.numel() // _SAMPLED)
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(flat[::step].cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def of_tokenizer(tokenizer: Any) -> str:
    """A digest of the vocabulary and of how a difficult text is cut."""
    digest = blake2b(digest_size=8)
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda item: (item[1], item[0]))
    digest.update(json.dumps(vocabulary).encode())
    ids = tokenizer(f"{_TEXT} 12345  Ωmega\t日本", add_special_tokens=False)["input_ids"]
    digest.update(str([*ids, tokenizer.bos_token_id]).encode())
    return digest.hexdigest()


def of_format(form: TurnFormat) -> str:
    """A digest of how turns are written."""
    words = (*map(form.turn, _SAMPLES), form.ask(_TIME), form.answer_end, form.pinned)
    return blake2b(repr(words).encode(), digest_size=8).hexdigest()


def fingerprint(model: str, tokenizer: Any, form: TurnFormat, config: MemArt, layers: tuple[int, ...]) -> str:
    """All of it, with the layers whose boxes are kept and the library's version."""
    library = ".".join(transformers.__version__.split(".")[:2])
    parts = (_VERSION, model, of_tokenizer(tokenizer), of_format(form), config.stored, library)
    return "/".join([*(str(part) for part in parts), ",".join(str(layer) for layer in layers)])
