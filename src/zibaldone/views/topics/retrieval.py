"""The topics view's answer to a question: entries, the best first, each with its messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from zibaldone.core import Evidence, Message
from zibaldone.log import UserState
from zibaldone.views.topics.consolidate.consolidation import append
from zibaldone.views.topics.consolidate.extraction import extracted
from zibaldone.views.topics.consolidate.workbench import Workbench
from zibaldone.views.topics.entry_units import NAME
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.markdown.entry import Entry
from zibaldone.views.topics.read.index import ReadingIndex
from zibaldone.views.topics.read.ranking import EntryHit

SUPERSEDED = "[superseded]"


@dataclass(frozen=True, slots=True)
class Readable:
    """A user's documents with what the messages past the cursor make without a model, ready to be read."""

    as_of: UserState
    generation: int  # 0: none that can be used
    tail: Mapping[int, tuple[Entry, ...]]  # by seq, what each message past the cursor makes
    index: ReadingIndex

    @staticmethod
    def of(
        as_of: UserState,
        generation: int,
        library: Library,
        unread: Sequence[Message],
        previous: Callable[[Sequence[Message]], dict[str, Message]],
        workbench: Workbench,
        last: Readable | None,
    ) -> Readable:
        """Take over the tail's entries from `last`; `workbench` asks no model.

        `previous`: by session, what was said before the first of some messages.
        """
        if last is not None and (last.as_of.deletions, last.generation) != (as_of.deletions, generation):
            last = None
        known = last.tail if last else {}
        new = [message for message in unread if message.seq not in known]
        tail = {message.seq: known[message.seq] for message in unread if message.seq in known}
        for message, entries in extracted(new, previous(new), workbench):
            tail[message.seq] = entries
        for message in unread:
            assert message.time is not None  # what is stored has one
            library = append(library, tail[message.seq], message.time, workbench)
        return Readable(as_of, generation, tail, ReadingIndex(library, last.index if last else None))


def evidence_of(hits: Iterable[EntryHit], messages: Mapping[int, Message]) -> Iterator[Evidence]:
    """Entries as they are offered, but for their tokens; none whose messages are forgotten meanwhile.

    Those of one message stand in one line, which has the sources of all of them.
    """
    held = [one for one in hits if one.sources and all(seq in messages for seq in one.sources)]
    together: dict[tuple[int, ...], set[int]] = {}
    for hit in held:
        together.setdefault(said_together(hit.place.entry), set()).update(hit.sources)
    for hit in held:
        message = messages[hit.sources[-1]]
        assert message.time is not None  # what is stored has one
        yield Evidence(
            text=_shown(hit, message.time.date()),
            speaker=message.speaker,
            sources=tuple(sorted(together[said_together(hit.place.entry)])),
            time=message.time,
            session=message.session,
            view=NAME,
            kind="superseded" if _is_old(hit) else "entry",
            score=round(hit.score, 6),
            tokens=0,
            place=hit.place.entry.part,  # its order in its message
            channels=hit.channels,
        )


def said_together(entry: Entry) -> tuple[int, ...]:
    return (entry.last,) if entry.first == entry.last else entry.sources


def _is_old(hit: EntryHit) -> bool:
    return hit.superseded or hit.later is not None


def _shown(hit: EntryHit, message_day: date) -> str:
    """An entry's words, with its own time where that is not the day on which it was said, and its mark.

    Both stand inside the last sentence: entries of one message may follow each other in a line.
    """
    entry = hit.place.entry
    when = entry.time.text[:10] if entry.time else ""
    own = [] if message_day.isoformat().startswith(when) or when in entry.text else [f"({when})"]
    marks = [*own, *([SUPERSEDED] if _is_old(hit) else [])]
    if not marks:
        return entry.text
    bare = entry.text.rstrip(".!?。！？ ")
    return f"{' '.join([bare, *marks])}{entry.text[len(bare) :].rstrip()}"
