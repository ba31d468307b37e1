"""Train the small model that the kv view is judged with: some minutes on one core, from nothing.

A Llama of 0.6 million parameters and a window of 512 tokens learns to answer questions about facts in
dialogues. Lengths grow as it learns, a part of the shorter ones is kept in.

It does not begin with noise alone: two heads of the first layer begin by looking one and two tokens back, and
the second layer's queries begin like its keys. A model that begins with noise finds the attribute of a
question within minutes and its name not within twenty (docs/log.md).
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from zibaldone.bench.kv import toy
from zibaldone.bench.outcome import Measurement, Run
from zibaldone.bench.registry import KVTrainOptions
from zibaldone.errors import InvalidInput

WINDOW = 512
_STAGES = (64, 128, 256, WINDOW)
_GOOD_ENOUGH = 0.9  # accuracy, smoothed, at which dialogues get longer
_REPLAY = 0.3  # of the steps, with a shorter stage
_STEP_TOKENS = 2048
_WARM_UP_STEPS = 100
_MUON_LR, _ADAM_LR = 0.01, 3e-3
_HEAD_DIM = 32
_THETA = 10_000.0
_LOOKS_BACK = (1, 2)  # tokens, the first heads of the first layer
_SHARPNESS = 40.0  # of that, as a product of query and key
_ALIKE = 0.06  # standard deviation of the second layer's keys; its queries are nearly the same


@dataclass(frozen=True, slots=True)
class Trained:
    """How a training went."""

    steps: int
    tokens: int
    accuracy: float  # of both values of an answer, on fresh dialogues of the whole window
    seconds: float


def run(options: KVTrainOptions, run: Run) -> Measurement:
    """Train into a folder that holds no model yet."""
    folder = options.folder
    if (folder / "model.safetensors").exists():
        raise InvalidInput(f"{str(folder)!r} holds a model already: name another folder")
    torch.set_num_threads(options.threads)
    done = train(options.seed, options.minutes, folder, run.note)
    figures = ", ".join(f"{name} {value:,.4g}" for name, value in asdict(done).items())
    return Measurement(asdict(done), (), (figures, f"written: {folder}"))


def new_model(seed: int) -> LlamaForCausalLM:
    """Weights to begin with: 3 layers, 4 heads over 2 key-value heads of 32 dimensions."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(toy.VOCABULARY),
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=WINDOW,
        tie_word_embeddings=True,
        initializer_range=0.02,
        attention_bias=True,  # a head can look at a distance whatever stands there
        rope_parameters={"rope_type": "default", "rope_theta": _THETA},
        bos_token_id=toy.IDS[toy.BOS],
        eos_token_id=toy.IDS[toy.SEP],
        pad_token_id=toy.IDS[toy.PAD],
    )
    model = LlamaForCausalLM(config)
    first, second = (layer.self_attn for layer in model.model.layers[:2])
    with torch.no_grad():
        key = torch.zeros(_HEAD_DIM)
        key[:3] = _SHARPNESS**0.5  # the three highest frequencies tell neighbours apart
        first.k_proj.bias.zero_()
        first.q_proj.bias.zero_()
        first.k_proj.bias[:_HEAD_DIM] = key
        for head, distance in enumerate(_LOOKS_BACK):
            first.q_proj.bias[head * _HEAD_DIM : (head + 1) * _HEAD_DIM] = _turned(key, -distance)
        torch.nn.init.normal_(second.k_proj.weight, std=_ALIKE)
        groups = second.k_proj.weight.view(2, _HEAD_DIM, -1).repeat_interleave(2, dim=0)
        noise = 0.3 * _ALIKE * torch.randn(second.q_proj.weight.shape)
        second.q_proj.weight.copy_(groups.reshape(second.q_proj.weight.shape) + noise)
    return model


def _turned(vector: torch.Tensor, position: int) -> torch.Tensor:
    half = _HEAD_DIM // 2
    angle = position / _THETA ** (torch.arange(half) / half)
    x, y = vector[:half], vector[half:]
    return torch.cat([x * angle.cos() - y * angle.sin(), y * angle.cos() + x * angle.sin()])


def train(seed: int, minutes: float, folder: Path, tell: Callable[[str], None] = lambda _: None) -> Trained:
    """Train for so long and save model and tokenizer into the folder."""
    began = time.perf_counter()
    rng = random.Random(seed)
    model = new_model(seed)
    inner = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name]
    outer = [p for name, p in model.named_parameters() if p.ndim != 2 or "embed" in name]
    optimizers: list[tuple[torch.optim.Optimizer, float]] = [
        (torch.optim.Muon(inner, lr=_MUON_LR, weight_decay=0.0), _MUON_LR),
        (torch.optim.AdamW(outer, lr=_ADAM_LR, betas=(0.9, 0.98), weight_decay=0.0), _ADAM_LR),
    ]
    stage = steps = tokens = 0
    smoothed = 0.0
    while (share := (time.perf_counter() - began) / (60 * minutes)) < 1:
        rate = min(1.0, (steps + 1) / _WARM_UP_STEPS) * (0.5 + 0.5 * math.cos(math.pi * share))
        replay = stage > 0 and rng.random() < _REPLAY
        length = _STAGES[rng.randrange(stage) if replay else stage]
        ids, labels = _batch(rng, _STEP_TOKENS // length, length)
        logits = model(ids).logits[:, :-1]
        wanted = labels[:, 1:]
        is_answer = wanted != toy.IGNORED
        loss = torch.nn.functional.cross_entropy(logits[is_answer], wanted[is_answer])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, lr in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = lr * rate
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        steps += 1
        tokens += ids.numel()
        if not replay:
            right = (logits[is_answer].argmax(-1) == wanted[is_answer]).float().mean().item()
            smoothed = 0.95 * smoothed + 0.05 * right
            if smoothed > _GOOD_ENOUGH and stage + 1 < len(_STAGES):
                stage, smoothed = stage + 1, 0.0
                tell(f"step {steps}: dialogues of {_STAGES[stage]} tokens after {_since(began):.0f} s")
        if steps % 200 == 0:
            tell(
                f"step {steps}: {length} tokens, loss {loss.item():.3f}, accuracy {smoothed:.3f},"
                f" {_since(began):.0f} s"
            )
    model.eval()
    accuracy = judge(model, seed + 1_000_000)
    save(model, folder)
    return Trained(steps, tokens, accuracy, _since(began))


@torch.no_grad()
def judge(model: LlamaForCausalLM, seed: int, dialogues: int = 64) -> float:
    """Share of the answers in fresh dialogues of the whole window of which both values are right."""
    ids, labels = _batch(random.Random(seed), dialogues, WINDOW)
    right = answers = 0
    for row, wanted in zip(ids.split(8), labels.split(8), strict=True):
        predicted = model(row).logits[:, :-1].argmax(-1)
        first = (wanted[:, 1:-1] != toy.IGNORED) & (wanted[:, 2:] != toy.IGNORED)
        hit = predicted == wanted[:, 1:]
        right += int((first & hit[:, :-1] & hit[:, 1:]).sum())
        answers += int(first.sum())
    return right / answers


def save(model: LlamaForCausalLM, folder: Path) -> None:
    """The model and its tokenizer, as Transformers loads them; bfloat16 would round, so float32."""
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=toy.tokenizer(),
        bos_token=toy.BOS,
        eos_token=toy.SEP,
        pad_token=toy.PAD,
        clean_up_tokenization_spaces=False,
    ).save_pretrained(folder)


def _batch(rng: random.Random, dialogues: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    made = [toy.training_dialogue(rng, length) for _ in range(dialogues)]
    return torch.tensor([ids for ids, _ in made]), torch.tensor([labels for _, labels in made])


def _since(began: float) -> float:
    return time.perf_counter() - began
