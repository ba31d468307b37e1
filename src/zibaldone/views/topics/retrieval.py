"""What the topics view finds for a question: entries, the best first, each with its messages."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from zibaldone.core import Evidence, Message
from zibaldone.views.topics.consolidate.buffer import append
from zibaldone.views.topics.consolidate.extraction import extract
from zibaldone.views.topics.consolidate.workbench import Work, Workbench
from zibaldone.views.topics.entry_units import NAME, said_together
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.markdown.entry import Entry
from zibaldone.views.topics.read.reading_index import ReadingIndex
from zibaldone.views.topics.read.reading_result import Found

SUPERSEDED = "[superseded]"
_MOST_USERS = 32  # whose states stay in memory


@dataclass(frozen=True, slots=True)
class Readable:
    """A user's documents with what the messages behind the cursor make without a model, ready to be read."""

    base: Library  # as it is stored
    unread: tuple[Message, ...]
    library: Library
    index: ReadingIndex


class ReadableStates:
    """The last state of each user, from which the next one is made; nothing is made with the lock held."""

    def __init__(self) -> None:
        self._states: OrderedDict[str, Readable] = OrderedDict()
        self._lock = threading.Lock()

    def state(self, user: str, base: Library, unread: Sequence[Message], workbench: Workbench) -> Readable:
        """As the library is, with the entries of these messages in CURRENT; `workbench` ask no model."""
        with self._lock:
            last = self._states.get(user)
        if last is not None and last.base is base and list(last.unread) == list(unread):
            return last
        known = last is not None and last.base is base and list(unread[: len(last.unread)]) == [*last.unread]
        library = last.library if known and last else base
        read = list(last.unread) if known and last else []
        before = {message.session: message for message in read}
        for message in unread[len(read) :]:
            assert message.time is not None  # what is stored has one
            work = Work(workbench, library)
            entries = extract(message, before.get(message.session), work)
            library = append(library, entries, message.time, work)
            before[message.session] = message
        made = Readable(base, tuple(unread), library, ReadingIndex(library, last.index if last else None))
        with self._lock:
            self._states[user] = made
            self._states.move_to_end(user)
            while len(self._states) > _MOST_USERS:
                self._states.popitem(last=False)
        return made

    def forget(self, user: str) -> None:
        with self._lock:
            self._states.pop(user, None)


def noted(unread: Sequence[Message], workbench: Workbench) -> Iterator[tuple[Message, tuple[Entry, ...]]]:
    """What each message that the view has not read makes without a model."""
    before: dict[str, Message] = {}
    for message in unread:
        yield message, extract(message, before.get(message.session), Work(workbench, Library()))
        before[message.session] = message


def evidence_of(found: Iterable[Found], messages: Mapping[int, Message]) -> Iterator[Evidence]:
    """Entries as they are offered, but for their tokens; none whose messages are forgotten meanwhile.

    Those of one message stand in one line, which has the sources of all of them.
    """
    held = [one for one in found if one.sources and all(seq in messages for seq in one.sources)]
    together: dict[tuple[int, ...], set[int]] = {}
    for one in held:
        together.setdefault(said_together(one.place.entry), set()).update(one.sources)
    for one in held:
        said = messages[one.sources[-1]]
        assert said.time is not None  # what is stored has one
        yield Evidence(
            text=_shown(one),
            speaker=said.speaker,
            sources=tuple(sorted(together[said_together(one.place.entry)])),
            time=said.time,
            session=said.session,
            view=NAME,
            kind="superseded" if _is_old(one) else "entry",
            score=round(one.score, 6),
            tokens=0,
            place=one.place.entry.part,  # its order in its message
            channels=one.channels,
        )


def _is_old(found: Found) -> bool:
    return found.superseded or found.later is not None


def _shown(found: Found) -> str:
    """The mark stands inside the last sentence: entries of one message may follow each other in a line."""
    text = found.place.entry.text
    if not _is_old(found):
        return text
    said = text.rstrip(".!?。！？ ")
    return f"{said} {SUPERSEDED}{text[len(said) :].rstrip()}"
