"""A pretrained model from a folder of Transformers or a GGUF file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from zibaldone.errors import InvalidInput, MissingExtra


def load_pretrained(path: Path) -> tuple[Any, Any]:
    """(model, tokenizer), in float32 and ready to answer; no network is asked.

    A GGUF file's weights are made whole again, and its tokenizer is the one inside. Raises InvalidInput for
    a path that holds no model, and MissingExtra where Transformers lacks what it reads such files with.
    """
    if path.suffix == ".gguf" and path.is_file():
        folder, more = path.parent, {"gguf_file": path.name}
    elif (path / "config.json").is_file():
        folder, more = path, {}
    else:
        raise InvalidInput(
            f"{str(path)!r} holds no model: give a folder of Transformers (with config.json) or a .gguf file"
        )
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, **more)
        model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, local_files_only=True, **more
        )
    except ImportError as error:
        raise MissingExtra(
            f"{str(path)!r} cannot be read without the packages gguf and accelerate ({error})"
        ) from error
    return model.eval(), tokenizer
