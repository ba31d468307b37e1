"""What the beginning of a source's files shows, and their JSON, value by value."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from zibaldone.core import Message
from zibaldone.errors import InvalidImport
from zibaldone.importers.base import PIECE_MESSAGES, Branches, Conversation, NotImported
from zibaldone.importers.document import Node
from zibaldone.importers.source import ImportSource
from zibaldone.importers.streaming import (
    TextReader,
    check_text,
    elements,
    fields_before,
    lines,
    not_utf8,
    parsed,
    whole_characters,
)

HEAD_BYTES = 1 << 18
_LOOKED_THROUGH_BYTES = 64 * 2**20  # of a file of no known format, for what may be wrong with its JSON
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[][{}:,]|[^\s\[\]{}:,"]+', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Head:
    """What can be told from the beginning of a file, well-formed or not."""

    text: str  # without white space in front
    keys: tuple[str, ...]  # of the first object, if it is JSON, as far as the head shows it

    @property
    def is_json(self) -> bool:
        """True if it begins as JSON does."""
        return self.text[:1] in ("[", "{")


def head_of(source: ImportSource, name: str) -> Head:
    """The beginning of a file. Raises InvalidImport for what is no text."""
    data, where = source.head(name, HEAD_BYTES), source.where(name)
    check_text(data, where)
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(data)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise not_utf8(error, f"{where}: line {line}") from error
    text = text.lstrip()
    if not text:
        raise InvalidImport(f"{where}: is empty")
    return Head(text, tuple(_first_keys(text)) if text[0] in "[{" else ())


def with_keys(source: ImportSource, names: Sequence[str], *keys: str) -> list[str]:
    """Of these files those whose first object has all of the keys."""
    return [name for name in names if (head := try_head(source, name)) and set(keys) <= set(head.keys)]


def try_head(source: ImportSource, name: str) -> Head | None:
    """The beginning of a file; None for what is no text."""
    try:
        return head_of(source, name)
    except InvalidImport:
        return None


def read_value(source: ImportSource, name: str) -> Node:
    """A file of a source as one JSON value."""
    where = source.where(name)
    with source.open(name) as stream:
        reader = TextReader(stream, where)
        reader.begin()
        value = reader.value()
        reader.end()
    return Node(value, "$", where)


def read_elements(source: ImportSource, name: str, *path: str) -> Iterator[Node]:
    """The elements of the list that a file is, or holds under a path of keys."""
    where = source.where(name)
    with source.open(name) as stream:
        for value, at in elements(stream, where, *path):
            yield Node(value, at, where)


def read_about(source: ImportSource, name: str) -> Node:
    """The fields of the object that a file is, as far as they stand before its messages."""
    where, before = source.where(name), source.read_bytes
    with source.open(name) as stream:
        about = Node(fields_before(stream, where, "messages"), "$", where)
    source.read_bytes = before  # they are read once more with the messages
    return about


def read_objects(source: ImportSource, name: str) -> Iterator[Node | NotImported]:
    """The elements of a JSON list, or the lines of a JSON Lines file, or the one value that the file is."""
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
                    yield Node(parsed(_reading(line), where, number), f"line {number}: $", where)
                except InvalidImport as error:
                    yield refusal(error)


def check_json(source: ImportSource, name: str) -> None:
    """Raises InvalidImport for JSON that is no whole JSON; a long file is not looked through."""
    if source.entries[name].size_bytes <= _LOOKED_THROUGH_BYTES:
        for _ in read_objects(source, name):
            pass
    source.read_bytes = 0


def _reading(line: str) -> Callable[[], object]:
    return lambda: json.loads(whole_characters(line) if "\\u" in line else line)


def refusal(error: InvalidImport, conversation: str = "") -> NotImported:
    """A fault as a line of the report."""
    return NotImported(error.where, error.why or str(error), conversation)


def each_file(names: Sequence[str], read: Callable[[str], Iterator[Conversation]]) -> Iterator[Conversation]:
    """The conversations of all files; one that breaks off does not hold up the next."""
    for name in names:
        try:
            yield from read(name)
        except InvalidImport as error:
            yield Conversation(name, (), refused=(refusal(error, name if len(names) > 1 else ""),))


def each_message(
    nodes: Iterable[Node | NotImported], read: Callable[[Node], Iterable[Message]], conversation: str = ""
) -> Iterator[Message | NotImported]:
    """The messages of each; one that cannot be read does not hold up the next."""
    for node in nodes:
        try:
            if isinstance(node, NotImported):
                yield node
            else:
                yield from read(node)
        except InvalidImport as error:
            yield refusal(error, conversation)


def each_conversation(
    nodes: Iterable[Node | NotImported], read: Callable[[Node], Conversation], title: str = ""
) -> Iterator[Conversation]:
    """The conversation that each is; one that cannot be read does not hold up the next.

    `title` is the field by which the report calls it then.
    """
    for node in nodes:
        if isinstance(node, NotImported):
            yield Conversation(node.where, (), refused=(node,))
            continue
        try:
            yield read(node)
        except InvalidImport as error:
            called = node.value.get(title) if isinstance(node.value, dict) else None
            refused = refusal(error, called if isinstance(called, str) else "")
            yield Conversation(node.at, (), refused=(refused,))


def gathered(name: str, made: Iterable[Message | NotImported], user_hint: str | None = None) -> Conversation:
    """A conversation of what could be read of it; what breaks it off is the last thing refused."""
    messages: list[Message] = []
    refused: list[NotImported] = []
    try:
        for item in made:
            if isinstance(item, NotImported):
                refused.append(item)
            else:
                messages.append(item)
    except InvalidImport as error:
        refused.append(refusal(error, name))
    return Conversation(name, tuple(messages), user_hint, tuple(refused))


def in_pieces(name: str, made: Iterable[Message | NotImported]) -> Iterator[Conversation]:
    """A conversation that may be long, some of its messages at a time."""
    items = iter(made)
    while (piece := gathered(name, islice(items, PIECE_MESSAGES))).messages or piece.refused:
        yield piece


class Importer:
    """One format, by the content of its files. Each is read by itself, unless the format says otherwise."""

    name: str
    looks_for: str  # what it must have to be recognised, in words, for error messages
    names_users = False  # whether its files may say whose memory they are
    in_folders = ""  # a pattern of the names that its files may have in a folder or an archive, if it has any

    def fits(self, head: Head) -> bool:
        """True if a file that begins so is of this format."""
        raise NotImplementedError

    def files(self, source: ImportSource) -> list[str]:
        """What it would read of the source, in that order; nothing when it is not of this format."""
        named = source.names
        if source.only is None:
            named = [name for name in named if self.in_folders and re.search(self.in_folders, name)]
        return [name for name in named if (head := try_head(source, name)) and self.fits(head)]

    def read(self, source: ImportSource, branches: Branches = "current") -> Iterator[Conversation]:  # noqa: ARG002
        """The conversations in the source's own order. Raises InvalidImport for what is none at all."""
        return each_file(self.files(source) or source.names, lambda name: self.read_one(source, name))

    def read_one(self, source: ImportSource, name: str) -> Iterator[Conversation]:
        """The conversations of one file."""
        raise NotImplementedError


def _first_keys(text: str) -> Iterator[str]:
    """The keys of the first object of the text, even when the text is cut off or broken further on."""
    depth, base, previous = 0, 0, ""
    for token in _TOKENS.finditer(text):
        word = token.group()
        if not base and word not in ("[", "{"):
            return
        if word in ("[", "{"):
            depth += 1
            base = base or (depth if word == "{" else 0)
        elif word in ("]", "}"):
            depth -= 1
            if depth < base:
                return
        elif word == ":" and depth == base and previous.startswith('"'):
            yield previous.strip('"')
        previous = word
