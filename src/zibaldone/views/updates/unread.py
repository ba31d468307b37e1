"""Links of messages that the view has not read yet: found when a recall asks, and kept until it has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import Message
from zibaldone.log import UserState
from zibaldone.views.base import TakeSnapshot
from zibaldone.views.links import Link
from zibaldone.views.toolkit import MOST_UNREAD, tail
from zibaldone.views.updates import table
from zibaldone.views.updates.detect import NEAR, Detector, Place, WordIndex


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


def before(connection: Connection, user: str, seq: int) -> list[Message]:
    """The messages before a seq, NEAR of them."""
    return log.read(connection, user, after=max(0, seq - 1 - NEAR), to=seq - 1)


def behind(
    connection: Connection, user: str, state: UserState, cursor: int, held: UnreadLinks | None
) -> tuple[UnreadLinks, list[Message]]:
    """What of `held`, which was read last, still is so as of the state, and what came since.

    Of many messages the newest are.
    """
    if held is None or held.cursor != cursor or held.state.deletions != state.deletions:
        held = UnreadLinks(UserState(cursor), cursor)
    unread: list[Message] = []
    if state.last_seq > held.state.last_seq:
        unread = tail(connection, user, held.state.last_seq, most=MOST_UNREAD).messages
    return UnreadLinks(state, cursor, held.words, held.links), unread


def read_unread(
    take_snapshot: TakeSnapshot, user: str, number: int, held: UnreadLinks, unread: Sequence[Message]
) -> UnreadLinks:
    """What a generation's unread messages say, on top of what is held; by the rules, no model is asked."""
    if not unread:
        return held
    cursor = held.cursor

    def recent() -> Sequence[Message]:
        with take_snapshot() as later:
            return before(later.connection, user, unread[0].seq)

    def fetch(seqs: Sequence[int]) -> Mapping[int, Message]:
        with take_snapshot() as later:
            return log.fetch(later.connection, user, seqs)

    def stored(words: Sequence[int]) -> Mapping[int, Sequence[Place]]:
        with take_snapshot() as later:
            generation = later.generation
            rows = table.places(later.connection, generation, words) if generation else {}
        kept = {word: [place for place in at if place[0] <= cursor] for word, at in rows.items()}
        return {word: [*kept.get(word, ()), *held.words.get(word, ())] for word in words}

    index = WordIndex(stored)
    detector = Detector(index, recent, fetch)
    links: dict[tuple[Place, Place], str] = {}
    for message in unread:
        for change in detector.read(message):
            for old in change.settled:
                links.setdefault((old, change.new), change.rule)
    words = dict(held.words)
    for word, at in index.added.items():
        words[word] = (*words.get(word, ()), *at)
    made = tuple(Link(user, number, *old, *new, rule) for (old, new), rule in links.items())
    return UnreadLinks(held.state, cursor, words, held.links + made)


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
