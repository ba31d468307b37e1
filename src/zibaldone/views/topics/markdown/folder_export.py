"""Export of topic documents to a folder: a Markdown file for each, and `index.md`, which names the owner.

The front matter of each file has its document's id and, as `exported`, the fingerprint that the document had:
a file of another fingerprint was edited. It is written whole, and never over what somebody edited.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

from zibaldone.errors import InvalidImport, InvalidInput
from zibaldone.views.topics.editing import Conflict, Edit, conflict_diff, diff, fingerprint
from zibaldone.views.topics.markdown.document import Document
from zibaldone.views.topics.markdown.entry import When
from zibaldone.views.topics.markdown.text_format import front_matter, parse, read_front_matter, render

INDEX = "index.md"
_NAME_CHARACTERS = 60
EMPTY = (
    "nothing was changed; take out a document's lines one by one, or use memory.forget"
    " ('zibaldone forget') to remove everything"
)
_EXPORTED = re.compile(r"^exported: .*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file of an exported folder."""

    path: Path
    text: str
    document: Document  # as the file has it
    exported: str  # fingerprint of the document as it was exported, or as it was imported since

    @property
    def is_edited(self) -> bool:
        """True if the file differs from its last export or import."""
        return fingerprint(self.document) != self.exported


def read_folder(folder: Path, user: str) -> list[ExportedFile]:
    """Read an exported folder. Raises InvalidImport if it is not an export of this user or unreadable."""
    try:
        if not folder.is_dir():
            raise InvalidImport(f"{str(folder)!r} is no folder: give one that was exported")
        if not (folder / INDEX).is_file():
            raise InvalidImport(
                f"{str(folder)!r} has no {INDEX}: give a folder that was exported, as a whole"
            )
        if read_front_matter(_text(folder / INDEX))[0].get("owner") != owner_of(user):
            raise InvalidImport(
                f"{str(folder)!r} is not an export of user {user!r}: give the user whose documents they are"
            )
        paths = [
            path
            for path in sorted(folder.iterdir())
            if path.suffix.lower() == ".md" and path.name != INDEX and path.name[0] != "." and path.is_file()
        ]
        return [_file(path) for path in paths]
    except OSError as error:
        raise InvalidImport(f"cannot read {str(folder)!r}: {error.strerror}") from error


def write_folder(folder: Path, documents: Sequence[Document], user: str, time: When) -> tuple[str, ...]:
    """Write documents and index; returns the names of the files, the index last.

    In an earlier export of the same user the files of that export are replaced, or removed when their
    documents are gone. Raises InvalidInput, and nothing is written, for any other folder that is not empty,
    and for edits that were not imported.
    """
    names = file_names(documents)
    texts = {INDEX: _index(documents, names, user, time)}  # first: what is written by halves can be replaced
    texts |= {names[one.id]: render(one, exported=fingerprint(one)) for one in documents}
    try:
        earlier = _earlier(folder, user) if folder.exists() and any(folder.iterdir()) else []
        current = {fingerprint(one) for one in documents}
        for file in earlier:
            if file.is_edited and fingerprint(file.document) not in current:
                raise InvalidInput(
                    f"{file.path.name!r} in {str(folder)!r} was edited and not imported: import the folder"
                    " first, or export into a new one"
                )
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            _replace(folder / name, text)
        for file in earlier:
            if file.document.id and file.path.name not in texts:
                file.path.unlink(missing_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"cannot write {str(folder)!r} ({error.strerror}): choose another folder"
        ) from error
    return (*sorted(texts.keys() - {INDEX}), INDEX)


def review(
    files: Iterable[ExportedFile], documents: Mapping[str, Document]
) -> tuple[list[tuple[str, Edit]], list[Conflict], list[ExportedFile]]:
    """(edits by document id, conflicts, files without a conflict) of edited files.

    Raises InvalidImport for a file that was emptied or added.
    """
    edits: list[tuple[str, Edit]] = []
    conflicts: list[Conflict] = []
    taken: list[ExportedFile] = []
    for file in (one for one in files if one.is_edited):
        name, doc_id = file.path.name, file.document.id
        now = documents.get(doc_id, Document(doc_id))
        if doc_id and fingerprint(now) == fingerprint(file.document):
            continue
        if not doc_id:
            raise InvalidImport(
                f"{name} names no document, as exported files do in their first lines: {EMPTY}"
            )
        if file.exported != fingerprint(now):
            stored = render(now) if now.body else ""
            conflicts.append(Conflict(name, doc_id, conflict_diff(stored, render(file.document), name=name)))
        else:
            edits += [(doc_id, edit) for edit in diff(now, file.document)]
            taken.append(file)
    return edits, conflicts, taken


def mark_imported(files: Iterable[ExportedFile]) -> None:
    """Note in these files that their edits were imported."""
    for file in files:
        try:
            _replace(
                file.path, _EXPORTED.sub(f"exported: '{fingerprint(file.document)}'", file.text, count=1)
            )
        except OSError as error:
            raise InvalidInput(
                f"the edits are stored, but {str(file.path)!r} cannot be written ({error.strerror}):"
                " export into another folder before you edit on"
            ) from error


def owner_of(user: str) -> str:
    """Digest by which a folder is known to be a user's."""
    return hashlib.blake2b(user.encode(), digest_size=8, person=b"owner").hexdigest()


def file_names(documents: Iterable[Document]) -> dict[str, str]:
    """A file name for each id, from the title; distinct also where case is ignored."""
    names: dict[str, str] = {}
    taken = {INDEX}
    for document in documents:
        words = re.findall(r"\w+", unicodedata.normalize("NFKC", document.title).casefold())
        stem = "-".join(words)[:_NAME_CHARACTERS].strip("-_") or "topic"
        name, number = f"{stem}.md", 1
        while name in taken:
            number += 1
            name = f"{stem}-{number}.md"
        taken.add(name)
        names[document.id] = name
    return names


def _index(documents: Sequence[Document], names: Mapping[str, str], user: str, time: When) -> str:
    lines = [f"{front_matter({'exported': str(time), 'owner': owner_of(user)})}\n# Topics\n"]
    for document in documents:
        title = re.sub(r"([\\\[\]])", r"\\\1", document.title)
        link = f"[{title}]({quote(names[document.id])})"
        lines.append(f"- {link}: {document.summary}" if document.summary else f"- {link}")
    return "\n".join(lines) + "\n"


def _file(path: Path) -> ExportedFile:
    text = _text(path)
    try:
        return ExportedFile(path, text, parse(text), read_front_matter(text)[0].get("exported", ""))
    except InvalidImport as error:
        raise InvalidImport(f"{path.name}: {error}") from error


def _earlier(folder: Path, user: str) -> list[ExportedFile]:
    try:
        return read_folder(folder, user)
    except InvalidImport as error:
        raise InvalidInput(
            f"{str(folder)!r} is neither empty nor an export that can be replaced ({error}):"
            " choose a new folder"
        ) from error


def _replace(path: Path, text: str) -> None:
    """Replace a file atomically: it has the old text or the new one, whatever happens."""
    written = path.with_name(f".{path.name[:40]}.{uuid4().hex}")
    try:
        with written.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        written.replace(path)
    finally:
        written.unlink(missing_ok=True)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise InvalidImport(
            f"{path.name} is not UTF-8 text ({error.reason} at byte {error.start}): save it as UTF-8"
        ) from error
