"""What a line of a Markdown body is, and how a line that only looks like something is kept from being it.

A line of free text that would be read as a heading, a bullet or the start of a fence gets a backslash, as in
Markdown; so does a line inside a fact that would be read as an entry. ReadingResult takes the backslash off.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

BULLET_MARK = re.compile(r"[-*+•]|[0-9]{1,3}[.)]")
BULLET = re.compile(rf"({BULLET_MARK.pattern})(?:[ \t]+(.*))?", re.DOTALL)
HEADING = re.compile(r"(#{1,6})(?:[ \t]+(.*))?", re.DOTALL)

_FENCE = re.compile(r"(`{3,}|~{3,})(?!.*\1)")
_SLASHES = re.compile(r"([ \t]*)(\\*)(.*)", re.DOTALL)


def indent(line: str) -> int:
    """Columns of white space before the line's text, a tab counting four."""
    return sum(4 if mark == "\t" else 1 for mark in line[: len(line) - len(line.lstrip(" \t"))])


def is_rule(line: str) -> bool:
    """Whether it is a line across the page: three or more of one mark, as `---` or `* * *`."""
    marks = line.replace(" ", "").replace("\t", "")
    return len(marks) >= 3 and marks[0] in "-*_" and marks == marks[0] * len(marks)


def is_structure(line: str) -> bool:
    """Whether a line outside of an entry is a heading or a bullet, or opens a fence."""
    if _FENCE.match(line):
        return True
    text = line.lstrip(" ")
    if len(line) - len(text) > 3 or is_rule(text):
        return False
    return bool(HEADING.fullmatch(text) or BULLET.fullmatch(text))


def escaped(line: str, special: Callable[[str], bool]) -> str:
    """With one more backslash, if the line is special but for its backslashes."""
    space, slashes, text = _split(line)
    return f"{space}{slashes}\\{text}" if special(space + text) else line


def unescaped(line: str, special: Callable[[str], bool]) -> str:
    """The inverse of escaped."""
    space, slashes, text = _split(line)
    return f"{space}{slashes[1:]}{text}" if slashes and special(space + text) else line


def _split(line: str) -> tuple[str, str, str]:
    match = _SLASHES.fullmatch(line)
    assert match
    return match[1], match[2], match[3]


class Fences:
    """Finds the code fences of some lines; one that holds an entry, or is never closed, is none."""

    def __init__(self, lines: Sequence[str], is_entry: Callable[[str], bool]) -> None:
        self._lines = lines
        self._is_entry = is_entry
        self._failed: dict[str, tuple[int, int]] = {}  # mark -> (length, up to where a search failed)

    def end(self, start: int) -> int | None:
        """The line after the closing fence of the one that opens at `start`; None when none does."""
        opening = _FENCE.match(self._lines[start])
        if not opening:
            return None
        fence = opening[1]
        length, limit = self._failed.get(fence[0], (0, 0))
        if start < limit and len(fence) >= length > 0:
            return None
        at = start + 1
        for at in range(start + 1, len(self._lines)):
            line = self._lines[at].rstrip()
            if line.startswith(fence) and line == fence[0] * len(line):
                return at + 1
            if self._is_entry(self._lines[at]):
                break
        self._failed[fence[0]] = (len(fence), at)
        return None
