"""Topics: a user's topic documents, to be read, searched, taken out as a folder, and corrected by hand.

    topics = memory.user("ann").topics
    topics.export("notes")                      # Markdown, a file for each topic
    topics.edit("topic-0001", corrected_text)

A correction is a message of the role `editor` in the log, so it outlives every rebuild, and is forgotten like
any other message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.api.wiring import Wiring
from zibaldone.core import Message
from zibaldone.core.threads import Awaited, awaited
from zibaldone.core.validation import file_path, shown, whole_text
from zibaldone.engine.inspection import read_view
from zibaldone.engine.maintenance import Behind
from zibaldone.errors import InvalidInput, UnknownName
from zibaldone.log.audit import audited
from zibaldone.views.base import Generation
from zibaldone.views.topics.editing import Conflict, Edit, conflict_diff, diff, to_messages
from zibaldone.views.topics.library import CatalogueLine, Library
from zibaldone.views.topics.markdown.document import Document, parse, render
from zibaldone.views.topics.markdown.entry import When
from zibaldone.views.topics.markdown.folder_export import write_folder
from zibaldone.views.topics.read.agent_tools import Toolset
from zibaldone.views.topics.read.index import ReadingIndex


@dataclass(frozen=True, slots=True)
class TopicsExported:
    """The files of an export."""

    folder: Path
    files: tuple[str, ...]  # the index last


@dataclass(frozen=True, slots=True)
class TopicsEdited:
    """The outcome of edits: those that were taken, and conflicts."""

    edits: tuple[Message, ...]  # as stored; those that were taken before are not among them
    conflicts: tuple[Conflict, ...]  # nothing of these was taken
    behind: tuple[Behind, ...] = ()  # why the documents do not say it yet; the next maintenance goes on


class Topics:
    """One user's topic documents as the topics view has made them up to now; `maintain` makes them."""

    def __init__(self, wiring: Wiring, user: str) -> None:
        """Use `memory.user(name).topics`."""
        self._wiring, self._database, self._user = wiring, wiring.database, user
        self._view = wiring.variants.serving(user, wiring.topics)

    def documents(self) -> list[Document]:
        """List the documents; CURRENT, the facts that are not filed yet, comes last, unless it is empty."""
        return [document for document in self._library().everything() if document.body]

    def document(self, doc_id: str) -> Document:
        """The document of that id. Raises UnknownName, with the ids that there are."""
        return _of_id(self.documents(), doc_id, self._user)

    def text(self, doc_id: str) -> str:
        """The document as Markdown, as it is exported. Raises UnknownName like `document`."""
        return render(self.document(doc_id))

    def catalogue(self) -> list[CatalogueLine]:
        """Id, title, summary and size of every document but CURRENT."""
        return list(self._library().catalogue())

    def tools(self) -> Toolset:
        """grep, search and the like over the documents as they are now, for an agent."""
        return Toolset(ReadingIndex(self._library()))

    def export(self, folder: str | Path) -> TopicsExported:
        """Write a Markdown file for each document, and `index.md`.

        Into a new or empty folder, or over an earlier export of the same user: it is a copy, which `edit`
        corrects. Raises InvalidInput, and nothing is written, for any other folder, and where there is
        nothing to export.
        """
        target = file_path("folder", folder).absolute()
        self._database.keep_out(target)
        documents = self.documents()
        if not documents:
            raise InvalidInput(
                f"user {self._user!r} has no topic documents: maintain(views=['topics']) makes them"
            )
        now = self._wiring.now()
        with self._database.write(self._user) as connection:
            log.note_export(connection, self._user, str(target), now)
        when = When.of(now.replace(microsecond=0))
        return TopicsExported(target, write_folder(target, documents, self._user, when))

    def edit(self, doc_id: str, text: str, *, before: str | None = None) -> TopicsEdited:
        """Take over the entries of one document's edited text; its titles and its summary follow them.

        `before` is the text as it was when the edit began: if memory says something else now, that is a
        conflict, and nothing is taken. Raises UnknownName, and InvalidInput for an empty text.
        """
        if before is not None:
            whole_text("before", before)
        if not whole_text("a document's text", text).strip():
            raise InvalidInput(
                "the text is empty: nothing was changed; take out its lines one by one, or use memory.forget"
                " ('zibaldone forget') to remove everything"
            )
        documents = self.documents()
        edited = parse(text)
        if before is None:
            now = _of_id(documents, doc_id, self._user)
        else:
            now = next((document for document in documents if document.id == doc_id), Document(doc_id))
            if now.body not in {parse(before), edited}:
                stored = render(now) if now.body else ""
                shown_diff = conflict_diff(stored, text, before, name=doc_id)
                return TopicsEdited((), (Conflict(doc_id, shown_diff),))
        return self._store(doc_id, diff(now, now.with_body(edited)))

    def _store(self, doc_id: str, edits: Sequence[Edit]) -> TopicsEdited:
        if not edits:
            return TopicsEdited((), ())
        with self._database.read(self._user) as connection:
            last = log.state(connection, self._user).last_seq
        stored = self._add(to_messages(doc_id, edits))
        behind = self._wiring.maintain(self._user, [self._wiring.topics]).behind
        return TopicsEdited(tuple(message for message in stored if message.seq > last), (), behind)

    @audited("write", "add")
    def _add(self, edits: Sequence[Message]) -> list[Message]:
        return self._wiring.ingest.add(self._user, edits)

    def _library(self) -> Library:
        def read(connection: Connection, generation: Generation) -> list[Library]:
            return [self._view.library(connection, generation)]

        return next(iter(read_view(self._database, self._user, self._view, read)), Library())


class AsyncTopics(Awaited[Topics]):
    """See Topics; every method is awaited, the tools themselves are not."""

    documents = awaited(Topics.documents)
    document = awaited(Topics.document)
    text = awaited(Topics.text)
    catalogue = awaited(Topics.catalogue)
    tools = awaited(Topics.tools)
    export = awaited(Topics.export)
    edit = awaited(Topics.edit)


def _of_id(documents: Sequence[Document], doc_id: str, user: str) -> Document:
    for document in documents:
        if document.id == doc_id:
            return document
    ids = ", ".join(document.id for document in documents) or "none yet"
    raise UnknownName(f"user {user!r} has no topic document {shown(doc_id)}; there is {ids}")
