"""What verification looks for: every 24 bytes in a row of the forgotten texts, short texts, telling words.

All of it folded (`folding`). What somebody's messages still say proves nothing, and is taken out first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from zibaldone.engine.verification.folding import folded, foldings
from zibaldone.text.words import words

WINDOW_BYTES = 24  # folded: four words or five
SHORTEST_BYTES = 8  # of what is looked for whole: less is in any file by chance
_BATCH_BYTES = 1 << 20
_TABLE_BITS = 22
_FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)  # odd, of xxHash
Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Something of a forgotten text that stands somewhere."""

    words: str  # folded
    whole_word: bool  # it is a single telling word, or a short text; else 24 bytes of a longer one


class Wanted:
    """All that is looked for, in arrays: a megabyte of forgotten text is a megabyte of windows."""

    def __init__(self, texts: Iterable[str], tokens_of: Callable[[Sequence[str]], list[int]]) -> None:
        """`tokens_of` counts tokens of words: one that needs several is a name, a number or a rare word."""
        short: set[bytes] = set()
        windows: list[Hashes] = []
        rare: set[str] = set()
        for text in texts:
            whole = folded(text)
            rare.update(word for word in words(text) if len(word.encode()) >= SHORTEST_BYTES)
            if len(whole) >= WINDOW_BYTES:
                windows.append(np.unique(_windows(whole)))
            elif len(whole) >= SHORTEST_BYTES:
                short.add(whole)
        candidates = sorted(rare)
        counted = tokens_of(candidates) if candidates else []
        short.update(word.encode() for word, count in zip(candidates, counted, strict=True) if count > 1)
        self._windows: Hashes = np.unique(np.concatenate(windows)) if windows else np.zeros(0, np.uint64)
        self._short: dict[int, list[bytes]] = defaultdict(list)
        for needle in sorted(short):
            self._short[int(_keys(needle)[0])].append(needle)
        self._prepare()

    def __len__(self) -> int:
        """How many things are looked for."""
        return len(self._windows) + sum(map(len, self._short.values()))

    def copy(self) -> Wanted:
        """Another object that looks for the same."""
        same = Wanted((), lambda _: [])
        same._windows = self._windows
        same._short = defaultdict(list, {key: list(needles) for key, needles in self._short.items()})
        same._prepare()
        return same

    def excuse(self, texts: Iterable[str]) -> None:
        """Look no longer for what is in any of these texts."""
        batch: list[bytes] = []
        for text in texts:
            batch.append(folded(text))
            if len(batch) > 1000 or len(batch[-1]) > _BATCH_BYTES:
                self._excuse(b"\n".join(batch))
                batch = []
        self._excuse(b"\n".join(batch))

    def first_in(self, data: bytes) -> Occurrence | None:
        """Something of it that these bytes have, a piece of a text before a word; None: they have nothing."""
        word: Occurrence | None = None
        for haystack in foldings(data) if len(self) else ():
            windows, short = self._in(haystack)
            if len(windows):
                at = int(windows[0])
                piece = haystack[at : at + WINDOW_BYTES].decode("utf-8", "replace").strip()
                return Occurrence(piece, whole_word=False)
            if short and word is None:
                word = Occurrence(max(short, key=len).decode("utf-8", "replace"), whole_word=True)
        return word

    def _excuse(self, haystack: bytes) -> None:
        if not len(self):
            return
        windows, short = self._in(haystack)
        if len(windows):
            gone = _windows(haystack)[windows]
            self._windows = self._windows[~np.isin(self._windows, gone)]
        for needle in short:
            self._short[int(_keys(needle)[0])].remove(needle)
        if len(windows) or short:
            self._prepare()

    def _in(self, haystack: bytes) -> tuple[npt.NDArray[np.int64], set[bytes]]:
        """Where windows begin, and which short needles are there."""
        short: set[bytes] = set()
        if len(self._keys):
            keys = _keys(haystack)
            for at in _members(keys, self._keys, self._key_table).tolist():
                short.update(n for n in self._short[int(keys[at])] if haystack.startswith(n, at))
        return _members(_windows(haystack), self._windows, self._window_table), short

    def _prepare(self) -> None:
        self._short = defaultdict(list, {key: needles for key, needles in self._short.items() if needles})
        self._keys: Hashes = np.array(sorted(self._short), dtype=np.uint64)
        self._window_table, self._key_table = _table(self._windows), _table(self._keys)


def _keys(data: bytes) -> Hashes:
    """(n - 7,) every eight bytes in a row, as a number."""
    count = len(data) - 7
    if count <= 0:
        return np.zeros(0, np.uint64)
    keys = np.empty(count, dtype="<u8")
    for offset in range(min(8, count)):
        part = np.frombuffer(data, dtype="<u8", count=(len(data) - offset) // 8, offset=offset)
        keys[offset::8] = part
    return keys


def _windows(data: bytes) -> Hashes:
    """(n - 23,) a hash of every 24 bytes in a row."""
    keys = _keys(data)
    count = len(data) - WINDOW_BYTES + 1
    if count <= 0:
        return np.zeros(0, np.uint64)
    mixed = keys[:count] * np.uint64(_FACTORS[0])
    for place, factor in enumerate(_FACTORS[1:], 1):
        mixed += keys[8 * place : 8 * place + count] * np.uint64(factor)
    return mixed


def _table(hashes: Hashes) -> npt.NDArray[np.bool_]:
    """Which first bits any of them has: a look here spares most of the others."""
    table = np.zeros(1 << _TABLE_BITS, dtype=np.bool_)
    table[_first_bits(hashes)] = True
    return table


def _first_bits(hashes: Hashes) -> npt.NDArray[np.int64]:
    mixed = hashes * np.uint64(_FACTORS[1])
    return np.asarray(mixed >> np.uint64(64 - _TABLE_BITS), dtype=np.int64)


def _members(hashes: Hashes, wanted: Hashes, table: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Where those stand that are wanted."""
    if not len(wanted) or not len(hashes):
        return np.zeros(0, np.int64)
    likely = np.flatnonzero(table[_first_bits(hashes)])
    places = np.searchsorted(wanted, hashes[likely])
    places[places == len(wanted)] = 0
    return np.asarray(likely[wanted[places] == hashes[likely]], dtype=np.int64)
