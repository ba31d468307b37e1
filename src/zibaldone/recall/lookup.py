"""One look into memory by a model: what it may ask for, and how it is shown what came.

`ask`, the MCP tools and the gateway's `search_memory` share it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from zibaldone.core import Evidence
from zibaldone.core.validation import LATEST, key, shown, to_time, words
from zibaldone.errors import InvalidInput
from zibaldone.log.filters import Filter
from zibaldone.recall.recall import Order, to_order
from zibaldone.recall.result import CLEAR, NEAREST, Recall
from zibaldone.search.unit import PASSAGE
from zibaldone.text.rendering import NO_DATE, header, in_order, indented, mark

NOTHING = "Nothing in memory is about this."
NOTHING_NEW = "Nothing further about this: what there is was shown before."
UNCLEAR = "Nothing clearly about this. The nearest:"


@dataclass(frozen=True, slots=True)
class Lookup:
    """A query with what narrows it."""

    query: str
    since: datetime | None = None
    until: datetime | None = None  # not in it
    session: str | None = None
    role: str | None = None
    order: Order = "best"  # "first" and "last": of what fits best, the earliest or the latest first

    def within(self, narrowed: Filter) -> Filter | None:
        """This lookup inside of what its caller may see; None where nothing is in both."""
        own = narrowed.scope_session()
        session = own if self.session is None else self.session
        roles = narrowed.roles if self.role is None else (self.role,)
        if own is not None and own != session:
            return None
        if narrowed.roles is not None and self.role is not None and self.role not in narrowed.roles:
            return None
        begins = [to_time(time, "since") for time in (narrowed.since, self.since) if time is not None]
        ends = [to_time(time, "until") for time in (narrowed.until, self.until) if time is not None]
        since, until = max(begins, default=None), min(ends, default=None)
        if since is not None and until is not None and since >= until:
            return None
        return replace(narrowed, session=session, roles=roles, since=since, until=until)


def to_lookup(
    query: object,
    *,
    since: object = None,
    until: object = None,
    session: object = None,
    role: object = None,
    order: object = None,
) -> Lookup:
    """Check what a model asks for; an empty text is nothing given. Raises InvalidInput."""
    text = words("query", query)
    if not text.strip():
        raise InvalidInput("a query needs words: what may have been said")
    begins, ends = to_span(since, until)
    return Lookup(
        text,
        since=begins,
        until=ends,
        session=None if session in (None, "") else key("session", session),
        role=None if role in (None, "") else key("role", role),
        order=to_order(order or "best"),
    )


def to_span(since: object, until: object) -> tuple[datetime | None, datetime | None]:
    """Check the times that a model gives; a bare day as `until` is in. Raises InvalidInput."""
    begins, ends = _time("since", since), _time("until", until)
    if begins is not None and ends is not None and begins >= ends:
        raise InvalidInput(f"since ({shown(since)}) must be before until ({shown(until)})")
    return begins, ends


def _time(name: str, given: object) -> datetime | None:
    if given in (None, ""):
        return None
    time = to_time(given, name)  # type: ignore[arg-type] # it raises for all else
    if name == "until" and isinstance(given, str) and _is_day(given):
        time = min(time + timedelta(days=1), LATEST)
    return time


def _is_day(given: str) -> bool:
    try:
        date.fromisoformat(given.strip())
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Found:
    """The passages of a lookup, as a model reads them."""

    text: str
    evidence: tuple[Evidence, ...]
    clear: bool  # False: perhaps it is about something else

    @property
    def quoted(self) -> frozenset[tuple[str, int]]:
        """All messages that were shown: the shared memory that has each, "" for one's own, and its seq."""
        return frozenset((unit.scope, seq) for unit in self.evidence for seq in unit.sources)

    def shorter(self, tokens: int) -> Found:
        """Drop the worst passages until `tokens` are saved; one stays."""
        kept = sorted(self.evidence, key=lambda unit: -unit.score)
        while tokens > 0 and len(kept) > 1:
            tokens -= kept.pop().tokens
        return _found(kept, clear=self.clear)


def shown_whole(evidence: Iterable[Evidence]) -> frozenset[int]:
    """Seqs of one's own messages that need not come again: of a long one another passage may be wanted."""
    own = (unit for unit in evidence if not unit.scope)
    return frozenset(seq for unit in own if unit.kind != PASSAGE for seq in unit.sources)


def to_found(recall: Recall, *, shown_before: bool = False) -> Found:
    """The passages of a recall with `min_confidence=0`, or the nearest where it may be about something else.

    What always holds is left out: a model that looks for something has not asked for it. Where it took the
    place of a message that says just that, the message comes.
    """
    known = {(unit.sources, unit.text.strip()) for unit in recall.evidence if unit.standing}
    evidence = [unit for unit in recall.evidence if not unit.standing]
    evidence += (
        unit
        for unit in (decision.evidence for decision in recall.trace.decisions if not decision.kept)
        if not unit.standing and (unit.sources, unit.text.strip()) in known
    )
    if not evidence:
        return Found(NOTHING_NEW if shown_before else NOTHING, (), clear=False)
    if recall.confidence >= CLEAR:
        return _found(evidence, clear=True)
    return _found(sorted(evidence, key=lambda unit: -unit.score)[:NEAREST], clear=False)


def _found(evidence: Sequence[Evidence], *, clear: bool) -> Found:
    ordered = tuple(in_order(evidence))
    text = passages(ordered)
    return Found(text if clear else f"{UNCLEAR}\n{text}", ordered, clear)


def passages(evidence: Sequence[Evidence]) -> str:
    """Evidence under headers of session and day, each line with the seq of its message.

        [trip to Ghent · Mon 8 May 2023]
        #41 Caroline: I went to a support group yesterday.
        #57+600 Caroline: what stands 600 characters further on in a long message

    Only headers and seqs begin at the left, so that no words can pass for either.
    """
    lines: list[str] = []
    above = ""
    for unit in evidence:
        day = header(unit.time.date(), None) if unit.is_dated else NO_DATE
        place = f"{unit.scope}: " if unit.scope else ""
        head = f"[{place}{indented(unit.session)} · {day}]"
        if head != above:
            lines.append(head)
            above = head
        name = f"{indented(unit.speaker.strip())}: " if unit.speaker else ""
        cut = ("… " * unit.begins_inside, " …" * unit.ends_inside)
        place = f"+{unit.place}" if unit.place else ""
        lines.append(f"#{unit.sources[0]}{place} {name}{cut[0]}{indented(unit.text)}{cut[1]}{mark(unit)}")
    return "\n".join(lines)
