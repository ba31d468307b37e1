"""Reads a topic document from Markdown, as printed or as a person left it.

What people write by hand is read in the most sensible way, and none of their words is lost: other bullets and
numbers, bullets without a signature or with parts of one, wrapped lines, nested bullets (part of the entry
above them, unless they have a signature), tables, code and paragraphs, which stay where they stand.
"""

from __future__ import annotations

from zibaldone.views.topics.markdown.document import Block, Document, Heading, Text
from zibaldone.views.topics.markdown.entry import read_entry
from zibaldone.views.topics.markdown.front_matter import read_front_matter
from zibaldone.views.topics.markdown.lines import (
    BULLET,
    HEADING,
    Fences,
    indent,
    is_rule,
    is_structure,
    unescaped,
)
from zibaldone.views.topics.markdown.signature import read_signature


def parse(text: str) -> Document:
    """The document of a text: of anything, but for front matter of which no sense can be made.

    Raises InvalidImport for that; it names line and fix. Without front matter the id is empty.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    front, rest = read_front_matter(text)
    return front.with_body(parse_body(rest))


def parse_body(text: str) -> tuple[Block, ...]:
    """The blocks of a text without front matter; never fails."""
    return _BodyReader(text.split("\n")).read()


def is_entry(line: str) -> bool:
    """Whether it is a bullet with a signature, however far indented."""
    bullet = BULLET.fullmatch(line.lstrip(" \t"))
    return bool(bullet and read_signature(bullet[2] or "") is not None)


class _BodyReader:
    """Goes through the lines once; gathers those of an entry or a text until it is closed."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._fences = Fences(lines, is_entry)
        self._blocks: list[Block] = []
        self._entry: list[str] = []  # lines of the open entry
        self._marker = "-"
        self._indent = 0  # of its bullet
        self._text: list[str] = []  # lines of the open text; never both
        self._blanks = 0  # lines since the last that was not blank

    def read(self) -> tuple[Block, ...]:
        at = 0
        while at < len(self._lines):
            if not self._lines[at].strip():
                self._blanks += 1
                at += 1
                continue
            at = self._take(at)
            self._blanks = 0
        self._close()
        return tuple(self._blocks)

    def _take(self, at: int) -> int:
        """Read the line (with its fence, if it opens one); where to read on."""
        line = self._lines[at]
        if self._entry and indent(line) >= 2:
            self._indented(line)
        elif end := self._fences.end(at):
            self._free(self._lines[at:end])
            return end
        elif not is_structure(line) or _unclosed_fence(line):
            self._plain(line)
        elif heading := HEADING.fullmatch(line.strip()):
            self._close()
            self._blocks.append(Heading(heading[2] or "", len(heading[1])))
        else:
            self._bullet(line)
        return at + 1

    def _indented(self, line: str) -> None:
        """A line below a bullet: an entry of its own, or more of the open one's text."""
        bullet = BULLET.fullmatch(line.lstrip(" \t")) if not is_rule(line) else None
        if bullet and (read_signature(bullet[2] or "") is not None or indent(line) <= self._indent):
            self._bullet(line)
        else:
            self._more(unescaped(_outdented(line, self._indent + 2), is_entry))

    def _plain(self, line: str) -> None:
        wraps = self._entry and not self._blanks and not line.lstrip().startswith((">", "```", "~~~"))
        if wraps and not is_rule(line):
            self._more(line.strip())
        else:
            self._free([line if self._text else _first(line)])

    def _bullet(self, line: str) -> None:
        bullet = BULLET.fullmatch(line.lstrip(" \t"))
        assert bullet
        self._close()
        self._entry = [bullet[2] or ""]
        self._marker = bullet[1]
        self._indent = indent(line)

    def _more(self, line: str) -> None:
        self._entry += [""] * self._blanks + [line]

    def _free(self, lines: list[str]) -> None:
        if not self._text:
            self._close()
        else:
            self._text += [""] * self._blanks
        self._text += lines if len(lines) > 1 else [unescaped(lines[0], is_structure)]

    def _close(self) -> None:
        if self._entry:
            self._blocks.append(read_entry("\n".join(self._entry), self._marker))
        if self._text:
            self._blocks.append(Text("\n".join(self._text)))
        self._entry, self._text = [], []


def _unclosed_fence(line: str) -> bool:
    return line.startswith(("```", "~~~"))


def _outdented(line: str, columns: int) -> str:
    """Without so many columns of white space, as far as there are any; a tab goes as a whole."""
    at = 0
    while columns > 0 and line[at] in " \t":
        columns -= 4 if line[at] == "\t" else 1
        at += 1
    return line[at:]


def _first(line: str) -> str:
    """A text's first line without the backslash that kept it, indented, from joining the entry above."""
    bare = line.lstrip("\\")
    return line[1:] if bare != line and bare[:1] in {" ", "\t"} else line
