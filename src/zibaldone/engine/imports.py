"""Importing a source conversation by conversation, with a report of what was stored and refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from zibaldone import log
from zibaldone.core import Message
from zibaldone.engine.ingest import Ingest, Progress
from zibaldone.errors import InvalidImport
from zibaldone.importers.attached_files import AttachedFiles, WithFiles
from zibaldone.importers.base import Conversation, NotImported
from zibaldone.importers.importing import ImportReading, as_error

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
    again: bool,
    attachments: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Store the readable conversations of a source, a few per transaction.

    Messages stored before stay as they are; forgotten ones stay forgotten unless `again`. With `attachments`
    their bytes are kept, if the source has them. `progress` gets (bytes read, total bytes). Raises
    InvalidImport if nothing could be read; NoUser.
    """
    done = _Tally(reading, progress)
    attached = AttachedFiles(reading.source, reading.importer.files(reading.source)) if attachments else None
    try:
        for user_, messages in _parts(reading, user, done):
            done.count(_add(ingest, attached, user_, messages, again=again))
    except KeyboardInterrupt as error:
        done.complete = False
        raise ImportInterrupted(done.report()) from error
    if not done.counts["read"] and done.refused:
        raise _nothing(done.refused, done.counts["refusals"])
    return done.report()


def _parts(reading: ImportReading, user: str | None, done: _Tally) -> Iterator[tuple[str, list[Message]]]:
    """Yield (user, messages) of conversations, as many as are stored together."""
    waiting: dict[str, list[Message]] = {}
    size = 0
    for part in reading.assigned(user):
        done.take(part.user, part.conversation)
        waiting.setdefault(part.user, []).extend(part.conversation.messages)
        size += sum(len(message.content) for message in part.conversation.messages)
        if size > _CHARACTERS or sum(map(len, waiting.values())) > _MESSAGES:
            yield from waiting.items()
            waiting, size = {}, 0
        done.show()
    yield from waiting.items()
    done.show()


_COUNTS = ("read", "added", "changed", "forgotten", "noise", "files", "refusals")
_Stored = tuple[Mapping[str, int], Sequence[NotImported]]  # counts by their names in Imported, refusals


@dataclass(slots=True)
class _Tally:
    """Counts of an import under way."""

    reading: ImportReading
    progress: Progress | None
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

    def show(self) -> None:
        """Report progress."""
        if self.progress:
            total = self.reading.size_bytes
            self.progress(min(self.reading.source.read_bytes, total), total)

    def report(self) -> Imported:
        """Return the report."""
        return Imported(
            format=self.reading.importer.name,
            users=tuple(self.users),
            refused=tuple(self.refused),
            complete=self.complete,
            notes=tuple(self.notes) if self.counts["added"] else (),
            conversations=len(self.sessions),
            read_bytes=self.reading.source.read_bytes,
            total_bytes=self.reading.size_bytes,
            **self.counts,
        )


def _add(
    ingest: Ingest, attached: AttachedFiles | None, user: str, messages: list[Message], *, again: bool
) -> _Stored:
    """Store what is new; only that is embedded, so that importing again is quick."""
    with ingest.database.read(user) as connection:
        sifted = log.sift(connection, user, messages, again=again)
    new = files = 0
    refused: list[NotImported] = []
    for part in _with_files(sifted.fresh, attached):
        new += ingest.store(user, part.messages, keep_first=True).new
        files += part.files
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


def _with_files(messages: list[Message], attached: AttachedFiles | None) -> Iterable[WithFiles]:
    """Return the messages in parts of as many as may be in memory with their files."""
    if not messages:
        return ()
    return attached.parts(messages) if attached else (WithFiles(messages, 0, ()),)


def _nothing(refused: Sequence[NotImported], refusals: int) -> InvalidImport:
    error = as_error(refused[0])
    more = f" (and {refusals - 1} more like it: nothing could be imported)" if refusals > 1 else ""
    return InvalidImport(f"{error}{more}", where=error.where, why=error.why)
