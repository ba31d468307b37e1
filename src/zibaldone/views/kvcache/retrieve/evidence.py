"""Blocks as evidence: the messages that they are of, as text."""

from __future__ import annotations

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import ChannelScore, Message
from zibaldone.models.embedding import embed
from zibaldone.models.static import StaticEmbedder
from zibaldone.search.question import Question
from zibaldone.search.ranker import Explanation, score
from zibaldone.search.unit_index import UnitIndex
from zibaldone.views.base import Generation, Retrieved
from zibaldone.views.kvcache.retrieve.probe import Choice
from zibaldone.views.kvcache.storage import manifest
from zibaldone.views.kvcache.storage.store import NAME
from zibaldone.views.toolkit import (
    MOST_UNREAD,
    OFFERED,
    cut,
    evidence_of,
    fill,
    tail,
    to_units,
)

_RANK = 60  # c of reciprocal ranks
Channels = tuple[ChannelScore, ...]


# (messages of the chosen blocks by seq, without what is gone by now; those in no block yet, or in one that
# is to be encoded again; a note)
Logged = tuple[dict[int, Message], list[Message], str]


def look_up(
    connection: Connection, question: Question, generation: Generation | None, choice: Choice | None
) -> Logged:
    """Return evidence from the chosen blocks, and from messages that are in no block yet."""
    user, session = question.scope.user, question.scope.session
    cursor = generation.cursor if generation else 0
    behind = tail(connection, user, cursor, session=session, most=MOST_UNREAD, whole=True)
    unmade = manifest.unmade_seqs(connection, generation) if generation else set()
    again = log.fetch(connection, user, sorted(unmade))
    seqs = {seq for block in choice.blocks for seq in block.tile.seqs} - unmade if choice else set()
    waiting = [m for _, m in sorted(again.items()) if session in (None, m.session)] + behind.messages
    return log.fetch(connection, user, sorted(seqs)), waiting, behind.note


def retrieved(
    logged: Logged, question: Question, choice: Choice | None, words: StaticEmbedder, note: str
) -> Retrieved:
    """Fuse by rank what attention found and what is in no block yet.

    The confidence is the words', which the ranker of all views gives.
    """
    chosen, unread, of_tail = logged
    messages = [*chosen.values(), *unread]
    units = to_units(messages, cut(messages, words))
    considered = (len(choice.index.blocks) if choice else 0) + len(unread)
    notes = "; ".join(filter(None, (note, of_tail)))
    known = _attention(choice)
    if not units:
        return Retrieved((), considered, 0.0, known.get, notes)
    index = UnitIndex(words.dimension, words)
    index.extend(units, embed(words, [unit.text for unit in units]))
    scores = score(index, question.embedded(words))
    best: dict[int, int] = {}  # by seq, the row of each message's best passage by words
    total = scores.total.round(4).tolist()
    for row in sorted(range(len(units)), key=lambda row: (-total[row], -units[row].seq)):
        best.setdefault(units[row].seq, row)
    by_words = [seq for seq in best if seq not in chosen]
    of_words = Explanation.of(index, scores).of_rows([best[seq] for seq in by_words])
    known = dict(zip(by_words, of_words, strict=True)) | known
    attended = dict.fromkeys(seq for block in (choice.blocks if choice else ()) for seq in block.tile.seqs)
    ranked = [
        (_RANK + rank, place, units[best[seq]])
        for place, seqs in enumerate(([seq for seq in attended if seq in chosen and seq in best], by_words))
        for rank, seq in enumerate(seqs, 1)
    ]
    ranked.sort(key=lambda entry: entry[:2])
    evidence = fill(
        (evidence_of(unit, NAME, 1 / place, known.get(unit.seq, ())) for place, _, unit in ranked),
        int(OFFERED * question.budget_tokens),
        words.count,
    )
    return Retrieved(evidence, considered, scores.confidence, known.get, notes)


def _attention(choice: Choice | None) -> dict[int, Channels]:
    """Map each message to the rank of its best block among all, and to its score."""
    if choice is None:
        return {}
    scores = choice.scores
    known: dict[int, Channels] = {}
    for rank, place in enumerate(sorted(range(len(scores)), key=lambda i: (-scores[i], i)), 1):
        value = round(float(scores[place]), 4)
        for seq in choice.index.blocks[place].tile.seqs:
            known.setdefault(seq, (ChannelScore("attention", rank if value > float("-inf") else 0, value),))
    return known
