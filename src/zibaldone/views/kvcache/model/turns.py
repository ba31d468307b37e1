"""Messages as tokens: how turns are written for the model, and how they are cut into blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from zibaldone.core import Message
from zibaldone.errors import InvalidInput, UnsupportedModel
from zibaldone.views.kvcache.config import Alignment


@dataclass(frozen=True, slots=True)
class TurnFormat:
    """Format of a conversation for a model, in pieces that can be concatenated."""

    turn: Callable[[Message], str]  # a whole message, with all that marks its beginning and end
    ask: Callable[[datetime], str]  # what makes the model answer now: the head of its own turn
    pinned: str = ""  # after the first token: the system prompt; never searched, always there


def plain(system: str = "") -> TurnFormat:
    """`Ann (2 March 2024): words`, a line per message: for base models and most others."""

    def date(time: datetime | None) -> str:
        return f" ({time.day} {time:%B %Y})" if time else ""

    return TurnFormat(
        turn=lambda message: f"{message.speaker}{date(message.time)}: {message.content}\n",
        ask=lambda now: f"assistant{date(now)}:",
        pinned=f"{system}\n" if system else "",
    )


def chat(tokenizer: Any, system: str = "") -> TurnFormat:
    """The format of the tokenizer's own chat template.

    A template writes conversations, not messages: a message is what it adds to a conversation of one other.
    Raises UnsupportedModel for a tokenizer without a template, or with one that does not simply add.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise UnsupportedModel("its tokenizer has no chat template: use format=plain()")

    def written(turns: list[dict[str, str]], *, ask: bool = False) -> str:
        try:
            return str(tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=ask))
        except Exception as error:  # whatever a template raises: it is somebody else's program
            raise UnsupportedModel(
                f"its chat template does not take the turns {[turn['role'] for turn in turns]}: {error}"
            ) from error

    def added(role: str, content: str, *, ask: bool = False) -> str:
        anchor = [{"role": "user", "content": "a"}]
        if role == "user":
            anchor.append({"role": "assistant", "content": "b"})
        before, after = written(anchor), written([*anchor, {"role": role, "content": content}], ask=ask)
        if not after.startswith(before):
            raise UnsupportedModel("its chat template changes earlier messages: use format=plain()")
        return after[len(before) :]

    def turn(message: Message) -> str:
        date = f"[{message.time.day} {message.time:%B %Y}] " if message.time else ""
        name = f"{message.name}: " if message.name else ""
        return added("assistant" if message.role == "assistant" else "user", f"{date}{name}{message.content}")

    head = added("user", "x", ask=True).removeprefix(added("user", "x"))
    first = [{"role": "user", "content": "x"}]
    opening = written([{"role": "system", "content": system}, *first] if system else first)
    pinned = opening.removesuffix(added("user", "x"))  # a template's own system prompt, where none is given
    bos = getattr(tokenizer, "bos_token", None)
    return TurnFormat(turn, lambda _: head, pinned.removeprefix(bos) if bos else pinned)


PREFIX = 0  # where the seq of a message would stand: tokens of the pinned prefix, in block 0


@dataclass(frozen=True, slots=True)
class TurnPiece:
    """A message as tokens, or as much of it as fits into one segment."""

    seq: int  # or PREFIX
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tile:
    """Position and tokens of a block, before it has keys."""

    position: int  # of its first token in the segment
    ids: tuple[int, ...]
    runs: tuple[tuple[int, int], ...]  # (seq, tokens): whose tokens these are, in their order

    @property
    def seqs(self) -> tuple[int, ...]:
        """Seqs of the messages that it has tokens of."""
        return tuple(dict.fromkeys(seq for seq, _ in self.runs if seq != PREFIX))


def tokens_of(tokenizer: Any, text: str) -> tuple[int, ...]:
    """Token ids of a text, without marks of beginning and end."""
    return tuple(int(i) for i in tokenizer(text, add_special_tokens=False)["input_ids"])


def question_of(tokenizer: Any, form: TurnFormat, text: str, now: datetime) -> tuple[int, ...]:
    """Tokens of a question as it will stand a turn later, and of the head of its answer."""
    turn = tokens_of(tokenizer, form.turn(Message(text, time=now)))
    return turn + tokens_of(tokenizer, form.ask(now))


def pieces(seq: int, ids: Sequence[int], most: int) -> Iterator[TurnPiece]:
    """Cut a message into pieces of at most `most` tokens."""
    for start in range(0, len(ids), most):
        yield TurnPiece(seq, tuple(ids[start : start + most]))


def tiles(stream: Iterable[TurnPiece], start: int, block_tokens: int, align: Alignment) -> list[Tile]:
    """Cut the pieces of a segment, of which the first begins at token `start`, into blocks.

    With "turn" each piece begins a block; with "grid" blocks run on over messages, and only the last one may
    be short.
    """
    laid_tiles: list[Tile] = []
    position = start
    for piece in stream:
        ids = piece.ids
        if align == "grid" and laid_tiles and (room := block_tokens - len(laid_tiles[-1].ids)) > 0:
            head, ids = ids[:room], ids[room:]
            if head:
                laid_tiles[-1] = _longer(laid_tiles[-1], piece.seq, head)
                position += len(head)
        for begin in range(0, len(ids), block_tokens):
            part = ids[begin : begin + block_tokens]
            laid_tiles.append(Tile(position, part, ((piece.seq, len(part)),)))
            position += len(part)
    return laid_tiles


def _longer(tile: Tile, seq: int, ids: tuple[int, ...]) -> Tile:
    runs = [*tile.runs, (seq, len(ids))]
    if len(runs) > 1 and runs[-2][0] == seq:
        runs[-2:] = [(seq, runs[-2][1] + len(ids))]
    return replace(tile, ids=tile.ids + ids, runs=tuple(runs))


def pieces_of(laid_tiles: Iterable[Tile], without: frozenset[int] = frozenset()) -> Iterator[TurnPiece]:
    """Pieces that tiles were cut from, without those of the messages `without`."""
    seq: int | None = None
    ids: list[int] = []
    for tile in laid_tiles:
        at = 0
        for number, tokens in tile.runs:
            if number != seq and seq is not None and ids:
                yield TurnPiece(seq, tuple(ids))
                ids = []
            seq = number
            if number not in without:
                ids += tile.ids[at : at + tokens]
            at += tokens
    if seq is not None and ids:
        yield TurnPiece(seq, tuple(ids))


def check_tokenizer(tokenizer: Any, size: int) -> None:
    """Raises InvalidInput unless it is a tokenizer of the model's."""
    if not callable(tokenizer) or not hasattr(tokenizer, "decode"):
        raise InvalidInput("tokenizer must be the model's Transformers tokenizer, as AutoTokenizer loads it")
    if len(tokenizer) > size and max(tokenizer.get_vocab().values()) >= size:
        raise InvalidInput(
            f"the tokenizer has ids up to {max(tokenizer.get_vocab().values())}, the model only {size}: it is"
            " another model's"
        )
