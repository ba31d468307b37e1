"""An exported folder on disk: written whole, read with care, and never written over what somebody edited.

Beside what `exported.py` says, the index has `export` (a random name), `owner` (a hash of the user's id) and
`taken`: the fingerprints of the edited files that were imported, which ask for nothing any more.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from zibaldone.errors import InvalidImport, InvalidInput
from zibaldone.views.topics.markdown.document import Document
from zibaldone.views.topics.markdown.entry import When
from zibaldone.views.topics.markdown.export_marks import (
    INDEX,
    Exported,
    file_names,
    fingerprint,
    read_index,
    render_index,
)
from zibaldone.views.topics.markdown.front_matter import dump, read_front_matter
from zibaldone.views.topics.markdown.parsing import parse
from zibaldone.views.topics.markdown.printing import render


@dataclass(frozen=True, slots=True)
class Folder:
    """What is in an exported folder now."""

    export: str
    exported: Mapping[str, Exported]  # by the documents' ids
    taken: Mapping[str, str]  # by file: the fingerprint it had when it was imported
    files: Mapping[str, str]  # texts by name, without the index
    aux: Mapping[str, Any] = field(repr=False)  # the index's fields
    body: str = field(repr=False)  # of the index

    def asking(self) -> dict[str, str]:
        """The files that were not imported as they are."""
        return {name: text for name, text in self.files.items() if _print_of(text) != self.taken.get(name)}


def read_folder(folder: Path, user: str) -> Folder:
    """Raises InvalidImport when it is no export of this user, or when a file is no text."""
    if not folder.is_dir():
        raise InvalidImport(f"{str(folder)!r} is no folder: give one that was exported")
    try:
        if not (folder / INDEX).is_file():
            raise InvalidImport(
                f"{str(folder)!r} has no {INDEX}: give a folder that was exported, as a whole"
            )
        index = _text(folder / INDEX)
        names = [
            path.name
            for path in sorted(folder.iterdir())
            if path.suffix.lower() == ".md" and path.name != INDEX and path.name[0] != "." and path.is_file()
        ]
        files = {name: _text(folder / name) for name in names}
    except OSError as error:
        raise InvalidImport(f"cannot read {str(folder)!r}: {error.strerror}") from error
    exported = read_index(index)
    front, body = read_front_matter(index)
    if front.aux.get("owner") != owner_of(user):
        raise InvalidImport(
            f"{str(folder)!r} is not an export of user {user!r}: give the user whose documents they are"
        )
    taken = front.aux.get("taken")
    return Folder(
        str(front.aux.get("export", "")),
        {number: about for number, about in exported.items() if _is_plain(about.file)},
        {str(key): str(value) for key, value in taken.items()} if isinstance(taken, dict) else {},
        files,
        front.aux,
        body,
    )


def write_folder(folder: Path, documents: Sequence[Document], user: str, time: When) -> tuple[str, ...]:
    """Write the documents and the index; the names of the files, the index last.

    A new folder appears whole or not at all. In an earlier export of the same user the files of that export
    are replaced, or removed when their documents are gone, and the index comes last. Raises InvalidInput, and
    nothing is written, for any other folder that is not empty, and for edits that were not imported.
    """
    names = file_names(documents)
    try:
        earlier = _earlier(folder, user)
        kept: dict[str, str] = {}
        if earlier is not None:
            _check_edits(folder, earlier, documents, set(names.values()))
            known = {*names.values(), *(about.file for about in earlier.exported.values())}
            kept = {name: mark for name, mark in earlier.taken.items() if name not in known}
        front = {"export": uuid4().hex[:16], "owner": owner_of(user), "taken": kept}
        index = render_index(documents, time).replace("---\n", f"---\n{dump(front)}", 1)
        texts = {names[one.id]: render(one) for one in documents} | {INDEX: index}
        if earlier is None:
            _write_new(folder, texts)
        else:
            for name, text in texts.items():
                _replace(folder / name, text)
            for about in earlier.exported.values():
                if about.file not in texts:
                    (folder / about.file).unlink(missing_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"cannot write {str(folder)!r} ({error.strerror}): choose another folder"
        ) from error
    return tuple(texts)


def mark_taken(folder: Path, read: Folder, files: Iterable[str]) -> None:
    """Note in the index that these files were imported as they were read."""
    taken = {**read.taken, **{name: _print_of(read.files[name]) for name in files}}
    try:
        _replace(folder / INDEX, f"---\n{dump({**read.aux, 'taken': taken})}---\n{read.body}")
    except OSError as error:
        raise InvalidInput(
            f"the edits are stored, but {INDEX} in {str(folder)!r} cannot be written ({error.strerror}):"
            " export into another folder before you edit on"
        ) from error


def owner_of(user: str) -> str:
    """By this a folder is known to be a user's."""
    return hashlib.blake2b(user.encode(), digest_size=8, person=b"owner").hexdigest()


def _earlier(folder: Path, user: str) -> Folder | None:
    """The export that is there; None where there is nothing yet."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    try:
        return read_folder(folder, user)
    except InvalidImport as error:
        raise InvalidInput(
            f"{str(folder)!r} is neither empty nor an export that can be replaced ({error}):"
            " choose a new folder"
        ) from error


def _check_edits(folder: Path, earlier: Folder, documents: Sequence[Document], names: Iterable[str]) -> None:
    """Raises InvalidInput where a file that would be lost has something that memory was not told."""
    marks = {about.file: {about.fingerprint} for about in earlier.exported.values()}
    for document in documents:
        if document.id in earlier.exported:
            marks[earlier.exported[document.id].file].add(fingerprint(document))
    for name in sorted({*names, *marks} & earlier.files.keys()):
        known = {*marks.get(name, ()), earlier.taken.get(name)}
        if _print_of(earlier.files[name]) not in known:
            raise InvalidInput(
                f"{name!r} in {str(folder)!r} was edited and not imported: import the folder first,"
                " or export into a new one"
            )


def _write_new(folder: Path, texts: Mapping[str, str]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as temporary:
        made = Path(temporary) / "made"
        made.mkdir()
        for name, text in texts.items():
            _replace(made / name, text)
        if folder.exists():
            folder.rmdir()  # empty: so it was found
        made.rename(folder)


def _replace(path: Path, text: str) -> None:
    """The file has the old text or the new one, whatever happens."""
    with _temporary(path) as name:
        with name.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        name.replace(path)


@contextmanager
def _temporary(path: Path) -> Iterator[Path]:
    name = path.with_name(f".{path.name[:40]}.{uuid4().hex}")
    try:
        yield name
    finally:
        name.unlink(missing_ok=True)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise InvalidImport(
            f"{path.name} is not UTF-8 text ({error.reason} at byte {error.start}): save it as UTF-8"
        ) from error


def _print_of(text: str) -> str:
    """The fingerprint of what a file says; of what cannot be read, none that a document has."""
    try:
        return fingerprint(parse(text))
    except InvalidImport:
        return "unreadable"


def _is_plain(name: str) -> bool:
    """Whether it names a file of the folder itself: somebody may have written another path into the index."""
    return name == Path(name).name and "\\" not in name and name.lower().endswith(".md") and name != INDEX
