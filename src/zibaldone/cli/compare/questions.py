"""Questions to a user's own log whose evidence is known: the user's, or made from the log offline.

Made are two kinds, each only where one single message holds the answer:

    day      a day that only one message names: "What was said about 5 November 2024?"
    name     a name that only one message mentions: "Who or what is Kadeva?"

They share words with what answers them, more than people's questions do. So they tell views apart by what
they lose, and flatter all that searches by words: figures of made questions and of a person's do not compare.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

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


def read_questions(path: Path, messages: Sequence[Message]) -> list[OwnQuestion]:
    """A JSON object a line: {"question": "...", "evidence": [12, "words of an answer"], "kind": "..."}.

    Evidence are seqs of messages, whose whole text is wanted, and texts, whose words are; without any, a
    question has no share of evidence, only tokens and times. Raises InvalidInput, which names the line.
    """
    by_seq = {message.seq: message for message in messages}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{str(path)!r} cannot be read: {error}") from error
    questions = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path.name}, line {number}"
        try:
            given = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"{where} is not JSON: {error}") from error
        if not isinstance(given, dict) or not isinstance(given.get("question"), str):
            raise InvalidInput(f'{where} must be an object such as {{"question": "...", "evidence": [12]}}')
        wanted = given.get("evidence", [])
        if not isinstance(wanted, list):
            raise InvalidInput(f"{where}: evidence must be a list of seqs and texts")
        evidence = tuple(_wanted(some, by_seq, where) for some in wanted)
        kind = given.get("kind", OWN)
        if not isinstance(kind, str):
            raise InvalidInput(f"{where}: kind must be a word")
        questions.append(OwnQuestion(f"line {number}", kind, given["question"], evidence, _end(messages)))
    if not questions:
        raise InvalidInput(f"{str(path)!r} has no questions: give a JSON object a line")
    return questions


def _wanted(given: object, by_seq: Mapping[int, Message], where: str) -> str:
    if isinstance(given, str) and given.strip():
        return given
    if isinstance(given, int) and given in by_seq:
        return by_seq[given].content
    raise InvalidInput(f"{where}: evidence {given!r} is neither a seq of this user's messages nor a text")


def made_questions(messages: Sequence[Message], most: int = MOST_OF_A_KIND) -> list[OwnQuestion]:
    """`most` of each kind, evenly out of the whole log; the same each time. Raises InvalidInput for none."""
    questions = [
        OwnQuestion(f"{kind} {number}", kind, question, (evidence,), _end(messages), (seq,))
        for kind, sayings in (("day", _of_days(messages)), ("name", _of_names(messages)))
        for number, (question, evidence, seq) in enumerate(_spread(list(sayings), most), 1)
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


def _spread(questions: Sequence[tuple[str, str, int]], most: int) -> Sequence[tuple[str, str, int]]:
    """Pick `most` questions, evenly from the first to the last."""
    if len(questions) <= most:
        return questions
    return [questions[place * len(questions) // most] for place in range(most)]
