"""Time to the first token in vLLM: a pool's blocks beside the same turns as text, prefix cache off and on.

Every arm of a question has the same tokens in its prompt, so what differs is what vLLM computes of them. The
arms alternate, question by question; what counts is the ratio of medians.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import torch
from rich.table import Table

from zibaldone.bench.kv.pretrained import load_pretrained
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.bench.outcome import Measurement, Run, need
from zibaldone.bench.registry import KVVLLMOptions
from zibaldone.bench.table import Column, tabulate
from zibaldone.core import Message
from zibaldone.errors import InvalidInput
from zibaldone.kv import KVMemory, KVPrompt, MemArt
from zibaldone.memory import Memory

_ANSWER_TOKENS = 8  # of the answers that are held against KVMemory.generate's
_SPARE_TOKENS = 256  # of vLLM's window, for a question and its answer
_DTYPES = ("float32", "bfloat16", "float16")
_ARMS = ("text", "text, prefix cached", "memory", "memory, prefix cached")


@dataclass(frozen=True, slots=True)
class VLLMArm:
    """Medians of one arm."""

    name: str
    prompt_tokens: float
    computed_tokens: float  # of the prompt, by vLLM
    ms: float  # to the first token


@dataclass(frozen=True, slots=True)
class _Timing:
    prompt_tokens: int
    computed_tokens: int
    ms: float


def run(options: KVVLLMOptions, run: Run) -> Measurement:
    """The four arms of every question, and whether answers are those of KVMemory.generate."""
    need("vllm")
    if options.model is None:
        raise InvalidInput("--model is needed: a folder of Transformers, or a .gguf file")
    if options.dtype not in _DTYPES:
        raise InvalidInput(f"--dtype must be one of {', '.join(_DTYPES)}, not {options.dtype!r}")
    model, tokenizer = load_pretrained(options.model)
    model = model.to(getattr(torch, options.dtype))
    served = run.folder / "model"  # as vLLM reads it, a GGUF file too
    _save(model, served)
    tokenizer.save_pretrained(served)
    data = LoCoMoQuestions(options.path)
    user = data.users()[0]
    messages = _sessions(data.messages(user), options.history, tokenizer)
    questions = [example.question for example in data.examples if example.user == user]
    config = MemArt(budget_tokens=options.budget, layers=(0,))
    with (
        Memory(run.folder / "memory") as memory,
        KVMemory(model, tokenizer, memory, config=config) as kv,
    ):
        memory.add(messages, user=user)
        run.progress("remembering", 0, 0)
        history = kv.remember(user=user).tokens
        with _engine(served, memory_folder=run.folder / "memory", options=options) as engine:
            timings, same, prompt_ms = _ask_all(engine, kv, user, questions, options, run)
    arms = tuple(_median(name, timings[name]) for name in _ARMS)
    figures = {
        "model": options.model.name,
        "dtype": options.dtype,
        "history_tokens": history,
        "questions": options.questions,
        "arms": arms,
        "prefill_tokens_per_second": _rate(arms[0]),
        "prompt_ms": prompt_ms,
        "same_as_generate": same,
    }
    return Measurement(figures, [_table(options, history, arms)], (_note(same, options, prompt_ms, arms[0]),))


def _save(model: Any, folder: Path) -> None:
    """For vLLM to read. Weights of a GGUF file are whole here, though the model still calls itself packed."""
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(folder)


def _ask_all(
    engine: Any, kv: KVMemory, user: str, questions: Sequence[str], options: KVVLLMOptions, run: Run
) -> tuple[Mapping[str, Sequence[_Timing]], int, float]:
    timings: dict[str, list[_Timing]] = {name: [] for name in _ARMS}
    same, prompt_ms = 0, []
    for place, question in enumerate(questions[: options.questions + 1]):
        run.progress("asking", place, options.questions + 1)
        began = time.perf_counter()
        prompt = kv.prompt(question, user=user)
        prompt_ms.append((time.perf_counter() - began) * 1000)
        other = questions[(place + 1) % len(questions)]  # of the same turns: what comes before it is cached
        following = kv.prompt(other, user=user, seqs=prompt.seqs, now=prompt.now)
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
            same += _same(engine, kv, prompt)
    return timings, same, median(prompt_ms[1:])


def _timed(engine: Any, prompt: KVPrompt, *, memory: bool) -> _Timing:
    began = time.perf_counter()
    made = _generated(engine, prompt, memory=memory, tokens=1)
    ms = (time.perf_counter() - began) * 1000
    return _Timing(len(prompt.ids), len(prompt.ids) - (made.num_cached_tokens or 0), ms)


def _same(engine: Any, kv: KVMemory, prompt: KVPrompt) -> bool:
    """Whether a greedy answer is KVMemory.generate's."""
    answer = kv.generate(
        prompt.query, user=prompt.user, seqs=prompt.seqs, now=prompt.now, max_new_tokens=_ANSWER_TOKENS
    )
    made = _generated(engine, prompt, memory=True, tokens=_ANSWER_TOKENS)
    return bool(made.outputs[0].text.strip() == answer.text)


def _generated(engine: Any, prompt: KVPrompt, *, memory: bool, tokens: int) -> Any:
    from vllm import SamplingParams

    body = prompt.body()
    extra = {"kv_transfer_params": body["kv_transfer_params"]} if memory else {}
    salt = body["cache_salt"] if memory else "text"
    sampling = SamplingParams(temperature=0, max_tokens=tokens, extra_args=extra)
    given = {"prompt_token_ids": body["prompt"], "cache_salt": salt}
    (made,) = engine.generate(given, sampling, use_tqdm=False)
    return made


@contextmanager
def _engine(served: Path, *, memory_folder: Path, options: KVVLLMOptions) -> Iterator[Any]:
    from vllm import LLM
    from vllm.config import KVTransferConfig

    transfer = KVTransferConfig(
        kv_connector="ZibaldoneConnector",
        kv_connector_module_path="zibaldone.kv.vllm",
        kv_role="kv_both",
        kv_load_failure_policy="fail",  # a figure of something else would be no figure
        kv_connector_extra_config={"folder": str(memory_folder)},
    )
    engine = LLM(
        str(served),
        dtype=options.dtype,
        enforce_eager=True,
        max_model_len=options.budget + _SPARE_TOKENS,
        enable_prefix_caching=True,
        kv_transfer_config=transfer,
    )
    try:
        yield engine
    finally:
        engine.llm_engine.engine_core.shutdown()


def _sessions(messages: Sequence[Message], most: int, tokenizer: Any) -> list[Message]:
    """Whole sessions from the first, as many as so many tokens hold; one at least."""
    taken: list[Message] = []
    total = 0
    for session in dict.fromkeys(message.session for message in messages):
        turns = [replace(message, seq=0) for message in messages if message.session == session]
        total += sum(len(tokenizer(turn.content)["input_ids"]) for turn in turns)
        if taken and total > most:
            break
        taken += turns
    return taken


def _median(name: str, timings: Sequence[_Timing]) -> VLLMArm:
    return VLLMArm(
        name,
        median(result.prompt_tokens for result in timings),
        median(result.computed_tokens for result in timings),
        median(result.ms for result in timings),
    )


def _table(options: KVVLLMOptions, history: int, arms: Sequence[VLLMArm]) -> Table:
    text = arms[0].ms
    columns = [
        Column("in vLLM", lambda arm: arm.name, left=True),
        Column("prompt\ntokens", lambda arm: arm.prompt_tokens, ",.0f"),
        Column("computed", lambda arm: arm.computed_tokens, ",.0f"),
        Column("first\ntoken, ms", lambda arm: arm.ms, ",.0f"),
        Column("text /\nthis", lambda arm: text / arm.ms, ".1f"),
    ]
    model = options.model.name if options.model else ""
    title = f"{model}, {options.dtype}, a history of {history:,} tokens; medians of {options.questions}"
    return tabulate(title, columns, arms)


def _rate(text: VLLMArm) -> float:
    """Tokens that vLLM computes in a second here: the ratios follow it."""
    return 1000 * text.computed_tokens / text.ms


def _note(same: int, options: KVVLLMOptions, prompt_ms: float, text: VLLMArm) -> str:
    return (
        f"{same} of {options.questions} greedy answers of {_ANSWER_TOKENS} tokens are those of"
        f" KVMemory.generate; KVMemory.prompt took {prompt_ms:,.0f} ms (median); vLLM prefilled"
        f" {_rate(text):,.0f} tokens a second"
    )
