"""WhatsApp's chat export: a text file, or the archive that it comes in with its media.

    [31/12/23, 22:15:32] Ann: Happy new year!          iOS
    31/12/2023, 22:15 - Ann: Happy new year!           Android

Dates are written as in the phone's country: which order it is, the dates of the whole file say. Times are
on the phone's clock, whose zone the file does not name. A line without a date goes on with the message
before it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from zibaldone.core import NOISE, Message
from zibaldone.errors import InvalidImport
from zibaldone.importers.base import PIECE_MESSAGES, Branches, Conversation, NotImported
from zibaldone.importers.document import Node
from zibaldone.importers.files import each_file, refusal, try_head
from zibaldone.importers.occurrences import Occurrences
from zibaldone.importers.source import ImportSource
from zibaldone.importers.streaming import lines
from zibaldone.importers.texts import attached, attachment

_LINE = re.compile(
    r"[\u200e\u200f\ufeff]*\[?(\d{1,4})[./-](\d{1,2})[./-](\d{2,4})(?:,|\.)?[ \u202f]"
    r"(\d{1,2})[:.](\d\d)(?:[:.](\d\d))?(?:[ \u202f\u00a0]?([AaPp])\.?\s?[Mm]\.?)?(?:\]| -)[ \u200e]*(.*)",
    re.DOTALL,
)
_SPEAKER = re.compile(r"([^:\n]{1,80}): (.*)", re.DOTALL)
_MEDIA = re.compile(
    r"\u200e?(?:<attached: ([^>]+)>|(\S[^\n]*?\.\w{2,4}) \(file attached\)|<Media omitted>"
    r"|(image|video|audio|sticker|GIF|document) omitted)"
)


@dataclass(frozen=True, slots=True)
class _Line:
    """The first line of a message."""

    number: int
    date: tuple[int, int, int]  # as it is written
    clock: tuple[int, int, int]
    rest: str


class WhatsApp:
    """Session: by how the chat begins. Who speaks is the name; what the program says is noise."""

    name = "whatsapp"
    looks_for = "line such as '[31/12/23, 22:15:32] Ann: ...' or '31/12/2023, 22:15 - Ann: ...'"
    names_users = False

    def files(self, source: ImportSource) -> list[str]:
        """By its first lines."""
        names = [name for name in source.names if source.only or name.endswith(".txt")]
        return [
            name
            for name in names
            if (head := try_head(source, name)) and any(map(_LINE.match, head.text.split("\n", 3)[:3]))
        ]

    def read(self, source: ImportSource, branches: Branches = "current") -> Iterator[Conversation]:  # noqa: ARG002
        """One conversation a file, in pieces."""
        return each_file(self.files(source) or source.names, lambda name: _chat(source, name))


def _chat(source: ImportSource, name: str) -> Iterator[Conversation]:
    where = source.where(name)
    with source.open(name) as stream:
        order = _order([line for line, _ in _messages(lines(stream, where)) if line is not None])
    source.read_bytes -= source.entries[name].size_bytes
    ids: Occurrences | None = None
    made: list[Message] = []
    refused: list[NotImported] = []
    with source.open(name) as stream:
        for line, text in _messages(lines(stream, where)):
            if line is None:
                raise InvalidImport(f"{where}: line 1: begins with no date and time")
            if ids is None:
                opening = hashlib.sha256(f"{line.date}{line.clock}{text}".encode()).hexdigest()[:12]
                ids = Occurrences(f"whatsapp:{opening}")
            node = Node(text, f"line {line.number}", where)
            try:
                made += [node.message(m) for m in _message(line, text, order, ids, node)]
            except InvalidImport as error:
                refused.append(refusal(error))
            if len(made) == PIECE_MESSAGES:
                yield Conversation(ids.prefix, tuple(made))
                made = []
    if ids is None:
        raise InvalidImport(f"{where}: has no message that begins with a date and a time")
    yield Conversation(ids.prefix, tuple(made), refused=tuple(refused))


def _messages(numbered: Iterator[tuple[int, str]]) -> Iterator[tuple[_Line | None, str]]:
    """First lines with the whole text of each; None where a text stands before the first of them."""
    current: _Line | None = None
    parts: list[str] = []
    for number, line in numbered:
        match = _LINE.fullmatch(line)
        if match is None:
            parts.append(line)
            continue
        if current is not None or "".join(parts).strip():
            yield current, "\n".join(parts).rstrip()
        hour = int(match[4]) % 12 + (12 if match[7] in "pP" else 0) if match[7] else int(match[4])
        date, clock = (int(match[1]), int(match[2]), int(match[3])), (hour, int(match[5]), int(match[6] or 0))
        current, parts = _Line(number, date, clock, match[8]), [match[8]]
    if current is not None or "".join(parts).strip():
        yield current, "\n".join(parts).rstrip()


def _order(written: Sequence[_Line]) -> str:
    """How dates are written: "ymd", "dmy" or "mdy"."""
    if any(line.date[0] > 31 for line in written):
        return "ymd"
    for order, place in (("dmy", 0), ("mdy", 1)):
        if any(line.date[place] > 12 for line in written):
            return order
    by_day = [(line.date[2], line.date[1], line.date[0]) for line in written]
    by_month = [(line.date[2], line.date[0], line.date[1]) for line in written]
    return "mdy" if by_month == sorted(by_month) and by_day != sorted(by_day) else "dmy"


def _message(line: _Line, text: str, order: str, ids: Occurrences, node: Node) -> Iterator[Message]:
    year, month, day = (line.date[order.index(part)] for part in "ymd")
    try:
        time = datetime(year + 2000 if year < 100 else year, month, day, *line.clock, tzinfo=UTC)
    except ValueError as error:
        raise node.error(f"{line.date} is no date in the order of the file's other dates") from error
    speaker = _SPEAKER.fullmatch(text)
    name, content = (speaker[1].strip("\u200e~ \u202f"), speaker[2]) if speaker else (None, text)
    if not content.strip():
        return
    media = [attachment(match[3] or "file", match[1] or match[2]) for match in _MEDIA.finditer(content)]
    metadata = attached(media) if name else {NOISE: "notice"}
    own_id = ids.name(line.date, line.clock, name, content)
    yield Message(content, "user" if name else "system", name, time, ids.prefix, metadata, own_id)
