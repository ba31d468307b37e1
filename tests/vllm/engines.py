"""Tiny random models with a memory, and vLLM around them: offline, or as the server that people run."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from kv_models import new_model
from kv_rig import line, tokenizer
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    Gemma3TextConfig,
    LlamaConfig,
    MistralConfig,
    Qwen3Config,
)

from zibaldone import Config, Memory
from zibaldone.api.kv import KVMemory, KVPrompt
from zibaldone.testing import FrozenClock

TOKENS = 12  # of an answer
WINDOW = 32  # of sliding layers: a fifth of what is in sight
_MARKS = range(6)  # ids that are no words: an answer of them would look empty
_BLOCK = 32  # the smallest that vLLM has on a CPU
_PATIENCE_S = 400.0
_SHAPE: dict[str, Any] = {
    "vocab_size": len(tokenizer()),  # every id is a word
    "hidden_size": 128,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
FAMILIES = {
    "llama": lambda: LlamaConfig(**_SHAPE),
    "qwen3": lambda: Qwen3Config(**_SHAPE, head_dim=32),
    "mistral-sliding": lambda: MistralConfig(**_SHAPE, sliding_window=WINDOW),
    "gemma3": lambda: Gemma3TextConfig(
        **_SHAPE, head_dim=32, sliding_window=WINDOW, layer_types=["sliding_attention", "full_attention"]
    ),
}
_CONNECTOR = {
    "kv_connector": "ZibaldoneConnector",
    "kv_connector_module_path": "zibaldone.adapters.vllm",
    "kv_role": "kv_both",
    "kv_load_failure_policy": "recompute",
}


class Owner:
    """A memory with a model attached, and that model in a folder for vLLM."""

    def __init__(self, folder: Path, family: str, dtype: torch.dtype = torch.float32) -> None:
        self.path, self.folder = folder / "model", folder / "memory"
        new_model(FAMILIES[family](), dtype).save_pretrained(self.path)
        tokenizer().save_pretrained(self.path)
        self.memory = Memory(self.folder, config=Config(clock=FrozenClock()))
        self.kv = KVMemory(
            AutoModelForCausalLM.from_pretrained(self.path, dtype=dtype),
            AutoTokenizer.from_pretrained(self.path),
            self.memory,
        )
        for user, first in (("ann", 0), ("zoe", 2)):
            self.memory.add([line(first + i) for i in range(24)], user=user, session="1")
            self.kv.remember(user=user)

    def prompt(self, question: str, seqs: Sequence[int] = tuple(range(3, 18)), **more: Any) -> KVPrompt:
        """Behind more turns than a window holds, and than a block of vLLM's."""
        return self.kv.prompt(question, **{"user": "ann", "seqs": seqs, **more})

    def answer(self, prompt: KVPrompt) -> str:
        """What KVMemory.generate says to the same."""
        made = self.kv.generate(
            prompt.query,
            user=prompt.user,
            seqs=prompt.seqs,
            session=prompt.session,
            now=prompt.now,
            max_new_tokens=TOKENS,
            min_new_tokens=TOKENS,
            suppress_tokens=list(_MARKS),
        )
        return made.text

    def close(self) -> None:
        self.kv.close()
        self.memory.close()


@contextmanager
def offline(owner: Owner, **options: Any) -> Iterator[Any]:
    """A vllm.LLM whose engine is another process."""
    from vllm import LLM
    from vllm.config import KVTransferConfig

    transfer = KVTransferConfig(**_CONNECTOR, kv_connector_extra_config={"folder": str(owner.folder)})
    given = {"dtype": "float32", "enforce_eager": True, "max_model_len": 512, "block_size": _BLOCK} | options
    engine = LLM(str(owner.path), kv_transfer_config=transfer, **given)
    try:
        yield engine
    finally:
        engine.llm_engine.engine_core.shutdown()


def generated(engine: Any, prompt: KVPrompt, *, memory: bool = True) -> tuple[str, int, float]:
    """(text, tokens that were not computed, log-probability) of a greedy answer."""
    from vllm import SamplingParams

    body = prompt.body()
    given = {"prompt_token_ids": body["prompt"]}
    extra = {}
    if memory:
        given["cache_salt"] = body["cache_salt"]
        extra = {"kv_transfer_params": body["kv_transfer_params"]}
    sampling = SamplingParams(
        temperature=0,
        max_tokens=TOKENS,
        min_tokens=TOKENS,
        logprobs=0,
        logit_bias=dict.fromkeys(_MARKS, -100.0),
        extra_args=extra,
    )
    (made,) = engine.generate(given, sampling, use_tqdm=False)
    (output,) = made.outputs
    return output.text.strip(), made.num_cached_tokens, float(output.cumulative_logprob)


class Server:
    """vLLM's own server with the connector, on the loopback."""

    def __init__(self, owner: Owner, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        transfer = {**_CONNECTOR, "kv_connector_extra_config": {"folder": str(owner.folder)}}
        self._log = log.open("w")
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(owner.path)),
                *("--served-model-name", "tiny", "--host", "127.0.0.1", "--port", str(self.port)),
                *("--dtype", "float32", "--enforce-eager", "--max-model-len", "512"),
                *("--block-size", str(_BLOCK), "--enable-prompt-tokens-details"),
                *("--kv-transfer-config", json.dumps(transfer)),
            ],
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )

    def wait(self) -> None:
        """Until it answers."""
        until = time.monotonic() + _PATIENCE_S
        while time.monotonic() < until and self._process.poll() is None:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5).close()
            except (urllib.error.URLError, OSError):
                time.sleep(0.5)
            else:
                return
        raise AssertionError(f"vLLM did not start: {Path(self._log.name).read_text()[-3000:]}")

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """The response of /v1/completions to a greedy request."""
        greedy = {"temperature": 0, "max_tokens": TOKENS, "min_tokens": TOKENS}
        whole = {"model": "tiny", **greedy, "logit_bias": dict.fromkeys(map(str, _MARKS), -100), **body}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/v1/completions",
            json.dumps(whole).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=_PATIENCE_S) as response:
            made: dict[str, Any] = json.load(response)
        return made

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(60)
        self._log.close()


def text_of(response: dict[str, Any]) -> str:
    text: str = response["choices"][0]["text"]
    return text.strip()


def reused(response: dict[str, Any]) -> int:
    """Tokens of the prompt that were not computed."""
    details = response["usage"]["prompt_tokens_details"] or {}
    return int(details.get("cached_tokens") or 0)
