"""Regular expressions that are compiled when they are first used.

There are hundreds of them, of which most commands use none, and to compile all takes a third of a second.
A process that answers requests compiles them all at its beginning, and not in somebody's first request.
"""

from __future__ import annotations

from typing import Any, cast

import regex

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")


class _LazyPattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags
        _all.append(self)

    def __getattr__(self, name: str) -> Any:
        compiled = regex.compile(self.pattern, self._flags)
        self.__dict__.update({method: getattr(compiled, method) for method in _METHODS})
        return getattr(compiled, name)


_all: list[_LazyPattern] = []  # of the modules that were imported


def compile_all() -> None:
    """Compile those that have not been used yet."""
    for pattern in _all:
        _ = pattern.search


def lazy_pattern(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """As `regex.compile`, but that a fault in the pattern is told when it is first used."""
    return cast("regex.Pattern[str]", _LazyPattern(pattern, flags))
