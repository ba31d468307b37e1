"""What a model server's accelerator costs: prefill by the length of the prompt, tokens at a rate.

Prefill has one accelerator: prompts wait for each other in the order in which they came. Tokens of all
streams are decoded together, each stream at the set rate; what decoding takes from prefill is left out, and
so is a limit of the batch. A token is four characters, for everybody alike.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

CHARACTERS = 4  # of a token
BLOCK_TOKENS = 16  # what a prefix cache shares
CACHED_BLOCKS = 250_000  # four million tokens


def count_tokens(text: str) -> int:
    """Rounded up."""
    return -(-len(text) // CHARACTERS)


class PrefixCache:
    """Blocks of prompts that were computed, each known by all that stands before it; the oldest leave."""

    def __init__(self, blocks: int = CACHED_BLOCKS) -> None:
        self._blocks = blocks
        self._known: OrderedDict[bytes, None] = OrderedDict()

    def take(self, text: str) -> int:
        """Tokens of the longest prefix, in whole blocks, that is known; all of the text is from now on."""
        shared, chained, broken = 0, b"", False
        width = BLOCK_TOKENS * CHARACTERS
        for start in range(0, len(text) - width + 1, width):
            block = text[start : start + width].encode()
            chained = hashlib.blake2b(chained + block, digest_size=12).digest()
            broken = broken or chained not in self._known
            shared += 0 if broken else BLOCK_TOKENS
            self._known[chained] = None
            self._known.move_to_end(chained)
        while len(self._known) > self._blocks:
            self._known.popitem(last=False)
        return shared


@dataclass(frozen=True, slots=True)
class Prefilled:
    """One prompt, in tokens."""

    tokens: int
    cached: int  # of them, what cost nothing


class Accelerator:
    """One accelerator's time; without a cache every prompt is computed from its beginning."""

    def __init__(
        self,
        prefill_tokens_per_s: float,
        tokens_per_s: float,
        cache: PrefixCache | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._prefill_tokens_per_s = prefill_tokens_per_s
        self._tokens_per_s = tokens_per_s
        self._cache = cache
        self._clock, self._sleep = clock, sleep
        self._free_at = 0.0

    async def prefill(self, prompt: str) -> Prefilled:
        """Return when the prompt has been computed, after those that came before it."""
        cached = self._cache.take(prompt) if self._cache else 0
        tokens = count_tokens(prompt)
        self._free_at = max(self._free_at, self._clock())
        self._free_at += (tokens - cached) / self._prefill_tokens_per_s
        await self._until(self._free_at)
        return Prefilled(tokens, cached)

    async def token(self, number: int, since: float) -> None:
        """Return when the token of this number, from 1, is there; the prompt was computed at `since`."""
        await self._until(since + number / self._tokens_per_s)

    def remember(self, text: str) -> None:
        """A prompt with its answer: the next prompt of the conversation begins with them."""
        if self._cache:
            self._cache.take(text)

    async def _until(self, moment: float) -> None:
        if (left := moment - self._clock()) > 0:
            await self._sleep(left)
