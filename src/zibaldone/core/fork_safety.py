"""Resetting connections and locks in a forked child."""

from __future__ import annotations

import os
import threading
from typing import Protocol
from weakref import WeakSet


class StartsAnew(Protocol):
    """Something with locks or connections."""

    def start_anew(self) -> None:
        """Called in the child, before anything else runs there."""


_all: WeakSet[StartsAnew] = WeakSet()


def start_anew_in_children(thing: StartsAnew) -> None:
    """Have `thing.start_anew()` called in every process that is forked from this one."""
    _all.add(thing)


class ForkSafeLock:
    """A re-entrant lock that is free in a forked child: the thread that held it stayed with the parent."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        start_anew_in_children(self)

    def start_anew(self) -> None:
        """Make a new lock in the child."""
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _in_child() -> None:
    for thing in list(_all):
        thing.start_anew()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_in_child)
