"""Real conversations as users: what each said before is imported, what comes after is replayed."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from zibaldone.bench.serving.accelerator import CHARACTERS
from zibaldone.bench.workload import repeated
from zibaldone.core import MACHINES, Message
from zibaldone.errors import InvalidInput
from zibaldone.importers.base import Conversation
from zibaldone.importers.beam import chat_files
from zibaldone.importers.importing import read_file


@dataclass(frozen=True, slots=True)
class Exchange:
    """What somebody says, and what is answered."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class ServedUser:
    """One user. `exchanges` never end: after the conversation come others of its data, then all again."""

    name: str
    data: str  # which of the paths it is from
    history: tuple[Message, ...]
    exchanges: Iterator[Exchange]


def read_users(paths: Sequence[Path], users: int, history: int, answer_tokens: int) -> list[ServedUser]:
    """Users of each of the paths in turns, with so many messages of history; answers are cut to their tokens.

    Raises InvalidImport, or InvalidInput where a path has no conversation.
    """
    data = [_conversations(path) for path in paths]
    made = []
    for number in range(users):
        place = number % len(data)
        conversations = data[place]
        first = (number // len(data)) % len(conversations)
        stream = repeated([*_sessions(conversations[first:]), *_sessions(conversations[:first])])
        earlier = tuple(itertools.islice(stream, history))
        exchanges = _exchanges(_from_a_new_session(stream, earlier), answer_tokens * CHARACTERS)
        made.append(ServedUser(f"user-{number}", paths[place].name, earlier, exchanges))
    return made


def _conversations(path: Path) -> list[Conversation]:
    files = _chats(path) if path.is_dir() else [path]
    conversations = [conversation for file in files for conversation in read_file(file).conversations]
    if not conversations:
        raise InvalidInput(
            f"{str(path)!r} holds no conversation: give a file of them, or a folder of BEAM chats"
        )
    return conversations


def _chats(folder: Path) -> list[Path]:
    """The folder itself where it is a chat, or else those below it."""
    if chat_files(folder):
        return [folder]
    below = sorted(inner for inner in folder.iterdir() if inner.is_dir())
    return [chat for inner in below for chat in _chats(inner)]


def _sessions(conversations: Iterable[Conversation]) -> Iterator[Message]:
    """Their messages; sessions of different conversations stay apart. What has no time cannot be repeated."""
    for conversation in conversations:
        for message in conversation.messages:
            if message.time is not None:
                yield replace(message, session=f"{conversation.name}/{message.session}")


def _from_a_new_session(stream: Iterator[Message], earlier: Sequence[Message]) -> Iterator[Message]:
    """The stream, from where a session begins."""
    if not earlier:
        return stream
    return itertools.dropwhile(lambda message: message.session == earlier[-1].session, stream)


def is_of_user(message: Message, people: str) -> bool:
    """Whether the user said it: `people` names the person who is one, among several."""
    return message.role not in MACHINES and message.speaker == people


def _exchanges(messages: Iterable[Message], characters: int) -> Iterator[Exchange]:
    """Among people the first who speaks in a session is the user, and the others answer."""
    for _, group in itertools.groupby(messages, lambda message: message.session):
        session = list(group)
        sides = itertools.groupby(session, partial(is_of_user, people=session[0].speaker))
        question = ""
        for is_user, run in sides:
            text = "\n\n".join(message.content for message in run)
            if is_user:
                question = text
            elif question:
                yield Exchange(question, text[:characters].rstrip())
                question = ""
