"""Importing a source conversation by conversation, with a report of what was stored and refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import Message
from zibaldone.engine import maintenance
from zibaldone.engine.ingest import Ingest, Progress
from zibaldone.engine.inspection import damage_is_named
from zibaldone.errors import InvalidImport
from zibaldone.importers.attached_files import AttachedFiles, WithFiles
from zibaldone.importers.base import Conversation, NotImported
from zibaldone.importers.importing import ImportReading, as_error
from zibaldone.storage.columns import means

_MESSAGES, _CHARACTERS = 1024, 4_000_000  # stored together, unless one conversation has more
_MOST_REFUSED = 1000  # named in a report


@dataclass(frozen=True, slots=True)
class Imported:
    """Report of an import."""

    format: str
    users: tuple[str, ...]  # with messages in the source
    conversations: int  # sessions that its messages are in
    read: int  # messages in the source
    added: int  # of these, new ones
    changed: int  # of these, stored before with other content, which stays
    forgotten: int = 0  # of these, stored before and forgotten; they stay forgotten
    noise: int = 0  # of the added, those that recall and lists leave out: see core.NOISE
    files: int = 0  # attachments of the added whose bytes were kept
    refused: tuple[NotImported, ...] = ()  # where and why something could not be imported; the first thousand
    refusals: int = 0  # number of all refusals
    complete: bool = True  # False if interrupted
    notes: tuple[str, ...] = ()  # sentences: what was guessed of what was added, and how to say it
    read_bytes: int = field(default=0, compare=False)
    total_bytes: int = field(default=0, compare=False)


class ImportInterrupted(KeyboardInterrupt):
    """An import was stopped by Ctrl-C. What the report counts is stored; importing again adds the rest."""

    def __init__(self, report: Imported) -> None:
        super().__init__("the import was stopped")
        self.report = report


def import_source(
    ingest: Ingest,
    reading: ImportReading,
    user: str | None,
    *,
    strict: bool,
    again: bool,
    attachments: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Store the readable conversations of a source, a few per transaction.

    Messages stored before stay as they are; forgotten ones stay forgotten unless `again`. With `strict`
    everything is stored in one transaction, or nothing. With `attachments` their bytes are kept, if the
    source has them. `progress` gets (bytes read, total bytes). Raises InvalidImport if nothing could be read,
    or with `strict` not everything; NoUser.
    """
    done = _Tally(reading, progress, passes=2 if strict else 1)
    users = set() if user is None else {user}
    if strict:
        for talk in reading.conversations():
            for refused in talk.refused:
                raise as_error(refused)
            if user is None:
                users.add(str(talk.user_hint))
            done.show(0)
    attached = AttachedFiles(reading.source, reading.importer.files(reading.source)) if attachments else None
    database = ingest.database
    whole: AbstractContextManager[Connection | None] = database.write(*users) if strict else nullcontext()
    try:
        with whole as connection:
            store = _Store(ingest, attached, connection)
            for user_, messages in _parts(reading, user, done, 1 if strict else 0):
                done.count(store.add(user_, messages, again=again))
        for user_ in done.users if strict else ():
            view = ingest.view_of(user_)
            with damage_is_named(database, user_, [view]):
                maintenance.advance(database, user_, view)
    except KeyboardInterrupt as error:
        done.complete = False
        raise ImportInterrupted(done.report(empty=strict)) from error
    if not done.counts["read"] and done.refused:
        raise _nothing(done.refused, done.counts["refusals"])
    return done.report()


def must_be_readable(reading: ImportReading, *, strict: bool) -> None:
    """Raise the InvalidImport that an import of this source would raise; stores nothing."""
    refused: list[NotImported] = []
    for talk in reading.conversations():
        if talk.messages and not strict:
            return
        refused += talk.refused
        if refused and strict:
            raise as_error(refused[0])
    if refused:
        raise _nothing(refused, len(refused))


def _parts(
    reading: ImportReading, user: str | None, done: _Tally, passed: int
) -> Iterator[tuple[str, list[Message]]]:
    """Yield (user, messages) of whole conversations, as many as are stored together."""
    waiting: dict[str, list[Message]] = {}
    size = 0
    for part in reading.assigned(user):
        done.take(part.user, part.conversation)
        waiting.setdefault(part.user, []).extend(part.conversation.messages)
        size += sum(len(message.content) for message in part.conversation.messages)
        if size > _CHARACTERS or sum(map(len, waiting.values())) > _MESSAGES:
            yield from waiting.items()
            waiting, size = {}, 0
        done.show(passed)
    yield from waiting.items()
    done.show(passed)


_COUNTS = ("read", "added", "changed", "forgotten", "noise", "files", "refusals")
_Stored = tuple[Mapping[str, int], Sequence[NotImported]]  # counts by their names in Imported, refusals


@dataclass(slots=True)
class _Tally:
    """Counts of an import under way."""

    reading: ImportReading
    progress: Progress | None
    passes: int
    users: dict[str, None] = field(default_factory=dict)
    sessions: set[tuple[str, str]] = field(default_factory=set)  # with their users
    counts: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(_COUNTS, 0)))
    refused: list[NotImported] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    complete: bool = True

    def take(self, user: str, talk: Conversation) -> None:
        """Count a conversation, before it is stored."""
        if talk.messages:
            self.users.setdefault(user)
        self.notes |= dict.fromkeys(talk.notes)
        self.sessions |= {(user, message.session) for message in talk.messages}
        self.count(({}, talk.refused))

    def count(self, stored: _Stored) -> None:
        """Add counts and refusals."""
        counts, refused = stored
        self.counts.update(counts)
        self.counts["refusals"] += len(refused)
        self.refused += refused[: _MOST_REFUSED - len(self.refused)]

    def show(self, passed: int) -> None:
        """Report progress; `passed` is the number of earlier passes over the source."""
        if self.progress:
            total = self.reading.size_bytes
            here = min(self.reading.source.read_bytes, total)
            self.progress(passed * total + here, self.passes * total)

    def report(self, *, empty: bool = False) -> Imported:
        """Return the report; with `empty` nothing was stored in the end."""
        stored = dict.fromkeys(("added", "noise", "files"), 0) if empty else {}
        return Imported(
            format=self.reading.importer.name,
            users=tuple(self.users),
            refused=tuple(self.refused),
            complete=self.complete,
            notes=tuple(self.notes) if self.counts["added"] else (),
            conversations=len(self.sessions),
            read_bytes=self.reading.source.read_bytes,
            total_bytes=self.reading.size_bytes,
            **{**self.counts, **stored},
        )


@dataclass(frozen=True, slots=True)
class _Store:
    """Stores each part in a transaction of its own, with its units; or all in that of a `connection`."""

    ingest: Ingest
    attached: AttachedFiles | None
    connection: Connection | None  # then the view reads everything afterwards

    def add(self, user: str, messages: list[Message], *, again: bool) -> _Stored:
        """Store what is new; only that is embedded, so that importing again is quick."""
        sifted = self._sift(user, messages, again=again)
        new = files = 0
        refused: list[NotImported] = []
        for part in _with_files(sifted.fresh, self.attached):
            new, files = new + self._store(user, part.messages), files + part.files
            refused += part.refused
        counts = {
            "read": len(messages),
            "added": new,
            "changed": sifted.changed,
            "forgotten": sifted.forgotten,
            "noise": sum(message.is_noise for message in sifted.fresh),
            "files": files,
        }
        return counts, refused

    def _sift(self, user: str, messages: list[Message], *, again: bool) -> log.Sifted:
        if self.connection is not None:
            means(self.connection, user)
            return log.sift(self.connection, user, messages, again=again)
        with self.ingest.database.read(user) as connection:
            return log.sift(connection, user, messages, again=again)

    def _store(self, user: str, messages: Sequence[Message]) -> int:
        if self.connection is not None:
            return log.append(self.connection, user, messages, self.ingest.now(), keep_first=True).new
        return self.ingest.store(user, messages, keep_first=True).new


def _with_files(messages: list[Message], attached: AttachedFiles | None) -> Iterable[WithFiles]:
    """Return the messages in parts of as many as may be in memory with their files."""
    if not messages:
        return ()
    return attached.parts(messages) if attached else (WithFiles(messages, 0, ()),)


def _nothing(refused: Sequence[NotImported], refusals: int) -> InvalidImport:
    error = as_error(refused[0])
    more = f" (and {refusals - 1} more like it: nothing could be imported)" if refusals > 1 else ""
    return InvalidImport(f"{error}{more}", where=error.where, why=error.why)
