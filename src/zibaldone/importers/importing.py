"""A whole file, read and checked before anything is stored; ingest.import_file stores it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from zibaldone.core import CORRECTS, TIME_KNOWN, Message
from zibaldone.errors import InvalidInput
from zibaldone.importers import get, recognise
from zibaldone.importers.base import Conversation
from zibaldone.message_input import corrected_ids
from zibaldone.validation import key


class NoUser(InvalidInput):
    """The file does not say whose memory it is, and neither did the caller."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A whole file, checked."""

    format: str
    conversations: tuple[Conversation, ...]  # each has a message

    @property
    def names_its_users(self) -> bool:
        """Whether it says of every conversation whose memory it is."""
        return all(conversation.user_hint is not None for conversation in self.conversations)


@dataclass(frozen=True, slots=True)
class Assigned:
    """One user's part of a file."""

    user: str
    messages: tuple[Message, ...]


def read_file(path: str | Path, format: str | None = None) -> ReadFile:  # noqa: A002
    """The file, read to its end, every message with a time that is known of it (see `timed`).

    Raises InvalidImport, or UnknownName for the format.
    """
    path = Path(path)
    importer = get(key("format", format)) if format is not None else recognise(path)
    talks = (replace(talk, messages=timed(talk.messages)) for talk in importer.read(path) if talk.messages)
    return ReadFile(importer.name, tuple(talks))


def timed(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Messages of a conversation; one without a time has that of the one before it in its session, or behind.

    Where a session has no time at all its messages are marked: the time that they are stored with is that of
    the import, and says nothing of when they were said.
    """
    known: dict[str, datetime] = {}  # by session: the first, then the latest
    for message in messages:
        if message.time is not None:
            known.setdefault(message.session, message.time)
    result = []
    for message in messages:
        if message.time is not None:
            known[message.session] = message.time
            result.append(message)
        elif time := known.get(message.session):
            result.append(replace(message, time=time))
        else:
            result.append(replace(message, metadata={**message.metadata, TIME_KNOWN: False}))
    return tuple(result)


def assign_users(file: ReadFile, user: str | None) -> list[Assigned]:
    """Who gets which messages: all to `user`, or else each conversation to the user it names.

    Conversations of different users that are put together
    keep apart by the session, which becomes `<their user>/<session>`, and by their messages' ids likewise.
    Raises NoUser where neither the file nor the caller says whose memory it is.
    """
    hints = {conversation.user_hint for conversation in file.conversations}
    if user is None and not file.names_its_users:
        raise NoUser("the file does not say whose memory it is: give user=")
    messages: dict[str, list[Message]] = {}
    for conversation in file.conversations:
        hint = conversation.user_hint
        own = conversation.messages
        if user is not None and hint is not None and len(hints) > 1:
            own = tuple(_put_apart(message, hint) for message in own)
        messages.setdefault(user if user is not None else str(hint), []).extend(own)
    return [Assigned(whose, tuple(theirs)) for whose, theirs in messages.items()]


def _put_apart(message: Message, hint: str) -> Message:
    own_id = None if message.id is None else f"{hint}/{message.id}"
    metadata = message.metadata
    if corrected := corrected_ids(message):
        ids = [f"{hint}/{name}" for name in corrected]
        metadata = {**metadata, CORRECTS: {**metadata[CORRECTS], "ids": ids}}
    return replace(message, session=f"{hint}/{message.session}", id=own_id, metadata=metadata)
