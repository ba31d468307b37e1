"""Encoding: messages to blocks, turn by turn, with keys from before RoPE (Eq. 5); fingerprints of keys.

A session is encoded in *segments*. Inside one, a turn sees the pinned prefix and the last `context_tokens`
before it, at new positions; a new segment starts afresh. So the keys of a message depend on the earlier
messages of its segment and on no others, which bounds what has to be encoded again when one is forgotten.
On a grid (`MemArt.paper()`) all sessions are one stream, and the prefix is its beginning: tokens of block 0.

A fingerprint names what stored keys depend on: keys of another model are never mixed in, however similar.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from hashlib import blake2b
from typing import Any

import torch
import transformers

from zibaldone.core import Message
from zibaldone.errors import InvalidInput, StorageBusy
from zibaldone.views.kvcache.config import MemArt
from zibaldone.views.kvcache.model.attention_hooks import Raw, RawKV, Tap
from zibaldone.views.kvcache.model.inspection import window_of
from zibaldone.views.kvcache.model.turns import (
    PREFIX,
    Tile,
    TurnFormat,
    TurnPiece,
    pieces_of,
    tiles,
    tokens_of,
)
from zibaldone.views.kvcache.retrieve.scoring import bounding_box
from zibaldone.views.kvcache.storage.codec import decode, encode
from zibaldone.views.kvcache.storage.layout import BlockLayout, LayerSize

_FORWARD_TOKENS = 512  # of a long turn at a time


@dataclass(frozen=True, slots=True)
class BlockDraft:
    """A block's bytes, before it has a number."""

    session: str
    segment: int
    tile: Tile
    time_us: int
    payload: bytes
    boxes: bytes  # of all layers; empty where text selects


def joined(parts: Sequence[Raw]) -> Raw:
    if len(parts) == 1:
        return parts[0]
    return tuple(
        RawKV(torch.cat([kv.keys for kv in layer], dim=-2), torch.cat([kv.values for kv in layer], dim=-2))
        for layer in zip(*parts, strict=True)
    )


def cut(raw: Raw, start: int, end: int | None = None) -> Raw:
    """Tokens from `start` to `end`, as a copy, so that the original can be freed."""
    return tuple(RawKV(kv.keys[:, start:end].clone(), kv.values[:, start:end].clone()) for kv in raw)


def tokens_in(raw: Raw | None) -> int:
    """Number of tokens; 0 for None."""
    return raw[0].tokens if raw else 0


class Encoder:
    """Computes raw keys and values with an attached model. Not for several threads at once."""

    def __init__(self, tap: Tap, tokenizer: Any, form: TurnFormat, config: MemArt) -> None:
        self.tap, self.tokenizer, self.form, self.config = tap, tokenizer, form, config
        self.is_closing = False
        self.window = window_of(tap.model.config)
        bos = getattr(tokenizer, "bos_token_id", None)
        self.prefix_ids = ((int(bos),) if bos is not None else ()) + tokens_of(tokenizer, form.pinned)
        room = self.window - len(self.prefix_ids)
        self.context_tokens = self.window if config.context_tokens is None else config.context_tokens
        segment = config.segment_tokens or self.window // 2
        self.segment_tokens = min(
            segment, room - (0 if config.context_tokens is None else config.context_tokens)
        )
        if self.segment_tokens < config.block_tokens:
            raise InvalidInput(
                f"a window of {self.window} tokens has no room for {len(self.prefix_ids)} pinned, a context"
                f" of {self.context_tokens} and a block: set context_tokens lower, or a shorter system prompt"
            )
        dtype = tap.shapes[0].dtype
        self.layout = BlockLayout(
            layers=tuple(LayerSize(s.kv_heads, s.key_dim, s.value_dim) for s in tap.shapes),
            block_tokens=config.block_tokens,
            dtype=str(dtype).removeprefix("torch."),
            item_bytes=dtype.itemsize,
            codec=config.codec,
        )

    @property
    def leading(self) -> tuple[int, ...]:
        """Tokens of the prefix that the first block of a stream begins with; () where it is pinned."""
        return self.prefix_ids if self.config.align == "grid" else ()

    @cached_property
    def prefix(self) -> Raw | None:
        """Keys and values of the pinned tokens: the first token and the system prompt."""
        return self.run(self.prefix_ids, []) if self.prefix_ids else None

    @property
    def standing(self) -> Raw | None:
        """Keys and values that stand before every question; on a grid they lie in block 0."""
        return self.prefix if self.config.whole_turns else None

    def turn_ids(self, message: Message) -> tuple[int, ...]:
        """Token ids of a message, at least one."""
        ids = tokens_of(self.tokenizer, self.form.turn(message))
        if ids:
            return ids
        end = getattr(self.tokenizer, "eos_token_id", None)
        return (int(end) if end is not None else 0,)

    def encode(self, ids: Sequence[int], context: Raw | None, segment: int = 0) -> Raw:
        """Raw keys and values of these tokens behind the prefix and the end of `context`, on the CPU.

        In the first segment of a grid the prefix is a part of the context.
        """
        parts = [self.prefix] if self.prefix and (segment or not self.leading) else []
        if context is not None and self.context_tokens:
            room = self.window - sum(map(tokens_in, parts)) - len(ids)
            start = max(0, tokens_in(context) - min(self.context_tokens, room))
            parts.append(cut(context, start))
        return self.run(ids, parts)

    @torch.no_grad()
    def run(self, ids: Sequence[int], parts: Sequence[Raw]) -> Raw:
        """Raw keys and values of these tokens behind `parts` at positions 0, 1 ..., on the CPU."""
        done = sum(tokens_in(part) for part in parts)
        final = done + len(ids)
        with self.tap.open():
            cache = self.tap.cache_of(parts, final=final, raw=True)
            for start in range(0, len(ids), _FORWARD_TOKENS):
                if self.is_closing:  # whoever closes waits for one pass, and for no batch
                    raise StorageBusy("the KVMemory is being closed: the next one encodes the rest")
                self.tap.forward(ids[start : start + _FORWARD_TOKENS], cache, done + start)
        return tuple(RawKV(kv.keys.cpu(), kv.values.cpu()) for kv in self.tap.taken(cache))

    def draft(self, session: str, segment: int, tile: Tile, time_us: int, raw: Raw) -> tuple[BlockDraft, Raw]:
        """A block of these tokens with its boxes (line 8), and its keys and values as read back."""
        payload = encode(raw, self.layout)
        back = raw if self.layout.codec == "native" else decode(payload, len(tile.ids), self.layout)
        # Text needs no boxes.
        boxes = () if self.config.whole_turns else (bounding_box(kv.keys).contiguous() for kv in back)
        box_bytes = b"".join(box.view(torch.uint8).numpy().tobytes() for box in boxes)
        return BlockDraft(session, segment, tile, time_us, payload, box_bytes), back


class SessionChain:
    """The end of a session's newest segment, and the blocks made from there on."""

    def __init__(self, encoder: Encoder, session: str, segment: int = 0) -> None:
        self.encoder, self.session, self.segment = encoder, session, segment
        self.position = 0
        self.drafts: list[BlockDraft] = []  # made so far, in their order
        self.replaced: list[int] = []  # numbers of stored blocks that grew
        self._context: Raw | None = None  # the last tokens of the segment, as many as are needed
        self._tail: tuple[int | None, Tile, int] | None = None  # see `_unfinished`

    def resume(self, position: int, parts: Sequence[Raw]) -> None:
        """Go on at this position behind these tokens."""
        self.position = position
        self._see(parts)

    def stored(self, number: int, tile: Tile, time_us: int) -> None:
        """Take what was made so far as stored; the last block is this."""
        self.drafts.clear()
        self._tail = self._unfinished(number, tile, time_us)

    def extend(self, piece: TurnPiece, time_us: int) -> None:
        """Make a piece's blocks."""
        leading = self.encoder.leading
        if leading and not self.segment and not self.position and piece.seq != PREFIX:
            self.extend(TurnPiece(PREFIX, leading), time_us)
        begun = self.position - (0 if self.segment else len(leading))
        if begun > 0 and begun + len(piece.ids) > self.encoder.segment_tokens:
            self.segment, self.position, self._context, self._tail = self.segment + 1, 0, None, None
        whole = self.encoder.encode(piece.ids, self._context, self.segment)
        stream, start, first_us = [piece], self.position, time_us
        if self._tail is not None:
            assert self._context is not None
            number, tile, first_us = self._tail
            stream, start = [*pieces_of([tile]), piece], tile.position
            before = tokens_in(self._context) - len(tile.ids)
            whole = joined([cut(self._context, before), whole])
            self._context = cut(self._context, 0, before)
            if number is None:
                self.drafts.pop()
            else:
                self.replaced.append(number)
        backs: list[Raw] = []
        for tile in tiles(stream, start, self.encoder.config.block_tokens, self.encoder.config.align):
            first = tile.position - start
            part = cut(whole, first, first + len(tile.ids))
            time = time_us if backs else first_us
            draft, back = self.encoder.draft(self.session, self.segment, tile, time, part)
            self.drafts.append(draft)
            backs.append(back)
        self.position += len(piece.ids)
        self._see(backs)
        self._tail = self._unfinished(None, self.drafts[-1].tile, self.drafts[-1].time_us)

    def _unfinished(
        self, number: int | None, tile: Tile, time_us: int
    ) -> tuple[int | None, Tile, int] | None:
        """A block that is not full and goes on (align="grid"); its number is None for a draft."""
        config = self.encoder.config
        runs_on = config.align == "grid" and len(tile.ids) < config.block_tokens
        return (number, tile, time_us) if runs_on else None

    def _see(self, parts: Sequence[Raw]) -> None:
        """Append to the context that the next turn can see, and cut it to what is needed."""
        known = [self._context] if self._context is not None and tokens_in(self._context) else []
        whole = joined([*known, *parts])
        needed = max(self.encoder.context_tokens, self.encoder.config.block_tokens)
        self._context = cut(whole, max(0, tokens_in(whole) - needed))


_SAMPLED = 1024  # numbers of each tensor
_VERSION = 2  # raise it when other bytes would be stored of the same tokens
_VOLATILE = ("_name_or_path", "transformers_version", "dtype", "torch_dtype", "architectures", "use_cache")
_TEXT = "Tübingen, 7 a.m.: \u201cyes\u201d?\n"
_TIME = datetime(2024, 3, 1, 9, 30, tzinfo=UTC)
_SAMPLES = tuple(
    Message(_TEXT, role=role, name=name, time=time)
    for role in ("user", "assistant", "system", "tool")
    for name in (None, "Bo")
    for time in (None, _TIME)
)


def of_model(model: Any) -> str:
    """Digest of configuration, weights (a sample of every tensor, adapters included) and dtype."""
    digest = blake2b(digest_size=12)
    config = {name: value for name, value in model.config.to_dict().items() if name not in _VOLATILE}
    config = {name: value for name, value in config.items() if not name.startswith("_")}
    digest.update(json.dumps(config, sort_keys=True, default=str).encode())
    digest.update(str(model.dtype).encode())
    for name, tensor in sorted(model.state_dict().items()):
        flat = tensor.detach().reshape(-1)
        step = max(1, flat.numel() // _SAMPLED)
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(flat[::step].cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def of_tokenizer(tokenizer: Any) -> str:
    """Digest of the vocabulary, and of the tokens of a difficult text."""
    digest = blake2b(digest_size=8)
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda item: (item[1], item[0]))
    digest.update(json.dumps(vocabulary).encode())
    ids = tokenizer(f"{_TEXT} 12345  Ωmega\t日本", add_special_tokens=False)["input_ids"]
    digest.update(str([*ids, tokenizer.bos_token_id]).encode())
    return digest.hexdigest()


def of_format(form: TurnFormat) -> str:
    """Digest of how turns are written."""
    words = (*map(form.turn, _SAMPLES), form.ask(_TIME), form.pinned)
    return blake2b(repr(words).encode(), digest_size=8).hexdigest()


def fingerprint(model: str, tokenizer: Any, form: TurnFormat, config: MemArt) -> str:
    """All that stored keys depend on, with the library's version."""
    library = ".".join(transformers.__version__.split(".")[:2])
    parts = (_VERSION, model, of_tokenizer(tokenizer), of_format(form), config.stored, library)
    return "/".join(str(part) for part in parts)
