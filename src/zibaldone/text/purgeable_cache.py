"""Caches of this process that hold words of messages: all are emptied when something is forgotten.

A recall that began before a forgetting still has the old texts, and fills the caches again with them. So
whoever reads messages does it inside of `sweeping`, which empties them once more if something was forgotten
meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import _lru_cache_wrapper, lru_cache
from itertools import count
from typing import Protocol, TypeVar
from weakref import WeakSet

R = TypeVar("R")


class Emptied(Protocol):
    """A cache."""

    def cache_clear(self) -> None:
        """Empty the cache."""


_caches: WeakSet[Emptied] = WeakSet()
_numbers = count(1)
_forgettings = [0]  # the number of the last one


def remembered(most: int) -> Callable[[Callable[..., R]], _lru_cache_wrapper[R]]:
    """Like functools.lru_cache, for a function of texts of messages: what it keeps can be forgotten."""

    def keep(function: Callable[..., R]) -> _lru_cache_wrapper[R]:
        cache = lru_cache(maxsize=most)(function)
        _caches.add(cache)
        return cache

    return keep


def emptied(cache: Emptied) -> None:
    """Register a cache to be emptied with the others; it is held weakly."""
    _caches.add(cache)


def forget_texts() -> None:
    """Empty the caches, after something was forgotten; readers inside `sweeping` do so again at their end."""
    _forgettings[0] = next(_numbers)
    _empty()


@contextmanager
def sweeping() -> Iterator[None]:
    """Empty the caches at the end of the block if something was forgotten during it."""
    began = _forgettings[0]
    try:
        yield
    finally:
        if _forgettings[0] != began:
            _empty()


def _empty() -> None:
    for cache in list(_caches):
        cache.cache_clear()
