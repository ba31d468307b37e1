"""Reading of a source: recognised, read conversation by conversation, assigned to users."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import get_args

from zibaldone.core import CORRECTS, TIME_KNOWN, Message
from zibaldone.core.validation import key, shown
from zibaldone.errors import InvalidImport, InvalidInput
from zibaldone.importers import Importer, get, recognise
from zibaldone.importers.base import Branches, Conversation, NotImported
from zibaldone.importers.files import refusal
from zibaldone.importers.source import ImportSource, OpenedSource


class NoUser(InvalidInput):
    """Neither the file nor the caller names the user."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A whole file, checked."""

    format: str
    conversations: tuple[Conversation, ...]  # each has a message


@dataclass(frozen=True, slots=True)
class Assigned:
    """One user's part of a conversation."""

    user: str
    conversation: Conversation


@dataclass(frozen=True, slots=True)
class ImportReading:
    """A source with its importer; it may be read several times."""

    source: ImportSource
    importer: Importer
    branches: Branches = "current"

    @property
    def size_bytes(self) -> int:
        """Size in bytes of the files to read."""
        return self.source.size_bytes(self.importer.files(self.source) or self.source.names)

    def conversations(self) -> Iterator[Conversation]:
        """Yield each conversation with times filled in; a fault that ends the file is refused."""
        self.source.read_bytes = 0
        known: dict[str, datetime] = {}
        try:
            for talk in self.importer.read(self.source, self.branches):
                yield replace(talk, messages=timed(talk.messages, known))
        except InvalidImport as error:
            yield Conversation(self.source.label, (), refused=(refusal(error),))

    def assigned(self, user: str | None) -> Iterator[Assigned]:
        """Yield each conversation with its user: `user`, or else the one that the file names.

        Conversations of different users that are put together keep apart by the session, which becomes
        `<their user>/<session>`, and by their messages' ids likewise. Raises NoUser, before the first is
        given, where neither the source nor the caller says whose it is.
        """
        hints: set[str | None] = {None}
        if self.importer.names_users:
            hints = {talk.user_hint for talk in self.conversations() if talk.messages}
        if user is None and None in hints:
            raise NoUser("the file does not say whose memory it is: give user=")
        for talk in self.conversations():
            hint = talk.user_hint
            if user is not None and hint is not None and len(hints) > 1:
                apart = tuple(_put_apart(message, hint) for message in talk.messages)
                yield Assigned(user, replace(talk, messages=apart))
                continue
            yield Assigned(user if user is not None else str(hint), talk)


def reading(source: ImportSource, format: str | None = None, branches: Branches = "current") -> ImportReading:  # noqa: A002
    """Choose the importer of a source. Raises InvalidImport and UnknownName."""
    if branches not in get_args(Branches):
        raise InvalidInput(f"branches must be 'current' or 'all', not {shown(branches)}")
    importer = get(key("format", format)) if format is not None else recognise(source)
    if source.only is None and not importer.files(source):
        what = "a directory" if source.kind == "folder" else "an archive"
        raise InvalidImport(
            f"{source.label}: is {what} in which {importer.name} finds no {importer.looks_for}"
        )
    return ImportReading(source, importer, branches)


def read_file(path: str | Path, format: str | None = None, branches: Branches = "current") -> ReadFile:  # noqa: A002
    """Read a whole file, with times filled in (see `timed`).

    Raises InvalidImport for any fault in it, or UnknownName for the format.
    """
    with OpenedSource(path) as source:
        read = reading(source, format, branches)
        talks = []
        for talk in read.conversations():
            for refused in talk.refused:
                raise as_error(refused)
            if talk.messages:
                talks.append(talk)
    return ReadFile(read.importer.name, tuple(talks))


def as_error(refused: NotImported) -> InvalidImport:
    """Turn a refusal into the error to raise."""
    sentence = f"{refused.where}: {refused.why}" if refused.where else refused.why
    return InvalidImport(sentence, where=refused.where, why=refused.why)


def timed(messages: Sequence[Message], known: dict[str, datetime] | None = None) -> tuple[Message, ...]:
    """Fill in missing times: of the message before it in its session, or else of the next one.

    Where a session has no time at all its messages are marked: the time that they are stored with is that of
    the import, and says nothing of when they were said. `known` has the last time of sessions that began in
    an earlier piece.
    """
    known = {} if known is None else known  # by session: the first, then the latest
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


def _put_apart(message: Message, hint: str) -> Message:
    own_id = None if message.id is None else f"{hint}/{message.id}"
    metadata = message.metadata
    if corrected := message.corrected_ids:
        ids = [f"{hint}/{name}" for name in corrected]
        metadata = {**metadata, CORRECTS: {**metadata[CORRECTS], "ids": ids}}
    return replace(message, session=f"{hint}/{message.session}", id=own_id, metadata=metadata)
