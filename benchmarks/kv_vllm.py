"""Time to the first token in vLLM: a pool's blocks beside the same turns as text, prefix cache off and on.

Every arm of a question has the same tokens in its prompt, so what differs is what vLLM computes of them. The
arms alternate, question by question; what counts is the ratio of medians. Sizes of memory that the model's
window does not hold are left out, and named.

    python -m benchmarks.kv_vllm LOCOMO MODEL [--memory 512,4096,32768] [--dtype bfloat16]  # extras kv, vllm
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks import results
from benchmarks.data import Conversation, load
from benchmarks.kv import load_pretrained
from zibaldone.api.kv import KVMemory, KVPrompt
from zibaldone.api.memory import Memory
from zibaldone.core import Message
from zibaldone.views.kvcache.model.inspection import window_of

_SPARE_TOKENS = 256  # of vLLM's window, for a question and its answer
_DTYPES = ("float32", "bfloat16", "float16")
_USER = "somebody"
_ARMS = ("text", "text, prefix cached", "memory", "memory, prefix cached")


@dataclass(frozen=True, slots=True)
class VLLMArm:
    """Medians of one arm at one size of memory."""

    memory: int  # tokens wanted in sight
    name: str
    prompt_tokens: float
    computed_tokens: float  # of the prompt, by vLLM
    ms: float  # to the first token


@dataclass(frozen=True, slots=True)
class _Timing:
    prompt_tokens: int
    computed_tokens: int
    ms: float


def main() -> None:
    """Time the four arms of every question."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kv_vllm", description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--memory", default="512,4096,32768", help="tokens of memory in sight")
    parser.add_argument("--questions", type=int, default=5, help="whose median counts")
    parser.add_argument("--dtype", choices=_DTYPES, default="float32")
    parser.add_argument("--output", type=Path, default=results.RESULTS / "kv_vllm.json")
    options = parser.parse_args()
    model, tokenizer = load_pretrained(options.model)
    model = model.to("cuda" if torch.cuda.is_available() else "cpu", getattr(torch, options.dtype))
    window = window_of(model.config)
    given = [int(size) for size in options.memory.split(",")]
    sizes = [size for size in given if size + _SPARE_TOKENS <= window]
    if left_out := sorted(set(given) - set(sizes)):
        print(f"not measured: {left_out} tokens do not fit a window of {window:,}")
    talks = load("locomo", options.path)
    messages = _sessions(talks, max(sizes) * 5 // 4, tokenizer)
    asked = [question.text for question in talks[0].questions]
    with tempfile.TemporaryDirectory(prefix="zibaldone-bench-") as name:
        folder = Path(name)
        _save(model, folder / "model")  # as vLLM reads it, a GGUF file too
        tokenizer.save_pretrained(folder / "model")
        with (
            Memory(folder / "memory") as memory,
            KVMemory(model, tokenizer, memory) as kv,
        ):
            memory.add(messages, user=_USER)
            history = kv.remember(user=_USER).tokens
            most = max(sizes) + _SPARE_TOKENS
            with _engine(folder / "model", folder / "memory", most, options.dtype) as engine:
                measured = [_ask_all(engine, kv, size, asked, options.questions) for size in sizes]
    arms = [
        _median(size, name, timings[name])
        for size, (timings, _) in zip(sizes, measured, strict=True)
        for name in _ARMS
    ]
    figures = {
        "model": options.model.name,
        "dtype": options.dtype,
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "history_tokens": history,
        "questions": options.questions,
        "rows": arms,
        "prompt_ms": [ms for _, ms in measured],
    }
    of = f"a history of {history:,} tokens; medians of {options.questions}"
    results.show(f"{options.model.name}, {options.dtype}, {of}", arms)
    results.write(options.output, figures)


def _save(model: Any, folder: Path) -> None:
    """For vLLM to read. Weights of a GGUF file are whole here, though the model still calls itself packed."""
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(folder)


def _ask_all(
    engine: Any, kv: KVMemory, size: int, questions: Sequence[str], count: int
) -> tuple[Mapping[str, Sequence[_Timing]], float]:
    timings: dict[str, list[_Timing]] = {name: [] for name in _ARMS}
    prompt_ms = []
    for place, question in enumerate(questions[: count + 1]):
        began = time.perf_counter()
        prompt = kv.prompt(question, user=_USER, budget_tokens=size)
        prompt_ms.append((time.perf_counter() - began) * 1000)
        other = questions[(place + 1) % len(questions)]  # of the same turns: what comes before it is cached
        following = kv.prompt(other, user=_USER, budget_tokens=size, seqs=prompt.seqs, now=prompt.now)
        engine.reset_prefix_cache()
        made = {
            "text": _timed(engine, prompt, memory=False),
            "text, prefix cached": _timed(engine, following, memory=False),
            "memory": _timed(engine, prompt, memory=True),
            "memory, prefix cached": _timed(engine, following, memory=True),
        }
        if place:  # the first pays for what libraries do once
            for name, result in made.items():
                timings[name].append(result)
    return timings, median(prompt_ms[1:])


def _timed(engine: Any, prompt: KVPrompt, *, memory: bool) -> _Timing:
    from vllm import SamplingParams

    body = prompt.body()
    extra = {"kv_transfer_params": body["kv_transfer_params"]} if memory else {}
    salt = body["cache_salt"] if memory else "text"
    sampling = SamplingParams(temperature=0, max_tokens=1, extra_args=extra)
    given = {"prompt_token_ids": body["prompt"], "cache_salt": salt}
    began = time.perf_counter()
    (made,) = engine.generate(given, sampling, use_tqdm=False)
    ms = (time.perf_counter() - began) * 1000
    return _Timing(len(prompt.ids), len(prompt.ids) - (made.num_cached_tokens or 0), ms)


@contextmanager
def _engine(served: Path, memory_folder: Path, most_tokens: int, dtype: str) -> Iterator[Any]:
    from vllm import LLM
    from vllm.config import KVTransferConfig

    transfer = KVTransferConfig(
        kv_connector="ZibaldoneConnector",
        kv_connector_module_path="zibaldone.adapters.vllm",
        kv_role="kv_both",
        kv_load_failure_policy="fail",  # a figure of something else would be no figure
        kv_connector_extra_config={"folder": str(memory_folder)},
    )
    engine = LLM(
        str(served),
        dtype=dtype,
        enforce_eager=True,
        max_model_len=most_tokens,
        enable_prefix_caching=True,
        **(
            {"gpu_memory_utilization": 0.6} if torch.cuda.is_available() else {}
        ),  # the owner's model is there too
        kv_transfer_config=transfer,
    )
    try:
        yield engine
    finally:
        engine.llm_engine.engine_core.shutdown()


def _sessions(talks: Sequence[Conversation], least: int, tokenizer: Any) -> list[Message]:
    """Whole sessions from the first, until they have so many tokens; sessions keep their conversation."""
    taken: list[Message] = []
    total = 0
    for talk in talks:
        for turns in talk.sessions():
            taken += [replace(turn, seq=0, session=f"{talk.name} {turn.session}") for turn in turns]
            total += sum(len(tokenizer(turn.content)["input_ids"]) for turn in turns)
            if total >= least:
                return taken
    return taken


def _median(memory: int, name: str, timings: Sequence[_Timing]) -> VLLMArm:
    return VLLMArm(
        memory,
        name,
        median(result.prompt_tokens for result in timings),
        median(result.computed_tokens for result in timings),
        median(result.ms for result in timings),
    )


if __name__ == "__main__":
    main()
