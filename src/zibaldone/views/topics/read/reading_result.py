"""What reading finds: entries in the order in which they deserve a place in the context."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from zibaldone.core import ChannelScore
from zibaldone.views.topics.read.document_index import EntryPlace


@dataclass(frozen=True, slots=True)
class EntryHit:
    """One entry, and why it is here."""

    place: EntryPlace
    score: float  # falls along a reading's list; comparable inside one reading only
    why: str  # such as "picked", "searched", "followed", "selected", "seen", "fallback"
    superseded: bool  # by what was written later: to be shown with a mark, or not at all
    channels: tuple[ChannelScore, ...] = ()
    later: int | None = None  # seq of an entry that says otherwise, seen at this question; no one marked it

    @property
    def sources(self) -> tuple[int, ...]:
        return self.place.entry.sources


@dataclass(frozen=True, slots=True)
class ReadingResult:
    """What came of one question."""

    hits: tuple[EntryHit, ...]  # best first, each entry once
    considered: int  # entries that were scored
    documents: tuple[str, ...] = ()  # ids that were picked or searched, best first
    stopped: str = ""  # of the agent: "done", "rounds", "evidence", "nothing new", "no model"
    rounds: int = 0
    model_calls: int = 0
    note: str = ""  # in words, when something was degraded or cut


def ordered(tiers: Iterable[Sequence[EntryHit]]) -> tuple[EntryHit, ...]:
    """One list of several, the better ones first; an entry stands where it is named first."""
    kept: dict[tuple[str, int], EntryHit] = {}
    for tier in tiers:
        for hit in tier:
            kept.setdefault((hit.place.document, hit.place.start), hit)
    return tuple(kept.values())


def falling(hits: Sequence[EntryHit]) -> tuple[EntryHit, ...]:
    """Current entries first, and scores that never rise along the list, so that it can be fused by score."""
    order = sorted(hits, key=lambda hit: hit.later is not None)
    least = float("inf")
    kept = []
    for hit in order:
        least = min(least, hit.score)
        kept.append(hit if hit.score == least else replace(hit, score=least))
    return tuple(kept)
