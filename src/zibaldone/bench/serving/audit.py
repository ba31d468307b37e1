"""After the load: is every turn that was acknowledged in the log, once, and nothing that nobody said?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from zibaldone.bench.serving.load import Sample
from zibaldone.memory import Memory

ACKNOWLEDGED = "ok"  # what X-Memory-Status says of a turn that is in the log


@dataclass(frozen=True, slots=True)
class Audit:
    """Turns of users and answers, counted in the log of the sessions that were replayed."""

    acknowledged: int  # turns of requests that ended well and of which the server did not say otherwise
    lost: int  # of them, not in the log
    doubled: int  # more often in the log than said
    foreign: int  # in the log, and nobody said them
    unacknowledged: (
        int  # turns of other requests: the server said that memory was degraded, or there was a fault
    )
    of_those_stored: int


def audit(folder: Path, samples: Iterable[Sample]) -> Audit:
    """Read the sessions that the samples belong to."""
    certain: dict[tuple[str, str], Counter[str]] = {}
    possible: dict[tuple[str, str], Counter[str]] = {}
    for sample in samples:
        is_certain = sample.fault is None and sample.memory == ACKNOWLEDGED
        turns = (certain if is_certain else possible).setdefault((sample.user, sample.session), Counter())
        turns[sample.question] += 1
        turns[sample.answer] += 1 if sample.answer else 0
    lost = doubled = foreign = stored_anyway = 0
    with Memory(folder) as memory:
        for user, session in sorted({*certain, *possible}):
            sure, others = certain.get((user, session), Counter()), possible.get((user, session), Counter())
            stored = Counter(message.content for message in memory.messages(user=user, session=session))
            lost += (sure - stored).total()
            more = stored - sure
            stored_anyway += (more & others).total()
            unexpected = more - others
            doubled += sum(
                count for content, count in unexpected.items() if content in sure or content in others
            )
            foreign += sum(
                count for content, count in unexpected.items() if not (content in sure or content in others)
            )
    return Audit(
        acknowledged=sum(turns.total() for turns in certain.values()),
        lost=lost,
        doubled=doubled,
        foreign=foreign,
        unacknowledged=sum(turns.total() for turns in possible.values()),
        of_those_stored=stored_anyway,
    )
