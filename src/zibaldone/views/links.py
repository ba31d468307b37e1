"""Links between sentences: this one no longer holds, and that one took its place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from zibaldone.views.base import TakeSnapshot, View


@dataclass(frozen=True, slots=True)
class Link:
    """A sentence that no longer holds, and the one that took its place."""

    user: str
    generation: int
    old_seq: int
    old_start: int  # of the sentence: content[old_start:old_end] of the old message
    old_end: int
    new_seq: int
    new_start: int
    new_end: int  # new_start where nothing took its place: somebody retired it
    rule: str  # a rule's name, the name of the model that said so, or what a person did


class LinkingView(View, Protocol):
    """A view that knows what no longer holds."""

    def links(self, take_snapshot: TakeSnapshot, user: str, seqs: Iterable[int]) -> tuple[Link, ...]:
        """Links that begin or end in these messages, in the order of the newer sentences."""
