"""What an embedder and a tokenizer promise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors.

    The same text gives the same vector, whatever else is in the call. Does not change the texts.
    """

    @property
    def name(self) -> str:
        """Identifies model and version: vectors of different names are never compared."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, d) float32, rows of unit length; a zero row for a text that says nothing.

        Raises ModelFailed when the model does not answer.
        """


class Tokenizer(Protocol):
    """Counts tokens; budgets and figures are in its tokens."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without any that mark beginning or end."""
