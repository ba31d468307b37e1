"""Users' indexes in memory, kept in step with the database by its counters."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy import Connection

from commonplace import log
from commonplace.models.base import Tokenizer
from commonplace.views.base import Generation
from commonplace.views.messages.index import UserIndex
from commonplace.views.messages.units import cut, load, present, to_units

_MOST_UNITS = 400_000  # over all users, about 1 GB; the least recently used user goes first


@dataclass(slots=True)
class Slot:
    """One user's index and the state of the database that it shows."""

    index: UserIndex | None = None
    generation: int = 0
    version: int = 0
    deletions: int = 0
    cursor: int = 0  # the highest seq whose units came from the table
    has_tail: bool = False  # units behind the cursor are in it, without vectors
    lock: threading.Lock = field(default_factory=threading.Lock)


class IndexCache:
    """One slot per user; hold its lock while using its index."""

    def __init__(self, new_index: Callable[[], UserIndex], tokenizer: Tokenizer) -> None:
        self._new_index = new_index
        self._tokenizer = tokenizer
        self._slots: OrderedDict[str, Slot] = OrderedDict()
        self._lock = threading.Lock()

    def slot(self, user: str) -> Slot:
        """The user's slot, new or not."""
        with self._lock:
            slot = self._slots.setdefault(user, Slot())
            self._slots.move_to_end(user)
            units = {name: len(i) if (i := s.index) is not None else 0 for name, s in self._slots.items()}
            total = sum(units.values())
            for name in list(self._slots):
                if total <= _MOST_UNITS or name == user:
                    break
                total -= units[name]
                del self._slots[name]
            return slot

    def refresh(
        self, slot: Slot, connection: Connection, user: str, generation: Generation | None, dimension: int
    ) -> UserIndex:
        """The index as of the connection's snapshot; the caller holds the slot's lock.

        New messages are appended and forgotten ones taken out; another generation makes a new index. What
        the view has not read yet is indexed without vectors, so that it can be recalled at once.
        """
        state = log.state(connection, user)
        number = generation.number if generation else 0
        if slot.index is not None and (slot.version, slot.generation) == (state.version, number):
            return slot.index
        if slot.index is None or slot.generation != number or slot.has_tail or slot.version > state.version:
            slot.index, slot.cursor, slot.deletions = self._new_index(), 0, state.deletions
        index = slot.index
        slot.index = None  # what follows may fail half way: then the next call starts anew
        if slot.deletions != state.deletions:
            index.remove({unit.seq for unit in index.units} - set(present(connection, user, number)))
        cursor = generation.cursor if generation else 0
        if generation is not None and cursor > slot.cursor:
            index.extend(*load(connection, user, number, slot.cursor, dimension))
        slot.has_tail = cursor < state.last_seq
        if slot.has_tail:
            tail = log.read(connection, user, after=cursor)
            units = to_units(tail, cut(tail, self._tokenizer))
            index.extend(units, np.zeros((len(units), index.vectors.rows.shape[1]), dtype=np.float32))
        slot.index, slot.generation, slot.cursor = index, number, cursor
        slot.version, slot.deletions = state.version, state.deletions
        return index
