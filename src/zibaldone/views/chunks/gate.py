"""The active chunk and its gate (Algorithm 1, lines 2, 3 and 12), and COMPRESS without a model (line 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zibaldone.core import Message
from zibaldone.models.base import Tokenizer
from zibaldone.text.sentences import sentences
from zibaldone.text.words import terms, words
from zibaldone.views.chunks.chunk import Item
from zibaldone.views.toolkit import cut


@dataclass(frozen=True, slots=True)
class Piece:
    """A message, or a passage of a long one."""

    message: Message
    start: int  # message.content[start:end]
    end: int
    tokens: int  # of the rendered line and its line break

    @property
    def text(self) -> str:
        return self.message.content[self.start : self.end]


def pieces(messages: Sequence[Message], tokenizer: Tokenizer) -> list[list[Piece]]:
    """Each message in pieces; none for a message of white space."""
    return [
        [Piece(message, start, end, n) for (start, end), n in zip(whole.spans, whole.tokens, strict=True)]
        for message, whole in zip(messages, cut(messages, tokenizer), strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Gate:
    """A full active chunk, to be compacted."""

    pieces: tuple[Piece, ...]
    seqs: tuple[int, ...]  # the messages that it ends with: those that are in no earlier gate
    last_seq: int

    @property
    def tokens(self) -> int:
        """Raw tokens; less than twice the gate."""
        return sum(piece.tokens for piece in self.pieces)


def closed_gates(messages: Sequence[Message], gate_tokens: int, tokenizer: Tokenizer) -> list[Gate]:
    """Gates (tau_c) that these messages of one namespace close, from its first uncompacted message on.

    What comes after the last gate stays in the active chunk. A gate closes at the end of a message; only one
    that is longer than the gate is spread over several, so that no chunk is as long as two gates.
    """
    gates: list[Gate] = []
    active: list[Piece] = []
    seqs: list[int] = []
    filled = 0

    def close(seq: int) -> None:
        nonlocal filled
        gates.append(Gate(tuple(active), tuple(seqs), seq))
        active.clear()
        seqs.clear()
        filled = 0

    for message, parts in zip(messages, pieces(messages, tokenizer), strict=True):
        giant = sum(part.tokens for part in parts) > gate_tokens
        seqs.append(message.seq)
        for part in parts:
            active.append(part)
            filled += part.tokens
            if giant and filled >= gate_tokens and part is not parts[-1]:
                close(message.seq)
                seqs.append(message.seq)
        if filled >= gate_tokens or (giant and active):
            close(message.seq)
    return gates


def compress(pieces: Sequence[Piece]) -> list[Item]:
    """Keep each sentence with a content word once, word for word: an item per piece that has any."""
    items: list[Item] = []
    kept: set[tuple[str, tuple[str, ...]]] = set()  # sentences, by their speaker and words
    for piece in pieces:
        spans = []
        for start, end in sentences(piece.text):
            sentence = piece.text[start:end]
            spoken = (piece.message.speaker, tuple(words(sentence)))
            if spoken not in kept and terms(sentence):
                kept.add(spoken)
                spans.append((start, end))
        if spans:
            text = " ".join(piece.text[start:end] for start, end in spans)
            items.append(verbatim(len(items) + 1, piece, text, spans[0][0]))
    return items


def verbatim(number: int, piece: Piece, text: str, start: int) -> Item:
    """Item in the message's own words."""
    message = piece.message
    assert message.time is not None
    place = piece.start + start
    return Item(number, text, message.speaker, (message.seq,), message.time, message.session, place)
