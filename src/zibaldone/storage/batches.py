"""Statements have a limit of parameters: long lists go in parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def in_chunks(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Consecutive slices of at most `size`."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
