"""Questions to a user's own log whose evidence is known: the user's, or made from the log offline.

Made are two kinds, each only where one single message holds the answer:

    day      a day that only one message names: "What was said about 5 November 2024?"
    name     a name that only one message mentions: "Who or what is Kadeva?"

They share words with what answers them, more than people's questions do. So they tell views apart by what
they lose, and flatter all that searches by words: figures of made questions and of a person's do not compare.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from zibaldone.core import Message
from zibaldone.errors import InvalidInput
from zibaldone.text.dates import find_days
from zibaldone.text.names import names
from zibaldone.text.sentences import sentences

OWN = "own"  # the kind of a question that the user gave
MOST_OF_A_KIND = 20


@dataclass(frozen=True, slots=True)
class OwnQuestion:
    """One question to a conversation, and the words that answer it."""

    id: str
    kind: str
    text: str
    evidence: tuple[str, ...]  # texts whose words a recall has to hold
    now: datetime | None = None
    seqs: tuple[int, ...] = ()  # of the messages that hold it, where the question was made of one


class GivenQuestion(BaseModel):
    """A line of a file of questions; evidence are seqs, or texts that are not blank."""

    model_config = ConfigDict(strict=True)
    question: str
    evidence: list[int | Annotated[str, Field(pattern=r"\S")]] = []
    kind: str = OWN


def read_questions(path: Path, messages: Sequence[Message]) -> list[OwnQuestion]:
    """A JSON object a line: {"question": "...", "evidence": [12, "words of an answer"], "kind": "..."}.

    Evidence are seqs of messages, whose whole text is wanted, and texts, whose words are; without any, a
    question has no share of evidence, only tokens and times. Raises InvalidInput, which names the line.
    """
    contents = {message.seq: message.content for message in messages}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{str(path)!r} cannot be read: {error}") from error
    questions = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            given = GivenQuestion.model_validate_json(line)
            evidence = tuple(contents[seq] if isinstance(seq, int) else seq for seq in given.evidence)
        except (ValidationError, KeyError) as error:
            why = f"no message {error}" if isinstance(error, KeyError) else error.errors()[-1]["msg"]
            raise InvalidInput(
                f'{path.name}, line {number} must be JSON such as {{"question": "...", "evidence": [12]}}'
                f" with seqs of this user's messages, or with texts: {why}"
            ) from error
        question = OwnQuestion(f"line {number}", given.kind, given.question, evidence, _end(messages))
        questions.append(question)
    if not questions:
        raise InvalidInput(f"{str(path)!r} has no questions: give a JSON object a line")
    return questions


def made_questions(messages: Sequence[Message]) -> list[OwnQuestion]:
    """At most 20 of each kind, evenly out of the whole log; always the same. Raises InvalidInput for none."""
    questions = [
        OwnQuestion(f"{kind} {number}", kind, question, (evidence,), _end(messages), (seq,))
        for kind, sayings in (("day", _of_days(messages)), ("name", _of_names(messages)))
        for number, (question, evidence, seq) in enumerate(_spread(list(sayings)), 1)
    ]
    if not questions:
        raise InvalidInput(
            "no question can be made from these messages: they hold no day or name that is said once; give"
            " your own with --questions FILE"
        )
    return questions


def _end(messages: Sequence[Message]) -> datetime | None:
    return max((message.time for message in messages if message.time), default=None)


def _of_days(messages: Sequence[Message]) -> Iterator[tuple[str, str, int]]:
    """Days that are named, in full or not, in one message alone."""
    naming: dict[str, dict[int, str]] = defaultdict(dict)
    for message in messages:
        if message.time is None:
            continue
        for first, end in sentences(message.content):
            sentence = message.content[first:end]
            for days in find_days(sentence, message.time.date()):
                if days.first == days.last:
                    day = f"{days.first.day} {days.first:%B %Y}"
                    naming[day].setdefault(message.seq, sentence)
    for day, by_message in naming.items():
        if len(by_message) == 1:
            ((seq, sentence),) = by_message.items()
            yield f"What was said about {day}?", sentence, seq


def _of_names(messages: Sequence[Message]) -> Iterator[tuple[str, str, int]]:
    """Names that no other message has, in any case or as a part of another word."""
    naming: dict[str, tuple[str, int]] = {}
    for message in messages:
        for first, end in sentences(message.content):
            sentence = message.content[first:end]
            for name in names(sentence):
                naming.setdefault(name, (sentence, message.seq))
    folded = [message.content.casefold() for message in messages]
    for name, (sentence, seq) in naming.items():
        if sum(name.casefold() in text for text in folded) == 1:
            yield f"Who or what is {name}?", sentence, seq


def _spread(questions: Sequence[tuple[str, str, int]]) -> Sequence[tuple[str, str, int]]:
    """Pick MOST_OF_A_KIND questions at most, evenly from the first to the last."""
    if len(questions) <= MOST_OF_A_KIND:
        return questions
    return [questions[place * len(questions) // MOST_OF_A_KIND] for place in range(MOST_OF_A_KIND)]
