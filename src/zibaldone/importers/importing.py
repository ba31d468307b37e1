"""Reading of a source: recognised, read conversation by conversation, assigned to users."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import get_args

from zibaldone.core import CORRECTS, OWNERS_WORDS, TIME_KNOWN, Message
from zibaldone.core.validation import key, keys, shown
from zibaldone.errors import InvalidImport, InvalidInput
from zibaldone.importers import Importer, get, names, recognise
from zibaldone.importers.base import Branches, Conversation, DateOrder, Item, NotImported, OfUser
from zibaldone.importers.files import each
from zibaldone.importers.source import ImportSource

_SHOWN = 8  # speakers, or files
PIECE_MESSAGES = 1000  # looked at together
_MOST_IDS = 200_000  # held against each other
_WHO_IS_ME = (
    "several people speak in it: {people}. Until you say which of them you are, nobody's words count as your"
    " own: forget them, and import again with your name (me=['NAME'], --me NAME --again, the page's form)"
)


class NoUser(InvalidInput):
    """Neither the file nor the caller names the user."""


@dataclass(frozen=True, slots=True)
class Assigned:
    """One user's part of a conversation."""

    user: str
    conversation: Conversation


@dataclass(frozen=True, slots=True)
class _Owner:
    """The names of the memory's owner in a source, in small letters; None where nobody else speaks."""

    names: frozenset[str] | None = None
    among_people: bool = False  # then nobody knows who speaks where no name is given
    notes: tuple[str, ...] = ()

    def marked(self, message: Message) -> Message:
        """The message, marked as the owner's where a name says so, and where it is not known to be."""
        if self.names is None or message.role != "user" or not (message.name or self.among_people):
            return message
        is_owners = (message.name or "").casefold() in self.names
        return replace(message, metadata={**message.metadata, OWNERS_WORDS: is_owners})


@dataclass(frozen=True)
class ImportReading:
    """A source with its importer; it may be read several times."""

    source: ImportSource
    importer: Importer
    me: frozenset[str] = frozenset()  # what the owner is called in it
    notes: tuple[str, ...] = ()  # what it leaves to other imports

    @property
    def size_bytes(self) -> int:
        """Size in bytes of the files to read."""
        return self.source.size_bytes(self.importer.files(self.source) or self.source.names)

    def conversations(self) -> Iterator[Conversation]:
        """Yield the messages piece by piece, times filled in, with what could not be read."""
        owner = self._owner
        self.source.read_bytes = 0
        known: dict[str | None, dict[str, datetime]] = {}
        ids: dict[tuple[str | None, str | None], int] = {}  # what the first message of each says
        items = each((self.source,), self.importer.read)
        late: list[Item] = []  # messages without a time wait for those behind them, which may have one
        while piece := [*late, *islice(items, PIECE_MESSAGES)]:
            late = []
            while len(piece) > PIECE_MESSAGES // 2 and len(late) < PIECE_MESSAGES and _is_untimed(piece[-1]):
                late.insert(0, piece.pop())
            by_user: dict[str | None, list[Message]] = {}
            refused: list[NotImported] = []
            for item in piece:
                if isinstance(item, NotImported):
                    refused.append(item)
                    continue
                user, message = (item.user, item.message) if isinstance(item, OfUser) else (None, item)
                content = hash((message.role, message.content))
                if len(ids) < _MOST_IDS and ids.setdefault((user, message.id), content) != content:
                    why = f"a message with the id of another: {message.id!r}"
                    refused.append(NotImported(self.source.label, why))
                else:
                    by_user.setdefault(user, []).append(message)
            notes = (*self.importer.notes, *owner.notes, *self.notes)
            for user, messages in (by_user or {None: []}).items():
                marked = map(owner.marked, timed(messages, known.setdefault(user, {})))
                yield Conversation(tuple(marked), user, tuple(refused), notes)
                refused = []

    @cached_property
    def _owner(self) -> _Owner:
        """Find who of several people the owner is: who the caller names, else who the export does."""
        among_people = self.importer.among_people
        if not self.me and not among_people:
            return _Owner()
        speakers: dict[str, str] = {}
        with suppress(InvalidImport):  # the import itself reports it
            for item in self.importer.read(self.source):
                message = item.message if isinstance(item, OfUser) else item
                if isinstance(message, Message) and message.role == "user" and not message.is_noise:
                    speakers.setdefault((message.name or "").casefold(), message.name or "")
            speakers.pop("", None)
        people = _some([*speakers.values()]) or "nobody with a name"
        if unknown := sorted(name for name in self.me if name.casefold() not in speakers):
            raise InvalidInput(f"no {shown(unknown[0])} speaks in it, but {people}: say which as me= (--me)")
        named = self.importer.owner(self.source) if among_people and not self.me else None
        if self.me or (named is not None and named.casefold() in speakers):
            note = () if self.me else (f"your messages in it are those of {named!r}, as the export says",)
            names = frozenset(name.casefold() for name in self.me or (str(named),))
            return _Owner(names, among_people, note)
        if len(speakers) < 2:
            return _Owner()
        return _Owner(frozenset(), among_people, (_WHO_IS_ME.format(people=people),))

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


def reading(
    source: ImportSource,
    format: str | None = None,  # noqa: A002
    branches: Branches = "current",
    me: Collection[str] | None = None,
    dates: DateOrder | None = None,
) -> ImportReading:
    """Choose the importer of a source. Raises InvalidImport, InvalidInput and UnknownName."""
    if dates is not None and dates not in get_args(DateOrder):
        raise InvalidInput(f"dates must be 'dmy', 'mdy' or 'ymd', not {shown(dates)}")
    if branches not in get_args(Branches):
        raise InvalidInput(f"branches must be 'current' or 'all', not {shown(branches)}")
    importer = get(key("format", format)) if format is not None else recognise(source)
    if source.only is None and not importer.files(source):
        raise InvalidImport(
            f"{source.label}: the {source.kind} holds nothing of {importer.name}: no {importer.looks_for}"
        )
    importer.dates, importer.branches = dates, branches
    mine = frozenset() if me is None else keys("me", me)
    return ImportReading(source, importer, mine, tuple(_left_out(source, importer)))


def _left_out(source: ImportSource, importer: Importer) -> Iterator[str]:
    """Yield a sentence on exports that lie beside those that the importer reads, if there are any."""
    if source.only is None:
        others = {file for name in names() for file in get(name).files(source)}
        others |= {file for file in source.names if file.endswith(".zip")}
        left = sorted(others.difference(importer.files(source)))
        if left:
            yield f"not read, since an import is of one format: {_some(left)}: give each by itself"


def _some(things: Sequence[str]) -> str:
    more = f" and {len(things) - _SHOWN} more" if len(things) > _SHOWN else ""
    return ", ".join(things[:_SHOWN]) + more


def as_error(refused: NotImported) -> InvalidImport:
    """Turn a refusal into the error to raise."""
    sentence = f"{refused.where}: {refused.why}" if refused.where else refused.why
    return InvalidImport(sentence, where=refused.where, why=refused.why)


def _is_untimed(item: Item) -> bool:
    message = item.message if isinstance(item, OfUser) else item
    return isinstance(message, Message) and message.time is None


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
