"""The kv view over two tiny models with random weights, for the contract suite."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from rig import CONVERSATION, QUESTIONS, STATIC, Plant
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from zibaldone.models.base import Embedder
from zibaldone.storage.database import Database
from zibaldone.views.kvcache import FOLDER
from zibaldone.views.kvcache.config import MemArt
from zibaldone.views.kvcache.model.attention_hooks import Tap
from zibaldone.views.kvcache.model.encoding import Encoder, fingerprint, of_model
from zibaldone.views.kvcache.model.turns import plain
from zibaldone.views.kvcache.view import KVView

CONFIG = MemArt(block_tokens=8, context_tokens=32, segment_tokens=128)
FAULTS = (
    Plant("DELETE FROM messages WHERE seq = 3", "a block of message 3, which is not in the log"),
    Plant("DELETE FROM kv_blocks WHERE first_seq = 2", "no block of message 2"),
    Plant("UPDATE kv_blocks SET crc = 0 WHERE block = 1", "block 1 is torn"),
    Plant("UPDATE kv_blocks SET position = 3 WHERE block = 1", "block 1 begins at 3, not at 0"),
    Plant(
        "UPDATE kv_blocks SET token_ids = x'01000000' WHERE block = 1",
        "block 1 has 1 tokens, its messages have others",
    ),
)


@dataclass(frozen=True)
class _Attached:
    """A model that stays attached: views of several threads take turns at it."""

    encoder: Encoder
    fingerprint: str
    lock: threading.RLock


@cache
def _attached(seed: int) -> _Attached:
    torch.manual_seed(seed)
    tokenizer = _tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
    model: Any = LlamaForCausalLM(config).eval()
    identity = of_model(model)
    encoder = Encoder(Tap(model), tokenizer, plain(), CONFIG)
    return _Attached(encoder, fingerprint(identity, tokenizer, plain(), CONFIG), threading.RLock())


def _tokenizer() -> PreTrainedTokenizerFast:
    """A word is a token, if the conversation has it."""
    split = Whitespace()
    said = (*(message.content for message in CONVERSATION), *QUESTIONS, "Ann Bea user assistant : ( ) 2023")
    words = dict.fromkeys(word for text in said for word, _ in split.pre_tokenize_str(text))
    made = Tokenizer(WordLevel({w: i for i, w in enumerate(("PAD", "BOS", "EOS", *words))}, unk_token="PAD"))
    made.pre_tokenizer = split
    return PreTrainedTokenizerFast(tokenizer_object=made, bos_token="BOS", eos_token="EOS", pad_token="PAD")


def kv(embedder: Embedder, database: Database) -> KVView:
    """One model beside the default embedder, another beside any other."""
    attached = _attached(0 if embedder is STATIC else 1)
    view = KVView(database.folder / FOLDER, attached.encoder, attached.fingerprint)
    view.model_lock = attached.lock
    return view
