"""Regular expressions that are compiled when they are first needed, and not looked for where they can't be.

There are hundreds of them, of which most commands use none, and to compile all takes half a second. Most are
in hardly any text, as the literals tell that each of them needs (`text/literals`): so a text without these is
not searched, and a pattern that no text has met is not compiled.
A process that answers requests compiles them all at its beginning, and not in somebody's first request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import regex

from zibaldone.text.literals import folded, needed_literals

# What each gives for a text where the pattern is not.
_NOWHERE: dict[str, Callable[[str], Any]] = {
    "search": lambda _: None,
    "match": lambda _: None,
    "fullmatch": lambda _: None,
    "finditer": lambda _: iter(()),
    "findall": lambda _: [],
    "sub": lambda text: text,
}


class _LazyPattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags
        self._compiled: regex.Pattern[str] | None = None
        _all.append(self)

    def __getattr__(self, name: str) -> Any:
        if name not in _NOWHERE:
            return getattr(self.compiled(), name)
        literals = needed_literals(self.pattern, self._flags)
        for method in _NOWHERE:
            self.__dict__[method] = self._gated(method, literals) if literals else self._method(method)
        return self.__dict__[name]

    def compiled(self) -> regex.Pattern[str]:
        """The pattern itself."""
        if self._compiled is None:
            self._compiled = regex.compile(self.pattern, self._flags)
        return self._compiled

    def _method(self, name: str) -> Callable[..., Any]:
        method: Callable[..., Any] = getattr(self.compiled(), name)
        return method

    def _gated(self, name: str, literals: tuple[str, ...]) -> Callable[..., Any]:
        find: Callable[..., Any] | None = None
        nowhere = _NOWHERE[name]

        def looked_for(string: str, *args: Any, **options: Any) -> Any:
            nonlocal find
            text = string.lower() if string.isascii() else folded(string)
            for literal in literals:
                if literal in text:
                    find = find or self._method(name)
                    return find(string, *args, **options)
            return nowhere(string)

        def replaced(replacement: Any, string: str, *args: Any, **options: Any) -> Any:
            text = folded(string)
            is_there = any(literal in text for literal in literals)
            return self._method(name)(replacement, string, *args, **options) if is_there else string

        return replaced if name == "sub" else looked_for


_all: list[_LazyPattern] = []  # of the modules that were imported


def compile_all() -> None:
    """Compile those that have not been used yet."""
    for pattern in _all:
        _ = pattern.search
        pattern.compiled()


def lazy_pattern(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """As `regex.compile`, but that a fault in the pattern is told when it is first used."""
    return cast("regex.Pattern[str]", _LazyPattern(pattern, flags))
