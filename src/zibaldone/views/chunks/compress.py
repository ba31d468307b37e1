"""COMPRESS without a model: Algorithm 1, line 4. Keeps the sentences that carry facts, word for word."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from zibaldone.text.salience import carries_fact, is_echo, is_phatic
from zibaldone.text.sentences import sentences
from zibaldone.text.words import terms, words
from zibaldone.views.chunks.chunk import Item
from zibaldone.views.chunks.gate import Piece

_HEARD = 2  # messages back that an echo can repeat


def compress(pieces: Sequence[Piece]) -> list[Item]:
    """An item per piece that says something: its sentences less greetings, echoes and repetitions."""
    items: list[Item] = []
    heard: deque[tuple[str, set[str]]] = deque(maxlen=_HEARD)  # (speaker, terms) of the last messages
    said: set[tuple[str, tuple[str, ...]]] = set()
    for piece in pieces:
        speaker = piece.message.speaker
        others = {term for who, theirs in heard if who != speaker for term in theirs}
        kept = list(_kept(piece, speaker, others, said))
        heard.append((speaker, set(terms(piece.text))))
        if kept:
            text = " ".join(piece.text[start:end] for start, end in kept)
            items.append(verbatim(len(items) + 1, piece, text, kept[0][0]))
    return items


def _kept(
    piece: Piece, speaker: str, others: set[str], said: set[tuple[str, tuple[str, ...]]]
) -> Iterable[tuple[int, int]]:
    spans = sentences(piece.text)
    if not any(carries_fact(piece.text[start:end]) for start, end in spans):
        return
    for start, end in spans:
        sentence = piece.text[start:end]
        again = (speaker, tuple(words(sentence)))
        if again not in said and not is_phatic(sentence) and not is_echo(sentence, others):
            said.add(again)
            yield start, end


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
