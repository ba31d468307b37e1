"""Byte pair encoding, as the tokenizer of the static table does it.

Ours, since the library `tokenizers` brings a client of a model hub with it, together a fifth of an
installation. Their tokens are the same (tests/models/test_static.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise

_NONE = -1


class BytePairs:
    """Merges characters into tokens: of all pairs the one that was learnt first, of these the leftmost."""

    def __init__(self, vocabulary: Mapping[str, int], merges: Sequence[str]) -> None:
        """`merges` are pairs of tokens with a space between, in the order in which they were learnt.

        Of a character that is no token the UTF-8 bytes are, as "<0xE2>".
        """
        self._ids = vocabulary
        self._ranks = dict(zip(merges, range(len(merges)), strict=True))

    def ids(self, text: str) -> list[int]:
        """Token ids of a text."""
        tokens = [
            token
            for letter in text
            for token in (
                [letter] if letter in self._ids else [f"<0x{byte:02X}>" for byte in letter.encode()]
            )
        ]
        after = [*range(1, len(tokens)), _NONE]
        before = [*range(_NONE, len(tokens) - 1)]
        ranks = self._ranks
        waiting = [
            (rank, place, f"{token} {following}")
            for place, (token, following) in enumerate(pairwise(tokens))
            if (rank := ranks.get(f"{token} {following}")) is not None
        ]
        heapify(waiting)
        while waiting:
            _, place, pair = heappop(waiting)
            second = after[place]
            if second == _NONE or f"{tokens[place]} {tokens[second]}" != pair:
                continue  # one of them was merged meanwhile
            tokens[place] += tokens[second]
            tokens[second] = ""
            following = after[place] = after[second]
            after[second] = _NONE
            if following != _NONE:
                before[following] = place
            for first, last in ((before[place], place), (place, following)):
                if first != _NONE and last != _NONE:
                    pair = f"{tokens[first]} {tokens[last]}"
                    if (rank := ranks.get(pair)) is not None:
                        heappush(waiting, (rank, first, pair))
        return [self._ids[token] for token in tokens if token]
