"""Patterns that are compiled when they are first used: all of them took a tenth of a process's start."""

from __future__ import annotations

from typing import cast

import regex


class _Late:
    def __init__(self, pattern: str, flags: int) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> object:
        value = getattr(regex.compile(*self._given), name)
        setattr(self, name, value)  # the next time it is there, as quickly as a pattern's own
        return value


def late(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """Return the pattern, of which only methods and attributes are used."""
    return cast("regex.Pattern[str]", _Late(pattern, flags))
