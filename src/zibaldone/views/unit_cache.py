"""One index per user of a view's units, in memory, kept in step with the table by the user's counters."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sqlalchemy import Connection

from zibaldone import log
from zibaldone.models.base import WordEmbedder
from zibaldone.search.saved import SavedIndex
from zibaldone.search.unit import Unit
from zibaldone.search.unit_index import UnitIndex
from zibaldone.storage.database import Database
from zibaldone.storage.saved_indexes import indexes_of
from zibaldone.views import index_files, units
from zibaldone.views.base import Generation, Snapshot
from zibaldone.views.user_cache import UserCache

_MOST_USERS = 1000
_CGROUP_LIMIT = "/sys/fs/cgroup/memory.max"  # of a container; a word where it has none
_LEAST_SAVED = 1000  # messages: fewer are not worth saving
# Where nobody waits, a segment is written when such a part of the least is new: a process that opens the
# index reads what is new from rows.
_NEW_OF_LEAST = 1 / 4
# Whoever adds saves when so many of the saved messages, and no fewer than the least, are new; and no more at
# once than so many times the least, or than are added.
_NEW_OF_SAVED, _MOST_OF_LEAST, _MOST_OF_ADDED = 1 / 50, 16, 2
_GROWTH = 3  # times as much behind a segment: then it is written again, with that
_MOST_NOTED = 100_000  # users of whom is known how far their index is saved

# Units of messages of a user behind a seq, which the view has not read; and a note where some are left out.
ReadTail = Callable[[Connection, str, int], tuple[list[Unit], str]]


@dataclass(slots=True)
class Slot:
    """One user's index and the state of the database that it shows."""

    index: UnitIndex | None = None
    generation: int = 0
    version: int = 0
    deletions: int = 0
    cursor: int = 0  # the highest seq whose units came from the table
    segments: tuple[str, ...] = ()  # keys of what it was opened from
    tail_to: int = 0  # the highest seq past the cursor whose units are in it, without vectors; 0: none
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(slots=True)
class _Growth:
    """Seqs up to which this process added to a user's log or indexed it, and up to which that is saved."""

    added_to: int = 0
    saved_to: int = 0
    tried_at: int = 0  # the last in the log when it was tried to save


def index_bytes(megabytes: int | None = None) -> int:
    """Bytes of memory for all indexes of a view; None: an eighth of the machine's."""
    return _machine_bytes() // 8 if megabytes is None else megabytes * 10**6


def _machine_bytes() -> int:
    """The memory that this process can have; 8 GB where nobody says."""
    try:
        bytes_there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        bytes_there = 8 * 2**30
    try:
        limit = Path(_CGROUP_LIMIT).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return bytes_there
    return min(bytes_there, int(limit)) if limit.isdecimal() else bytes_there


class UnitCache:
    """One slot per user of one view.

    With `appends`, a view's new units always stand on messages past its cursor, as raw messages do: then
    only these are read when the log has grown. Else the keys of the generation are compared.
    """

    def __init__(
        self,
        view: str,
        dimension: int,
        word_embedder: WordEmbedder,
        read_tail: ReadTail | None = None,
        *,
        remade: units.Remade | None = None,
        appends: bool,
        most_bytes: int | None = None,
    ) -> None:
        """`dimension`: of the vectors; `word_embedder` is for synonyms; `remade` makes those that no row has.

        Without `read_tail` nothing is in it but what the view has read. Indexes of all users together take
        `most_bytes` of memory; None: what `index_bytes` allows.
        """
        self._view = view
        self._dimension, self._words = dimension, word_embedder
        self._read_tail = read_tail
        self._remade = remade
        self._appends = appends
        self._slots: UserCache[Slot] = UserCache(
            _MOST_USERS, most_size=most_bytes or index_bytes(), size=_size
        )
        self._growth: dict[str, _Growth] = {}  # by user

    @contextmanager
    def index(
        self,
        now: Snapshot,
        user: str,
        generation: Generation | None,
        read_tail: ReadTail | None = None,
    ) -> Iterator[UnitIndex]:
        """The user's index as of a snapshot, with its lock held: ask nobody inside.

        `generation` is the snapshot's, or None when its units are not to be used: then all messages are tail.
        `read_tail`: for a view that knows more of the snapshot than when the cache was made.
        """
        if not now.state.last_seq:  # nobody of that name: nothing is kept of them
            yield self._new_index()
            return
        slot = self._slots.get_or_make(user, Slot)
        with slot.lock:
            yield self._refresh(slot, now, user, generation, read_tail or self._read_tail)

    @property
    def tended_from(self) -> int:
        """The seq from which on `save` may write a segment."""
        return _LEAST_SAVED

    def is_due(self, user: str, last_seq: int) -> bool:
        """True if a user to whom was added should be looked at by `save`; see also `unsaved`."""
        if len(self._growth) >= _MOST_NOTED:
            self._growth.clear()
        growth = self._growth.setdefault(user, _Growth())
        growth.added_to = last_seq
        new = last_seq - max(growth.saved_to, growth.tried_at)
        return new >= max(_LEAST_SAVED, _NEW_OF_SAVED * growth.saved_to)

    def unsaved(self) -> list[str]:
        """Users of whom this process added or indexed so much that was not saved that `save` would; once."""
        grown, self._growth = self._growth, {}
        return [
            user
            for user, growth in grown.items()
            if growth.added_to >= _LEAST_SAVED
            and growth.added_to - growth.saved_to >= _NEW_OF_LEAST * _LEAST_SAVED
        ]

    def save(self, database: Database, generation: Generation, added: int | None = None) -> None:
        """Save what is new of the user's index as a segment, together with segments that are no larger.

        With `appends` alone; and when the view has read all, or else the next time. `added`: somebody who
        added so many messages waits, so little is written at once, and not before more is new.
        """
        # What cannot be opened is let go when it is tried, and its messages are saved with the second try.
        if not self._save(database, generation, added):
            self._save(database, generation, added)

    def _save(self, database: Database, generation: Generation, added: int | None) -> bool:
        """True if there is no more to do."""
        user = generation.user
        with database.read(user) as connection:
            state = log.state(connection, user)
            wanted = self._state(generation, state)
            chain = index_files.segments(connection, user, wanted)
            sizes = [header.cursor - header.after for header in chain.values()]
            new, saved_to = generation.cursor - sum(sizes), sum(sizes)
            growth = self._growth.setdefault(user, _Growth())
            growth.saved_to, growth.tried_at = saved_to, generation.cursor
            if added is None:
                fewest, most = _LEAST_SAVED * (_NEW_OF_LEAST if saved_to else 1), math.inf
            else:
                fewest = max(_LEAST_SAVED, _NEW_OF_SAVED * saved_to)
                most = max(_MOST_OF_LEAST * _LEAST_SAVED, _MOST_OF_ADDED * added)
            kept = _kept(sizes, new, most)
            if not (fewest <= new <= most or (added is None and kept < len(sizes))):
                growth.tried_at = saved_to if new < fewest else generation.cursor
                return True
            known = indexes_of(connection).headers(connection, user, self._view)
            slot = self._slots.get_or_make(user, Slot)
            with slot.lock:
                if slot.segments != tuple(chain):
                    slot.index = None
                now = Snapshot(connection, generation, state)
                index = self._refresh(slot, now, user, generation, self._read_tail)
                last = log.fetch(connection, user, [slot.cursor]).get(slot.cursor)
                if slot.tail_to or slot.version != state.version or last is None or last.id is None:
                    return True
                if slot.segments != tuple(chain):
                    return False
                saved = index.save(kept)
                header = index_files.Header(wanted, sum(sizes[:kept]), slot.cursor, last.id)
        if index_files.save(database, user, saved, header, known, list(chain)[:kept]):
            growth.saved_to = header.cursor
            with slot.lock:
                slot.index = None  # begins anew with what was saved
        return True

    def drop(self, user: str, as_of: log.UserState) -> None:
        """Begin the user's index anew, without what was forgotten."""
        self._slots.drop(user, as_of)

    def drop_forgotten(self, now: Snapshot, user: str, generation: Generation | None) -> None:
        """Take what was forgotten out of memory; with `appends`: else beginning anew costs no more."""
        slot = self._slots.get(user)
        self._slots.drop(user, now.state)
        if slot is not None:
            with slot.lock:
                if slot.index is not None:
                    self._refresh(slot, now, user, generation, self._read_tail)

    def _refresh(
        self,
        slot: Slot,
        now: Snapshot,
        user: str,
        generation: Generation | None,
        read_tail: ReadTail | None,
    ) -> UnitIndex:
        """New units are appended and forgotten ones taken out; another generation makes a new index.

        What the view has not read yet is indexed without vectors, so that it can be recalled at once.
        """
        connection, state = now.connection, now.state
        number = generation.number if generation else 0
        if slot.index is not None and (slot.version, slot.generation) == (state.version, number):
            return slot.index
        if slot.index is not None and slot.version > state.version and slot.generation == number:
            return slot.index  # an older snapshot: what the index has too much of is the newest
        if slot.index is None or slot.generation != number:
            slot.index, slot.cursor, slot.segments = self._begun(connection, user, generation, state)
            slot.tail_to, slot.deletions = 0, state.deletions
            if generation is not None and self._appends:
                growth = self._growth.setdefault(user, _Growth())
                growth.added_to, growth.saved_to = max(growth.added_to, generation.cursor), slot.cursor
        index = slot.index
        slot.index = None  # what follows may fail half way: then the next call starts anew
        cursor = generation.cursor if generation else 0
        forgotten = slot.deletions != state.deletions
        if generation is not None and not forgotten:
            self._embed_tail(connection, slot, index, generation)
        keeps_tail = slot.tail_to > 0 and not forgotten and cursor == slot.cursor
        of_tail = set(np.flatnonzero(index.seqs > slot.cursor).tolist())
        gone = set()
        if generation is not None and (forgotten or not self._appends):
            stored = units.keys(connection, self._view, generation)
            held = {key: row for row, key in enumerate(index.units.keys()) if row not in of_tail}
            # Rows rise by key, as in an index made at once: what a new unit comes before is loaded again.
            first_new = next((key for key in stored if key not in held), None)
            there = set(stored)
            gone = {
                row
                for key, row in held.items()
                if key not in there or (first_new is not None and key > first_new)
            }
            keeps_tail = keeps_tail and first_new is None
        elif forgotten:
            gone = set(range(len(index)))
        if slot.tail_to and not keeps_tail:
            gone |= of_tail
        if gone:
            index.remove(gone)
            slot.segments = ()  # of an index that something was taken out of nothing is a segment
        if generation is not None:
            self._load_new(connection, index, generation, slot.cursor)
        if not keeps_tail:
            slot.tail_to, index.note = 0, ""
        if read_tail and max(cursor, slot.tail_to) < state.last_seq:
            unread, note = read_tail(connection, user, max(cursor, slot.tail_to))
            index.extend(unread, np.zeros((len(unread), index.vectors.dimension), dtype=np.float32))
            slot.tail_to, index.note = state.last_seq, index.note or note
        slot.generation, slot.cursor = number, cursor
        slot.version, slot.deletions = state.version, state.deletions
        slot.index = index
        if not self._slots.put(user, slot, state):
            slot.index = None  # something was forgotten meanwhile: this snapshot has it, memory must not
        return index

    def _begun(
        self, connection: Connection, user: str, generation: Generation | None, state: log.UserState
    ) -> tuple[UnitIndex, int, tuple[str, ...]]:
        """An index to begin with, how far it goes, and segments that it is from, of this generation."""
        if generation is not None and self._appends:
            chain = index_files.segments(connection, user, self._state(generation, state))
            within = {key: header for key, header in chain.items() if header.cursor <= generation.cursor}
            there = index_files.opened(connection, user, within)
            if there:
                *_, last = there
                return self._new_index(list(there.values())), chain[last].cursor, tuple(there)
        return self._new_index(), 0, ()

    def _new_index(self, saved: Sequence[SavedIndex] = ()) -> UnitIndex:
        return UnitIndex(self._dimension, self._words, saved)

    def _state(self, generation: Generation, state: log.UserState) -> index_files.IndexState:
        return index_files.state_of(self._view, generation, self._words.name, state)

    def _embed_tail(
        self, connection: Connection, slot: Slot, index: UnitIndex, generation: Generation
    ) -> None:
        """Add vectors to units of the tail that the view has read since."""
        cursor = generation.cursor
        if not self._appends or not slot.tail_to or index.note or cursor <= slot.cursor:
            return
        first = len(index)
        while first and index.units[first - 1].seq > slot.cursor:
            first -= 1
        read, vectors = units.load(
            connection,
            self._view,
            generation,
            index.vectors.dimension,
            after=slot.cursor,
            remade=self._remade,
        )
        end = first + len(read)
        same = end <= len(index) and [index.units[row] for row in range(first, end)] == read
        if same and (end == len(index) or index.units[end].seq > cursor):
            index.embed(first, vectors)
            slot.cursor, slot.tail_to = cursor, slot.tail_to if slot.tail_to > cursor else 0

    def _load_new(
        self, connection: Connection, index: UnitIndex, generation: Generation, cursor: int
    ) -> None:
        dimension = index.vectors.dimension
        if self._appends:
            if generation.cursor > cursor:
                index.extend(
                    *units.load(
                        connection, self._view, generation, dimension, after=cursor, remade=self._remade
                    )
                )
            return
        here = {unit.key for unit in index.units}
        new = [key for key in units.keys(connection, self._view, generation) if key not in here]
        if new:
            index.extend(
                *units.load(connection, self._view, generation, dimension, only=new, remade=self._remade)
            )


def _kept(sizes: Sequence[int], new: int, most: float) -> int:
    """Number of segments that stay, of these sizes, when `new` messages are saved.

    What is behind each of them is less than some times as large, so they are few, and a message is written
    again when what it is in has grown as much; but no more than `most` messages are written.
    """
    kept, behind = len(sizes), new
    for place in reversed(range(len(sizes))):
        if behind + sizes[place] > most:
            break
        if _GROWTH * sizes[place] <= behind:
            kept = place
        behind += sizes[place]
    return kept


def _size(slot: Slot) -> int:
    return slot.index.nbytes if slot.index else 0
