"""What became of themes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ThemeMove:
    """A semantic's theme."""

    semantic: int
    old: int | None  # None for a semantic that is new
    new: int


@dataclass(frozen=True, slots=True)
class Changes:
    """What an addition or a removal changed; all ids rising."""

    moves: tuple[ThemeMove, ...] = ()
    created: tuple[int, ...] = ()
    changed: tuple[int, ...] = ()  # themes that were there before, whose members are not what they were
    removed: tuple[int, ...] = ()
    relinked: tuple[int, ...] = ()  # themes whose neighbours are not what they were, created ones among them

    @property
    def reassigned(self) -> int:
        """Semantics that had a theme and have another: what the dynamic reassignment ratio counts."""
        return sum(move.old is not None for move in self.moves)
