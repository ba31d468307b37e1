"""The embedded default: WordLlama's static token vectors, read from its wheel. No key, network or download.

A text's vector is the mean of its tokens' vectors (the 256-dimensional "l2_supercat" table, distilled from
the token embeddings of Llama 2 70B and Phi 3). The same tokenizer counts tokens.

The two files are read directly: importing `wordllama` configures the root logger and imports an HTTP
client, and its loader looks for the tokenizer in a folder that the wheel does not have.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from zibaldone.errors import ModelFailed
from zibaldone.models.base import Vectors
from zibaldone.text.remembered import emptied

_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"

_GATHERED = 8192
# No token of the table has a space but in front, and none a line break: none reaches over these borders.
_PIECE = re.compile(r"[ \u2581]*[^ \u2581\n]+|[ \u2581]+|\n")
_SPECIAL = re.compile(r"</?s>|<unk>")  # words that the tokenizer takes for marks of its own
_MOST_PIECES = 65_536


class StaticEmbedder:
    """Mean of static token vectors; tens of thousands of short texts a second on one core."""

    def __init__(self) -> None:
        """Raises ModelFailed."""
        spec = find_spec("wordllama")
        if spec is None or spec.origin is None:
            raise ModelFailed("the package 'wordllama' is not installed: pip install zibaldone again")
        folder = Path(spec.origin).parent
        try:
            (table,) = load_file(folder / _WEIGHTS).values()
            self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        except Exception as error:  # the two libraries raise bare Exceptions
            raise ModelFailed(
                f"cannot read the embedder's files in {str(folder)!r} ({error}):"
                " pip install --force-reinstall wordllama"
            ) from error
        self._table: Vectors = np.ascontiguousarray(table, dtype=np.float32)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._pieces = _Pieces(self._tokenizer)

    @cached_property
    def name(self) -> str:
        """The table and a digest of its numbers: a new version of the package may carry the same ones."""
        return f"wordllama-l2_supercat_256-{blake2b(self._table.tobytes(), digest_size=6).hexdigest()}"

    @property
    def dimension(self) -> int:
        """256."""
        return int(self._table.shape[1])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, 256) float32, rows of unit length; a zero row for an empty text."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        rows = [(row, ids) for row, ids in enumerate(self._ids(texts)) if ids]
        for some in _batches(rows):
            starts = np.cumsum([0, *(len(ids) for _, ids in some[:-1])])
            tokens = self._table[[token for _, ids in some for token in ids]]
            vectors[[row for row, _ in some]] = np.add.reduceat(tokens, starts, axis=0)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, norms, out=vectors, where=norms > 0)
        return vectors

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [sum(map(len, self._tokens(text))) for text in texts]

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [list(chain.from_iterable(self._tokens(text))) for text in texts]

    def _tokens(self, text: str) -> Iterator[Sequence[int]]:
        """Ids of a text's tokens, piece by piece: a word is tokenized once, however often it comes."""
        if not text:
            return iter(())
        if _SPECIAL.search(text):
            return iter((self._tokenizer.encode(text, add_special_tokens=False).ids,))
        return map(self._pieces.__getitem__, _PIECE.findall(" " + text))


class _Pieces(dict[str, Sequence[int]]):
    """Token ids by piece of text; made when first looked up, and emptied when something is forgotten."""

    __slots__ = ("__weakref__", "_model")

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self._model = tokenizer.model
        emptied(self)

    def __missing__(self, piece: str) -> Sequence[int]:
        if len(self) >= _MOST_PIECES:
            self.clear()
        ids = tuple(token.id for token in self._model.tokenize(piece.replace(" ", "\u2581")))
        self[piece] = ids
        return ids

    def cache_clear(self) -> None:
        """Keep no word."""
        self.clear()

    def __hash__(self) -> int:  # type: ignore[override] # the registry of caches knows it by what it is, not by what is in it
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


def _batches(rows: list[tuple[int, list[int]]]) -> Iterator[list[tuple[int, list[int]]]]:
    """Runs of rows of about _GATHERED tokens: their vectors are in memory at once."""
    batch: list[tuple[int, list[int]]] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += len(row[1])
        if size >= _GATHERED:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


_lock = threading.Lock()
_shared: StaticEmbedder | None = None


def shared_static_embedder() -> StaticEmbedder:
    """The one instance of this process: the table takes 32 MB."""
    global _shared
    with _lock:
        if _shared is None:
            _shared = StaticEmbedder()
        return _shared
