"""Opening foreign files: their bytes, their text, their JSON, and what their beginning shows."""

from __future__ import annotations

import codecs
import json
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from zibaldone.errors import InvalidImport
from zibaldone.importers.base import Head
from zibaldone.importers.document import Node

T = TypeVar("T")
HEAD_BYTES = 1 << 20
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[][{}:,]|[^\s\[\]{}:,"]+', re.DOTALL)
_ESCAPES = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_BOMS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}
_SIGNATURES = {
    b"PK\x03\x04": "a ZIP archive: unpack it and import the JSON file inside",
    b"\x1f\x8b": "compressed with gzip: unpack it first",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF document",
}


def read_json(path: Path) -> Node:
    """The file as one JSON value."""
    text = _read_text(path)
    return Node(_parsed(lambda: json.loads(text), path, 1), "$", path)


def read_objects(path: Path) -> Iterator[Node]:
    """The elements of a JSON list, or the lines of a JSON Lines file, or the one value that the file is."""
    text = _read_text(path)
    start = len(text) - len(text.lstrip())
    value, end = _parsed(lambda: json.JSONDecoder().raw_decode(text, start), path, 1)
    if not text[end:].strip():
        root = Node(value, "$", path)
        yield from root.items() if isinstance(value, list) else [root]
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            # the lambda is called before the loop goes on
            value = _parsed(lambda: json.loads(line), path, number)  # noqa: B023
            yield Node(value, f"line {number}: $", path)


def is_folder(path: Path) -> bool:
    """Whether it is one that can be looked at; opening what cannot says why."""
    try:
        return path.is_dir()
    except OSError:
        return False


def read_head(path: Path) -> Head:
    """What the beginning of the file shows; the rest is not read."""
    text = _decoded(_read_bytes(path, HEAD_BYTES), path, whole=False)
    opening = text.lstrip()[:1]
    if opening not in ("[", "{"):
        raise InvalidImport(f"{path}: is neither JSON nor JSON Lines: it begins with {text.strip()[:40]!r}")
    return Head(opening, tuple(_first_keys(text)))


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


def _read_text(path: Path) -> str:
    text = _decoded(_read_bytes(path), path, whole=True)
    # half of a character, as a cut-off title may hold it, is no text: it becomes the replacement character,
    # written at the same width so that the columns of later faults stay true
    return _ESCAPES.sub(lambda found: r"\ufffd" if found[1] else found[0], text) if "\\u" in text else text


def _read_bytes(path: Path, most: int = -1) -> bytes:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InvalidImport(f"{path}: is a directory: give the JSON file inside it")
        if not stat.S_ISREG(mode):
            raise InvalidImport(f"{path}: is not a regular file: write what it gives into a file first")
        with path.open("rb") as file:
            return file.read(most)
    except FileNotFoundError as error:
        raise InvalidImport(f"{path}: no such file") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        if isinstance(error, InvalidImport):
            raise
        raise InvalidImport(f"{str(path)!r}: cannot be read ({error})") from error


def _decoded(data: bytes, path: Path, *, whole: bool) -> str:
    for signature, kind in _SIGNATURES.items():
        if data.startswith(signature):
            raise InvalidImport(f"{path}: is {kind}")
    for bom, encoding in _BOMS.items():
        if data.startswith(bom):
            raise InvalidImport(f"{path}: is {encoding} text: convert it to UTF-8")
    if b"\x00" in data[:HEAD_BYTES]:
        raise InvalidImport(f"{path}: has NUL bytes: it is a binary file, or text that is not in UTF-8")
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(data, final=whole)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidImport(
            f"{path}: line {line}: byte {data[error.start]:#04x} is not UTF-8 text: convert the file to UTF-8"
        ) from error
    if not text.strip():
        raise InvalidImport(f"{path}: is empty")
    return text


def _parsed(parse: Callable[[], T], path: Path, line: int) -> T:
    try:
        return parse()
    except json.JSONDecodeError as error:
        raise InvalidImport(
            f"{path}: line {line + error.lineno - 1}, column {error.colno}: not valid JSON ({error.msg})"
        ) from error
    except ValueError as error:  # a number of thousands of digits
        raise InvalidImport(f"{path}: line {line} or below: a number has too many digits") from error
    except RecursionError as error:
        raise InvalidImport(f"{path}: line {line} or below: is nested too deeply") from error
