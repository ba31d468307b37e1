"""The embedded default: WordLlama's static token vectors, read from its wheel. No key, network or download.

A text's vector is the mean of its tokens' vectors (the 256-dimensional "l2_supercat" table, distilled from
the token embeddings of Llama 2 70B and Phi 3). The same tokenizer counts tokens.

The two files are read directly: importing `wordllama` configures the root logger and imports an HTTP
client, and its loader looks for the tokenizer in a folder that the wheel does not have.
"""

from __future__ import annotations

import json
import mmap
import re
import threading
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from hashlib import blake2b
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from zibaldone.core.fork_safety import ForkSafeLock
from zibaldone.errors import ModelFailed
from zibaldone.models.base import Vectors
from zibaldone.text.purgeable_cache import emptied

V = TypeVar("V")
FAMILY = "wordllama-l2_supercat_256"  # with which the name of every such embedder begins
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"

# No token of the table has a space but in front, and none a line break: none reaches over these borders.
_PIECE = re.compile(r"[ \u2581]*[^ \u2581\n]+|[ \u2581]+|\n")
_SPECIAL = re.compile(r"</?s>|<unk>")  # words that the tokenizer takes for marks of its own
_MOST_PIECES = 65_536
_DIGESTS = {0x56C6AE6F: "05a83b2671eb"}  # of tables, by the CRC-32 of their files
_READ_BYTES, _DIGESTED_ROWS, _FEWEST_ROWS = 1 << 18, 1 << 10, 1 << 10
_PAIRWISE, _LANES = 128, 8  # of numpy's sum of a column


class StaticEmbedder:
    """Mean of static token vectors; tens of thousands of short texts a second on one core."""

    def __init__(self) -> None:
        """Raises ModelFailed."""
        spec = find_spec("wordllama")
        if spec is None or spec.origin is None:
            raise ModelFailed("the package 'wordllama' is not installed: pip install zibaldone again")
        folder = Path(spec.origin).parent
        try:
            self._table = _Table(folder / _WEIGHTS)
            self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        except Exception as error:  # the two libraries raise bare Exceptions
            raise ModelFailed(
                f"cannot read the embedder's files in {str(folder)!r} ({error}):"
                " pip install --force-reinstall wordllama"
            ) from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._pieces = _Known(self._ids_of_piece)
        self._words = _Known(self._ids_of_word)
        self._counts = _Known(lambda word: len(self._words[word]))

    @cached_property
    def name(self) -> str:
        """The table and a digest of its numbers: a new version of the package may carry the same ones."""
        return f"{FAMILY}-{self._table.digest()}"

    @property
    def dimension(self) -> int:
        """256."""
        return self._table.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, 256) float32, rows of unit length; a zero row for an empty text."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            if ids := list(chain.from_iterable(self._tokens(text))):
                vectors[row] = _sum_of_rows(self._table.rows(ids))
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, norms, out=vectors, where=norms > 0)
        return vectors

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [self._count(text) for text in texts]

    def _count(self, text: str) -> int:
        words = _words(text)
        return sum(map(len, self._tokens(text)) if words is None else map(self._counts.__getitem__, words))

    def _ids_of_piece(self, piece: str) -> tuple[int, ...]:
        return tuple(token.id for token in self._tokenizer.model.tokenize(piece.replace(" ", "\u2581")))

    def _ids_of_word(self, word: str) -> tuple[int, ...]:
        """Of what stands between two spaces, and of the space before it."""
        pieces = _PIECE.findall(word if word[0] == "\n" else " " + word)
        return tuple(chain.from_iterable(map(self._pieces.__getitem__, pieces)))

    def _tokens(self, text: str) -> Iterable[Sequence[int]]:
        """Ids of a text's tokens, piece by piece: a word is tokenized once, however often it comes."""
        words = _words(text)
        if words is not None:
            return map(self._words.__getitem__, words)
        if _SPECIAL.search(text):
            return (self._tokenizer.encode(text, add_special_tokens=False).ids,)
        return map(self._pieces.__getitem__, _PIECE.findall(" " + text))


def _words(text: str) -> list[str] | None:
    """A text at its spaces, the first of its words being behind one, too; None where words will not do.

    A line break begins a word. Splitting is many times quicker than finding pieces.
    """
    if not text:
        return []
    spaced = text.replace("\n", " \n")
    if "  " in spaced or spaced[0] == " " or spaced[-1] == " " or "\u2581" in spaced:
        return None
    return None if "<" in text and _SPECIAL.search(text) else spaced.split(" ")


class _Table:
    """The vectors of tokens, in half precision in a file; in memory, as plain numbers, what was asked for.

    A process that recalls asks for those of a few hundred words. Safe among threads.
    """

    def __init__(self, path: Path) -> None:
        """Raises what the libraries raise, and ValueError for a file of another form."""
        self._path = path
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        begin = 8 + int.from_bytes(mapped[:8], "little")
        (entry,) = (of for name, of in json.loads(mapped[8:begin]).items() if name != "__metadata__")
        if entry["dtype"] != "F16":
            raise ValueError(f"{entry['dtype']} where F16 was expected")
        rows, columns = entry["shape"]
        begin += entry["data_offsets"][0]
        self._stored = np.frombuffer(mapped, "<f2", rows * columns, begin).reshape(rows, columns)
        self._plain: Vectors = np.empty((0, columns), dtype=np.float32)
        self._count = 0  # of these
        self._place = np.full(rows, -1, dtype=np.intp)  # of each row in these
        self._lock = ForkSafeLock()

    @property
    def dimension(self) -> int:
        """Of a row."""
        return int(self._stored.shape[1])

    def rows(self, ids: Sequence[int]) -> Vectors:
        """(k, d) float32, in an array of their own."""
        wanted = np.array(ids, dtype=np.intp)
        places = self._place.take(wanted)
        if places.min() < 0:
            self._read(wanted)
            places = self._place.take(wanted)
        taken: Vectors = self._plain.take(places, axis=0)
        return taken

    def _read(self, wanted: npt.NDArray[np.intp]) -> None:
        """Have these rows; who reads meanwhile finds places only once what they are of is there."""
        with self._lock:
            # Not by np.unique, whose first call imports what takes as long as all else of a first recall.
            new = np.array(sorted(set(wanted[self._place[wanted] < 0].tolist())), dtype=np.intp)
            end = self._count + len(new)
            if end > len(self._plain):
                room = min(max(end, 2 * len(self._plain), _FEWEST_ROWS), len(self._stored))
                plain = np.empty((room, self.dimension), dtype=np.float32)
                plain[: self._count] = self._plain[: self._count]
                self._plain = plain
            self._plain[self._count : end] = self._stored[new]
            self._place[new] = np.arange(self._count, end)
            self._count = end

    def digest(self) -> str:
        """Of the numbers. That of the file which all have is known; a checksum of it is quicker to make."""
        checksum = 0
        with self._path.open("rb") as file:  # not as mapped: its pages would stay
            while read := file.read(_READ_BYTES):
                checksum = zlib.crc32(read, checksum)
        known = _DIGESTS.get(checksum)
        if known is not None:
            return known
        digest = blake2b(digest_size=6)
        for first in range(0, len(self._stored), _DIGESTED_ROWS):
            digest.update(self._stored[first : first + _DIGESTED_ROWS].astype(np.float32).data)
        return digest.hexdigest()


class _Known(dict[str, V]):
    """What is known of pieces of text: made when first looked up, emptied when something is forgotten."""

    __slots__ = ("__weakref__", "_make")

    def __init__(self, make: Callable[[str], V]) -> None:
        super().__init__()
        self._make = make
        emptied(self)

    def __missing__(self, text: str) -> V:
        if len(self) >= _MOST_PIECES:
            self.clear()
        made = self[text] = self._make(text)
        return made

    def cache_clear(self) -> None:
        """Keep no word."""
        self.clear()

    def __hash__(self) -> int:  # type: ignore[override] # the registry of caches knows it by what it is, not by what is in it
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


def _sum_of_rows(rows: Vectors) -> Vectors:
    """The sum of (n, d) rows as numpy's `add.reduceat` makes it, bit for bit, and many times quicker.

    It adds column by column: the first number, and to it the pairwise sum of the others. Vectors that are
    stored were made so.
    """
    total: Vectors = rows[0] + _pairwise(rows[1:]) if len(rows) > 1 else rows[0]
    return total


def _pairwise(rows: Vectors) -> Vectors:
    """As numpy sums a column, in pairs (Higham 1993): 128 numbers in eight running sums, more in halves."""
    count = len(rows)
    if count < _LANES:
        few: Vectors = np.add.reduce(rows, axis=0)
        return few
    if count > _PAIRWISE:
        half = count // 2
        half -= half % _LANES
        return _pairwise(rows[:half]) + _pairwise(rows[half:])
    even = count - count % _LANES
    lanes = np.add.reduce(rows[:even].reshape(-1, _LANES, rows.shape[1]), axis=0)
    while len(lanes) > 1:
        lanes = lanes[0::2] + lanes[1::2]
    total: Vectors = lanes[0]
    for row in rows[even:]:
        total += row
    return total


_lock = threading.Lock()
_shared: StaticEmbedder | None = None


def shared_static_embedder() -> StaticEmbedder:
    """The one instance of this process: the table takes 32 MB."""
    global _shared
    with _lock:
        if _shared is None:
            _shared = StaticEmbedder()
        return _shared
