"""Tiny random models of the families that the kv view takes, a tokenizer of words, and short ways to both."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    Gemma3TextConfig,
    GlmConfig,
    GPTNeoXConfig,
    GptOssConfig,
    LlamaConfig,
    MistralConfig,
    Phi3Config,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
)

from zibaldone.models.cache_argument import cache_argument
from zibaldone.views.kvcache.config import MemArt
from zibaldone.views.kvcache.generate.generation import Prefilled
from zibaldone.views.kvcache.generate.generation import behind as with_memory
from zibaldone.views.kvcache.model.attention_hooks import Raw, Tap
from zibaldone.views.kvcache.model.encoding import Encoder, SessionChain
from zibaldone.views.kvcache.model.turns import TurnFormat, TurnPiece
from zibaldone.views.kvcache.storage.codec import decode

VOCABULARY = 120
PAD, BOS, EOS = 0, 1, 2
CONTEXT, QUESTION = 80, 16  # tokens; together three times as long as the sliding windows
SHAPE: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "pad_token_id": PAD,
    "bos_token_id": BOS,
    "eos_token_id": EOS,
}
_LOCAL_GLOBAL = {"head_dim": 16, "sliding_window": 32, "layer_types": ["sliding_attention", "full_attention"]}


def scaled(kind: str, **more: Any) -> dict[str, Any]:
    """Rotary parameters of a kind of scaling."""
    return {"rope_type": kind, "rope_theta": 1e4, **more}


_LLAMA3 = scaled(
    "llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64
)
_YARN = scaled("yarn", factor=4.0, original_max_position_embeddings=64)
FAMILIES = {
    "llama": lambda: LlamaConfig(**SHAPE),
    "llama3": lambda: LlamaConfig(**SHAPE, rope_parameters=_LLAMA3),
    "qwen2": lambda: Qwen2Config(**SHAPE),
    "qwen2-yarn": lambda: Qwen2Config(**SHAPE, rope_parameters=_YARN),
    "qwen3": lambda: Qwen3Config(**SHAPE, head_dim=16),
    "mistral-sliding": lambda: MistralConfig(**SHAPE, sliding_window=32),
    "phi3": lambda: Phi3Config(**SHAPE),
    "gemma3": lambda: Gemma3TextConfig(**SHAPE, **_LOCAL_GLOBAL),
    "gpt-neox": lambda: GPTNeoXConfig(**SHAPE),
    "glm": lambda: GlmConfig(**SHAPE, head_dim=16),
    "gpt-oss": lambda: GptOssConfig(**SHAPE, **_LOCAL_GLOBAL, num_local_experts=4, num_experts_per_tok=2),
}
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


def new_model(config: Any, dtype: torch.dtype = torch.float32) -> Any:
    """A model of its own with weights, biases and sinks from N(0, .15): its logits are not flat."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(config)
        with torch.no_grad():
            for name, weight in model.named_parameters():
                if "norm" not in name:
                    weight.normal_(0, 0.15)
    return model.to(dtype).eval()


@cache
def tapped(family: str, dtype: str = "fp32") -> Tap:
    """A model with a tap that is never detached."""
    return Tap(new_model(FAMILIES[family](), DTYPES[dtype]))


@cache
def stock(family: str, dtype: str = "fp32") -> Any:
    """The same weights, never touched."""
    return new_model(FAMILIES[family](), DTYPES[dtype])


def some_ids(count: int = CONTEXT + QUESTION, seed: int = 5) -> torch.Tensor:
    """(1, count) ids of words."""
    return torch.randint(3, VOCABULARY, (1, count), generator=torch.Generator().manual_seed(seed))


@torch.no_grad()
def logits(model: Any, ids: torch.Tensor, cache: Any = None) -> torch.Tensor:
    """(1, tokens, vocabulary) float32, of these ids behind a cache."""
    given = {**cache_argument(model, cache), "use_cache": True} if cache is not None else {}
    done = cache.get_seq_length() if cache is not None else 0
    mask = torch.ones((1, done + ids.shape[1]), dtype=torch.long)
    return model(input_ids=ids, attention_mask=mask, **given).logits.float()


@torch.no_grad()
def captured(tap: Tap, ids: torch.Tensor) -> Raw:
    """Raw keys and values of one pass."""
    with tap.open():
        cache = tap.cache()
        tap.model(input_ids=ids, **cache_argument(tap.model, cache), use_cache=True)
    return tap.taken(cache)


@cache
def tokenizer() -> PreTrainedTokenizerFast:
    """Id n is the word "wn"; 0, 1 and 2 are the marks."""
    words = {"<pad>": PAD, "<bos>": BOS, "<eos>": EOS} | {f"w{n}": n for n in range(3, VOCABULARY)}
    made = Tokenizer(models.WordLevel(words, unk_token="w3"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", bos_token="<bos>", eos_token="<eos>"
    )


def words(ids: Sequence[int]) -> str:
    """A text that the tokenizer makes these ids of."""
    return " ".join(f"w{n}" for n in ids)


FORM = TurnFormat(turn=lambda message: message.content, ask=lambda now: "")
WHOLE = MemArt(block_tokens=8, context_tokens=None, segment_tokens=1000)


def encoder_of(tap: Tap, config: MemArt = WHOLE) -> Encoder:
    return Encoder(tap, tokenizer(), FORM, config)


def chained(encoder: Encoder, ids: Sequence[int], borders: Sequence[int]) -> SessionChain:
    """A session whose turns end at the borders."""
    chain = SessionChain(encoder, "s")
    for seq, (start, end) in enumerate(pairwise((0, *borders, len(ids))), 1):
        chain.extend(TurnPiece(seq, tuple(ids[start:end])), 0)
    return chain


def read_back(chain: SessionChain) -> list[Raw]:
    """Its blocks, from their bytes."""
    return [decode(one.payload, len(one.tile.ids), chain.encoder.layout) for one in chain.drafts]


IDS: list[int] = some_ids()[0].tolist()
ASKED = tuple(IDS[CONTEXT:])
# Random models may end at once or say the mark that fills up: neither says anything of memory.
TEN: dict[str, Any] = {"max_new_tokens": 10, "min_new_tokens": 10, "suppress_tokens": [0]}


def context_of(encoder: Encoder, tokens: int = CONTEXT, asked: Sequence[int] = ASKED) -> Prefilled:
    """A question behind the first tokens of the text, which were encoded turn by turn."""
    raw = read_back(chained(encoder, IDS[:tokens], [n for n in (5, 21, 60) if n < tokens])) if tokens else []
    return with_memory(encoder, raw, tuple(asked))


def behind(
    model: Any, encoder: Encoder, context_ids: Sequence[int], asked: Sequence[int] = ASKED, **options: Any
) -> list[tuple[int, ...]]:
    """Answer of the untouched model to all of it as a prompt."""
    prompt = torch.tensor([[*encoder.prefix_ids, *context_ids, *asked]])
    found = model.generate(prompt, attention_mask=torch.ones_like(prompt), **{"do_sample": False, **options})
    return [tuple(row) for row in found[:, prompt.shape[1] :].tolist()]


def hooks(model: Any) -> int:
    """How many are in the model."""
    return sum(len(m._forward_pre_hooks) + len(m._forward_hooks) for m in model.modules())
