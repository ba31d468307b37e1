"""Tasks of the hierarchy view: of appendix C.1, and `Predict`, which is of the paper's code.

Each has an answer without a model: `offline`.

Docstrings of result classes are in the JSON schema that models are sent: another word is another prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

import regex
from pydantic import Field

from zibaldone.models.task import NOT_SENT, ShownMessage, Task, TaskResult
from zibaldone.text.dated_text import day_in_words, resolved
from zibaldone.text.faithfulness import SourceTexts, names_and_numbers, nearest, with_sources
from zibaldone.text.sentences import sentences
from zibaldone.text.words import words
from zibaldone.views.hierarchy.episodes import LONGEST, SHORTEST

_MOST = 64  # statements that a model may list
_TITLE_WORDS = 25  # 20 are asked for
_NAME_WORDS = 20  # 12 are asked for
_MOST_NUMBERS = 16  # more are a table, and no narrative holds one
_NUMBER = regex.compile(r"\p{N}{2,}(?:[.,:]\p{N}+)*")  # a lone digit may be spelt out


class Starts(TaskResult):
    """Seqs of the messages that begin an episode, but for the first."""

    starts: list[int]


class Narrated(TaskResult):
    """An episode, told."""

    title: str
    narrative: str


class Expected(TaskResult):
    """What an episode probably says."""

    expected: Annotated[list[str], Field(max_length=_MOST)]


class StatedFact(TaskResult):
    """One fact that a model wrote."""

    text: str
    sources: list[int]


class NewFacts(TaskResult):
    """The facts of an episode that were not expected."""

    statements: Annotated[list[StatedFact], Field(max_length=_MOST)]


class ThemeName(TaskResult):
    """The name of a theme."""

    name: str


@dataclass(frozen=True)
class KnownFact:
    """A semantic as a model sees it."""

    day: str
    text: str


@dataclass(frozen=True)
class FindEpisodes(Task[Starts]):
    """Find where the open messages of a session are to be cut."""

    view = "hierarchy"
    prompt = "episodes"
    result = Starts
    max_tokens = 256

    messages: tuple[ShownMessage, ...]
    shortest: int = SHORTEST
    longest: int = LONGEST

    def offline(self) -> Starts:
        """Empty: the caller then cuts as without a model."""
        return Starts(starts=[])

    def check(self, result: Starts) -> None:
        """Raises ValueError if none of the seqs is a message's."""
        known = {message.seq for message in self.messages}
        if result.starts and known.isdisjoint(result.starts):
            raise ValueError(f"starts has {result.starts[:8]}: give seqs of `messages`")

    def places(self, result: Starts) -> list[int]:
        """Places of the messages that begin an episode, without the first; unknown seqs are ignored."""
        starts = set(result.starts)
        return [place for place, message in enumerate(self.messages) if place and message.seq in starts]


@dataclass(frozen=True)
class Narrate(Task[Narrated]):
    """Write an episode's title and narrative."""

    view = "hierarchy"
    prompt = "narrate"
    result = Narrated
    max_tokens = 1536

    messages: tuple[ShownMessage, ...]
    offline: Callable[[], Narrated] = field(metadata=NOT_SENT, compare=False)

    def check(self, result: Narrated) -> None:
        """Raises ValueError if anything is empty, a speaker is not named, or a number is lost."""
        if (
            not result.title.strip()
            or len(result.title.split()) > _TITLE_WORDS
            or "\n" in result.title.strip()
        ):
            raise ValueError("title must be one line of 1 to 20 words")
        if not result.narrative.strip():
            raise ValueError("narrative must not be empty")
        narrative_words = set(words(result.narrative))
        for speaker in dict.fromkeys(message.speaker for message in self.messages):
            if narrative_words.isdisjoint(words(speaker)):
                raise ValueError(f"the narrative does not name the speaker {speaker!r}")
        narrative_numbers = set(_numbers(result.narrative))
        given = {number for message in self.messages for number in _numbers(message.text)}
        if (lost := given - narrative_numbers) and len(given) <= _MOST_NUMBERS:
            raise ValueError(f"the narrative has lost numbers of the messages: {sorted(lost)}")

    def borne_out(self, result: Narrated) -> Narrated:
        """Drop sentences with a name or number that no message has, or with a "not" added or lost.

        A title with such a name, and a narrative that does not pass `check` any more, are the offline ones.
        """
        given = SourceTexts([_text(message) for message in self.messages], _context(self.messages))
        text = result.narrative
        spans = sentences(text)
        kept = [span for span in spans if not _strays(text[slice(*span)], given)]
        offline = self.offline()
        titled = _strays(result.title, given)
        grounded = Narrated(
            title=offline.title if titled else result.title,
            narrative=text if kept == spans else " ".join(text[start:end] for start, end in kept),
        )
        try:
            self.check(grounded)
        except ValueError:
            return Narrated(title=grounded.title, narrative=offline.narrative)
        return grounded


@dataclass(frozen=True)
class Predict(Task[Expected]):
    """Predict an episode's statements before it is read: the first half of predict-then-correct."""

    view = "hierarchy"
    prompt = "predict"
    result = Expected
    max_tokens = 768

    title: str
    known: tuple[KnownFact, ...]
    offline: Callable[[], Expected] = field(metadata=NOT_SENT, compare=False)

    def borne_out(self, result: Expected) -> Expected:
        """Drop predictions with a number that no input has: they would make news look known."""
        given = set(_numbers(" ".join([self.title, *(f"{fact.day} {fact.text}" for fact in self.known)])))
        return Expected(expected=[text for text in result.expected if given.issuperset(_numbers(text))])


@dataclass(frozen=True)
class Distil(Task[NewFacts]):
    """Extract an episode's facts beyond the expected ones: the second half of predict-then-correct."""

    view = "hierarchy"
    prompt = "distil"
    result = NewFacts
    max_tokens = 2048

    messages: tuple[ShownMessage, ...]
    expected: tuple[str, ...]

    def offline(self) -> NewFacts:
        """Empty: the caller then takes the facts that it has without a model."""
        return NewFacts(statements=[])

    def check(self, result: NewFacts) -> None:
        """Raises ValueError if all of several facts are refused."""
        facts, refused = self.judged(result)
        if refused and not facts:
            raise ValueError(refused[0][1])

    def judged(self, result: NewFacts) -> tuple[list[StatedFact], list[tuple[StatedFact, str]]]:
        """(facts that their messages bear out, refused ones and why); unknown seqs are ignored.

        A word of an earlier message that came by `expected` would outlive that message's forgetting.
        """
        by_seq = {message.seq: message for message in self.messages}
        context = _context(self.messages)
        facts: list[StatedFact] = []
        refused: list[tuple[StatedFact, str]] = []

        def read(seqs: Sequence[int]) -> SourceTexts:
            return SourceTexts([_text(by_seq[seq]) for seq in seqs], context)

        for fact in result.statements:
            sources = [seq for seq in dict.fromkeys(fact.sources) if seq in by_seq]
            if not sources:
                why = f"the fact {fact.text[:60]!r} names no message of the episode"
                refused.append((StatedFact(text=fact.text, sources=[]), why))
                continue
            sources, why = with_sources(fact.text, sources, nearest(sources, by_seq), read)
            known = StatedFact(text=fact.text, sources=sources)
            if why:
                refused.append((known, why))
            else:
                facts.append(known)
        return facts, refused


@dataclass(frozen=True)
class NameTheme(Task[ThemeName]):
    """Name a guided theme by its facts; "" where no model does."""

    view = "hierarchy"
    prompt = "name_theme"
    result = ThemeName
    max_tokens = 64

    facts: tuple[str, ...]

    def offline(self) -> ThemeName:
        return ThemeName(name="")

    def check(self, result: ThemeName) -> None:
        """Raises ValueError for a name of several lines, or with names and numbers that no fact has."""
        name = result.name.strip()
        if not name or "\n" in name or len(name.split()) > _NAME_WORDS:
            raise ValueError(f"name must be one line of 1 to {_NAME_WORDS} words")
        if strange := _strays(name, SourceTexts(list(self.facts), "")):
            raise ValueError(f"name has what no fact says: {strange[:8]}")


def _text(message: ShownMessage) -> str:
    """Text of a message with its relative dates resolved."""
    return (
        resolved(message.text, datetime.fromisoformat(message.time).date()) if message.time else message.text
    )


def _context(messages: Sequence[ShownMessage]) -> str:
    """Speakers and times, which may be told though no message says them."""
    times = {datetime.fromisoformat(message.time) for message in messages if message.time}
    days = [f"{day_in_words(time.date(), weekday=True)} {time.isoformat()} {time:%I:%M %p}" for time in times]
    return " ".join([*(message.speaker for message in messages), *days])


def _strays(text: str, given: SourceTexts) -> list[str]:
    """Names and numbers that the sources lack; else words whose negation differs."""
    named = names_and_numbers(text)
    return [word for word in given.invented(text) if word in named] or given.turned(text)


def _numbers(text: str) -> list[str]:
    return [number.replace(",", "") for number in _NUMBER.findall(text)]
