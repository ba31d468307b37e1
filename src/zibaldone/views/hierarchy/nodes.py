"""Nodes of the hierarchy (section 3.2), and how episodes are told without a model (appendix C.1).

Predict-then-correct (of the paper's code, not its text) needs a model: it is shown what the nearest known
semantics predict, and answers with what is beyond that. Without a model every sentence becomes a semantic:
which of them is a fact, and which says the same as another, is beyond an offline test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from zibaldone.core import Message
from zibaldone.text.dated_text import day_in_words, day_of, resolved
from zibaldone.text.sentences import sentences
from zibaldone.text.titles import NO_STATISTICS, telling
from zibaldone.text.words import terms, words
from zibaldone.views.hierarchy.episodes import time_of


@dataclass(frozen=True, slots=True)
class Episode:
    """A contiguous block of one session's messages, with title and narrative."""

    id: int  # rises by one in the order of creation
    session: str
    seqs: tuple[int, ...]
    title: str
    narrative: str  # third person, relative dates resolved
    start: datetime
    end: datetime
    made_by: str  # the model's name; empty when no model was asked
    degraded: str = ""  # why a model's answer is missing


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact as one message states it."""

    seq: int
    text: str  # stands alone: the speaker's name for "I", relative dates resolved
    verbatim: str  # the words of the message
    start: int = 0  # where they begin in it
    speaker: str = ""  # whose message it is


@dataclass(frozen=True, slots=True)
class Semantic:
    """A reusable fact of an episode: the statement that it is known by, and others that say the same."""

    id: int  # rises by one in the order of creation
    episode: int
    statements: tuple[Statement, ...]  # not empty
    time: datetime  # of the first statement's message

    @property
    def text(self) -> str:
        return self.statements[0].text

    @property
    def seqs(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(one.seq for one in self.statements))


_TITLE_WORDS = 12
_SPEAKERS = 3  # named in a title


def speaker_of(message: Message) -> str:
    """Name of the speaker in a narrative, or "the user", "the assistant"."""
    return message.name or f"the {message.role}"


def title(messages: Sequence[Message], df: Mapping[str, int] = NO_STATISTICS, n: int = 0) -> str:
    """Title of at most twelve words: the day, the speakers, and the most telling words."""
    opening = f"{day_in_words(day_of(messages[0]))}, {_speakers(messages)}"
    room = _TITLE_WORDS - len(opening.split())
    texts = [message.content for message in messages]
    parties = frozenset(word for message in messages for word in words(message.speaker))
    subjects = telling(texts, max(room, 0), parties=parties, df=df, n=n)
    return f"{opening}: {', '.join(subjects)}" if subjects else opening


def narrative(messages: Sequence[Message]) -> str:
    """A line on who talked when, then each message on a line, with relative dates resolved.

    Nothing is left out but messages of white space. The time is given to the minute and in the zone in which
    it was stored.
    """
    lines = [f"On {_clock(messages[0])}, {_speakers(messages, most=len(messages))} talked."]
    before = day_of(messages[0])
    for message in messages:
        content = " ".join(message.content.split())
        if not content:
            continue
        if (day := day_of(message)) != before:
            lines.append(f"On {_clock(message)}:")
            before = day
        lines.append(f"{message.name or message.role.capitalize()}: {resolved(content, day)}")
    return "\n".join(lines)


def _speakers(messages: Sequence[Message], most: int = _SPEAKERS) -> str:
    speakers = list(dict.fromkeys(speaker_of(message) for message in messages))
    shown = speakers[:most] if len(speakers) <= most else [*speakers[: most - 1], "others"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _clock(message: Message) -> str:
    time = time_of(message)
    return f"{day_in_words(time.date(), weekday=True).replace(',', '')} at {time:%H:%M}"


def statements(messages: Sequence[Message]) -> list[Statement]:
    """Sentences with a content word, each with its speaker and dates, so that it stands alone."""
    stated = []
    for message in messages:
        for start, end in sentences(message.content):
            verbatim = message.content[start:end]
            if terms(verbatim):
                line = f'{speaker_of(message)}: "{" ".join(verbatim.split())}"'
                text = resolved(line[0].upper() + line[1:], day_of(message))
                stated.append(Statement(message.seq, text, verbatim, start, message.speaker))
    return stated
