"""After the load: is all that was acknowledged in the log, once, in its place, and every view at its end?"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from zibaldone.bench.fleet.load import FleetUser, codes_in
from zibaldone.bench.outcome import Progress
from zibaldone.memory import Memory

_LOOK_S = 3.0


@dataclass(frozen=True, slots=True)
class FleetAudit:
    """Counts over all users; all but the first four should be 0."""

    acknowledged: int
    forgotten: int
    uncertain: int  # sent, and never answered: each may be there or not
    caught_up_s: float  # after the load, until no view was behind
    lost: int  # acknowledged, not forgotten, and not in the log
    doubled: int  # more than once in the log
    foreign: int  # in another user's log
    undead: int  # acknowledged to be forgotten, and in the log
    unknown: int  # in the log, and nobody sent it
    gaps: int  # logs whose seqs do not fit the messages that were forgotten
    behind: int  # users and views that did not come to the end of the log
    faults: tuple[str, ...]  # what the integrity check finds


def audit(
    memory: Memory, users: Sequence[FleetUser], views: Sequence[str], wait_s: float, progress: Progress
) -> FleetAudit:
    """Wait for the workers, then read everything."""
    began = time.monotonic()
    behind = _behind(memory, views)
    while behind and time.monotonic() - began < wait_s:
        progress("waiting for views", 0, 0)
        time.sleep(_LOOK_S)
        behind = _behind(memory, views)
    caught_up_s = time.monotonic() - began
    counts: Counter[str] = Counter()
    for place, user in enumerate(users):
        progress("reading logs", place, len(users))
        counts += _of_user(memory, user)
    return FleetAudit(
        acknowledged=sum(len(user.acknowledged) for user in users),
        forgotten=sum(len(user.forgotten) for user in users),
        uncertain=sum(len(user.uncertain) for user in users),
        caught_up_s=caught_up_s,
        lost=counts["lost"],
        doubled=counts["doubled"],
        foreign=counts["foreign"],
        undead=counts["undead"],
        unknown=counts["unknown"],
        gaps=counts["gaps"],
        behind=behind,
        faults=memory.check_integrity().faults,
    )


def _behind(memory: Memory, views: Sequence[str]) -> int:
    return sum(view.lag > 0 for view in memory.stats().views if view.view in views)


def _of_user(memory: Memory, user: FleetUser) -> Counter[str]:
    counts: Counter[str] = Counter()
    messages = memory.messages(user=user.name, noise=True)
    stored: Counter[int] = Counter()
    for message in messages:
        codes = codes_in(message.content)
        counts["foreign"] += sum(whose != user.number for whose, _ in codes)
        stored.update(number for whose, number in codes if whose == user.number)
        counts["unknown"] += not codes
    must = set(user.safe())
    may = must | user.uncertain | user.going
    counts["lost"] = len(must - set(stored))
    counts["doubled"] = sum(times > 1 for times in stored.values())
    counts["undead"] = len(user.forgotten & set(stored))
    counts["unknown"] += len(set(stored) - may)
    moved = [
        number
        for message in messages
        for _, number in codes_in(message.content)
        if number in must and user.acknowledged[number] != message.seq
    ]
    seqs = [message.seq for message in messages]
    is_dense = bool(not seqs or seqs[-1] - len(seqs) <= len(user.going))
    counts["gaps"] = int(bool(moved) or seqs != sorted(set(seqs)) or not is_dense)
    return counts
