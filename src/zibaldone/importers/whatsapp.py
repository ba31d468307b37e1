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
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from operator import gt

from zibaldone.core import NOISE, Message
from zibaldone.errors import InvalidImport
from zibaldone.importers.base import DateOrder, Item
from zibaldone.importers.document import Node
from zibaldone.importers.files import Head, Importer, each
from zibaldone.importers.source import ImportSource
from zibaldone.importers.streaming import lines
from zibaldone.importers.texts import Occurrences, attached, attachment

_LINE = re.compile(
    r"[\u200e\u200f\ufeff]*\[?(\d{1,4})[./-](\d{1,2})[./-](\d{2,4})(?:,|\.)?[ \u202f]"
    r"(\d{1,2})[:.](\d\d)(?:[:.](\d\d))?(?:[ \u202f\u00a0]?([AaPp])\.?\s?[Mm]\.?)?(?:\]| -)[ \u200e]*(.*)",
    re.DOTALL,
)
_SPEAKER = re.compile(r"([^:\n]{1,80}): (.*)", re.DOTALL)
_AROUND_NAMES = "\u200e~ \u202f"
_CHOICE = (
    "if that is wrong, forget them and import again with dates='mdy' (--dates mdy --again, the page's form)"
)
_NAMED = 4  # people in a title
_PAIR = 2
# In any of the phone's languages: "<attached: x.jpg>", "x.jpg (file attached)", "<Media omitted>".
_MEDIA = re.compile(
    r"\u200e?(?:<[^<>:\n]{1,30}: ([^<>\n]+\.\w{2,5})>"
    r"|((?<=\u200e)\S[^\n]*?\.\w{2,5}|[A-Z]{3}-\d[\w-]*\.\w{2,5}) \([^()\n]{1,40}\)"
    r"|\A<[^<>\n]{1,40}>\Z)"
)
_NOTICE = re.compile(r"\u200e(?!.*://).*")  # the program's own line: a place has a link, a poll several lines


@dataclass(frozen=True, slots=True)
class _Line:
    """The first line of a message."""

    number: int
    date: tuple[int, int, int]  # as it is written
    clock: tuple[int, int, int]
    rest: str


class WhatsApp(Importer):
    """Session: by the people of a chat of two, whose export may be cut off before; else by how it begins.

    Who speaks is the name; what the program says is noise.
    """

    name = "whatsapp"
    among_people = True
    looks_for = "line such as '[31/12/23, 22:15:32] Ann: ...' or '31/12/2023, 22:15 - Ann: ...'"
    in_folders = r"\.txt\Z"

    def fits(self, head: Head) -> bool:
        """Recognise a chat by its first lines."""
        return any(map(_LINE.match, head.text.split("\n", 3)[:3]))

    def read_one(self, source: ImportSource, name: str) -> Iterator[Item]:
        """Yield a chat's messages."""
        where = source.where(name)
        with source.open(name) as stream:
            written = [line for line, _ in _messages(lines(stream, where)) if line is not None]
        source.read_bytes -= source.entries[name].size_bytes
        if not written:
            raise InvalidImport(f"{where}: has no message that begins with a date and a time")
        order, notes = (self.dates, ()) if self.dates else _order(written)
        self.notes += notes
        people = _people(written)
        with source.open(name) as stream:
            texts = _messages(lines(stream, where))
            first, opening = next(texts)
            if first is None:
                raise InvalidImport(f"{where}: line 1: begins with no date and time")
            chat = f"{sorted(people)}" if len(people) == _PAIR else f"{first.date}{first.clock}{opening}"
            session = f"whatsapp:{hashlib.sha256(chat.encode()).hexdigest()[:12]}"
            talk = _Talk(session, _title(people), order)
            nodes = (
                Node((line, text), f"line {line.number}", where)
                for line, text in chain([(first, opening)], texts)
                if line is not None
            )
            yield from each(nodes, talk.messages)


def _messages(numbered: Iterator[tuple[int, str]]) -> Iterator[tuple[_Line | None, str]]:
    """Yield (first line, text) of each message; None for text before the first message."""
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


def _order(written: Sequence[_Line]) -> tuple[DateOrder, tuple[str, ...]]:
    """Infer the order of dates, in which time goes back least; with a note where it cannot be told."""
    if any(line.date[0] > 31 for line in written):
        return "ymd", ()
    if any(line.date[0] > 12 for line in written):
        return "dmy", ()
    if any(line.date[1] > 12 for line in written):
        return "mdy", ()
    unlike = [line.date for line in written if line.date[0] != line.date[1]]
    if not unlike:
        return "dmy", ()
    by_day = [(line.date[2], line.date[1], line.date[0], line.clock) for line in written]
    by_month = [(line.date[2], line.date[0], line.date[1], line.clock) for line in written]
    back_by_day, back_by_month = (sum(map(gt, times, times[1:])) for times in (by_day, by_month))
    if back_by_day != back_by_month:
        return ("dmy" if back_by_day < back_by_month else "mdy"), ()
    first = "/".join(map(str, unlike[0]))
    return "dmy", (f"dates such as {first} may be day or month first: day first was taken; {_CHOICE}",)


def _people(written: Sequence[_Line]) -> list[str]:
    spoken = filter(None, (_SPEAKER.match(line.rest) for line in written))
    return list(dict.fromkeys(line[1].strip(_AROUND_NAMES) for line in spoken if not _is_notice(line[2])))


def _is_notice(text: str) -> bool:
    return _NOTICE.fullmatch(text) is not None and _MEDIA.match(text) is None


def _title(names: Sequence[str]) -> str:
    """The people of a chat: it has no title of its own."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"WhatsApp: {', '.join(names[:_NAMED])}{more}" if names else "WhatsApp"


@dataclass(slots=True)
class _Talk:
    """State while a chat is read. Who spoke before keeps the same words in two chats apart."""

    session: str
    title: str
    order: str
    ids: Occurrences = field(default_factory=lambda: Occurrences("whatsapp"))
    last: tuple[object, ...] = ()  # name and time of the last message,
    before: tuple[object, ...] = ()  # and of the last one of somebody else; at first the session

    def messages(self, node: Node) -> Iterator[Message]:
        """Yield the message of a line, unless it is empty."""
        line: _Line
        line, text = node.value
        year, month, day = (line.date[self.order.index(part)] for part in "ymd")
        try:
            time = datetime(year + 2000 if year < 100 else year, month, day, *line.clock, tzinfo=UTC)
        except ValueError as error:
            raise node.error(f"{line.date} is no date in the order of the file's other dates") from error
        speaker = _SPEAKER.fullmatch(text)
        name, content = (speaker[1].strip(_AROUND_NAMES), speaker[2]) if speaker else (None, text)
        if not content.strip():
            return
        media = [attachment("file", name=match[1] or match[2]) for match in _MEDIA.finditer(content)]
        is_notice = name is None or _is_notice(content)
        metadata = {"title": self.title, **attached(media), **({NOISE: "notice"} if is_notice else {})}
        if (name,) != self.last[:1]:
            self.before = self.last or (self.session,)
        self.last = name, line.date, line.clock
        own_id = self.ids.name(*self.before, *self.last, content)
        role = "user" if name else "system"
        yield node.message(Message(content, role, name, time, self.session, metadata, own_id))
