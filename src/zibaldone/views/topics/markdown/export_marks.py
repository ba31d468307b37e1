"""An exported folder: a file for each document, and `index.md`, which knows what was exported.

---
exported: 2024-03-01T12:00Z
documents:
  cats-3f2a: {file: cats.md, fingerprint: 5d41402abc4b2a76}
---

# Topics

- [Cats](cats.md): cats, Moss; Ann has a cat named Moss.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from zibaldone.errors import InvalidImport
from zibaldone.views.topics.edit.document_diff import Edit, conflict_diff, diff
from zibaldone.views.topics.markdown.document import Document
from zibaldone.views.topics.markdown.entry import When
from zibaldone.views.topics.markdown.front_matter import dump, read_front_matter
from zibaldone.views.topics.markdown.parsing import parse
from zibaldone.views.topics.markdown.printing import render, render_body

INDEX = "index.md"
_NAME_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Exported:
    """What the index says of one document."""

    file: str
    fingerprint: str  # of the document as it was exported


EMPTY = (
    "empty: nothing was changed; take out its lines one by one, or use memory.forget"
    " ('zibaldone forget') to remove everything"
)


@dataclass(frozen=True, slots=True)
class Conflict:
    """A file that a person edited while memory changed the document too: nothing of it is taken over."""

    file: str
    document: str  # id
    diff: str  # for a person


@dataclass(frozen=True, slots=True)
class Review:
    """What an edited folder asks for."""

    edits: tuple[tuple[str, Edit], ...]  # (id of the document, edit); the id is empty for a new document
    conflicts: tuple[Conflict, ...]


def fingerprint(document: Document) -> str:
    """The same for documents of the same summary and body, whatever their update log and other fields."""
    content = f"{document.summary}\n\n{render_body(document.body)}"
    return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()


def file_names(documents: Iterable[Document]) -> dict[str, str]:
    """A file name for each id, after the title; no two alike, also where capitals do not count."""
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


def render_index(documents: Iterable[Document], time: When, title: str = "Topics") -> str:
    """`index.md` of a folder with these documents under their `file_names`."""
    documents = tuple(documents)
    names = file_names(documents)
    listed = {
        document.id: {"file": names[document.id], "fingerprint": fingerprint(document)}
        for document in documents
    }
    lines = [f"---\n{dump({'exported': str(time), 'documents': listed})}---\n", f"# {title}\n"]
    for document in documents:
        link = f"[{_in_brackets(document.title)}]({quote(names[document.id])})"
        lines.append(f"- {link}: {document.summary}" if document.summary else f"- {link}")
    return "\n".join(lines) + "\n"


def read_index(text: str) -> dict[str, Exported]:
    """What was exported, by the documents' ids.

    Raises InvalidImport when the index does not say it any more.
    """
    listed = read_front_matter(text)[0].aux.get("documents")
    try:
        return {
            str(number): Exported(str(about["file"]), str(about["fingerprint"]))
            for number, about in listed.items()  # type: ignore[union-attr] # else it raises
        }
    except (AttributeError, KeyError, TypeError):
        raise InvalidImport(
            f"{INDEX} does not list what was exported; export into a new folder and repeat the edits there"
        ) from None


def review(
    exported: Mapping[str, Exported], stored: Mapping[str, Document], files: Mapping[str, str]
) -> Review:
    """Every edit in the files (texts by name, without the index), but for those of files in conflict.

    A file without an id is the document that its name had in the index, or else a new one. A file that is
    missing asks for nothing: that is no way to say that a whole document be forgotten.
    Raises InvalidImport with the name of a file that cannot be read, or that was emptied.
    """
    ids = {about.file: number for number, about in exported.items()}
    edits: list[tuple[str, Edit]] = []
    conflicts: list[Conflict] = []
    for name in sorted(files):
        try:
            edited = parse(files[name])
        except InvalidImport as error:
            raise InvalidImport(f"{name}: {error}") from error
        number = edited.id if edited.id in exported or edited.id in stored else ids.get(name, "")
        then = exported[number].fingerprint if number in exported else ""
        now = stored.get(number, Document(number))
        if fingerprint(edited) in {then, fingerprint(now)}:
            continue
        if now.body and not files[name].strip():
            raise InvalidImport(f"{name} is {EMPTY}")
        if number and then != fingerprint(now):
            before = render(now) if number in stored else ""
            conflicts.append(Conflict(name, number, conflict_diff(before, render(edited), name=name)))
        else:
            edits += [(number, edit) for edit in diff(now, edited)]
    return Review(tuple(edits), tuple(conflicts))


def _in_brackets(text: str) -> str:
    return re.sub(r"([\\\[\]])", r"\\\1", text)
