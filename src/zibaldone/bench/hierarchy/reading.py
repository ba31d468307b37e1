"""Conversations in episodes and semantics, and questions to them: what the reading's benchmarks stand on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from zibaldone.bench.base import Example
from zibaldone.core import Message
from zibaldone.models.base import Embedder, Tokenizer, Vectors
from zibaldone.rendering import line
from zibaldone.search.fusion import standardised
from zibaldone.search.lexical import K1, B, Doubles, LexicalIndex
from zibaldone.text.salience import carries_fact
from zibaldone.text.words import STOP_WORDS, terms, words
from zibaldone.views.hierarchy.stage_one import Pick, StageOne, representatives
from zibaldone.views.hierarchy.uncertainty import CoverageSignal, Unit, wanted_terms

Bools = npt.NDArray[np.bool_]
_NEIGHBOURS = 10
_SEMANTICS = 10  # without themes
BLOCK = 10  # messages of a stand-in episode


@dataclass(frozen=True, slots=True)
class Node:
    """An episode or a semantic as it is judged: what it says, and the messages it stands on."""

    text: str
    seqs: tuple[int, ...]
    episode: int  # place of the episode; an episode's own


@dataclass(frozen=True, slots=True)
class Level:
    """Nodes of one kind, indexed."""

    nodes: tuple[Node, ...]
    terms: tuple[frozenset[str], ...]
    index: LexicalIndex
    vectors: Vectors
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Talk:
    """One user's conversation in episodes and semantics."""

    messages: Mapping[int, Message]
    names: frozenset[str]  # words of the speakers' names
    episodes: Level
    semantics: Level
    neighbours: tuple[tuple[tuple[int, float], ...], ...] = field(repr=False)  # of each semantic


@dataclass(frozen=True, slots=True)
class Asked:
    """One question with all that the signals are made of."""

    example: Example
    talk: Talk
    holds: Bools  # (episodes,) which hold evidence
    cosine: Doubles  # (episodes,)
    bm25: Doubles
    relevance: Doubles  # (semantics,) hybrid
    picks: tuple[Pick, ...]  # of Stage I
    wanted: Mapping[str, float]
    asked_terms: frozenset[str]

    @property
    def similarity(self) -> Doubles:
        """(episodes,) words and cosine, each in standard deviations."""
        return np.asarray(standardised(self.cosine) + standardised(self.bm25))

    @property
    def support(self) -> Doubles:
        """(episodes,) relevance of the best selected semantic."""
        found = np.zeros(len(self.holds))
        for pick in self.picks:
            episode = self.talk.semantics.nodes[pick.id].episode
            found[episode] = max(found[episode], pick.relevance)
        return found

    def gain(self, weights: Doubles) -> Doubles:
        """(episodes,) of the offline signal for each episode as the first one admitted."""
        signal = CoverageSignal(self.wanted)
        start = signal.uncertainty(())
        units = (
            Unit(i, node.text, 0, float(weight))
            for i, (node, weight) in enumerate(zip(self.talk.episodes.nodes, weights, strict=True))
        )
        return np.array([start - signal.uncertainty((unit,)) for unit in units])


def stand_in(messages: Sequence[Message]) -> tuple[list[Node], list[Node]]:
    """Episodes and semantics without the view: even blocks inside a session, messages that carry a fact."""
    sessions: dict[str, list[Message]] = {}
    for message in messages:
        sessions.setdefault(message.session, []).append(message)
    episodes: list[Node] = []
    semantics: list[Node] = []
    for group in sessions.values():
        for part in np.array_split(np.arange(len(group)), max(1, round(len(group) / BLOCK))):
            block = [group[int(i)] for i in part]
            place = len(episodes)
            lines = [line(one.speaker, one.content) for one in block]
            episodes.append(Node("\n".join(lines), tuple(one.seq for one in block), place))
            semantics += [
                Node(text, (one.seq,), place)
                for one, text in zip(block, lines, strict=True)
                if carries_fact(one.content)
            ]
    return episodes, semantics


def talk(
    messages: Sequence[Message],
    episodes: Sequence[Node],
    semantics: Sequence[Node],
    embedder: Embedder,
    tokenizer: Tokenizer,
) -> Talk:
    """Index both levels; the names of the speakers are left out of words and vectors."""
    names = frozenset(word for one in messages for word in words(one.speaker or ""))

    def level(nodes: Sequence[Node]) -> Level:
        index = LexicalIndex()
        plain = [" ".join(word for word in words(node.text) if word not in names) for node in nodes]
        for text in plain:
            index.append(terms(text))
        vectors = embedder.embed(plain)
        counts = tokenizer.count([node.text for node in nodes])
        return Level(tuple(nodes), tuple(frozenset(terms(t)) for t in plain), index, vectors, tuple(counts))

    of_semantics = level(semantics)
    return Talk(
        {one.seq: one for one in messages},
        names,
        level(episodes),
        of_semantics,
        tuple(_nearest(of_semantics.vectors)),
    )


def ask(
    example: Example,
    among: Talk,
    embedder: Embedder,
    choose: Callable[[Doubles], Sequence[Pick]] | None = None,
) -> Asked | None:
    """Score every node for a question; None when no episode holds evidence.

    `choose` is Stage I: from the relevance of all semantics (n,) to those selected, by place. Without it,
    Eq. 4 chooses ten of the pool, without themes.
    """
    texts = example.evidence
    holds = np.array(
        [
            any(among.messages[seq].content.startswith(text) for text in texts for seq in node.seqs)
            for node in among.episodes.nodes
        ]
    )
    if not holds.any():
        return None
    said = words(example.question)
    plain = [word for word in said if word not in among.names and word not in STOP_WORDS] or said
    vector = embedder.embed([" ".join(plain)])[0]
    sought = frozenset(term for word in plain for term in terms(word))
    level = among.semantics
    relevance = standardised(_bm25(level.index, sought)) + standardised(_cosine(level, vector))
    picks = tuple(choose(relevance)) if choose else _without_themes(among, relevance)
    wanted = wanted_terms(sought, [(level.terms[p.id], p.relevance) for p in picks], level.index.idf)
    return Asked(
        example,
        among,
        holds,
        _cosine(among.episodes, vector),
        _bm25(among.episodes.index, sought),
        relevance,
        picks,
        wanted,
        sought,
    )


def _without_themes(among: Talk, relevance: Doubles) -> tuple[Pick, ...]:
    top = np.argsort(-relevance, kind="stable")[: StageOne().pool]
    return representatives(top, relevance[top], lambda one: among.neighbours[one], _SEMANTICS)


def _cosine(level: Level, vector: Vectors) -> Doubles:
    return np.asarray(level.vectors @ vector, dtype=np.float64)


def _bm25(index: LexicalIndex, sought: Iterable[str]) -> Doubles:
    lengths = index.lengths().astype(np.float64)
    relative = lengths / max(float(lengths.mean()), 1e-9)
    found = np.zeros(len(index))
    for term in sought:
        rows, counts = index.postings(term)
        found[rows] += index.idf(term) * (K1 + 1) * counts / (counts + K1 * (1 - B + B * relative[rows]))
    return found


def _nearest(vectors: Vectors) -> Iterable[tuple[tuple[int, float], ...]]:
    for row, cosines in enumerate(vectors @ vectors.T):
        cosines[row] = -1.0
        best = np.argsort(-cosines, kind="stable")[:_NEIGHBOURS]
        yield tuple((int(other), float(cosines[other])) for other in best)
