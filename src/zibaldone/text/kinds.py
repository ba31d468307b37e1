"""Kinds of things, and what belongs to each: "pets" and a hamster, "countries" and Norway. English.

`kinds.z` is WordNet 3.0's tree of nouns, without what seldom means that noun (`tools/kinds.py` makes it). A
line is a sense: how deep it lies, the kinds that it is called by behind a "*", and the terms of its words;
what belongs to it follows, deeper. It is unpacked when the first question asks for a kind, and searched as a
text.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain

import regex

from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.remembered import remembered
from zibaldone.text.words import STOP_WORDS, term_of, words

_VAGUE = 3000  # members; a kind of more, such as "thing", tells nothing
_FEW = 12  # members; a kind of fewer ("pet") has those of the next kind above it ("animal")
_CLIMBS = 2  # times at most
_ROOTS = 3  # levels whose kinds are of anything
_FIRST_DEPTH = ord("0")
_LONGEST = 3  # words of a kind
_OPENS = lazy_pattern(
    r"\b(?:what|which|how\s+many|any|all|list|every|(?:have|has|own|owns|keep|keeps)\s+an?)\s+"
    r"((?:[\p{L}'’-]+\s*){1,10})",
    regex.IGNORECASE,
)
_BESIDE = frozenset(
    """kind kinds type types sort sorts of the my our his her their your all other different new some any many
    s""".split()
)
_BEGINS_WITH = frozenset("is are was were".split())  # "what are my hobbies?"
_PLURALS = (("ies", "y"), ("ves", "f"), ("es", ""), ("s", ""))


@remembered(1_000)
def asked_kinds(question: str) -> tuple[str, ...]:
    """What kinds a question may ask for, the narrowest reading first: "board games", "games"."""
    kinds = []
    for opening in _OPENS.finditer(question):
        named: list[str] = []
        for word in words(opening[1]):
            if word in _BESIDE or (not named and word in _BEGINS_WITH):
                continue
            if word in STOP_WORDS or len(named) == _LONGEST:
                break
            named.append(word)
        # "board games", "games": the head is last; "shoes cost" and "pets live" have it before.
        kinds += [
            " ".join(named[:end][-length:])
            for end in (len(named), len(named) - 1)
            for length in range(end, 0, -1)
        ]
    return tuple(dict.fromkeys(kind for kind in kinds if kind))


@dataclass(frozen=True, slots=True)
class Kind:
    """What belongs to a kind."""

    own_terms: frozenset[str]  # of its own name
    names: frozenset[tuple[str, ...]]  # the terms of each member, several for a name of several words
    terms: frozenset[str]  # all of these


@remembered(64)
def kind_named(name: str) -> Kind | None:
    """The kind that is called so; None of what is none, or of so much that it tells nothing."""
    text = _tree()
    below: set[str] = set()
    for start in _senses(text, name):
        below.update(_below(text, start))
    own = frozenset(term for word in words(name) for _, term in term_of(word))
    split = (tuple(member.split(" ")) for member in below)
    names = frozenset(terms for terms in split if own.isdisjoint(terms))
    return Kind(own, names, frozenset(chain.from_iterable(names))) if names else None


def _senses(text: str, kind: str) -> list[int]:
    """Where the lines of a kind begin."""
    forms = [kind, *(kind.removesuffix(end) + base for end, base in _PLURALS if kind.endswith(end))]
    places = [place for form in forms for place in _places(text, f"*{form}")]
    if not places and not kind.endswith("ed"):  # nothing belongs to it; a participle, "called", is no noun
        places = _places(text, " ".join(term for word in words(kind) for _, term in term_of(word)))
    return [text.rfind("\n", 0, place) + 1 for place in places]


def _places(text: str, name: str) -> list[int]:
    """Where a name stands, whole."""
    places: list[int] = []
    place = text.find(name)  # and no pattern: compiled ones are kept, and this one would be of a question
    while place >= 0:
        begins = text[place - 1] == "|" or text[place - 2] == "\n"
        if begins and text[place + len(name) : place + len(name) + 1] in ("|", "\n"):
            places.append(place)
        place = text.find(name, place + 1)
    return places


def _below(text: str, start: int) -> list[str]:
    """What belongs to the sense whose line begins there, or to the one above it."""
    for _ in range(_CLIMBS + 1):
        depth = text[start]
        if ord(depth) - _FIRST_DEPTH < _ROOTS:
            return []
        first = text.find("\n", start) + 1
        end = first
        while end < len(text) and text[end] > depth:
            end = text.find("\n", end) + 1
        lines = text[first:end].splitlines()
        names = [name for line in lines for name in line[1:].split("|") if name and name[0] != "*"]
        if len(names) > _VAGUE:
            return []
        if len(names) >= _FEW:
            return names
        while text[start] >= depth:
            start = text.rfind("\n", 0, start - 1) + 1
    return []


@cache
def _tree() -> str:
    packed = files("zibaldone.text").joinpath("kinds.z").read_bytes()
    return "\n" + zlib.decompress(packed).decode()
