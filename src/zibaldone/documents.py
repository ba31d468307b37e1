"""Topics: a user's topic documents, to be read, searched, taken out as a folder, and corrected by hand.

    topics = memory.topics("ann")
    topics.export("notes")        # Markdown, a file for each topic
    topics.import_("notes")       # what was edited there meanwhile

A correction is a message of the role `editor` in the log, so it outlives every rebuild, and is forgotten like
any other message.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from anyio import to_thread

from zibaldone import generations, log
from zibaldone.core import Message
from zibaldone.errors import InvalidInput
from zibaldone.incoming import file_path, key, shown
from zibaldone.maintenance import Behind
from zibaldone.storage.records import read_again
from zibaldone.views.topics import Document, Toolset
from zibaldone.views.topics.edit.document_diff import Edit, conflict_diff, diff
from zibaldone.views.topics.edit.edit_messages import to_messages
from zibaldone.views.topics.library import CatalogueLine, Library
from zibaldone.views.topics.markdown.entry import When
from zibaldone.views.topics.markdown.export_marks import EMPTY, Conflict, fingerprint, review
from zibaldone.views.topics.markdown.folder_export import mark_taken, read_folder, write_folder
from zibaldone.views.topics.markdown.parsing import parse
from zibaldone.views.topics.markdown.printing import render
from zibaldone.views.topics.read.reading_index import ReadingIndex

if TYPE_CHECKING:
    from zibaldone.memory import Memory

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TopicsExported:
    """What was written."""

    folder: Path
    files: tuple[str, ...]  # the index last


@dataclass(frozen=True, slots=True)
class TopicsEdited:
    """What became of somebody's edits."""

    edits: tuple[Message, ...]  # as stored; those that were taken before are not among them
    conflicts: tuple[Conflict, ...]  # nothing of these was taken
    behind: tuple[Behind, ...] = ()  # why the documents do not say it yet; the next maintenance goes on


class Topics:
    """One user's topic documents as the topics view has made them up to now; `maintain` makes them."""

    def __init__(self, memory: Memory, user: str) -> None:
        """Use `memory.topics(user)`."""
        self._memory, self._user = memory, key("user", user)

    def documents(self) -> list[Document]:
        """All of them; CURRENT, what is not filed yet, comes last, unless it is empty."""
        return [one for one in self._library().everything() if one.body]

    def document(self, doc_id: str) -> Document:
        """The one of that id. Raises InvalidInput, with the ids that there are."""
        return _one(self.documents(), doc_id, self._user)

    def text(self, doc_id: str) -> str:
        """The document as Markdown, as it is exported. Raises InvalidInput like `document`."""
        return render(self.document(doc_id))

    def catalogue(self) -> list[CatalogueLine]:
        """Id, title, summary and size of every document but CURRENT."""
        return list(self._library().catalogue())

    def tools(self) -> Toolset:
        """grep, search and the like over the documents as they are now, for an agent."""
        return Toolset(ReadingIndex(self._library()))

    def export(self, folder: str | Path) -> TopicsExported:
        """Write a Markdown file for each document, and `index.md`.

        Into a new or empty folder, or over an earlier export of the same user. Raises InvalidInput, and
        nothing is written, for any other folder, for one with edits that were not imported, and where there
        is nothing to export.
        """
        target = file_path("folder", folder).absolute()
        documents = self.documents()
        if not documents:
            raise InvalidInput(
                f"user {self._user!r} has no topic documents: maintain(views=['topics']) makes them"
            )
        now = When.of(self._memory._clock().replace(microsecond=0))  # noqa: SLF001
        return TopicsExported(target, write_folder(target, documents, self._user, now))

    def import_(self, folder: str | Path) -> TopicsEdited:
        """Take over what was edited in an exported folder, all of it in one step.

        A file whose document has changed in memory since the export is a conflict: its edits are not taken.
        A file that is gone asks for nothing. Importing a folder again takes nothing twice; export it again
        before editing a file that was imported. Raises InvalidImport, and nothing is stored, for what is no
        export of this user or cannot be read, and for a file that was emptied.
        """
        path = file_path("folder", folder)
        found = read_folder(path, self._user)
        asking = found.asking()
        reviewed = review(found.exported, {one.id: one for one in self.documents()}, asking)
        done = self._store(reviewed.edits, reviewed.conflicts, found.export)
        refused = {conflict.file for conflict in reviewed.conflicts}
        if reviewed.edits:
            mark_taken(path, found, [name for name in asking if name not in refused])
        return done

    def edit(self, doc_id: str, text: str, *, before: str | None = None) -> TopicsEdited:
        """Take over one document's edited text.

        `before` is the text as it was when the edit began: if memory says something else now, that is a
        conflict, and nothing is taken. Raises InvalidInput for an unknown id and for an empty text,
        InvalidImport for front matter that cannot be read.
        """
        if not isinstance(text, str) or not isinstance(before, str | None):
            raise InvalidInput(f"a document's text must be a string, not {shown(text)}")
        if not text.strip():
            raise InvalidInput(f"the text is {EMPTY}")
        documents = self.documents()
        edited = parse(text)
        if before is None:
            now = _one(documents, doc_id, self._user)
        else:
            now = next((one for one in documents if one.id == doc_id), Document(doc_id))
            if fingerprint(now) not in {fingerprint(parse(before)), fingerprint(edited)}:
                stored = render(now) if now.body else ""
                shown_diff = conflict_diff(stored, render(edited), before, name=doc_id)
                return TopicsEdited((), (Conflict(f"{doc_id}.md", doc_id, shown_diff),))
        return self._store([(doc_id, edit) for edit in diff(now, edited)], ())

    def _store(
        self, edits: Sequence[tuple[str, Edit]], conflicts: tuple[Conflict, ...], export: str = ""
    ) -> TopicsEdited:
        if not edits:
            return TopicsEdited((), conflicts)
        messages = to_messages(edits, self._library())
        if export:
            messages = _with_ids(messages, export)
        with self._memory._database.read() as connection:  # noqa: SLF001
            last = log.state(connection, self._user).last_seq
        stored = self._memory.add(messages, user=self._user)
        report = self._memory.maintain(user=self._user, views=["topics"])
        return TopicsEdited(tuple(one for one in stored if one.seq > last), conflicts, report.behind)

    def _library(self) -> Library:
        memory = self._memory

        def once() -> Library:
            with memory._database.read() as connection:  # noqa: SLF001
                generation = generations.serving(connection, self._user, memory._topics)  # noqa: SLF001
                return memory._topics.library(connection, generation) if generation else Library()  # noqa: SLF001

        return read_again(once)


class AsyncTopics:
    """See Topics; every method is awaited."""

    def __init__(self, memory: Memory, user: str) -> None:
        """Use `memory.topics(user)` of an AsyncMemory."""
        self._topics = Topics(memory, user)

    async def documents(self) -> list[Document]:
        """See Topics.documents."""
        return await _in_thread(self._topics.documents)

    async def document(self, doc_id: str) -> Document:
        """See Topics.document."""
        return await _in_thread(self._topics.document, doc_id)

    async def text(self, doc_id: str) -> str:
        """See Topics.text."""
        return await _in_thread(self._topics.text, doc_id)

    async def catalogue(self) -> list[CatalogueLine]:
        """See Topics.catalogue."""
        return await _in_thread(self._topics.catalogue)

    async def tools(self) -> Toolset:
        """See Topics.tools; the tools themselves are not awaited."""
        return await _in_thread(self._topics.tools)

    async def export(self, folder: str | Path) -> TopicsExported:
        """See Topics.export."""
        return await _in_thread(self._topics.export, folder)

    async def import_(self, folder: str | Path) -> TopicsEdited:
        """See Topics.import_."""
        return await _in_thread(self._topics.import_, folder)

    async def edit(self, doc_id: str, text: str, *, before: str | None = None) -> TopicsEdited:
        """See Topics.edit."""
        return await _in_thread(self._topics.edit, doc_id, text, before=before)


async def _in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    # Not abandoned on cancellation: a write that has begun is waited for, so that its fate is known.
    return await to_thread.run_sync(partial(call, *args, **kwargs))


def _one(documents: Sequence[Document], doc_id: str, user: str) -> Document:
    for document in documents:
        if document.id == doc_id:
            return document
    ids = ", ".join(one.id for one in documents) or "none yet"
    raise InvalidInput(f"user {user!r} has no topic document {shown(doc_id)}; there is {ids}")


def _with_ids(messages: Sequence[Message], export: str) -> list[Message]:
    """With ids that are the same when the same edits of the same export come again."""
    named: list[Message] = []
    seen: dict[str, int] = {}
    for message in messages:
        said = json.dumps([export, message.content, message.metadata], ensure_ascii=True, sort_keys=True)
        seen[said] = seen.get(said, 0) + 1
        mark = hashlib.blake2b(f"{seen[said]} {said}".encode(), digest_size=16).hexdigest()
        named.append(replace(message, id=f"edit-{mark}"))
    return named
