"""What people who look can ask of a memory: what views made, what is stored, what models were used for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection

from zibaldone import generations, inspection
from zibaldone.incoming import key
from zibaldone.inspection import Integrity, Stats
from zibaldone.models.meter import Meter, Usage
from zibaldone.storage.database import Database
from zibaldone.views.base import Generation, View, ViewStore
from zibaldone.views.chunks import ChunksView, Past, StoredChunk
from zibaldone.views.hierarchy import Episode, HierarchyView, Theme
from zibaldone.views.kvcache.storage.store import NAME as KV
from zibaldone.views.kvcache.storage.store import KVStore

R = TypeVar("R")


class Looking:
    """The part of Memory that changes nothing and recalls nothing."""

    _database: Database
    _meter: Meter
    _views: dict[str, View]
    _chunks: ChunksView
    _hierarchy: HierarchyView
    _kv: KVStore

    def usage(self, *, user: str | None = None) -> list[Usage]:
        """What models were used for: calls, tokens and time per user, day, view and task."""
        if user is not None:
            key("user", user)
        return self._meter.usage(user)

    def chunks(self, *, user: str) -> list[StoredChunk]:
        """The chunks view's memory, chunk by chunk in the order in which they were made."""
        key("user", user)
        return self._chunks.chunks(generations.snapshots(self._database, user, self._chunks))

    def history(self, *, user: str) -> list[Past]:
        """What chunks no longer say, with what took its place, in the order in which it went."""
        key("user", user)
        return self._chunks.history(generations.snapshots(self._database, user, self._chunks))

    def themes(self, *, user: str) -> list[Theme]:
        """The hierarchy view's themes with their semantics, in the order in which they began."""
        return self._look(user, self._hierarchy, self._hierarchy.themes)

    def episodes(self, *, user: str) -> list[Episode]:
        """The hierarchy view's episodes, in the order in which they were told."""
        return self._look(user, self._hierarchy, self._hierarchy.episodes)

    def stats(self, *, user: str | None = None) -> Stats:
        """What is stored, of one user or of all."""
        if user is not None:
            key("user", user)
        return inspection.stats(self._database, list(self._views.values()), self._meter, user)

    def check_integrity(self) -> Integrity:
        """Compare the database file, the log and every view with each other; repairs nothing."""
        return inspection.check_integrity(self._database, self._keepers())

    def _keepers(self) -> list[ViewStore]:
        """The views, and what views have kept that are not attached now."""
        here: list[ViewStore] = list(self._views.values())
        return here if KV in self._views else [*here, self._kv]

    def _look(self, user: str, view: View, read: Callable[[Connection, Generation], list[R]]) -> list[R]:
        key("user", user)
        with self._database.read() as connection:
            generation = generations.serving(connection, user, view)
            return read(connection, generation) if generation else []
