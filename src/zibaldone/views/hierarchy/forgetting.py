"""What goes with a message: its episode is unmade, with all that was made from it.

The episode's other messages have no episode then, and are told anew when the view reads on or is tended.
A later episode may have been distilled in sight of what was known of the forgotten message; but its facts
hold no word of that which its own messages do not hold (`tasks.Distil`), and its narrative was written
without it. So no word stays that only the forgotten message had, and forgetting asks no model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import Message
from zibaldone.text.bounds import as_read
from zibaldone.views import units
from zibaldone.views.base import Generation
from zibaldone.views.hierarchy import table
from zibaldone.views.hierarchy.structure import Structure
from zibaldone.views.units import Key

OpenUnits = Callable[[Sequence[Message], int], list[units.Row]]


@dataclass(frozen=True, slots=True)
class Unmade:
    """The episodes of some messages, and the structure without what they state; nothing is changed yet."""

    episodes: Sequence[Key] = ()
    semantics: Sequence[int] = ()
    seqs: frozenset[int] = frozenset()  # of all messages of the episodes
    structure: Structure | None = None  # None where the messages are in no episode

    @staticmethod
    def of(connection: Connection, generation: Generation, seqs: Sequence[int]) -> Unmade:
        keys = units.made_from(connection, table.EPISODES, generation, seqs)
        state = table.state(connection, generation)
        if state is None or not keys:
            return Unmade()
        unsaid = frozenset(table.messages_of(connection, generation, keys))
        structure = Structure.load(connection, generation, state)
        return Unmade(keys, structure.unsay(unsaid), unsaid, structure)


def forget(
    connection: Connection, generation: Generation, seqs: Sequence[int], open_units: OpenUnits
) -> Unmade:
    """Take the messages out of episodes and semantics.

    The episodes' other messages stay recallable: `open_units` makes rows of them, without vectors.
    """
    unmade = Unmade.of(connection, generation, seqs)
    gone = units.made_from(connection, table.NAME, generation, unmade.seqs | set(seqs))
    units.remove(connection, table.NAME, generation, gone)
    if unmade.structure is None:
        return unmade
    table.remove_episodes(connection, generation, unmade.episodes)
    table.write(connection, generation, unmade.structure.take())
    left = log.fetch(connection, generation.user, sorted(unmade.seqs - set(seqs)))
    rows = open_units([as_read(left[seq]) for seq in sorted(left)], unmade.structure.state.dimension)
    units.insert(connection, table.NAME, generation, rows)
    if rows or any(table.counts(connection, generation)):
        table.set_state(connection, generation, unmade.structure.state)
    else:
        table.drop(connection, generation)
    return unmade
