"""Bringing a source in: conversation by conversation, what is complete stays, and a report says the rest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from zibaldone import log, maintenance
from zibaldone.core import Message
from zibaldone.errors import InvalidImport
from zibaldone.importers.base import NotImported
from zibaldone.importers.importing import ImportReading, as_error
from zibaldone.ingest import Progress, ingest
from zibaldone.inspection import damage_is_named
from zibaldone.storage.database import Database
from zibaldone.views.base import View

_MESSAGES, _CHARACTERS = 1024, 4_000_000  # stored together, unless one conversation has more
_MOST_REFUSED = 1000  # named in a report


@dataclass(frozen=True, slots=True)
class Imported:
    """What one import did."""

    format: str
    users: tuple[str, ...]  # whose memory grew, or would have
    conversations: int  # that have a message
    read: int  # messages in the file
    added: int  # of them, those that were not there already
    changed: int  # of them, those that were there with another content, and stay as first stored
    forgotten: int = 0  # of them, those that were stored once and forgotten, and stay so
    noise: int = 0  # of the added, those that recall and lists leave out: see core.NOISE
    refused: tuple[NotImported, ...] = ()  # what could not be imported, where and why; the first thousand
    refusals: int = 0  # how many these are in all
    complete: bool = True  # False: it was stopped on the way
    read_bytes: int = field(default=0, compare=False)
    total_bytes: int = field(default=0, compare=False)


class ImportInterrupted(KeyboardInterrupt):
    """An import was stopped by Ctrl-C. What the report counts is stored; the next one goes on from there."""

    def __init__(self, report: Imported) -> None:
        super().__init__("the import was stopped")
        self.report = report


def import_source(
    database: Database,
    view: View,
    reading: ImportReading,
    user: str | None,
    *,
    now: Callable[[], datetime],
    strict: bool,
    again: bool,
    progress: Progress | None = None,
) -> Imported:
    """Store what can be read of a source, a few conversations at a time; those that are stored are durable.

    What was stored before adds nothing, and stays as it was first stored; what was forgotten stays so,
    unless `again`. With `strict` all of it is stored, in one transaction, or nothing. `progress` gets bytes
    read and bytes in all. Raises InvalidImport when nothing could be read, or with `strict` not all; NoUser.
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
    store = _Whole(database, view, now, users) if strict else _PartByPart(database, view, now)
    try:
        with store:
            for user_, messages in _parts(reading, user, done, 1 if strict else 0):
                done.count(store.add(user_, messages, again=again))
    except KeyboardInterrupt as error:
        done.complete = False
        raise ImportInterrupted(done.report(empty=strict)) from error
    if not done.read and done.refused:
        raise _nothing(done.refused, done.refusals)
    return done.report()


def _parts(
    reading: ImportReading, user: str | None, done: _Tally, passed: int
) -> Iterator[tuple[str, list[Message]]]:
    """Whole conversations, and who gets them: as many together as are stored together."""
    waiting: dict[str, list[Message]] = {}
    size = 0
    for part in reading.assigned(user):
        done.take(part.user, part.conversation.refused, bool(part.conversation.messages))
        waiting.setdefault(part.user, []).extend(part.conversation.messages)
        size += sum(len(message.content) for message in part.conversation.messages)
        if size > _CHARACTERS or sum(map(len, waiting.values())) > _MESSAGES:
            yield from waiting.items()
            waiting, size = {}, 0
        done.show(passed)
    yield from waiting.items()
    done.show(passed)


@dataclass(frozen=True, slots=True)
class _Stored:
    """What became of some messages."""

    read: int
    added: int
    changed: int
    forgotten: int
    noise: int


@dataclass(slots=True)
class _Tally:
    """The report in the making."""

    reading: ImportReading
    progress: Progress | None
    passes: int
    users: dict[str, None] = field(default_factory=dict)
    conversations: int = 0
    read: int = 0
    added: int = 0
    changed: int = 0
    forgotten: int = 0
    noise: int = 0
    refused: list[NotImported] = field(default_factory=list)
    refusals: int = 0
    complete: bool = True

    def take(self, user: str, refused: Sequence[NotImported], has_messages: bool) -> None:  # noqa: FBT001
        """Note a conversation, before it is stored."""
        if has_messages:
            self.users.setdefault(user)
            self.conversations += 1
        self.refused += refused[: _MOST_REFUSED - len(self.refused)]
        self.refusals += len(refused)

    def count(self, stored: _Stored) -> None:
        """Note what was stored."""
        self.read += stored.read
        self.added += stored.added
        self.changed += stored.changed
        self.forgotten += stored.forgotten
        self.noise += stored.noise

    def show(self, passed: int) -> None:
        """Tell how far it is; `passed` is how often the source has been read already."""
        if self.progress:
            total = self.reading.size_bytes
            here = min(self.reading.source.read_bytes, total)
            self.progress(passed * total + here, self.passes * total)

    def report(self, *, empty: bool = False) -> Imported:
        """As it is now; `empty`: nothing of what was counted is stored after all."""
        return Imported(
            format=self.reading.importer.name,
            users=tuple(self.users),
            conversations=self.conversations,
            read=self.read,
            added=0 if empty else self.added,
            changed=self.changed,
            forgotten=self.forgotten,
            noise=0 if empty else self.noise,
            refused=tuple(self.refused),
            refusals=self.refusals,
            complete=self.complete,
            read_bytes=self.reading.source.read_bytes,
            total_bytes=self.reading.size_bytes,
        )


class _PartByPart:
    """Each part durable by itself, with its units."""

    def __init__(self, database: Database, view: View, now: Callable[[], datetime]) -> None:
        self._database, self._view, self._now = database, view, now

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    def add(self, user: str, messages: list[Message], *, again: bool) -> _Stored:
        """Only what is new is made ready, so that importing again is quick."""
        with self._database.read(user) as connection:
            sifted = log.sift(connection, user, messages, again=again)
        new = 0
        if sifted.fresh:
            parts = [(user, sifted.fresh)]
            (appended,) = ingest(self._database, self._view, parts, self._now(), keep_first=True)
            new = appended.new
        noise = sum(message.is_noise for message in sifted.fresh)
        return _Stored(len(messages), new, sifted.changed, sifted.forgotten, noise)


class _Whole:
    """All in one transaction; the view reads it when that is over."""

    def __init__(
        self, database: Database, view: View, now: Callable[[], datetime], users: Collection[str]
    ) -> None:
        self._database, self._view, self._now = database, view, now
        self._users: dict[str, None] = {}
        self._transaction = database.write(*users)

    def __enter__(self) -> None:
        self._connection = self._transaction.__enter__()

    def __exit__(self, *error: object) -> None:
        self._transaction.__exit__(*error)  # type: ignore[arg-type] # as it was given
        for user in () if any(error) else self._users:
            with damage_is_named(self._database, user, [self._view]):
                maintenance.advance(self._database, user, self._view)

    def add(self, user: str, messages: list[Message], *, again: bool) -> _Stored:
        """Not durable yet."""
        self._users.setdefault(user)
        sifted = log.sift(self._connection, user, messages, again=again)
        new = log.append(self._connection, user, sifted.fresh, self._now(), keep_first=True).new
        noise = sum(message.is_noise for message in sifted.fresh)
        return _Stored(len(messages), new, sifted.changed, sifted.forgotten, noise)


def _nothing(refused: Sequence[NotImported], refusals: int) -> InvalidImport:
    error = as_error(refused[0])
    more = f" (and {refusals - 1} more like it: nothing could be imported)" if refusals > 1 else ""
    return InvalidImport(f"{error}{more}", where=error.where, why=error.why)
