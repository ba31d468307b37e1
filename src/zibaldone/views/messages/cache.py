"""Users' indexes in memory, kept in step with the database by its counters."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy import Connection

from zibaldone import log
from zibaldone.fork_safety import start_anew_in_children
from zibaldone.models.base import Tokenizer
from zibaldone.views.base import Generation
from zibaldone.views.messages.index import UserIndex
from zibaldone.views.messages.units import cut, load, present, to_units

_MOST_UNITS = 400_000  # and words, over all users: about 1 GB; the least recently used user goes first
_MOST_USERS = 1000


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
        self._sizes: dict[str, int] = {}
        self._total = 0
        self._lock = threading.Lock()
        start_anew_in_children(self)

    def start_anew(self) -> None:
        """In a forked child: the parent's threads may have held the locks, half way through a change."""
        self._slots, self._sizes, self._total = OrderedDict(), {}, 0
        self._lock = threading.Lock()

    def slot(self, user: str) -> Slot:
        """The slot of a user who has messages, new or not."""
        with self._lock:
            slot = self._slots.setdefault(user, Slot())
            self._slots.move_to_end(user)
            return slot

    def holds(self, user: str) -> bool:
        """Whether anything of the user is in memory."""
        with self._lock:
            return user in self._slots

    def _resized(self, user: str, units: int) -> None:
        """Note how large the user's index is now; drops others' while all are too large together."""
        with self._lock:
            self._total += units - self._sizes.get(user, 0)
            self._sizes[user] = units
            for name in list(self._slots):
                if name == user or (self._total <= _MOST_UNITS and len(self._slots) <= _MOST_USERS):
                    break
                del self._slots[name]
                self._total -= self._sizes.pop(name, 0)

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
        if slot.index is None or slot.generation != number or slot.version > state.version:
            slot.index, slot.cursor, slot.deletions = self._new_index(), 0, state.deletions
        index = slot.index
        slot.index = None  # what follows may fail half way: then the next call starts anew
        gone = set()
        if slot.deletions != state.deletions:
            gone = {unit.seq for unit in index.units} - set(present(connection, user, number))
        if slot.has_tail:  # it has vectors by now, or still none
            gone |= {unit.seq for unit in index.units if unit.seq > slot.cursor}
        if gone:
            index.remove(gone)
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
        self._resized(user, len(index) + len(index.thesaurus))
        return index
