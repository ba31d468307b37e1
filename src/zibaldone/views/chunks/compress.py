"""COMPRESS without a model: Algorithm 1, line 4. Keeps the sentences that carry facts, word for word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zibaldone.text.facts import Worth, heard_before
from zibaldone.text.salience import names
from zibaldone.text.words import words
from zibaldone.views.chunks.chunk import Item
from zibaldone.views.chunks.gate import Piece


def compress(pieces: Sequence[Piece]) -> list[Item]:
    """An item per piece that says something: its sentences less politeness, echoes and repetitions."""
    items: list[Item] = []
    kept: set[tuple[str, tuple[str, ...]]] = set()  # sentences, by their speaker and words
    as_messages = [replace(piece.message, content=piece.text) for piece in pieces]
    for piece, (message, heard) in zip(pieces, heard_before(as_messages), strict=True):
        # Whom a sentence calls by name is something that it says, also in a greeting: docs/decisions.md.
        sentences = replace(heard, parties=frozenset()).sentences_of(message)
        if not any(sentence.worth >= Worth.REMARK for sentence in sentences):
            continue
        spans = []
        for sentence in sentences:
            spoken = (message.speaker, tuple(words(sentence.text)))
            calls = sentence.worth is Worth.COURTESY and names(sentence.text)
            if (calls or sentence.worth > Worth.ECHO) and spoken not in kept:
                kept.add(spoken)
                spans.append((sentence.start, sentence.end))
        if spans:
            text = " ".join(piece.text[start:end] for start, end in spans)
            items.append(verbatim(len(items) + 1, piece, text, spans[0][0]))
    return items


def verbatim(number: int, piece: Piece, text: str, start: int) -> Item:
    """An item in the message's own words."""
    message = piece.message
    assert message.time is not None
    return Item(
        id=number,
        text=text,
        speaker=message.speaker,
        sources=(message.seq,),
        time=message.time,
        session=message.session,
        place=piece.start + start,
    )
