"""A memory entry: one fact with its signature, such as `- <seq=12,time=2023-05-08,source=AI> fact` (§3.2).

Attributes in the order in which they are printed; all may be absent:

    seq            number of the message it comes from, or a range after merging: `12-15`
    part           which of its message's entries it is, from 1, where there are several
    time           when it holds: `2023-05-08`, `2023-05-08T13:56+02:00`, or words
    source         who said it; `AI` is the assistant, absent the user
    msgs           the messages it was made from, `12+15-17`, where that is not what `seq` says
    supersedes     seqs of the entries whose place it took
    superseded_by  seqs of the entries that took its place; such an entry stays, as a record of what was

`label`, a tag that nothing reads, is passed over. A value with a comma, quote, bracket or such in it stands
in double quotes, escaped as in JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

KNOWN = ("seq", "part", "time", "source", "label", "msgs", "supersedes", "superseded_by")
MAX_SPAN = 1_000  # a longer range names its two ends, and not every message between them
MAX_SEQS = 100_000  # more are not read as messages of one entry

_PLAIN = re.compile(r"[^\s,=<>\"\\]+(?: [^\s,=<>\"\\]+)*")
_RUN = re.compile(r"([0-9]{1,18})(?:\s*[-–]\s*([0-9]{1,18}))?")
_PAIR = r"\s*(\w++)\s*+=\s*+(\"(?:[^\"\\]|\\.)*+\"|[^,<>\"]*+)\s*"
_PAIRS = re.compile(_PAIR)
_SIGNATURE = re.compile(rf"<{_PAIR}(?:,{_PAIR})*>")


def read_signature(line: str) -> tuple[dict[str, str], int] | None:
    """Attributes of the signature that begins a line, and where the text starts; None without one.

    Attributes that nobody knows, or that stand twice, make it a text like any other.
    """
    signature = _SIGNATURE.match(line)
    if signature is None:
        return None
    attributes: dict[str, str] = {}
    for pair in _PAIRS.finditer(signature[0], 1):
        name, value = pair[1].lower(), pair[2].strip()
        if name not in KNOWN or name in attributes:
            return None
        try:
            attributes[name] = str(json.loads(value, strict=False)) if value[:1] == '"' else value
        except ValueError:
            return None
    return attributes, signature.end()


def quoted(value: str) -> str:
    """The value as it stands in a signature: in quotes where it would be misread without."""
    if value.isprintable() and _PLAIN.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def span(first: int, last: int) -> tuple[int, ...]:
    """Every seq from first to last; () without a first, only both ends if there are more than MAX_SPAN."""
    if last - first > MAX_SPAN:
        return (first, last)
    return tuple(range(first, last + 1)) if first else ()


def runs(seqs: Sequence[int]) -> str:
    """Rising seqs in short form: `3+12-15`."""
    spans: list[list[int]] = []
    for seq in seqs:
        if spans and seq == spans[-1][1] + 1 and seq - spans[-1][0] <= MAX_SPAN:
            spans[-1][1] = seq
        else:
            spans.append([seq, seq])
    return "+".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def read_runs(text: str) -> tuple[int, ...] | None:
    """Parse the short form of seqs; None if it is malformed."""
    seqs: set[int] = set()
    for part in text.split("+"):
        run = _RUN.fullmatch(part.strip())
        if not run or not int(run[1]) or len(seqs) > MAX_SEQS:
            return None
        seqs.update(span(*sorted((int(run[1]), int(run[2] or run[1])))))
    return tuple(sorted(seqs))


AI = "AI"  # the source of what the assistant said

_PLACE = re.compile(r"[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True)
class When:
    """A time, a date mostly; text that is no time is kept as it is."""

    text: str

    @classmethod
    def of(cls, moment: date) -> When:
        """A date to the day; a datetime to the minute, or more precise if it is, with its offset."""
        if not isinstance(moment, datetime):
            return cls(moment.isoformat())
        precise = "auto" if moment.second or moment.microsecond else "minutes"
        return cls(moment.isoformat(timespec=precise).replace("+00:00", "Z"))

    @property
    def start(self) -> datetime | None:
        """The first moment it may mean, aware (UTC where no offset is written); None when it is no time."""
        try:
            moment = datetime.fromisoformat(self.text)
        except ValueError:
            return None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Entry:
    """One fact. Its text is trimmed and its lines end in LF; `sources` follow `seq` when not given."""

    text: str  # may have several lines
    first: int = 0  # seq, or the lower end of its range; 0: not numbered yet, as what a person adds
    last: int = 0  # the upper end; `first` unless given
    time: When | None = None
    source: str | None = None  # a speaker's name, AI, or None for the user
    sources: tuple[int, ...] = ()  # seqs of the messages that it comes from
    supersedes: tuple[int, ...] = ()
    superseded_by: tuple[int, ...] = ()
    part: int = 0  # its place among the entries of its message, from 1; 0 where it is the only one

    def __post_init__(self) -> None:
        put = object.__setattr__
        first, last = sorted((self.first, self.last or self.first))
        put(self, "first", first)
        put(self, "last", last)
        put(self, "text", tidy(self.text))
        put(self, "sources", _rising(self.sources) or span(first, last))
        put(self, "supersedes", _rising(self.supersedes))
        put(self, "superseded_by", _rising(self.superseded_by))
        put(self, "source", self.source or None)

    @property
    def seq(self) -> str:
        """Seqs as printed: `12`, `12-15`, or ""."""
        return str(self.first or "") if self.first == self.last else f"{self.first}-{self.last}"

    @property
    def current(self) -> bool:
        return not self.superseded_by

    @property
    def recency(self) -> tuple[int, bool, int]:
        """Sort key: of two entries that contradict each other, the greater holds.

        The assistant's reply is as recent as the message that it replies to, so that there a person is
        believed before it (§A.1, prompt B).
        """
        by_person = self.source != AI
        return self.last - (not by_person), by_person, self.part

    @property
    def line(self) -> str:
        """The entry as it stands in a document, without bullet; further lines are not indented."""
        signature = _signature(self)
        if not signature and read_signature(self.text.partition("\n")[0]):
            signature = "<seq=?>"
        return f"{signature} {self.text}".strip(" ")


def superseding(newer: Entry, older: Entry) -> tuple[Entry, Entry]:
    """Both entries, marked: the newer supersedes the older."""
    return (
        replace(newer, supersedes=(*newer.supersedes, older.last)) if older.last else newer,
        replace(older, superseded_by=(*older.superseded_by, newer.last)) if newer.last else older,
    )


def tidy(text: str) -> str:
    """Trim, normalise line ends to LF, and empty lines of white space."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\n" in text:
        text = "\n".join("" if line.isspace() else line for line in text.split("\n"))
    return text.strip()


def read_entry(text: str) -> Entry:
    """Parse an entry from the text behind its bullet; never fails: an invalid signature is text."""
    signature = read_signature(text.partition("\n")[0])
    if signature is None:
        return Entry(text)
    attributes, end = signature
    lists: dict[str, tuple[int, ...]] = {}
    for name in ("seq", "msgs", "supersedes", "superseded_by"):
        if (value := attributes.get(name, "")) not in {"", "?"}:
            numbers = read_runs(value)
            if numbers is None:
                return Entry(text)
            lists[name] = numbers
    part = attributes.get("part", "")
    if part and not _PLACE.fullmatch(part):
        return Entry(text)
    seq = lists.get("seq", ())
    return Entry(
        text[end:],
        first=seq[0] if seq else 0,
        last=seq[-1] if seq else 0,
        time=When(attributes["time"]) if attributes.get("time") else None,
        source=attributes.get("source"),
        sources=lists.get("msgs", seq),
        supersedes=lists.get("supersedes", ()),
        superseded_by=lists.get("superseded_by", ()),
        part=int(part or 0),
    )


def _signature(entry: Entry) -> str:
    """Attributes in angle brackets; "" if there are none."""
    other = entry.sources if entry.sources != span(entry.first, entry.last) else ()
    known = {
        "seq": entry.seq,
        "part": str(entry.part or ""),
        "time": entry.time and quoted(entry.time.text),
        "source": entry.source and quoted(entry.source),
        "msgs": runs(other),
        "supersedes": runs(entry.supersedes),
        "superseded_by": runs(entry.superseded_by),
    }
    parts = [f"{key}={value}" for key, value in known.items() if value]
    return f"<{','.join(parts)}>" if parts else ""


def _rising(seqs: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(seqs)))
