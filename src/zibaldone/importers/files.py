"""The base class of importers, and helpers that read a source's files."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from zibaldone.errors import InvalidImport
from zibaldone.importers.base import Branches, DateOrder, Item, NotImported
from zibaldone.importers.document import Node
from zibaldone.importers.source import ImportSource
from zibaldone.importers.streaming import (
    TextReader,
    elements,
    fields_before,
    keys,
    lines,
    parsed,
)

HEAD_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a file, well-formed or not."""

    text: str  # without white space in front
    keys: tuple[str, ...]  # of the first object, if it is JSON, as far as the head shows it


def head_of(source: ImportSource, name: str) -> Head:
    """Read the beginning of a file. Raises InvalidImport if it is not text."""
    reader = TextReader(io.BytesIO(source.head(name, HEAD_BYTES)), source.where(name))
    begins = reader.begin()
    return Head(reader.text[reader.at :], tuple(_first_keys(reader)) if begins in "[{" else ())


def try_head(source: ImportSource, name: str) -> Head | None:
    """Read the beginning of a file; None if it is not text."""
    try:
        return head_of(source, name)
    except InvalidImport:
        return None


def read_elements(source: ImportSource, name: str, *path: str) -> Iterator[Node]:
    """Yield the elements of the list that a file is, or holds under a path of keys."""
    where = source.where(name)
    with source.open(name) as stream:
        for value, at in elements(stream, where, *path):
            yield Node(value, at, where)


def read_about(source: ImportSource, name: str, key: str = "messages") -> Node:
    """Read the fields of a file's object that stand before a key, such as its messages."""
    where, before = source.where(name), source.read_bytes
    with source.open(name) as stream:
        about = Node(fields_before(stream, where, key), "$", where)
    source.read_bytes = before  # they are read once more with the messages
    return about


def read_objects(source: ImportSource, name: str) -> Iterator[Node | NotImported]:
    """Yield the elements of a JSON list, the lines of a JSON Lines file, or a file's one value."""
    where = source.where(name)
    with source.open(name) as stream:
        reader = TextReader(stream, where)
        listed = reader.begin() == "["
        if not listed:
            value = reader.value()
            if not reader.peek():
                yield Node(value, "$", where)
                return
    if listed:
        yield from read_elements(source, name)
        return
    source.read_bytes = 0
    with source.open(name) as stream:
        for number, line in lines(stream, where):
            if line.strip():
                try:
                    yield Node(parsed(line, where, number), f"line {number}: $", where)
                except InvalidImport as error:
                    yield refusal(error)


def refusal(error: InvalidImport, conversation: str = "") -> NotImported:
    """Turn an error into a refusal of the report."""
    return NotImported(error.where, error.why or str(error), conversation)


def each(
    things: Iterable[Any], read: Callable[[Any], Iterable[Item]], conversation: str = ""
) -> Iterator[Item]:
    """Yield what is read of each thing; of a damaged one what stands before the fault, and a refusal."""
    for thing in things:
        if isinstance(thing, NotImported):
            yield thing
            continue
        try:
            yield from read(thing)
        except InvalidImport as error:
            yield refusal(error, conversation)


class Importer:
    """The importer of one format, recognised by content. Files are read one by one by default."""

    name: str
    looks_for: str  # what it must have to be recognised, in words, for error messages
    names_users = False  # whether its files may say whose memory they are
    among_people = False  # whether several people may speak in its files, all with the role of a user
    branches: Branches = "current"  # what to read of conversations that branch
    dates: DateOrder | None = None  # in which order dates are written; None: as the file suggests
    notes: tuple[str, ...] = ()  # sentences for the report, of what was read so far
    in_folders = ""  # a pattern of the names that its files may have in a folder or an archive, if it has any
    first_keys: frozenset[str]  # of a file's first object, by which it is recognised

    def owner(self, source: ImportSource) -> str | None:  # noqa: ARG002
        """Return the name of the owner, where an export says it."""
        return None

    def fits(self, head: Head) -> bool:
        """True if a file that begins so is of this format."""
        return self.first_keys <= set(head.keys)

    def files(self, source: ImportSource) -> list[str]:
        """List the files to read, in order; empty if the source is not of this format."""
        named = source.names
        if source.only is None:
            named = [name for name in named if self.in_folders and re.search(self.in_folders, name)]
        return [name for name in named if (head := try_head(source, name)) and self.fits(head)]

    def read(self, source: ImportSource) -> Iterator[Item]:
        """Yield the messages in the source's own order. Raises InvalidImport for what is none at all."""
        return each(self.files(source) or source.names, lambda name: self.read_one(source, name))

    def read_one(self, source: ImportSource, name: str) -> Iterator[Item]:
        """Yield the messages of one file."""
        raise NotImplementedError


def _first_keys(reader: TextReader) -> Iterator[str]:
    """Yield the keys of the first object, as far as the reader can read them."""
    with suppress(InvalidImport):
        while reader.take("["):
            pass
        for key in keys(reader):
            yield key
            reader.value()
