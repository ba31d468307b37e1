"""Ours, for what one entry cannot answer (FC-MH): retrieve, take the names that were found, retrieve again.

A chain starts at an entry that names what the question names, and goes on through a name of that entry which
the question does not know. What a chain is worth is what it covers of the question's words: so an entry about
the bridge counts by the words that the entry before it left open.

Consolidation marks what it is sure of as superseded. Here the question says which name is the subject, so
that a repeated wording is enough: of `Ann works for Acme` and `Ann works for Globex`, asked of Ann, the later
one holds.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import regex

from zibaldone.models.base import Vectors
from zibaldone.search.lexical import Doubles
from zibaldone.text.words import terms, words
from zibaldone.views.topics.read.index import Name
from zibaldone.views.topics.read.ranking import RankedEntries

MOST_HOPS = 4
_WIDTH = 24  # chains that are followed at a time
_BELIEVED = 24  # chains by whose names entries are taken for outdated
# A name in more entries than these, about as many as a context holds, and in such a share leads everywhere.
_COMMON_NAME, _COMMON_SHARE = 40, 0.01
_HOP = 0.06  # what every entry of a chain costs, as a share of the weight of the words asked
_NOISE = 0.15  # cosine of a word and a sentence that have nothing to do with each other, about
_MOST_NAMES = 32  # of a question
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{N}]+)*|[!?,;:]")
_POSSESSIVE = regex.compile(r"['’]s?$")
_SUBJECT, _VALUE = "\0", "\1"
_MOST_WORDS = 24  # a longer sentence is no plain statement


@dataclass(frozen=True, slots=True)
class Chain:
    """Entries of which each names something that the next one is about."""

    rows: tuple[int, ...]
    names: tuple[Name, ...]  # that were followed, the question's first
    covered: Doubles  # (m,) of the question's words
    score: float


class Follower:
    """Follows one question's names through an index."""

    def __init__(self, ranked: RankedEntries) -> None:
        self._index, self._ranked = ranked.index, ranked
        self._rows: dict[Name, list[int]] = {}
        self._replaced: dict[Name, dict[int, int]] = {}
        self._names: dict[int, list[Name]] = {}
        self._talking = {word for speaker in self._index.speakers for word in words(speaker)}
        self.starts = self._real(self._index.casing.names(ranked.question.text)[:_MOST_NAMES])
        taken = {term for name in self.starts for term in terms(" ".join(name))}
        open_ = np.array([term not in taken for _, term in ranked.question.terms], dtype=bool)
        self._words: Vectors = ranked.embed([form for form, _ in ranked.question.terms])
        self._weights = ranked.weights * open_
        self._whole = max(float(self._weights.sum()), 1e-9)
        self._covers: dict[int, Doubles] = {}

    def chains(self) -> list[Chain]:
        """Chains, best first; none if no name of the question is known."""
        nothing = np.zeros(len(self._weights))
        edge = [Chain((), (name,), nothing, 0.0) for name in self.starts]
        grown: list[Chain] = []
        for _ in range(MOST_HOPS):
            names = dict.fromkeys(name for chain in edge for name in self._onward(chain))
            self._learn(list(dict.fromkeys(row for name in names for row in self.rows_of(name))))
            longer = [one for chain in edge for one in self._longer(chain)]
            edge = heapq.nlargest(_WIDTH, longer, key=lambda chain: (chain.score, chain.rows))
            grown += edge
        return sorted(grown, key=lambda chain: (-chain.score, chain.rows))

    def rows_of(self, name: Name) -> list[int]:
        """Entries that hold the name's words in a row; none if they are too many."""
        if name not in self._rows:
            rows = [row for row in self._holding(name) if not self._index.superseded[row]]
            texts = [self._index.places[row].entry.text for row in rows]
            replaced = outdated(rows, texts, name, {row: self._named(row) for row in rows})
            self._replaced[name] = replaced
            self._rows[name] = [row for row in rows if row not in replaced]
        return self._rows[name]

    def _holding(self, name: Name) -> Iterator[int]:
        sets = [set(self._index.postings(term)[0].tolist()) for term in terms(" ".join(name))]
        if not sets:
            return
        rows = set.intersection(*sets)
        if len(rows) > max(_COMMON_NAME, _COMMON_SHARE * len(self._index)):
            return
        wanted = f" {' '.join(words(' '.join(name)))} "
        for row in sorted(rows):
            if wanted in f" {' '.join(words(self._index.places[row].entry.text))} ":
                yield row

    def _longer(self, chain: Chain) -> Iterator[Chain]:
        """The chain extended by one entry, for every new name in its last one."""
        for name in self._onward(chain):
            for row in self.rows_of(name):
                if row in chain.rows:
                    continue
                covered = np.maximum(chain.covered, self._covers[row])
                gain = float(self._weights @ (covered - chain.covered)) / self._whole
                score = chain.score + gain - _HOP
                yield Chain((*chain.rows, row), (*chain.names, name), covered, score)

    def _onward(self, chain: Chain) -> list[Name]:
        if not chain.rows:
            return [chain.names[-1]]
        return [name for name in self._named(chain.rows[-1]) if name not in chain.names]

    def _named(self, row: int) -> list[Name]:
        if row not in self._names:
            self._names[row] = self._real(self._index.names(row))
        return self._names[row]

    def _real(self, names: Sequence[Name]) -> list[Name]:
        """Names that some entry may hold; of nested names the longest.

        Names of the speakers are left out: people call each other by name everywhere, and what they said is
        found by source.
        """
        kept: list[Name] = []
        for name in names:
            if {word.casefold() for word in name} <= self._talking:
                continue
            if not any(set(name) <= set(longer) for longer in kept) and self._has(name):
                kept.append(name)
        return kept

    def _has(self, name: Name) -> bool:
        wanted = terms(" ".join(name))
        return bool(wanted) and all(len(self._index.postings(term)[0]) for term in wanted)

    def _learn(self, rows: Sequence[int]) -> None:
        """Compute how far these entries cover each word of the question, by terms or by vectors."""
        rows = [row for row in rows if row not in self._covers]
        wordings = [_without(self._index.places[row].entry.text, self._named(row)) for row in rows]
        if not rows:
            return
        distinct = list(dict.fromkeys(wordings))
        cosines = dict(zip(distinct, self._ranked.embed(distinct) @ self._words.T, strict=True))
        for row, text in zip(rows, wordings, strict=True):
            near = np.clip((cosines[text] - _NOISE) / (1 - _NOISE), 0, 1)
            self._covers[row] = np.maximum(self._ranked.covered[:, row], near)

    def outdated(self, chains: Sequence[Chain]) -> dict[int, int]:
        """Entries that a later one replaces, as seen from the names that these chains went through.

        Not from all names that they hold: of `Ann works for Acme` and `Bob works for Acme` neither replaces
        the other, and only what is asked says which name is the subject.
        """
        replaced: dict[int, int] = {}
        for name in dict.fromkeys(name for chain in chains for name in chain.names):
            replaced |= self._replaced[name]
        kept = {row for chain in chains for row in chain.rows}
        return {row: later for row, later in replaced.items() if row not in kept}


@dataclass(frozen=True, slots=True)
class Followed:
    """Result of following the question's names."""

    rows: tuple[int, ...]  # entries as the chains name them, best chain first
    outdated: Mapping[int, int]  # entry -> the later one that says otherwise of the same name
    leads: bool  # a chain covers more of the question than any one entry about its names


def follow(ranked: RankedEntries) -> Followed:
    """Follow a question's names; empty if it holds no known name."""
    follower = Follower(ranked)
    chains = follower.chains()
    rows = tuple(dict.fromkeys(row for chain in chains for row in chain.rows))
    alone = max((chain.score for chain in chains if len(chain.rows) == 1), default=0.0)
    leads = bool(chains) and chains[0].score > alone
    return Followed(rows, follower.outdated(chains[:_BELIEVED]), leads)


def _without(text: str, names: Sequence[Name]) -> str:
    taken = {word.casefold() for name in names for word in name}
    return " ".join(word for word in words(text) if word not in taken)


def outdated(
    rows: Iterable[int], texts: Sequence[str], subject: Name, names: Mapping[int, Sequence[Name]]
) -> dict[int, int]:
    """Map rows that a later one replaces to that later one, of rising rows that hold the subject.

    `names` are the names in each row's text, the subject included.
    """
    latest: dict[tuple[str, ...], list[tuple[int, Name]]] = {}
    for row, text in zip(rows, texts, strict=True):
        for wording, value in wordings(text, subject, names[row]):
            latest.setdefault(wording, []).append((row, value))
    replaced: dict[int, int] = {}
    for stated in latest.values():
        row, value = stated[-1]
        for earlier, other in stated[:-1]:
            if other != value and earlier != row:
                replaced[earlier] = max(row, replaced.get(earlier, row))
    return replaced


def wordings(text: str, subject: Name, names: Sequence[Name]) -> Iterator[tuple[tuple[str, ...], Name]]:
    """The text with subject and value taken out, and the value; for every possible value."""
    tokens = [_POSSESSIVE.sub("", word) for word in _WORD.findall(text)]
    if len(tokens) > _MOST_WORDS:
        return
    tokens = _replaced(tokens, subject, _SUBJECT)
    if tokens.count(_SUBJECT) != 1:
        return
    others = [name for name in names if name != subject and not set(name) & set(subject)]
    others = [name for name in others if not any(name != more and set(name) < set(more) for more in others)]
    for name in others:
        left = _replaced(tokens, name, _VALUE)
        if left.count(_VALUE) == 1:
            yield tuple(token.casefold() for token in left), name


def _replaced(tokens: Sequence[str], name: Name, mark: str) -> list[str]:
    marked: list[str] = []
    at = 0
    while at < len(tokens):
        if tuple(tokens[at : at + len(name)]) == name:
            marked.append(mark)
            at += len(name)
        else:
            marked.append(tokens[at])
            at += 1
    return marked
