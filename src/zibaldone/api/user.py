"""User: what a memory holds of one user, to be looked at, taken out, put in and kept.

ann = memory.user("ann")
ann.profile.text(300)
ann.sessions(limit=20)
ann.export("ann.jsonl")
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import BinaryIO, TypedDict, TypeVar, Unpack
from uuid import UUID

from sqlalchemy import Connection

import zibaldone  # whose names are loaded when they are first used
from zibaldone import log
from zibaldone.api.items import AsyncItems, Items
from zibaldone.api.profile import AsyncProfile, Profile
from zibaldone.api.wiring import Wiring
from zibaldone.core import Message
from zibaldone.core.threads import Awaited, awaited
from zibaldone.core.validation import (
    Key,
    TimeLike,
    count,
    file_path,
    flag,
    key,
    keys,
    option,
    to_seq_or_id,
    to_time,
    whole_text,
    words,
)
from zibaldone.engine import generations, inspection
from zibaldone.engine.imports import Imported
from zibaldone.engine.ingest import Progress
from zibaldone.errors import InvalidInput
from zibaldone.importers.base import Branches, DateOrder
from zibaldone.importers.export import export_archive, export_messages
from zibaldone.log import Session
from zibaldone.log import retention as retaining
from zibaldone.log.audit import audited, note
from zibaldone.log.filters import Filter, Narrowing
from zibaldone.log.message_input import Attachment, attachments_of
from zibaldone.log.retention import Retention
from zibaldone.log.session_list import TitledSession, titled_sessions
from zibaldone.recall.timeline import TimelineFilter, TimelineLine, note_lines, session_lines
from zibaldone.views.base import Generation, View, WarmedView

_EXPORTED_AT_ONCE = 1000  # messages
R = TypeVar("R")


class ImportOptions(TypedDict, total=False):
    """The ways in which an export may be read: see `Admin.import_`."""

    format: str | None
    branches: Branches
    again: bool
    attachments: bool
    me: Collection[str] | None
    dates: DateOrder | None
    progress: Progress | None


class User:
    """One user of a memory; it need not have any messages yet."""

    def __init__(self, wiring: Wiring, name: Key) -> None:
        """Use `memory.user(name)`. Raises InvalidInput."""
        self._wiring, self._database, self._user = wiring, wiring.database, key("user", name)

    @property
    @audited("read")
    def profile(self) -> Profile:
        """Notes on the user: instructions, constraints, preferences, facts, people, plans, decisions."""
        return Profile(self._wiring, self._user)

    @property
    @audited("read")
    def topics(self) -> zibaldone.Topics:
        """The user's topic documents: to be read, searched, taken out as a folder, and corrected by hand."""
        return zibaldone.Topics(self._wiring, self._user)

    @property
    @audited("read")
    def items(self) -> Items:
        """The user's items: JSON documents by name, with their history."""
        return Items(self._wiring, self._user)

    @audited("read")
    def sessions(self, *, after: int = 0, limit: int | None = None) -> list[Session]:
        """The user's sessions in the order of their first messages.

        With `limit`, so many of those that begin above seq `after`: a page costs as much as the messages on
        it. The next one begins `after` the first seq of this one's last.
        """
        count("after", after, least=0)
        if limit is not None:
            count("limit", limit, least=0)
        with self._database.read(self._user) as connection:
            return log.sessions(connection, self._user, after=after, limit=limit)

    @audited("read")
    def titled_sessions(
        self,
        *,
        after: int = 0,
        limit: int = 50,
        words: str = "",
        among: Collection[Key] | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        agent: Key | None = None,
    ) -> tuple[list[TitledSession], int]:
        """The first `limit` sessions, those that ended last before others, and how many there are.

        The next page begins `after` the last seq of this one's last session, and counts from there. Each has
        its title: that of the import, or else its first words. With `words`, those that have all of
        them in their title or name. Of those `among` some names, that were going on in a time; of an `agent`,
        with its own messages alone.
        """
        narrowing = Filter(since=since, until=until).narrowing()
        with self._database.read(self._user) as connection:
            return titled_sessions(
                connection,
                self._user,
                limit=count("limit", limit, least=1),
                after=count("after", after, least=0),
                words=whole_text("words", words),
                among=None if among is None else keys("among", among),
                since=narrowing.since,
                until=narrowing.until,
                within=log.seqs_within(connection, self._user, Filter(agent=agent).narrowing()),
            )

    @audited("read")
    def timeline(
        self,
        subject: str = "",
        *,
        session: Key | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        limit: int = 100,
    ) -> list[TimelineLine]:
        """Dated lines: of each session its title and first statement, and what a model noted.

        The newest `limit`, in the order of time; of those that have a word of the `subject`.
        """
        user, wiring, most = self._user, self._wiring, count("limit", limit, least=1)
        within = TimelineFilter(
            words("subject", subject),
            session=None if session is None else key("session", session),
            since=None if since is None else to_time(since, "since"),
            until=None if until is None else to_time(until, "until"),
        )
        with self._database.read(user) as connection:
            lines = session_lines(connection, user, within, most)
        view = wiring.variants.serving(user, wiring.notes)
        notes = view.notes(generations.snapshots(self._database, user, view), user)
        lines += note_lines(notes, within)
        return sorted(lines, key=lambda line: (line.time, line.sources))[-most:]

    @audited("read")
    def versions(self, which: int | str | UUID) -> list[Message]:
        """A message as it was first stored, and its corrections; the last one holds. Empty for no message."""
        chosen = to_seq_or_id(which)
        with self._database.read(self._user) as connection:
            message = log.find(connection, self._user, chosen)
            return log.versions_of(connection, self._user, message) if message else []

    @audited("read")
    def attachments(self, which: int | str | UUID) -> list[Attachment]:
        """The images and files that a message came with, with the bytes that were kept."""
        chosen = to_seq_or_id(which)
        with self._database.read(self._user) as connection:
            message = log.find(connection, self._user, chosen)
            files = log.files(connection, self._user, message.seq) if message else {}
        return attachments_of(message.metadata, files) if message else []

    def retention(self) -> Retention:
        """The policy by which the user's messages go by themselves."""
        with self._database.read(self._user) as connection:
            return retaining.of_user(connection, self._user, self._wiring.default_retention)

    def deletions(self) -> int:
        """A number that rises whenever something of the user is forgotten, by whichever process."""
        with self._database.read(self._user) as connection:
            return log.state(connection, self._user).deletions

    @audited("write")
    def retain(self, policy: Retention | None) -> None:
        """Set what of the user's messages goes by itself; None: the memory's default.

        It holds from the next maintenance and the next recall on, in every process; `retention` shows it.
        """
        option("policy", policy, Retention)
        with self._database.write(self._user) as connection:
            retaining.set_for(connection, self._user, policy, self._wiring.now())
            note(connection, self._user, "write", 1)
        self._wiring.notify(self._user)

    @audited("read")
    def export(self, path: str | Path, *, attachments: bool = False) -> int:
        """Write the user's messages to a JSON Lines file that import_ reads; returns how many.

        With `attachments` it is a ZIP archive of that file and of the bytes that were kept: import_ reads
        these with `attachments`, too.
        """
        flag("attachments", attachments)
        target = file_path("path", path)
        self._database.keep_out(target)
        if not self._some_messages(after=0, limit=1):
            raise InvalidInput(f"user {self._user!r} has no messages: nothing to export")
        with self._database.write(self._user) as connection:  # before: what a crash leaves is known, too
            log.note_export(connection, self._user, str(target.absolute()), self._wiring.now())
        if not attachments:
            return export_messages(self._all_messages(), target)
        return export_archive(self._all_messages, self._files, target)

    def _some_messages(self, after: int, limit: int) -> list[Message]:
        with self._database.read(self._user) as connection:
            return log.select_messages(connection, self._user, Narrowing(), after=after, limit=limit)

    def _all_messages(self) -> Iterator[Message]:
        after = 0
        while batch := self._some_messages(after, _EXPORTED_AT_ONCE):
            yield from batch
            after = batch[-1].seq

    def _files(self, seq: int) -> dict[int, bytes]:
        with self._database.read(self._user) as connection:
            return log.files(connection, self._user, seq)

    def import_(self, path: str | Path | BinaryIO, **options: Unpack[ImportOptions]) -> Imported:
        """Add the conversations of an export to this user's memory; see `Admin.import_`."""
        return zibaldone.Admin(self._wiring).import_(path, user=self._user, **options)

    def preload(self) -> None:
        """Load the index that a recall of the user begins with, up to date: the recall does not wait for it.

        For a process that answers many, before a user's first question and after what they said last. It
        shows nothing to anybody, and is in no audit.
        """
        user, wiring = self._user, self._wiring
        views: list[WarmedView] = [wiring.messages, wiring.notes]

        with inspection.damage_is_named(self._database, user, views):
            for view in views:
                snapshots = generations.snapshots(self._database, user, view)
                wiring.variants.serving(user, view).warm(snapshots, user)

    @audited("read")
    def chunks(self) -> list[zibaldone.StoredChunk]:
        """The chunks view's memory, chunk by chunk in the order in which they were made."""
        view = self._wiring.variants.serving(self._user, self._wiring.chunks)
        return view.chunks(generations.snapshots(self._database, self._user, view))

    @audited("read")
    def superseded(self) -> list[zibaldone.Past]:
        """Values that chunks no longer say, with what took their place, in the order in which they went."""
        view = self._wiring.variants.serving(self._user, self._wiring.chunks)
        return view.history(generations.snapshots(self._database, self._user, view))

    @audited("read")
    def themes(self) -> list[zibaldone.Theme]:
        """The hierarchy view's themes with their semantics, in the order in which they began."""
        return self._made_by(self._wiring.hierarchy, self._wiring.hierarchy.themes)

    @audited("read")
    def episodes(self) -> list[zibaldone.Episode]:
        """The hierarchy view's episodes, in the order in which they were told."""
        return self._made_by(self._wiring.hierarchy, self._wiring.hierarchy.episodes)

    def _made_by(self, view: View, read: Callable[[Connection, Generation], list[R]]) -> list[R]:
        return inspection.read_view(self._database, self._user, view, read)


class AsyncUser(Awaited[User]):
    """See User; every method is awaited, and so are those of `items`, `profile` and `topics`."""

    @property
    def items(self) -> AsyncItems:
        return AsyncItems(self._inner.items)

    @property
    def profile(self) -> AsyncProfile:
        return AsyncProfile(self._inner.profile)

    @property
    def topics(self) -> zibaldone.AsyncTopics:
        return zibaldone.AsyncTopics(self._inner.topics)

    preload = awaited(User.preload)
    sessions = awaited(User.sessions)
    titled_sessions = awaited(User.titled_sessions)
    timeline = awaited(User.timeline)
    versions = awaited(User.versions)
    attachments = awaited(User.attachments)
    deletions = awaited(User.deletions)
    retention = awaited(User.retention)
    retain = awaited(User.retain)
    export = awaited(User.export)
    import_ = awaited(User.import_)
    chunks = awaited(User.chunks)
    superseded = awaited(User.superseded)
    themes = awaited(User.themes)
    episodes = awaited(User.episodes)
