"""The embedded default: WordLlama's static token vectors, in our wheel. No key, network or download.

A text's vector is the mean of its tokens' vectors (the 256-dimensional "l2_supercat" table, distilled from
the token embeddings of Llama 2 70B and Phi 3). The same tokenizer counts tokens.

The two files are read directly: `wordllama` itself brings a tokenizer, a model hub's client and two HTTP
clients, configures the root logger, and looks for the tokenizer in a folder that its wheel does not have.
"""

from __future__ import annotations

import json
import mmap
import re
import threading
import zlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from zibaldone.errors import ModelFailed
from zibaldone.models.base import Vectors
from zibaldone.models.byte_pairs import BytePairs
from zibaldone.models.embedding import unit
from zibaldone.text.purgeable_cache import remembered

FAMILY = "wordllama-l2_supercat_256"  # with which the name of every such embedder begins
_OWN = Path(__file__).with_name("wordllama")  # of a wheel: see tools/hatch_build.py
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"

# No token of the table has a space but in front, and none a line break: none reaches over these borders.
_PIECE = re.compile(r"[ \u2581]*[^ \u2581\n]+|[ \u2581]+|\n")
_MARKS = ("<s>", "</s>", "<unk>")  # words that the tokenizer takes for marks of its own
_SPECIAL = re.compile(f"({'|'.join(_MARKS)})")
_LONGEST_PIECE = 50_000  # characters without a space, as Chinese may have them, that are cut into tokens
_MOST_PIECES = 65_536
_SYNONYM = 0.5  # least cosine of words that mean about the same


class StaticEmbedder:
    """Mean of static token vectors; tens of thousands of short texts a second on one core."""

    def __init__(self) -> None:
        """Raises ModelFailed."""
        folder = _folder()
        try:
            self._file = _mapped(folder / _WEIGHTS)
            self._table = _table_in(self._file)
            model = json.loads((folder / _TOKENIZER).read_bytes())["model"]
            self._vocabulary: dict[str, int] = model["vocab"]
            self._tokenizer = BytePairs(self._vocabulary, model["merges"])
            self._marks = {mark: self._vocabulary[mark] for mark in _MARKS}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelFailed(
                f"cannot read the embedder's files in {str(folder)!r} ({error}):"
                " pip install --force-reinstall zibaldone"
            ) from error
        self._piece = remembered(_MOST_PIECES)(self._ids_of_piece)
        self._word = remembered(_MOST_PIECES)(self._ids_of_word)
        self._like = remembered(4096)(self._words_like)

    @cached_property
    def name(self) -> str:
        """The name of the table and the CRC-32 of its file: another version may have another table."""
        return f"{FAMILY}-{zlib.crc32(self._file):08x}"

    @property
    def dimension(self) -> int:
        """256."""
        return int(self._table.shape[1])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, 256) float32, rows of unit length; a zero row for an empty text."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        of_texts = [list(chain.from_iterable(self._tokens(text))) for text in texts]
        all_ids = np.array(list(chain.from_iterable(of_texts)), dtype=np.int64)
        used = np.flatnonzero(np.bincount(all_ids))
        table, places, begin = self._table[used].astype(np.float32), np.searchsorted(used, all_ids), 0
        for row, ids in enumerate(of_texts):
            if ids:
                np.add.reduce(table.take(places[begin : begin + len(ids)], 0), 0, None, vectors[row])
                begin += len(ids)
        return unit(vectors)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [self._count(text) for text in texts]

    def like(self, word: str) -> list[tuple[str, float]]:
        """Words that mean about the same, of those that are a token of the table, with their cosines."""
        return self._like(word)

    def _words_like(self, word: str) -> list[tuple[str, float]]:
        known, vectors, lengths = self._whole_words
        cosines = np.vecdot(vectors, self.embed([word])[0]) / lengths
        rows = np.flatnonzero(cosines >= _SYNONYM).tolist()
        return [(known[row], float(cosines[row])) for row in rows]

    @cached_property
    def _whole_words(self) -> tuple[list[str], Vectors, Vectors]:
        """Words of small letters that are a token, their vectors (n, 256), and the lengths of these (n,)."""
        tokens = ((token[1:], id_) for token, id_ in self._vocabulary.items() if token[0] == "\u2581")
        ids = {word: id_ for word, id_ in tokens if word.islower() and word.isalpha()}
        vectors = self._table[np.fromiter(ids.values(), dtype=np.int64)].astype(np.float32)
        return list(ids), vectors, np.maximum(np.sqrt(np.vecdot(vectors, vectors)), 1e-9)

    def _count(self, text: str) -> int:
        return sum(map(len, self._tokens(text)))

    def _ids_of_piece(self, piece: str) -> tuple[int, ...]:
        """Token ids of a piece; of a very long one the beginning stands for the rest: time is bounded."""
        ids = tuple(self._tokenizer.ids(piece[:_LONGEST_PIECE].replace(" ", "\u2581")))
        times, rest = divmod(len(piece), _LONGEST_PIECE)
        return ids * times + ids[: len(ids) * rest // _LONGEST_PIECE] if times else ids

    def _ids_of_word(self, word: str) -> tuple[int, ...]:
        """Token ids of a word and of the space before it."""
        pieces = _PIECE.findall(word if word[0] == "\n" else " " + word)
        return tuple(chain.from_iterable(map(self._piece, pieces)))

    def _tokens(self, text: str) -> Iterable[Sequence[int]]:
        """Ids of a text's tokens, piece by piece: a word is tokenized once, however often it comes."""
        words = _words(text)
        if words is not None:
            return map(self._word, words)
        return chain.from_iterable(
            [(self._marks[part],)] if part in self._marks else self._of_pieces(part)
            for part in _SPECIAL.split(text)
            if part
        )

    def _of_pieces(self, text: str) -> Iterable[Sequence[int]]:
        return map(self._piece, _PIECE.findall(" " + text))


def _words(text: str) -> list[str] | None:
    """Split a text at its spaces; None if tokens do not respect the borders of its words.

    A line break begins a word. Splitting is many times quicker than finding pieces.
    """
    if not text:
        return []
    spaced = text.replace("\n", " \n")
    if "  " in spaced or spaced[0] == " " or spaced[-1] == " " or "\u2581" in spaced:
        return None
    return None if "<" in text and _SPECIAL.search(text) else spaced.split(" ")


def _folder() -> Path:
    """Where the files are: in the package, or, where it was not built as a wheel, in `wordllama`."""
    if _OWN.is_dir():
        return _OWN
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise ModelFailed(
            "the default embedder's table is not there: pip install zibaldone, or wordllama beside it"
        )
    return Path(spec.origin).parent


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _table_in(mapped: mmap.mmap) -> npt.NDArray[np.float16]:
    """(tokens, d) float16. Raises ValueError for a file of another form."""
    begin = 8 + int.from_bytes(mapped[:8], "little")
    (entry,) = (of for name, of in json.loads(mapped[8:begin]).items() if name != "__metadata__")
    if entry["dtype"] != "F16":
        raise ValueError(f"{entry['dtype']} where F16 was expected")
    rows, columns = entry["shape"]
    numbers = np.frombuffer(mapped, "<f2", rows * columns, begin + entry["data_offsets"][0])
    return numbers.reshape(rows, columns)


_lock = threading.Lock()
_shared: StaticEmbedder | None = None


def shared_static_embedder() -> StaticEmbedder:
    """The one instance of this process."""
    global _shared
    with _lock:
        if _shared is None:
            _shared = StaticEmbedder()
        return _shared
