"""What time is measured with: settings, models with random weights of a real shape, a tokenizer for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, Qwen2Config
from transformers.models.llama import LlamaConfig

from zibaldone.bench.registry import KVSpeedOptions
from zibaldone.errors import InvalidInput
from zibaldone.validation import count
from zibaldone.views.kvcache.config import MemArt

TURN_TOKENS = 32  # two full blocks
QUESTION_TOKENS = 32
WORDS = 8192  # that the tokenizer knows; the models have their own, larger vocabularies
BOS = "<bos>"


@dataclass(frozen=True, slots=True)
class Shape:
    """A model's sizes, as its own configuration has them."""

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    vocabulary: int
    window: int
    theta: float
    family: str = "qwen2"
    tied: bool = True

    @property
    def head_dim(self) -> int:
        return self.hidden // self.heads


SHAPES = {
    "tiny": Shape(4, 64, 128, 4, 2, WORDS, 8192, 1e4),
    "0.5b": Shape(24, 896, 4864, 14, 2, 151_936, 32_768, 1e6),  # Qwen2.5-0.5B
    "8b": Shape(32, 4096, 14_336, 32, 8, 128_256, 131_072, 5e5, "llama", tied=False),  # Llama-3.1-8B
}


@dataclass(frozen=True, kw_only=True)
class Settings(KVSpeedOptions):
    """What to measure, checked before a model is made."""

    def __post_init__(self) -> None:
        """Raises InvalidInput, which names the option of the command."""
        if self.shape not in SHAPES:
            raise InvalidInput(f"--shape {self.shape!r} must be one of {', '.join(SHAPES)}")
        if self.device not in (None, "cpu", "cuda"):
            raise InvalidInput(f"--device {self.device!r} must be cpu or cuda")
        if self.device == "cuda" and not torch.cuda.is_available():
            raise InvalidInput("--device cuda: torch sees no CUDA device here; use --device cpu")
        for name, value in (("--top-k", self.top_k), ("--repeat", self.repeat)):
            count(name, value, least=1)
        if self.threads is not None:
            count("--threads", self.threads, least=1)
        if not self.history or not self.blocks:
            raise InvalidInput("--history and --blocks take at least one number each")
        for blocks in self.blocks:
            count("--blocks", blocks, least=1)
        config = self.config
        least = self.top_k * config.block_tokens + config.probe_tokens
        most = SHAPES[self.shape].window - QUESTION_TOKENS - 2
        for tokens in self.history:
            if count("--history", tokens, least=TURN_TOKENS) % TURN_TOKENS:
                raise InvalidInput(f"--history {tokens} must be whole turns: a multiple of {TURN_TOKENS}")
            if tokens < least:
                raise InvalidInput(
                    f"--history {tokens} is less than what is recalled from it: give at least {least}, or a"
                    f" --top-k below {self.top_k}"
                )
            if tokens > most:
                raise InvalidInput(
                    f"--history {tokens} does not fit the window of --shape {self.shape} as full context:"
                    f" give at most {most // TURN_TOKENS * TURN_TOKENS}"
                )

    @property
    def config(self) -> MemArt:
        """The best preset, with the middle two layers: calibrating random weights would find nothing."""
        middle = SHAPES[self.shape].layers // 2
        return MemArt(select="blocks", top_k=self.top_k, layers=(middle - 1, middle))

    @property
    def torch_device(self) -> torch.device:
        return torch.device(self.device or ("cuda" if torch.cuda.is_available() else "cpu"))


def new_model(shape: Shape, device: torch.device) -> Any:
    """Random bfloat16 weights."""
    torch.manual_seed(0)
    config = (LlamaConfig if shape.family == "llama" else Qwen2Config)(
        num_hidden_layers=shape.layers,
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        vocab_size=shape.vocabulary,
        max_position_embeddings=shape.window,
        tie_word_embeddings=shape.tied,
        rope_parameters={"rope_type": "default", "rope_theta": shape.theta},
        bos_token_id=0,
        eos_token_id=None,  # an answer never ends by itself
        pad_token_id=0,
    )
    with device:
        return AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()


def new_tokenizer() -> PreTrainedTokenizerFast:
    """A word is a token, `w7` the one with the id 7: a real one would have to be downloaded."""
    made = Tokenizer(WordLevel({BOS: 0} | {f"w{i}": i for i in range(1, WORDS)}, unk_token=BOS))
    made.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, bos_token=BOS, pad_token=BOS)


def ids_of(text: str) -> list[int]:
    """The same without a tokenizer."""
    return [int(word[1:]) for word in text.split()]
