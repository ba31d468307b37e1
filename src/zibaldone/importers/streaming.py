"""Lists in JSON files, element by element: a file of a gigabyte is never in memory as a whole."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import IO, Any

from zibaldone.errors import InvalidImport

CHUNK = 1 << 20
_MOST_ELEMENT = 512 * 2**20  # characters of one element
_LONGEST_WORD = 16  # characters that JSON's words, escapes and digits may need to be known
_BLANK = re.compile(r"[ \t\n\r]*")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPES = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_DECODER = json.JSONDecoder()
_SIGNATURES = {
    b"\x1f\x8b": "compressed with gzip: unpack it first",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF document",
}
_BOMS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}
_BEGUN = re.compile(r"-?|[-\\]?\w+")  # a word, an escape or a number of which the rest may be missing


class TextReader:
    """The text of a file, a window at a time; `line` is that of the window's first character, from 1.

    `before` is how many characters of that line stand before it.
    """

    def __init__(self, stream: IO[bytes], where: str) -> None:
        self._stream, self._where = stream, where
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._decoded_lines = 1
        self.text, self.at, self.line, self.before, self.ended = "", 0, 1, 0, False
        self._first = True

    def more(self) -> bool:
        """Drop the text before `at` and read more; False at the end of the file."""
        if self.ended:
            return False
        grown = max(CHUNK, len(self.text) - self.at)
        if grown > _MOST_ELEMENT:
            raise InvalidImport(f"{self._where}: line {self.line}: one element has more than 512 MiB")
        data = self._stream.read(grown)
        self.line += self.text.count("\n", 0, self.at)
        last = self.text.rfind("\n", 0, self.at)
        self.before = self.at - last - 1 if last >= 0 else self.before + self.at
        if self._first:
            _check_text(data, self._where)
        try:
            decoded = self._decode(data, final=not data)
        except UnicodeDecodeError as error:
            line = self._decoded_lines + data.count(b"\n", 0, error.start)
            where = f"{self._where}: line {line}"
            why = f"byte {error.object[error.start]:#04x} is not UTF-8 text: convert the file to UTF-8"
            raise InvalidImport(f"{where}: {why}", where=where, why=why) from error
        self._decoded_lines += decoded.count("\n")
        self._first, self.ended = False, not data
        self.text, self.at = self.text[self.at :] + decoded, 0
        return True

    def peek(self) -> str:
        """The next character that is not white space; "" at the end of the file."""
        while True:
            blank = _BLANK.match(self.text, self.at)
            self.at = blank.end() if blank else self.at
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def begin(self) -> str:
        """Peek at the first character; raise InvalidImport if the file is empty."""
        if not self.peek():
            raise InvalidImport(f"{self._where}: is empty")
        return self.peek()

    def end(self) -> None:
        """Raises InvalidImport where anything follows."""
        if self.peek():
            raise self.fault("more follows where the file should end")

    def value(self) -> Any:
        """Read the JSON value that begins here, lone surrogates replaced. Raises InvalidImport."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except (ValueError, RecursionError) as error:
                if isinstance(error, json.JSONDecodeError) and self._may_go_on(error) and self.more():
                    continue
                raise self._unreadable(error) from error
            if end == len(self.text) and not self.ended and self.more():
                continue  # a number may go on
            if _HALF.search(self.text, self.at, end):
                value = json.loads(_whole_characters(self.text[self.at : end]))
            self.at = end
            return value

    def _may_go_on(self, error: json.JSONDecodeError) -> bool:
        """True if a fault may be nothing but the end of the window."""
        return error.msg.startswith("Unterminated") or error.pos > len(self.text) - _LONGEST_WORD

    def take(self, character: str) -> bool:
        """Read this character if it is next; True if it was."""
        if self.peek() != character:
            return False
        self.at += 1
        return True

    def fault(self, reason: str) -> InvalidImport:
        """An error that names where the reader is."""
        line = self.line + self.text.count("\n", 0, self.at)
        return InvalidImport(f"{self._where}: line {line} or below: {reason}")

    def expect(self, character: str) -> None:
        """Read this character. Raises InvalidImport if another one, or the end of the file, is next."""
        if not self.take(character):
            raise self._unreadable(json.JSONDecodeError(f"Expecting {character!r}", self.text, self.at))

    def _unreadable(self, error: Exception) -> InvalidImport:
        if isinstance(error, json.JSONDecodeError):
            return _not_json(error, self._where, self.line, self.before)
        return self.fault(_why(error))


def elements(stream: IO[bytes], where: str, *path: str) -> Iterator[tuple[Any, str]]:
    """The elements of the list that a file is, or holds under the keys of a path, each with its JSON path.

    A file that is one object is its own one element, where there is no path. Raises InvalidImport.
    """
    reader = TextReader(stream, where)
    if reader.begin() == "[" or path:
        yield from _listed(reader, "$", path)
    else:
        yield reader.value(), "$"
    reader.end()


def fields_before(stream: IO[bytes], where: str, key: str) -> dict[str, Any]:
    """The fields of the object that a file is, as far as they stand before a key."""
    reader = TextReader(stream, where)
    fields: dict[str, Any] = {}
    for name in keys(reader):
        if name == key:
            break
        fields[name] = reader.value()
    return fields


def lines(stream: IO[bytes], where: str) -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers, from 1, without what ends them."""
    reader, number = TextReader(stream, where), 0
    while reader.more():
        begun = reader.text.split("\n")
        for line in begun if reader.ended else begun[:-1]:
            number += 1
            reader.at += len(line) + 1
            yield number, line.removesuffix("\r")


def _check_text(data: bytes, where: str) -> None:
    """Raise InvalidImport if the beginning of a file is not text."""
    for signature, kind in _SIGNATURES.items():
        if data.startswith(signature):
            raise InvalidImport(f"{where}: is {kind}")
    for bom, encoding in _BOMS.items():
        if data.startswith(bom):
            raise InvalidImport(f"{where}: is {encoding} text: convert it to UTF-8")
    if b"\x00" in data:
        raise InvalidImport(f"{where}: has NUL bytes: it is a binary file, or text that is not in UTF-8")


def _whole_characters(text: str) -> str:
    """Replace escapes of lone surrogates in JSON text, such as a cut-off title may have.

    It is written at the same width, so that the columns of later faults stay true.
    """
    return _ESCAPES.sub(lambda match: r"\ufffd" if match[1] else match[0], text)


def parsed(text: str, where: str, line: int) -> Any:
    """Parse the JSON text of a line. Raises InvalidImport."""
    try:
        return json.loads(_whole_characters(text) if "\\u" in text else text)
    except json.JSONDecodeError as error:
        raise _not_json(error, where, line, 0) from error
    except (ValueError, RecursionError) as error:
        raise InvalidImport(f"{where}: line {line} or below: {_why(error)}") from error


def _why(error: Exception) -> str:
    nested = isinstance(error, RecursionError)
    return "is nested too deeply" if nested else "a number has too many digits"  # thousands of them


def _not_json(error: json.JSONDecodeError, where: str, line: int, before: int) -> InvalidImport:
    """Build the error for JSON text that begins in this line, after `before` of its characters."""
    cut_off = _is_cut_off(error)
    at = len(error.doc) if cut_off else error.pos
    line += error.doc.count("\n", 0, at)
    column = at - error.doc.rfind("\n", 0, at) + (before if "\n" not in error.doc[:at] else 0)
    place = f"{where}: line {line}, column {column}"
    why = f"not valid JSON ({error.msg})"
    if cut_off:
        why = "the JSON ends too early: it is cut off here. Download or copy the file again"
    return InvalidImport(f"{place}: {why}", where=place, why=why)


def _is_cut_off(error: json.JSONDecodeError) -> bool:
    """True if the text may be valid JSON as far as it goes."""
    rest = error.doc[error.pos :].strip()
    return error.msg.startswith("Unterminated") or _BEGUN.fullmatch(rest) is not None


def _listed(reader: TextReader, at: str, path: tuple[str, ...]) -> Iterator[tuple[Any, str]]:
    """The elements of the list that begins here, or of the one under the keys of the object that does."""
    if path:
        for key in keys(reader):
            if key == path[0]:
                yield from _listed(reader, f"{at}.{key}", path[1:])
            else:
                reader.value()
        return
    for number, _ in enumerate(_members(reader, "[", "]")):
        yield reader.value(), f"{at}[{number}]"


def keys(reader: TextReader) -> Iterator[str]:
    """Yield the keys of the object that begins here; the caller reads each value."""
    for _ in _members(reader, "{", "}"):
        key = reader.value()
        reader.expect(":")
        yield str(key)


def _members(reader: TextReader, opening: str, closing: str) -> Iterator[None]:
    """Stop before every member of a list or an object; the caller reads it."""
    reader.expect(opening)
    if reader.take(closing):
        return
    while True:
        yield
        if reader.take(closing):
            return
        reader.expect(",")
