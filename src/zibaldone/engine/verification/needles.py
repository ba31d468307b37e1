"""Search of raw bytes for forgotten texts: every 24-byte window, short texts and rare words.

Texts and bytes are compared in a normal form: words in lower case, one space between two, as UTF-8. Case,
spacing, punctuation, Unicode forms and JSON escapes make no difference. Bytes of any file can be normalized:
whatever is no text becomes a space.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from zibaldone.text.words import words

_SPACE = 32
_PLAIN = bytes(
    byte if byte >= 0x80 else (ord(chr(byte).lower()) if chr(byte).isalnum() else _SPACE)
    for byte in range(256)
)
_PRINTED = np.array([32 <= byte < 127 or byte in b"\t\n\r" for byte in range(256)])
_SHORTEST_RUN = 10  # bytes of text: random bytes have shorter ones, too
_ODD = re.compile(rb"[\x80-\xff\\]")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|[bfnrt\"\\/])")
_DEEPEST = 3  # JSON in JSON in JSON


def normalized(text: str) -> bytes:
    """Return the normal form of a text: its words, with a space between two."""
    return " ".join(words(text)).encode("utf-8", "surrogatepass")


def normal_forms(data: bytes) -> Iterator[bytes]:
    """Yield normal forms of bytes: read as ASCII, then its Unicode and JSON parts read as such."""
    yield _collapsed(data.translate(_PLAIN))
    odd = [run for run in _runs(data) if _ODD.search(run)] if _ODD.search(data) else []
    if not odd:
        return
    text = b"\n".join(odd).decode("utf-8", "replace")
    for _ in range(_DEEPEST):
        yield normalized(text)
        if (plainer := _ESCAPE.sub(_meant, text)) == text:
            return
        text = plainer


def _collapsed(data: bytes) -> bytes:
    """Replace runs of spaces by one space."""
    letters = np.frombuffer(data, dtype=np.uint8)
    kept = letters != _SPACE
    kept[1:] |= letters[:-1] != _SPACE
    return bytes(letters[kept])


def _runs(data: bytes) -> Iterator[bytes]:
    """Yield the runs of bytes that can be printed UTF-8 text."""
    values = np.frombuffer(data, dtype=np.uint8)
    follows = (values & 0xC0) == 0x80
    leads = values >= 0xC2
    leads[:-1] &= follows[1:]
    leads[-1:] = False
    text = _PRINTED[values] | leads
    text[1:] |= follows[1:] & (leads | follows)[:-1]
    borders = np.flatnonzero(np.diff(text, prepend=False, append=False))
    begins, ends = borders[::2], borders[1::2]
    long = ends - begins >= _SHORTEST_RUN
    for begin, end in zip(begins[long].tolist(), ends[long].tolist(), strict=True):
        yield data[begin:end]


def _meant(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else escape[0][1] if escape[0][1] in '"\\/' else " "


WINDOW_BYTES = 24  # normalized: four words or five
SHORTEST_BYTES = 8  # of what is looked for whole: less is in any file by chance
_BATCH_BYTES = 1 << 20
_TABLE_BITS = 22
_FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)  # odd, of xxHash
Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A part of a forgotten text that was found."""

    words: str  # normalized
    whole_word: bool  # True: a rare word or a short text; False: 24 bytes of a longer text


class TextNeedles:
    """Windows, short texts and rare words of the forgotten texts, in arrays."""

    def __init__(self, texts: Iterable[str], tokens_of: Callable[[Sequence[str]], list[int]]) -> None:
        """`tokens_of` counts tokens of words: a word of several tokens is a name, a number or rare."""
        short: set[bytes] = set()
        windows: list[Hashes] = []
        rare: set[str] = set()
        for text in texts:
            whole = normalized(text)
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
        """Number of windows, short texts and words."""
        return len(self._windows) + sum(map(len, self._short.values()))

    def copy(self) -> TextNeedles:
        """Return an independent copy."""
        same = TextNeedles((), lambda _: [])
        same._windows = self._windows
        same._short = defaultdict(list, {key: list(needles) for key, needles in self._short.items()})
        same._prepare()
        return same

    def excuse(self, texts: Iterable[str]) -> None:
        """Remove every needle that is in one of these texts, or reaches over its ends by a space."""
        batch: list[bytes] = []
        for text in texts:
            batch.append(b" %b " % normalized(text))
            if len(batch) > 1000 or len(batch[-1]) > _BATCH_BYTES:
                self._excuse(b"\n".join(batch))
                batch = []
        self._excuse(b"\n".join(batch))

    def first_in(self, data: bytes) -> Occurrence | None:
        """Return the first occurrence in these bytes, windows before words; None if there is none."""
        word: Occurrence | None = None
        for haystack in normal_forms(data) if len(self) else ():
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
        """Return offsets of windows, and the short needles that occur."""
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
    """Return every eight consecutive bytes as a number: (n - 7,) uint64."""
    count = len(data) - 7
    if count <= 0:
        return np.zeros(0, np.uint64)
    keys = np.empty(count, dtype="<u8")
    for offset in range(min(8, count)):
        part = np.frombuffer(data, dtype="<u8", count=(len(data) - offset) // 8, offset=offset)
        keys[offset::8] = part
    return keys


def _windows(data: bytes) -> Hashes:
    """Return a hash of every 24 consecutive bytes: (n - 23,) uint64."""
    keys = _keys(data)
    count = len(data) - WINDOW_BYTES + 1
    if count <= 0:
        return np.zeros(0, np.uint64)
    mixed = keys[:count] * np.uint64(_FACTORS[0])
    for place, factor in enumerate(_FACTORS[1:], 1):
        mixed += keys[8 * place : 8 * place + count] * np.uint64(factor)
    return mixed


def _table(hashes: Hashes) -> npt.NDArray[np.bool_]:
    """Mark the leading bits of the hashes, a cheap filter before the exact search."""
    table = np.zeros(1 << _TABLE_BITS, dtype=np.bool_)
    table[_first_bits(hashes)] = True
    return table


def _first_bits(hashes: Hashes) -> npt.NDArray[np.int64]:
    mixed = hashes * np.uint64(_FACTORS[1])
    return np.asarray(mixed >> np.uint64(64 - _TABLE_BITS), dtype=np.int64)


def _members(hashes: Hashes, wanted: Hashes, table: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the indexes of `hashes` that are in the sorted array `wanted`."""
    if not len(wanted) or not len(hashes):
        return np.zeros(0, np.int64)
    likely = np.flatnonzero(table[_first_bits(hashes)])
    places = np.searchsorted(wanted, hashes[likely])
    places[places == len(wanted)] = 0
    return np.asarray(likely[wanted[places] == hashes[likely]], dtype=np.int64)
