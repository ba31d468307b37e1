"""From nodes to what is offered: messages with their relative dates resolved, whole where they are short."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from zibaldone.core import Evidence, Message
from zibaldone.models.base import Tokenizer
from zibaldone.text.dated_text import resolved
from zibaldone.text.sentences import cut_messages
from zibaldone.text.words import terms
from zibaldone.views.hierarchy.narrative import day_of
from zibaldone.views.hierarchy.nodes import Episode, Statement

NAME = "hierarchy"

Fetch = Callable[[Sequence[int]], Mapping[int, Message]]


@dataclass(frozen=True, slots=True)
class Part:
    """A message, or a passage of a long one, with its relative dates resolved."""

    message: Message
    text: str
    place: int  # where it starts in the message as it is told
    whole: bool


def parts_of(messages: Sequence[Message], tokenizer: Tokenizer) -> dict[int, tuple[Part, ...]]:
    """By seq; a message of white space has none."""
    told = [resolved(one.content.strip(), day_of(one)) for one in messages]
    cuts = cut_messages(told, [one.speaker for one in messages], tokenizer.count)
    return {
        message.seq: tuple(Part(message, text[p.start : p.end], p.start, len(cut) == 1) for p in cut)
        for message, text, cut in zip(messages, told, cuts, strict=True)
        if cut
    }


def part_with(statement: Statement, parts: Sequence[Part]) -> int:
    """The place of the part that says it: which shares most terms with it, of equals the first."""
    if len(parts) == 1:
        return 0
    wanted = set(terms(statement.verbatim))
    shared = [len(wanted.intersection(terms(part.text))) for part in parts]
    return shared.index(max(shared))


def of_part(part: Part) -> Evidence:
    """Without score and tokens, which are given where it is offered."""
    message = part.message
    assert message.time is not None  # what is stored has one
    return Evidence(
        text=part.text,
        speaker=message.speaker,
        sources=(message.seq,),
        time=message.time,
        session=message.session,
        view=NAME,
        kind="message" if part.whole else "passage",
        score=0.0,
        tokens=0,
        place=part.place,
    )


def of_semantic(said: Sequence[Statement], time: datetime, session: str) -> Evidence:
    """A fact in a model's words, citing the messages of these statements; `time` is that of the first."""
    return Evidence(
        text=said[0].text,
        speaker=None,
        sources=tuple(sorted({one.seq for one in said})),
        time=time,
        session=session,
        view=NAME,
        kind="semantic",
        score=0.0,
        tokens=0,
    )


def of_episode(episode: Episode) -> Evidence:
    """As a model told it, citing all its messages."""
    return Evidence(
        text=episode.narrative,
        speaker=None,
        sources=episode.seqs,
        time=episode.start,
        session=episode.session,
        view=NAME,
        kind="episode",
        score=0.0,
        tokens=0,
    )
