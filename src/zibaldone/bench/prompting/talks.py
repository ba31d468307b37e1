"""Pieces of real conversations, with the questions that they alone answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import as_file
from itertools import islice, zip_longest
from pathlib import Path

from zibaldone.bench.base import Example
from zibaldone.bench.datasets import read_data_set
from zibaldone.core import Message
from zibaldone.demo.sample import CONVERSATION, NOW, USER
from zibaldone.demo.sample import questions as demo_questions
from zibaldone.importers.importing import read_file


@dataclass(frozen=True, slots=True)
class PieceOfTalk:
    """Some messages of one conversation, under a user's name of their own."""

    user: str
    messages: tuple[Message, ...]
    questions: tuple[Example, ...]  # whose evidence is all in them


def pieces_of(path: Path | None, talks: int, messages: int) -> list[PieceOfTalk]:
    """So many pieces of so many messages at most: the first of every conversation, then the second ...

    A piece begins where a session does. Without a path, of the demo's conversation.
    """
    per_user = [_of_user(user, whole, examples, messages) for user, whole, examples in _conversations(path)]
    in_turn = (piece for some in zip_longest(*per_user) for piece in some if piece is not None)
    return list(islice(in_turn, talks))


def _conversations(path: Path | None) -> Iterator[tuple[str, Sequence[Message], list[Example]]]:
    if path is None:
        with as_file(CONVERSATION) as sample:
            talks = read_file(sample, "jsonl").conversations
        yield USER, [message for talk in talks for message in talk.messages], list(_demo_examples())
        return
    data = read_data_set(path)
    for user in dict.fromkeys(example.user for example in data.examples):
        mine = [example for example in data.examples if example.user == user and example.answerable]
        yield user, data.messages(user), mine


def _demo_examples() -> Iterator[Example]:
    for number, question in enumerate(demo_questions()):
        if question.evidence:
            yield Example(
                f"demo_{number}",
                USER,
                question.question,
                question.answer,
                question.kind,
                tuple(question.evidence.values()),
                now=NOW,
            )


def _of_user(
    user: str, whole: Sequence[Message], examples: Sequence[Example], most: int
) -> Iterator[PieceOfTalk]:
    start = 0
    while start < len(whole):
        end = min(start + most, len(whole))
        texts = "\n".join(message.content for message in whole[start:end])
        name = f"{user}+{start}"
        known = tuple(
            replace(example, user=name)
            for example in examples
            if example.evidence and all(turn.strip() in texts for turn in example.evidence)
        )
        yield PieceOfTalk(name, tuple(whole[start:end]), known)
        while end < len(whole) and whole[end].session == whole[end - 1].session:
            end += 1
        start = end
