r"""What a text must have in it for a pattern to be found there at all, read off the uncompiled pattern.

"\b(?:allergic|intolerant)\s+to\b" is in no text without "allergic" or "intolerant", and to look for these
takes a twentieth of the time. After the prefilters of Cox, "Regular Expression Matching with a Trigram Index"
(2012): of each piece all strings that it matches are known, or some of which one has to be there, or neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import regex

_MOST_STRINGS = 40  # that a piece may match for them to be kept one by one
_RARE = 0.5  # `_commonness`, beyond which they are in too many texts to be worth looking for
_LETTERS = 12.0  # a further letter makes a literal that much rarer

_Strings = frozenset[str]
_EMPTY: _Strings = frozenset({""})

_TOKEN = re.compile(
    r"""(?P<plain>[^\\\[\](){}|?*+^$.\s\#]+(?!\s*[?*+{])|[^\\\[\](){}|?*+^$.\s\#])
    |\\(?P<any>[pP](?:\{[^}]*\}|\w)|[dDsSwWhXR])
    |(?P<times>(?:[?*+]|\{(?P<least>\d*)(?:,\d*)?\})[?+]?)
    |(?P<open>\((?:\?(?::|P?<[A-Za-z_]\w*>|>|-?i:))?(?!\?))
    |(?P<close>\))
    |(?P<either>\|)
    |(?P<space>\s+)
    |(?P<edge>\\[bBAZmMG]|[\^$])
    |(?P<class>\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\])
    |(?P<look>\(\?(?:=|!|<=|<!))
    |\\(?P<escaped>[^\w\s])
    |(?P<dot>\.)
    |(?P<comment>\#[^\n]*)""",
    re.VERBOSE | re.DOTALL,
)


def folded(text: str) -> str:
    """Alike for whatever patterns without regard to case take for alike."""
    return text.lower() if text.isascii() else text.translate(_DOTLESS).casefold()


_DOTLESS = {0x130: "i", 0x131: "i"}  # İ and ı, which `regex` takes for i


def needed_literals(pattern: str, flags: int = 0) -> tuple[str, ...]:
    """Folded strings, of which one at least is in each folded text that the pattern is found in; or none.

    None: there are no such strings, or they are in too many texts to be worth it.
    """
    try:
        best = _Reader(pattern, spaced=not flags & regex.VERBOSE).whole().best()
    except _UnreadError:
        return ()
    return () if best is None or _commonness(best) > _RARE else _shortest(best)


def _shortest(literals: Iterable[str]) -> tuple[str, ...]:
    """Without those that have another one in them."""
    kept: list[str] = []
    for literal in sorted(literals, key=lambda literal: (len(literal), literal)):
        if not any(shorter in literal for shorter in kept):
            kept.append(literal)
    return tuple(kept)


class _Piece(NamedTuple):
    """`strings`: all that it matches, folded; None: they are not known. `needed`: one is in each match."""

    strings: _Strings | None
    needed: _Strings | None = None

    def best(self) -> _Strings | None:
        return _rarer(self.strings, self.needed)


_ANYTHING = _Piece(None)


def _rarer(left: _Strings | None, right: _Strings | None) -> _Strings | None:
    if left is None or right is None:
        return left or right
    return left if _commonness(left) <= _commonness(right) else right


@lru_cache(2000)
def _commonness(literals: _Strings) -> float:
    return float(sum([_LETTERS ** -(len(literal) - 1) for literal in literals]))


class _UnreadError(Exception):
    """The pattern has something that is not read here."""


class _Reader:
    def __init__(self, pattern: str, *, spaced: bool) -> None:
        """`spaced`: space in the pattern stands for itself."""
        self._tokens = _tokens(pattern, spaced=spaced)
        self._at = 0

    def whole(self) -> _Piece:
        """What the pattern matches."""
        piece = self._alternatives()
        if self._at < len(self._tokens) - 1:
            raise _UnreadError
        return piece

    def _group(self) -> _Piece:
        """Up to where it closes, and with that."""
        piece = self._alternatives()
        if self._tokens[self._at][0] != "close":
            raise _UnreadError
        self._at += 1
        return piece

    def _alternatives(self) -> _Piece:
        branches = [self._sequence()]
        while self._tokens[self._at][0] == "either":
            self._at += 1
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else _one_of(branches)

    def _sequence(self) -> _Piece:
        pieces: list[_Piece] = []
        while True:
            kind, text = self._tokens[self._at]
            if kind in _CLOSES:
                return _in_a_row(pieces)
            self._at += 1
            if kind == "plain":
                piece = _Piece(frozenset((text,)))
            elif kind == "open":
                piece = self._group()
            elif kind == "look":
                ahead = self._group()
                piece = _Piece(_EMPTY, None if text.endswith("!") else ahead.best())
            elif kind == "class":
                piece = _of_class(text)
            elif kind == "any":
                piece = _ANYTHING
            else:
                raise _UnreadError
            times, least = self._tokens[self._at]
            if times == "times":
                self._at += 1
                piece = _repeated(piece, least)
            pieces.append(piece)


_CLOSES = ("either", "close", "end")


def _tokens(pattern: str, *, spaced: bool) -> list[tuple[str, str]]:
    """Kinds and texts; of a repetition the text is "?", "*" or "+", as it may be left out or not."""
    tokens: list[tuple[str, str]] = []
    at = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            raise _UnreadError
        at = token.end()
        kind, text = token.lastgroup or "", token.group()
        if kind == "plain":
            tokens.append(("plain", folded(text)))
        elif kind in ("space", "comment"):
            if spaced:  # it stands for itself, and what repeats it is of this one letter
                tokens.append(("plain", text[0]))
                at = token.start() + 1
        elif kind == "escaped":
            tokens.append(("plain", text[1:]))
        elif kind == "times" or kind == "least":
            least = token["least"]
            left_out = "*" if text[0] == "*" or (text[0] == "{" and least in ("", "0")) else "+"
            tokens.append(("times", "?" if text[0] == "?" else left_out))
        elif kind == "dot":
            tokens.append(("any", text))
        elif kind != "edge":
            tokens.append((kind, text))
    tokens.append(("end", ""))
    return tokens


def _of_class(text: str) -> _Piece:
    """A class of a few letters is one of them; of others nothing is known."""
    inside = text[1:-1]
    if inside.startswith("^") or not inside or not _PLAIN_CLASS.fullmatch(inside):
        return _ANYTHING
    return _Piece(frozenset(map(folded, inside)))


_PLAIN_CLASS = re.compile(r"[^\\\[\]\-&~|]{1,6}")


def _repeated(piece: _Piece, times: str) -> _Piece:
    if times == "+":
        return _Piece(None, piece.best())
    if times == "?" and piece.strings is not None:
        return _Piece(piece.strings | _EMPTY)
    return _ANYTHING


def _one_of(branches: list[_Piece]) -> _Piece:
    known = [branch.strings for branch in branches if branch.strings is not None]
    bests = [best for branch in branches if (best := branch.best()) is not None]
    return _Piece(
        frozenset().union(*known) if len(known) == len(branches) else None,
        frozenset().union(*bests) if len(bests) == len(branches) else None,
    )


def _in_a_row(pieces: list[_Piece]) -> _Piece:
    """Strings that stand next to each other are put together, as long as they are few."""
    run, needed, all_known = _EMPTY, None, True
    for strings, needed_here in pieces:
        if needed_here is not None:
            needed = _rarer(needed, needed_here)
        if strings is not None:
            if strings is _EMPTY:
                continue
            together = len(strings) * len(run)
            if together == 1:
                run = frozenset((next(iter(run)) + next(iter(strings)),))
                continue
            if together <= _MOST_STRINGS or len(run) == 1 or len(strings) == 1:
                run = frozenset([before + string for before in run for string in strings])
                continue
        all_known = False
        if run is not _EMPTY:
            needed = _rarer(needed, run)
        run = _EMPTY if strings is None else strings
    return _Piece(run, needed) if all_known else _Piece(None, _rarer(needed, run))
