"""Blocks as evidence: the messages that they are of, as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import ChannelScore, Evidence, Message
from zibaldone.models.base import Tokenizer
from zibaldone.rendering import line, line_tokens
from zibaldone.text.sentences import passages
from zibaldone.text.words import terms
from zibaldone.views.base import Generation, Query, Retrieved
from zibaldone.views.kvcache.retrieve.probe import Choice
from zibaldone.views.kvcache.storage import manifest
from zibaldone.views.kvcache.storage.manifest import KVBlock
from zibaldone.views.kvcache.storage.store import NAME

_MOST_TAIL = 1000  # messages that are in no block yet and that one recall looks through, the newest
_PASSAGE_TOKENS = 128  # of a long message
_RANK = 60  # c of reciprocal ranks
_OFFERED = 2  # budgets' worth


def offer_of(
    connection: Connection,
    generation: Generation | None,
    query: Query,
    choice: Choice | None,
    tokenizer: Tokenizer,
    note: str,
) -> Retrieved:
    """What was found by attention and what is in no block yet, one after the other by rank."""
    user, session = query.scope.user, query.scope.session
    wanted = set(terms(query.text))
    tail = log.read(connection, user, session=session, after=generation.cursor if generation else 0)
    if generation is not None:
        unmade = log.fetch(connection, user, sorted(manifest.unmade_seqs(connection, generation)))
        tail = [m for _, m in sorted(unmade.items()) if session in (None, m.session)] + tail
    cut_off = len(tail) > _MOST_TAIL
    overlaps = {m.seq: len(wanted.intersection(terms(m.content))) for m in tail[-_MOST_TAIL:]}
    waiting = sorted(tail[-_MOST_TAIL:], key=lambda m: (-overlaps[m.seq], -m.seq))
    found = _passages(connection, user, choice.blocks, choice.index.blocks, tokenizer) if choice else []
    ranked = [
        (1 / (_RANK + place), 0, message, start, text)
        for place, (message, start, text) in enumerate(found, 1)
    ]
    ranked += [
        (1 / (_RANK + place), 1, message, start, text)
        for place, message in enumerate(waiting, 1)
        for start, text in _cut(message.content, tokenizer)[:1]
    ]
    ranked.sort(key=lambda one: (-one[0], one[1]))
    places = _places(choice)
    evidence: list[Evidence] = []
    left = _OFFERED * query.budget_tokens
    for score, _, message, start, text in ranked:
        (tokens,) = line_tokens([line(message.speaker, text)], tokenizer.count)
        if evidence and tokens > left:
            break
        left -= tokens
        assert message.time is not None
        evidence.append(
            Evidence(
                text=text,
                speaker=message.speaker,
                sources=(message.seq,),
                time=message.time,
                session=message.session,
                view=NAME,
                kind="turn",
                score=score,
                tokens=tokens,
                place=start,
                channels=places.get(message.seq, ())
                or (ChannelScore("words", 0, overlaps.get(message.seq, 0)),),
            )
        )
    notes = [note] if note else []
    if cut_off:
        notes.append(f"only the newest {_MOST_TAIL} messages that are in no block yet were looked through")
    known = dict(places)
    known.update({m.seq: (ChannelScore("words", 0, overlaps[m.seq]),) for m in waiting if m.seq not in known})
    return Retrieved(
        tuple(evidence),
        (len(choice.index.blocks) if choice else 0) + len(waiting),
        _relevance(wanted, evidence),
        _explanation(known),
        "; ".join(notes),
        blocks_read=len(choice.blocks) if choice else 0,
    )


def _passages(
    connection: Connection,
    user: str,
    blocks: Sequence[KVBlock],
    every: Sequence[KVBlock],
    tokenizer: Tokenizer,
) -> list[tuple[Message, int, str]]:
    """(message, start, text) in the order of the blocks: of a long message, the passage around a block."""
    messages = log.fetch(connection, user, sorted({seq for block in blocks for seq in block.tile.seqs}))
    cuts = {seq: _cut(message.content, tokenizer) for seq, message in messages.items()}
    shares = _shares(every, {seq for seq, parts in cuts.items() if len(parts) > 1})
    found: dict[tuple[int, int], tuple[Message, int, str]] = {}
    for block in blocks:
        for seq in block.tile.seqs:
            if seq in messages:
                at = shares.get((seq, block.number), 0.0) * len(messages[seq].content)
                start, text = max((part for part in cuts[seq] if part[0] <= at), default=cuts[seq][0])
                found.setdefault((seq, start), (messages[seq], start, text))
    return list(found.values())


def _shares(every: Sequence[KVBlock], seqs: set[int]) -> dict[tuple[int, int], float]:
    """(seq, block) -> how much of the message lies before the middle of the block, for these messages."""
    before: dict[tuple[int, int], float] = {}
    length = dict.fromkeys(seqs, 0)
    for block in sorted(every, key=lambda block: block.place) if seqs else ():
        for seq, tokens in block.tile.runs:
            if seq in seqs:
                before[seq, block.number] = length[seq] + tokens / 2
                length[seq] += tokens
    return {(seq, number): middle / length[seq] for (seq, number), middle in before.items()}


def _cut(text: str, tokenizer: Tokenizer) -> list[tuple[int, str]]:
    spans = passages(text, _PASSAGE_TOKENS, tokenizer.count)
    return [(start, text[start:end]) for start, end in spans] or [(0, text)]


def _places(choice: Choice | None) -> Mapping[int, tuple[ChannelScore, ...]]:
    """Of each message: the rank of its best block among all, and its score."""
    if choice is None:
        return {}
    best = choice.ranked.scores
    found: dict[int, tuple[ChannelScore, ...]] = {}
    order = sorted(range(len(best)), key=lambda i: (-best[i], i))
    for rank, place in enumerate(order, 1):
        for seq in choice.index.blocks[place].tile.seqs:
            if seq not in found:
                score = round(float(best[place]), 4)
                found[seq] = (ChannelScore("attention", rank if score > float("-inf") else 0, score),)
    return found


def _relevance(wanted: set[str], evidence: Sequence[Evidence]) -> float:
    """The share of the question's words that the best few units have: attention has no absolute scale."""
    if not wanted:
        return 0.0
    said = {term for unit in evidence[:5] for term in terms(unit.text)}
    return len(wanted & said) / len(wanted)


def _explanation(
    known: Mapping[int, tuple[ChannelScore, ...]],
) -> Callable[[int], tuple[ChannelScore, ...] | None]:
    return lambda seq: known.get(seq)
