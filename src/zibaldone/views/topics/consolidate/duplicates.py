"""Entries that say the same: the newest stands for all, and what it stands for is kept (§A.1, prompt B)."""

from __future__ import annotations

from collections.abc import Iterable

from zibaldone.text.words import words
from zibaldone.views.topics.markdown.entry import Entry

Sameness = tuple[str, ...]
_SPEAKER = frozenset("i me my mine myself we us our ours you your yours im ive id ill".split())


def sameness(entry: Entry) -> Sameness:
    """Current entries with the same of this are duplicates; () has none.

    Words alike are not enough: "I" of two speakers is not the same person, and "We went hiking" of two days
    is not the same hike.
    """
    spoken = words(entry.text)
    if not spoken or not entry.current:
        return ()
    who = (entry.source or "") if not _SPEAKER.isdisjoint(spoken) else "*"
    when = entry.time.text if entry.time else ""
    return (who, when, *spoken)


def groups(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Entries, duplicates together; in the order of each group's newest."""
    grouped: dict[Sameness, list[Entry]] = {}
    for number, entry in enumerate(entries):
        key = sameness(entry) or (str(number),)
        group = grouped.pop(key, [])
        grouped[key] = [*group, entry]
    return list(grouped.values())
