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

_PLAIN = re.compile(r"[^\s,=<>\"\\]+(?: [^\s,=<>\"\\]+)*")
_RUN = re.compile(r"([0-9]{1,18})(?:\s*[-–]\s*([0-9]{1,18}))?")
_PAIR = r"\s*(\w++)\s*+=\s*+(\"(?:[^\"\\]|\\.)*+\"|[^,<>\"]*+)\s*"
_PAIRS = re.compile(_PAIR)
_SIGNATURE = re.compile(rf"<{_PAIR}(?:,{_PAIR})*>")


def read_signature(line: str) -> tuple[dict[str, str], int] | None:
    """The attributes of the signature that begins the line, and where its text starts; None without one.

    Attributes that nobody knows, or that stand twice, make it a text like any other.
    """
    signature = _SIGNATURE.match(line)
    if signature is None:
        return None
    attributes: dict[str, str] = {}
    for pair in _PAIRS.finditer(signature[0], 1):
        name, value = pair[1].lower(), pair[2].strip()
        if name not in KNOWN or name in attributes:
            return None
        try:
            attributes[name] = str(json.loads(value, strict=False)) if value[:1] == '"' else value
        except ValueError:
            return None
    return attributes, signature.end()


def quoted(value: str) -> str:
    """As it stands in a signature: in quotes where it would be misread without."""
    if value.isprintable() and _PLAIN.fullmatch(value):
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
    """The inverse of runs; None when it is no list of seqs."""
    seqs: set[int] = set()
    for part in text.split("+"):
        run = _RUN.fullmatch(part.strip())
        if not run or not int(run[1]) or len(seqs) > MAX_SEQS:
            return None
        seqs.update(span(*sorted((int(run[1]), int(run[2] or run[1])))))
    return tuple(sorted(seqs))
