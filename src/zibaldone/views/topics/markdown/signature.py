"""Signatures: the attributes before an entry's text, as `<seq=12-15,source=AI>`.

A value with a comma, quote, bracket or such in it stands in double quotes, escaped as in JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

KNOWN = ("seq", "part", "time", "source", "label", "msgs", "supersedes", "superseded_by")
MAX_SPAN = 1_000  # a longer range names its two ends, and not every message between them
MAX_SEQS = 100_000  # more are not read as messages of one entry
KEY = re.compile(r"[^\W\d][\w.-]*")

_PLAIN = re.compile(r"[^\s,=<>\"\\]+(?: [^\s,=<>\"\\]+)*")
_RUN = re.compile(r"([0-9]{1,18})(?:\s*(?:[-–—]|\.\.)\s*([0-9]{1,18}))?")
_BETWEEN = re.compile(r"[+;&,]")
_EMPTY = re.compile(r"<\s*seq\s*=\s*\?\s*>")
_PART = re.compile(rf"\s*(?:({KEY.pattern})\s*=)?\s*")
_QUOTED = re.compile(r'("(?:[^"\\]|\\.)*+")\s*(?=[,>])')
_BARE = re.compile(r"[^,>]*")


def read_signature(line: str) -> tuple[list[tuple[str, str]], int] | None:
    """The attributes of the signature that begins the line, and where its text starts; None without one.

    A signature has at least one attribute known to us, so that no link or tag in brackets is taken for one.
    """
    if empty := _EMPTY.match(line):
        return [], empty.end()
    if not line.startswith("<"):
        return None
    attributes: list[tuple[str, list[str]]] = []
    at = 1
    while True:
        part = _PART.match(line, at)
        assert part
        value, at = _value(line, part.end())
        if part[1]:
            attributes.append((part[1], [value]))
        elif attributes and value:  # the comma belonged to the value, which should have been quoted
            attributes[-1][1].append(value)
        elif value:
            return None
        if at >= len(line):
            return None
        at += 1
        if line[at - 1] == ">":
            break
    known = any(key.lower() in KNOWN for key, _ in attributes)
    return ([(key, ", ".join(values)) for key, values in attributes], at) if known else None


def quoted(value: str) -> str:
    """As it stands in a signature: in quotes where it would be misread without."""
    if not value or (value.isprintable() and _PLAIN.fullmatch(value)):
        return value
    return json.dumps(value, ensure_ascii=False)


def span(first: int, last: int) -> tuple[int, ...]:
    """Every seq from first to last; none when there is no first, only the ends of what is too long."""
    if last - first > MAX_SPAN:
        return (first, last)
    return tuple(range(first, last + 1)) if first else ()


def runs(seqs: Sequence[int]) -> str:
    """Rising seqs in short: `3+12-15`."""
    spans: list[list[int]] = []
    for seq in seqs:
        if spans and seq == spans[-1][1] + 1 and seq - spans[-1][0] <= MAX_SPAN:
            spans[-1][1] = seq
        else:
            spans.append([seq, seq])
    return "+".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def read_runs(text: str) -> tuple[int, ...] | None:
    """The inverse of runs, tolerant of other separators; None when it is no list of seqs."""
    seqs: set[int] = set()
    for part in _BETWEEN.split(text):
        run = _RUN.fullmatch(part.strip())
        if not run or not int(run[1]) or len(seqs) > MAX_SEQS:
            return None
        seqs.update(span(*sorted((int(run[1]), int(run[2] or run[1])))))
    return tuple(sorted(seqs))


def _value(line: str, at: int) -> tuple[str, int]:
    """The value that starts here, and where the comma or bracket after it stands (or the end)."""
    if quoted := _QUOTED.match(line, at):
        try:
            value = json.loads(quoted[1], strict=False)
        except ValueError:
            pass
        else:
            return value, quoted.end()
    bare = _BARE.match(line, at)
    assert bare
    return bare[0].strip(), bare.end()
