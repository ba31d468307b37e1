"""What goes with a message: its episode is unmade, with all that was made from it.

The episode's other messages have no episode then, and are told anew when the view reads on or is tended.
A later episode may have been distilled in sight of what was known of the forgotten message; but its facts
hold no word of that which its own messages do not hold (`tasks.Distil`), and its narrative was written
without it. So no word stays that only the forgotten message had, and forgetting asks no model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.errors import StorageCorrupt
from zibaldone.views.base import Generation
from zibaldone.views.hierarchy import table
from zibaldone.views.hierarchy.calibration import Thresholds
from zibaldone.views.hierarchy.config import XMemory
from zibaldone.views.hierarchy.nodes import Semantic
from zibaldone.views.hierarchy.structure import Structure
from zibaldone.views.hierarchy.table import State


@dataclass(frozen=True, slots=True)
class Loss:
    """What forgetting does to one generation."""

    episodes: tuple[int, ...] = ()
    semantics: tuple[int, ...] = ()  # those that no other episode's messages state
    themes: int = 0  # fewer than before


def loss(connection: Connection, generation: Generation, seqs: Sequence[int], config: XMemory) -> Loss:
    """Work out what goes; changes nothing."""
    return _without(connection, generation, seqs, config)[0]


def forget(connection: Connection, generation: Generation, seqs: Sequence[int], config: XMemory) -> Loss:
    """Take the messages out of episodes, semantics, themes and both graphs."""
    found, structure = _without(connection, generation, seqs, config)
    if structure is None:
        return found
    table.remove_episodes(connection, generation, found.episodes)
    table.write(connection, generation, structure.take())
    if any(table.counts(connection, generation)):
        table.set_state(connection, generation, structure.state)
    else:
        table.drop(connection, generation)
    return found


def _without(
    connection: Connection, generation: Generation, seqs: Sequence[int], config: XMemory
) -> tuple[Loss, Structure | None]:
    """The structure without what these messages' episodes state; None where they are in none."""
    episodes = sorted(table.touching(connection, generation, seqs)[0])
    state = table.state(connection, generation)
    if state is None or not episodes:
        return Loss(), None
    unsaid = frozenset(table.messages_of(connection, generation, episodes))
    structure = load(connection, generation, state, config)
    before = len(structure.themes)
    heirs = [
        (semantic, left[0])
        for semantic in structure.stated_by(unsaid)
        if (left := [seq for seq in semantic.seqs if seq not in unsaid])
    ]
    first = [seq for _, seq in heirs]
    episode_of = table.episodes_of(connection, generation, first)
    messages = log.fetch(connection, generation.user, first)
    origin: dict[int, tuple[int, Semantic]] = {}
    for semantic, seq in heirs:
        time = messages[seq].time
        assert time is not None  # what is stored has one
        origin[semantic.id] = (episode_of[seq], replace(semantic, time=time))
    lost = tuple(one.id for one in structure.stated_by(unsaid) if one.id not in origin)
    structure.unsay(unsaid, origin)
    return Loss(tuple(episodes), lost, before - len(structure.themes)), structure


def load(connection: Connection, generation: Generation, state: State, config: XMemory) -> Structure:
    """The structure of whichever embedder made it. Raises StorageCorrupt when nothing is known of that."""
    stored = table.thresholds(connection, state.embedder)
    if stored is None:
        raise StorageCorrupt(f"the hierarchy's embedder {state.embedder!r} has no thresholds: rebuild it")
    dimension = int(state.embedder.rsplit("/", 2)[1])
    return Structure.load(connection, generation, dimension, Thresholds.from_json(stored), config, state)
