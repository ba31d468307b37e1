"""What a question says to every node of a user's hierarchy: words and cosine, speaker and day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import numpy.typing as npt

from zibaldone.core import ChannelScore, Message
from zibaldone.errors import ModelFailed
from zibaldone.models.base import Embedder, Vectors
from zibaldone.models.embedding import embed
from zibaldone.search.fusion import standardised
from zibaldone.search.lexical import Doubles, Ints
from zibaldone.text.dates import find_days
from zibaldone.text.words import STOP_WORDS, terms, words
from zibaldone.views.base import Query
from zibaldone.views.hierarchy.cache import Shown

Bools = npt.NDArray[np.bool_]
SPEAKER = 0.7  # in standard deviations: said by somebody whom the question names
DATE = 1.0  # said on a day that the question names
EPISODE = 0.25  # of what speaks for its episode: a fact leans on what was said around it
_MOST_EMBEDDED = 128  # messages of the tail, per question
_MONTH = 31  # days; a longer time that a question names is no reason to answer by itself


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, taken apart."""

    terms: tuple[str, ...]  # of its content words, without the names of those who talk
    subject: str  # the words themselves: what is embedded
    named: frozenset[str]  # words of those names that it mentions
    days: tuple[tuple[int, int], ...]  # ordinals, inclusive


@dataclass(frozen=True, slots=True)
class Scores:
    """How all nodes stand to a question; rows are those of `Shown`, and then the tail's messages."""

    total: Doubles  # (n + t,) of semantics and of messages that no episode has
    bm25: Doubles  # (n + t,)
    cosine: Doubles  # (n + t,)
    inside: Bools  # (n + t,) what may be recalled
    episodes: Doubles  # (m,) of episodes, by their own words and vectors
    relevance: float  # how much of the question is known, 0 for nothing
    note: str  # why there are no cosines; "" when there are

    def channels(self, rows: Sequence[int]) -> list[tuple[ChannelScore, ...]]:
        """What words and cosine gave each row; 0 is no find."""
        columns = []
        for name, values in (("hybrid", self.total), ("bm25", self.bm25), ("dense", self.cosine)):
            mine = values[list(rows)]
            ranks = len(values) - np.searchsorted(np.sort(values), mine, side="right") + 1
            if name != "hybrid":
                ranks[mine <= 0] = 0
            columns.append(
                [
                    ChannelScore(name, rank, round(value, 6))
                    for rank, value in zip(ranks.tolist(), mine.tolist(), strict=True)
                ]
            )
        return list(zip(*columns, strict=True))


def take_apart(query: Query, shown: Shown, tail: Sequence[Message]) -> Asked:
    """Against the names of all who spoke; a day without a year is one that memory knows of."""
    names = shown.lexicon.names | {word for one in tail for word in words(one.speaker)}
    said = words(query.text)
    plain = [word for word in said if word not in names and word not in STOP_WORDS]
    return Asked(
        tuple(dict.fromkeys(term for word in plain for term in terms(word))),
        " ".join(plain),
        frozenset(names & set(said)),
        _days(query.text, query.now.date(), _known_days(shown, tail)),
    )


def score(
    asked: Asked, shown: Shown, tail: Sequence[Message], session: str | None, embedder: Embedder
) -> Scores:
    """Of the tail's messages the best by words are embedded now, the others have the mean cosine."""
    n = len(shown.semantics)
    bm25, covered = shown.lexicon.and_of([one.content for one in tail]).scores(asked.terms)
    told, _ = shown.episode_lexicon.scores(asked.terms)
    near = sorted(range(len(tail)), key=lambda place: (-bm25[n + place], -place))[:_MOST_EMBEDDED]
    note = ""
    try:
        vectors = embed(embedder, [asked.subject, *(tail[place].content for place in near)])
    except ModelFailed as error:
        vectors = np.zeros((1 + len(near), embedder.dimension), dtype=np.float32)
        note = f"by words only: {error}"
    cosine = np.zeros(n + len(tail))
    cosine[:n] = shown.vectors @ vectors[0]
    cosine[[n + place for place in near]] = vectors[1:] @ vectors[0]
    if len(near) < len(tail):
        looked = np.zeros(len(cosine), dtype=np.bool_)
        looked[[*range(n), *(n + place for place in near)]] = True
        cosine[~looked] = cosine[looked].mean()
    inside = np.concatenate([_inside(shown, session), np.ones(len(tail), dtype=np.bool_)])
    episodes = _of_episodes(told, shown, vectors[0])
    total = bm25
    if len(bm25):
        total = np.asarray(standardised(bm25) + standardised(cosine) + _clues(asked, shown, tail))
        total[:n] += EPISODE * episodes[shown.episode_at]
    return Scores(
        total,
        bm25,
        cosine,
        inside,
        episodes,
        _relevance(asked, covered, cosine, inside, _known_days(shown, tail)),
        note,
    )


def _of_episodes(told: Doubles, shown: Shown, vector: Vectors) -> Doubles:
    if not len(told):
        return told
    near = np.asarray(shown.episode_vectors @ vector, dtype=np.float64)
    return np.asarray(standardised(told) + standardised(near))


def _clues(asked: Asked, shown: Shown, tail: Sequence[Message]) -> Doubles:
    """(n + t,) what speaker and day say, whatever the words."""
    named = [place for place, who in enumerate(shown.speakers) if not asked.named.isdisjoint(words(who))]
    speaks = [not asked.named.isdisjoint(words(one.speaker)) for one in tail]
    found = SPEAKER * np.concatenate([np.isin(shown.speaker_of, named), np.array(speaks, dtype=np.bool_)])
    days = _known_days(shown, tail)
    on_day = np.zeros(len(days), dtype=np.bool_)
    for first, last in asked.days:
        on_day |= (days >= first) & (days <= last)
    return np.asarray(found + DATE * on_day)


def _inside(shown: Shown, session: str | None) -> Bools:
    """(n,) whether a message of the session states it."""
    if session is None:
        return np.ones(len(shown.semantics), dtype=np.bool_)
    here = {row for row, one in enumerate(shown.episodes) if one.episode.session == session}
    return np.array(
        [any(shown.episode_with.get(seq) in here for seq in one.semantic.seqs) for one in shown.semantics],
        dtype=np.bool_,
    )


def _relevance(asked: Asked, covered: Doubles, cosine: Doubles, inside: Bools, days: Ints) -> float:
    """As the messages view has it: the share of the question's words in the best unit, plus its cosine."""
    if not inside.any():
        return 0.0
    here = days[inside]
    if any(b - a < _MONTH and ((here >= a) & (here <= b)).any() for a, b in asked.days):
        return 1.0
    if asked.named and len(asked.terms) < 2:
        return 1.0
    if not asked.terms:
        return 0.0
    return float(covered[inside].max() + cosine[inside].max() - cosine.mean())


def _known_days(shown: Shown, tail: Sequence[Message]) -> Ints:
    """(n + t,) ordinals."""
    return np.concatenate([shown.days, np.array([_day(one) for one in tail], dtype=np.int64)])


def _day(message: Message) -> int:
    assert message.time is not None  # what is stored has one
    return message.time.toordinal()


def _days(text: str, today: date, known: Ints) -> tuple[tuple[int, int], ...]:
    found = [(d.first.toordinal(), d.last.toordinal()) for d in find_days(text, today)]
    if found and len(known) and not any(((known >= a) & (known <= b)).any() for a, b in found):
        newest = date.fromordinal(int(known.max()))
        found = [(d.first.toordinal(), d.last.toordinal()) for d in find_days(text, newest)]
    return tuple(dict.fromkeys(found))
