"""What a view holds after a model was asked: whether a message was lost, or anything invented."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from zibaldone.core import Evidence, Message
from zibaldone.memory import Memory
from zibaldone.text.dated_text import day_in_words, resolved
from zibaldone.text.dates import find_days
from zibaldone.text.faithfulness import SourceTexts, names_and_numbers

_BUDGET_TOKENS = 1500  # of each recall that looks for what there is


@dataclass(frozen=True, slots=True)
class ViewAudit:
    """One view of one user."""

    lost: int  # messages that are not in the log word for word, or that the view has not read
    faults: tuple[str, ...]  # of the integrity check
    cited: int  # messages that something names as its source
    units: int  # different ones that were found
    invented: tuple[str, ...]  # units with a name or number that no message they cite has


def audit(memory: Memory, view: str, user: str, given: Sequence[Message]) -> ViewAudit:
    """Recalls each message by its own words, and holds what comes against the messages that it names."""
    kept = {message.seq: message for message in memory.messages(user=user)}
    lost = abs(len(kept) - len(given))
    lost += sum(one.content != other.content for one, other in zip(kept.values(), given, strict=False))
    lag = {stats.view: stats.lag for stats in memory.stats(user=user).views}
    units: dict[tuple[tuple[int, ...], str], Evidence] = {}
    for message in given:
        if message.content.strip():
            recall = memory.recall(
                message.content[:500], user=user, views=[view], budget_tokens=_BUDGET_TOKENS, floor=0
            )
            units |= {(unit.sources, unit.text): unit for unit in recall.evidence if unit.view == view}
    cited = {seq for sources, _ in units for seq in sources}
    invented = tuple(_invented(list(units.values()), kept))
    return ViewAudit(
        lost + lag.get(view, 0), tuple(memory.check_integrity().faults), len(cited), len(units), invented
    )


def _invented(units: Sequence[Evidence], messages: dict[int, Message]) -> Iterator[str]:
    for unit in units:
        sources = [messages[seq] for seq in unit.sources]
        texts, context = [], []
        for message in sources:
            context.append(message.speaker)
            texts.append(message.content)
            if message.time:
                day = message.time.date()
                named = [each for days in find_days(message.content, day) for each in (days.first, days.last)]
                context += [
                    f"{each.isoformat()} {day_in_words(each, weekday=True)}" for each in (day, *named)
                ]
                context += [f"{message.time:%H:%M} {message.time:%I:%M %p}"]
                texts.append(resolved(message.content, day))
        new = SourceTexts(texts, " ".join(context)).invented(unit.text)
        if strange := names_and_numbers(unit.text).intersection(new):
            yield f"{unit.text!r} of {unit.sources}: {', '.join(sorted(strange))}"
