"""What a forked child must make anew: connections and locks are not carried across a fork."""

from __future__ import annotations

import os
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


def _in_child() -> None:
    for thing in list(_all):
        thing.start_anew()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_in_child)
