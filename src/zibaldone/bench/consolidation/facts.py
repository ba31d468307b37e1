"""Numbered facts of which later ones override earlier ones, and questions for what holds in the end.

In the spirit of MemoryAgentBench's fact consolidation: a fact is one templated sentence behind its number; of
two facts about the same subject and relation the one with the larger number holds. Names are invented, so
nothing is known from elsewhere, and two facts never share both their names: a sentence that names a subject
and a value can only state the one fact.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple, get_args

from zibaldone.bench.consolidation.names import KINDS, PLAIN_VALUES, Names
from zibaldone.bench.consolidation.relations import RELATIONS, Relation
from zibaldone.core import Message
from zibaldone.errors import InvalidInput
from zibaldone.models.base import Tokenizer
from zibaldone.rendering import line_tokens

Streaming = Literal["chunks", "facts"]
Wordings = Literal["mixed", "same"]  # of the versions of one fact: another drawn for each, or one for all

SIZES_TOKENS = (6_000, 32_000, 262_000)
CHUNK_TOKENS = 4096
HOPS = (1, 2, 3, 4)
_START = datetime(2024, 1, 1, 9, tzinfo=UTC)
_SESSION = "facts"
_TOKENS_PER_FACT = 21  # about; only to know how many things must be named
_KEPT = 0.45  # share of a kind's relations that a thing has, so that small streams have many things too
_VERSIONS = (0.35, 0.45, 0.20)  # share of subjects' relations with 1, 2 and 3 values over time
_SPARE = 1.35
_LEAST_OF_A_KIND = 6
_TRIES = 400  # per question wanted


@dataclass(frozen=True, slots=True)
class NumberedFact:
    """One line of the stream."""

    number: int  # from 0, its place in the stream
    subject: str
    relation: str
    value: str
    text: str  # one sentence, without the number
    overrides: int | None = None  # the number of the fact that it makes obsolete

    @property
    def line(self) -> str:
        return f"{self.number}. {self.text}"


@dataclass(frozen=True, slots=True)
class FactLink:
    """What a question needs to know of one subject and relation."""

    current: NumberedFact
    superseded: tuple[NumberedFact, ...]  # oldest first


@dataclass(frozen=True, slots=True)
class ChainQuestion:
    """A chain: the value of each link is the subject of the next one, and the last value is the answer."""

    id: str
    text: str
    links: tuple[FactLink, ...]

    @property
    def answer(self) -> str:
        return self.links[-1].current.value

    @property
    def hops(self) -> int:
        return len(self.links)


@dataclass(frozen=True, slots=True)
class Stream:
    """The facts in order, and what is asked of them."""

    facts: tuple[NumberedFact, ...]
    single_hop: tuple[ChainQuestion, ...]
    multi_hop: tuple[ChainQuestion, ...]
    tokens: int  # of the numbered lines, each with its line break

    def messages(
        self, tokenizer: Tokenizer, streaming: Streaming = "chunks", chunk_tokens: int = CHUNK_TOKENS
    ) -> list[Message]:
        """One message per chunk of at most `chunk_tokens` tokens of whole lines, or one per fact.

        All in one session, a minute apart. Raises InvalidInput for another way of streaming.
        """
        if streaming == "facts":
            contents = [fact.line for fact in self.facts]
        elif streaming == "chunks":
            contents = ["\n".join(lines) for lines in self._chunks(tokenizer, chunk_tokens)]
        else:
            raise InvalidInput(f"streaming {streaming!r} must be 'chunks' or 'facts'")
        return [
            Message(content, time=_START + timedelta(minutes=minute), session=_SESSION)
            for minute, content in enumerate(contents)
        ]

    def _chunks(self, tokenizer: Tokenizer, most: int) -> Iterator[list[str]]:
        lines = [fact.line for fact in self.facts]
        chunk: list[str] = []
        left = most
        for line, tokens in zip(lines, line_tokens(lines, tokenizer.count), strict=True):
            if tokens > left and chunk:
                yield chunk
                chunk, left = [], most
            chunk.append(line)
            left -= tokens
        yield chunk


class _Version(NamedTuple):
    relation: Relation
    subject: str
    value: str
    text: str


def make_stream(
    seed: int, tokens: int, tokenizer: Tokenizer, questions: int = 100, wordings: Wordings = "mixed"
) -> Stream:
    """A stream of about `tokens` tokens, with up to so many single-hop and so many multi-hop questions.

    The same for the same arguments. What is asked was overridden at least once, somewhere in its chain.
    With the same wordings, as in the benchmark that this follows, an override repeats the sentence but for
    its value; with mixed ones it must be understood. Raises InvalidInput for a stream too short to ask
    anything of, and for other wordings.
    """
    if wordings not in get_args(Wordings):
        raise InvalidInput(f"wordings {wordings!r} must be 'mixed' or 'same'")
    if tokens < 1000:
        raise InvalidInput(f"a stream of {tokens} tokens is too short to ask anything of: take 1000 or more")
    rng = random.Random(f"{seed}/{tokens}")
    groups = _groups(rng, tokens / _TOKENS_PER_FACT, wordings)
    rng.shuffle(groups)
    facts = _numbered(_as_many_as_fit(groups, tokens, tokenizer), rng)
    total = sum(line_tokens([fact.line for fact in facts], tokenizer.count))
    links = _links(facts)
    return Stream(
        tuple(facts),
        tuple(_single_hop(links, questions, rng)),
        tuple(_multi_hop(links, questions, rng)),
        total,
    )


def _groups(rng: random.Random, facts: float, wordings: Wordings) -> list[list[_Version]]:
    """Per subject and relation its versions, oldest first, for somewhat more facts than these."""
    mean_versions = sum(share * count for count, share in enumerate(_VERSIONS, start=1))
    relations_of = {kind: [r for r in RELATIONS if r.subject == kind] for kind in KINDS}
    per_thing = _KEPT * mean_versions * sum(KINDS[kind] * len(relations_of[kind]) for kind in KINDS)
    things = _SPARE * facts / per_thing
    texts = (text for r in RELATIONS for text in (*r.says, *r.asks, *r.nouns))
    names = Names(rng, [*texts, *(value for values in PLAIN_VALUES.values() for value in values)])
    pools: dict[str, Sequence[str]] = {
        kind: names.of_kind(kind, max(_LEAST_OF_A_KIND, round(share * things)))
        for kind, share in KINDS.items()
    }
    pools |= PLAIN_VALUES
    paired: set[frozenset[str]] = set()
    groups = [
        _versions(relation, subject, pools[relation.value], paired, rng, wordings)
        for kind in KINDS
        for subject in pools[kind]
        for relation in relations_of[kind]
        if rng.random() < _KEPT
    ]
    return [group for group in groups if group]


def _versions(
    relation: Relation,
    subject: str,
    pool: Sequence[str],
    paired: set[frozenset[str]],
    rng: random.Random,
    wordings: Wordings,
) -> list[_Version]:
    says = relation.says if wordings == "mixed" else (rng.choice(relation.says),)
    count = rng.choices((1, 2, 3), _VERSIONS)[0]
    free = (value for value in rng.sample(pool, len(pool)) if value != subject)
    versions: list[_Version] = []
    for value in free:
        if len(versions) == count:
            break
        pair = frozenset((subject, value))
        if pair not in paired:
            paired.add(pair)
            text = rng.choice(says).format(s=subject, v=value)
            versions.append(_Version(relation, subject, value, text))
    return versions


def _as_many_as_fit(
    groups: Sequence[list[_Version]], tokens: int, tokenizer: Tokenizer
) -> list[list[_Version]]:
    lines = [f"0. {version.text}" for group in groups for version in group]
    costs = iter(line_tokens(lines, tokenizer.count))
    fitting: list[list[_Version]] = []
    left = tokens
    number = 0
    for group in groups:
        for _ in group:
            left -= next(costs) + len(str(number)) - 1  # a digit is a token
            number += 1
        if left < 0:
            break
        fitting.append(group)
    return fitting


def _numbered(groups: Sequence[list[_Version]], rng: random.Random) -> list[NumberedFact]:
    """The groups mixed, each in its own order."""
    turns = [place for place, group in enumerate(groups) for _ in group]
    rng.shuffle(turns)
    rest = [iter(group) for group in groups]
    last: dict[int, int] = {}
    facts = []
    for number, place in enumerate(turns):
        version = next(rest[place])
        facts.append(
            NumberedFact(
                number, version.subject, version.relation.name, version.value, version.text, last.get(place)
            )
        )
        last[place] = number
    return facts


def _links(facts: Sequence[NumberedFact]) -> dict[tuple[str, str], FactLink]:
    """By subject and relation, what holds in the end and what held before."""
    links: dict[tuple[str, str], FactLink] = {}
    for fact in facts:
        before = links.get((fact.subject, fact.relation))
        older = (*before.superseded, before.current) if before else ()
        links[fact.subject, fact.relation] = FactLink(fact, older)
    return links


_BY_NAME = {relation.name: relation for relation in RELATIONS}


def _single_hop(links: dict[tuple[str, str], FactLink], most: int, rng: random.Random) -> list[ChainQuestion]:
    overridden = [link for link in links.values() if link.superseded]
    picked = rng.sample(overridden, min(most, len(overridden)))
    return [ChainQuestion(f"s{i}", _wording((link,), rng), (link,)) for i, link in enumerate(picked)]


def _multi_hop(links: dict[tuple[str, str], FactLink], most: int, rng: random.Random) -> list[ChainQuestion]:
    of_subject: dict[str, list[FactLink]] = {}
    for (subject, _), link in links.items():
        of_subject.setdefault(subject, []).append(link)
    starts = list(links.values())
    chains: list[ChainQuestion] = []
    seen = set()
    for _ in range(_TRIES * most):
        if len(chains) == most:
            break
        hops = HOPS[1 + len(chains) % (len(HOPS) - 1)]
        chain = _walk(rng.choice(starts), hops, of_subject, rng)
        key = tuple(link.current.number for link in chain)
        if len(chain) == hops and any(link.superseded for link in chain) and key not in seen:
            seen.add(key)
            chains.append(ChainQuestion(f"m{len(chains)}", _wording(chain, rng), chain))
    return chains


def _walk(
    start: FactLink, hops: int, of_subject: dict[str, list[FactLink]], rng: random.Random
) -> tuple[FactLink, ...]:
    """As far as it goes from current value to current value, never back to a name."""
    chain = [start]
    named = {start.current.subject, start.current.value}
    while len(chain) < hops:
        onward = of_subject.get(chain[-1].current.value, [])
        onward = [link for link in onward if link.current.value not in named]
        if not onward:
            break
        chain.append(rng.choice(onward))
        named.add(chain[-1].current.value)
    return tuple(chain)


def _wording(chain: Sequence[FactLink], rng: random.Random) -> str:
    phrase = chain[0].current.subject
    for link in chain[:-1]:
        phrase = rng.choice(_BY_NAME[link.current.relation].nouns).format(s=phrase)
    return rng.choice(_BY_NAME[chain[-1].current.relation].asks).format(s=phrase)
