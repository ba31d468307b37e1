"""Links of messages that the view has not read yet: found when a recall asks, and kept until it has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from zibaldone import log
from zibaldone.core import Message
from zibaldone.log import UserState
from zibaldone.views.base import TakeSnapshot
from zibaldone.views.toolkit import MOST_UNREAD, tail
from zibaldone.views.updates import table
from zibaldone.views.updates.detect import NEAR, Detector, Link, Place, WordIndex


@dataclass(frozen=True, slots=True)
class UnreadLinks:
    """What the messages behind a cursor say, as of one version of the user; words are digests."""

    state: UserState
    cursor: int
    words: Mapping[int, Sequence[Place]] = field(default_factory=dict)
    links: tuple[Link, ...] = ()

    def is_of(self, state: UserState, cursor: int) -> bool:
        """Whether nothing has been added, forgotten or read by the view since."""
        return (self.state, self.cursor) == (state, cursor)


def read_unread(
    take_snapshot: TakeSnapshot, user: str, before: UnreadLinks | None
) -> tuple[int, UnreadLinks]:
    """(number of the generation, what is behind its cursor); by the rules alone, no model is asked.

    `before` is what was read last: only what came since is read. Of many messages the newest are.
    """
    with take_snapshot() as now:
        state = log.state(now.connection, user)
        number, cursor = (now.generation.number, now.generation.cursor) if now.generation else (0, 0)
        if before is not None and before.is_of(state, cursor):
            return number, before
        if before is None or before.cursor != cursor or before.state.deletions != state.deletions:
            before = UnreadLinks(UserState(cursor), cursor)
        if state.last_seq <= before.state.last_seq:
            return number, UnreadLinks(state, cursor, before.words, before.links)
        unread = tail(now.connection, user, before.state.last_seq, most=MOST_UNREAD).messages
        first = unread[0].seq if unread else state.last_seq
        recent = log.read(now.connection, user, after=max(0, first - 1 - NEAR), to=first - 1)

    def fetch(seqs: Sequence[int]) -> Mapping[int, Message]:
        with take_snapshot() as later:
            return log.fetch(later.connection, user, seqs)

    def stored(words: Sequence[int]) -> Mapping[int, Sequence[Place]]:
        with take_snapshot() as later:
            generation = later.generation
            rows = table.places(later.connection, generation, words) if generation else {}
        kept = {word: [place for place in at if place[0] <= cursor] for word, at in rows.items()}
        return {word: [*kept.get(word, ()), *before.words.get(word, ())] for word in words}

    index = WordIndex(stored)
    detector = Detector(index, recent, fetch)
    links: dict[tuple[Place, Place], str] = {}
    for message in unread:
        for change in detector.read(message):
            for old in change.settled:
                links.setdefault((old, change.new), change.rule)
    words = dict(before.words)
    for word, at in index.added.items():
        words[word] = (*words.get(word, ()), *at)
    made = tuple(Link(user, number, *old, *new, rule) for (old, new), rule in links.items())
    return number, UnreadLinks(state, cursor, words, before.links + made)


def with_unread(stored: Sequence[Link], unread: Sequence[Link], seqs: Iterable[int]) -> tuple[Link, ...]:
    """Stored links, and those of unread messages that begin in these messages or go on from a newer end.

    In the order of the newer sentences.
    """
    wanted = set(seqs)
    begins: defaultdict[int, list[Link]] = defaultdict(list)
    for link in unread:
        begins[link.old_seq].append(link)
    places = {(link.new_seq, link.new_start) for link in stored}
    known = list(stored)
    following = [link for seq in sorted(wanted | {seq for seq, _ in places}) for link in begins.get(seq, ())]
    seen: set[tuple[int, int, int, int]] = set()
    while following:
        link = following.pop()
        key = (link.new_seq, link.new_start, link.old_seq, link.old_start)
        if key in seen or not (link.old_seq in wanted or (link.old_seq, link.old_start) in places):
            continue
        seen.add(key)
        known.append(link)
        places.add((link.new_seq, link.new_start))
        following += begins.get(link.new_seq, ())
    return tuple(sorted(known, key=lambda link: (link.new_seq, link.new_start, link.old_seq, link.old_start)))
