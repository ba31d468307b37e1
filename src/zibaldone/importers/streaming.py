"""Lists in JSON files, element by element: a file of a gigabyte is never in memory as a whole."""

from __future__ import annotations

import codecs
import io
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
_DECODER = json.JSONDecoder()
_BEGUN = re.compile(r"-?|[-\\]?\w+")  # a word, an escape or a number of which the rest may be missing


class TextReader:
    """The text of a file, a window at a time; `line` is that of the window's first character."""

    def __init__(self, stream: IO[bytes], where: str, line: int = 1) -> None:
        self._stream, self._where = stream, where
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self.text, self.at, self.line, self.ended = "", 0, line, False

    def more(self) -> bool:
        """Drop the text before `at` and read more; False at the end of the file."""
        if self.ended:
            return False
        grown = max(CHUNK, len(self.text) - self.at)
        if grown > _MOST_ELEMENT:
            raise self.fault("one element has more than 512 MiB")
        data = self._stream.read(grown)
        try:
            decoded = self._decode(data, final=not data)
        except UnicodeDecodeError as error:
            self.text += error.object[: error.start].decode(errors="replace")
            self.at = len(self.text)
            byte = error.object[error.start]
            raise self.fault(f"byte {byte:#04x} is not UTF-8 text: convert or unpack the file") from error
        self.line += self.text.count("\n", 0, self.at)
        self.text, self.at, self.ended = self.text[self.at :] + decoded, 0, not data
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
            raise self.fault("more follows where the JSON should end")

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
            if _HALF.search(self.text, self.at, end):  # such as a cut-off title may have
                whole = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass")
                value = json.loads(whole.decode("utf-16", "replace"))
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

    def expect(self, character: str) -> None:
        """Read this character. Raises InvalidImport if another one, or the end of the file, is next."""
        if not self.take(character):
            raise self._unreadable(json.JSONDecodeError(f"Expecting {character!r}", self.text, self.at))

    def fault(self, why: str) -> InvalidImport:
        """An error that names the line where the reader is."""
        where = f"{self._where}: line {self.line + self.text.count(chr(10), 0, self.at)}"
        return InvalidImport(f"{where}: {why}", where=where, why=why)

    def _unreadable(self, error: Exception) -> InvalidImport:
        if isinstance(error, RecursionError):
            return self.fault("is nested too deeply")
        if not isinstance(error, json.JSONDecodeError):
            return self.fault("a number has too many digits")  # thousands of them
        self.at = error.pos
        rest = self.text[error.pos :].strip()
        if error.msg.startswith("Unterminated") or _BEGUN.fullmatch(rest):
            self.at = len(self.text)
            return self.fault("the JSON ends too early: it is cut off here. Download or copy the file again")
        return self.fault(f"not valid JSON ({error.msg})")


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


def parsed(text: str, where: str, line: int) -> Any:
    """Parse the JSON text of a line. Raises InvalidImport."""
    reader = TextReader(io.BytesIO(text.encode()), where, line)
    value = reader.value()
    reader.end()
    return value


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
