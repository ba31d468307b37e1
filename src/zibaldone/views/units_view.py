"""What views share that keep nothing but units: rows counted, checked, forgotten by source, dropped.

A subclass says what it makes (`prepare`, `commit`) and what it finds (`retrieve`); what keeps something in
memory, in files or in tables of its own says so too.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.models.base import Embedder
from zibaldone.models.static import FAMILY
from zibaldone.storage.database import Database
from zibaldone.views import index_files, units
from zibaldone.views.base import Content, Counted, Generation, RestingView, Snapshot, TakeSnapshot
from zibaldone.views.toolkit import usable
from zibaldone.views.unit_cache import UnitCache


class UnitsView(RestingView):
    """A view whose rows are all in the table of units."""

    name: str

    def __init__(self, embedder: Embedder, analysis: str) -> None:
        """`embedder` makes the units' vectors; `analysis` names all else that they depend on but the log."""
        self._embedder, self._analysis = embedder, analysis

    @property
    def fingerprint(self) -> str:
        """The analysis and the embedder."""
        return f"{self._analysis}/{self._embedder.name}/{self._embedder.dimension}"

    def forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """Remove the units that were made from any of these messages, and files that hold their words."""
        index_files.drop(connection, user)
        return units.forget(connection, self.name, user, seqs)

    def shed(self, connection: Connection, user: str, seqs: Sequence[int], most: int) -> int:
        """Remove `most` of the units that stand on these messages, or all of them."""
        return units.shed(connection, self.name, user, seqs, most)

    def preview_forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """What forget would remove."""
        return units.preview_forget(connection, self.name, user, seqs)

    def drop(self, connection: Connection, generation: Generation) -> None:
        """Remove one generation."""
        units.drop(connection, self.name, generation)

    def stats(self, connection: Connection, user: str) -> tuple[Counted, ...]:
        """Units and vectors, of all generations."""
        return units.count(connection, self.name, user)

    def faults(self, connection: Connection, generation: Generation) -> list[str]:
        """What the table of units finds; vectors are as long as those of the generation's own embedder."""
        dimension = int(generation.fingerprint.rsplit("/", 1)[1])
        return units.faults(
            connection,
            self.name,
            generation,
            dimension,
            may_lack_vectors=f"/{FAMILY}" in generation.fingerprint,
        )

    def contents(self, take_snapshot: TakeSnapshot) -> list[Content]:
        """What its units say."""
        with take_snapshot() as now:
            return units.contents(now.connection, self.name, now.generation) if now.generation else []


class IndexedUnitsView(UnitsView):
    """One whose units are searched in an index per user, which is saved for other processes."""

    _cache: UnitCache

    @property
    def tended_from(self) -> int:
        """From where on an index is worth a file."""
        return self._cache.tended_from

    def warm(self, take_snapshot: TakeSnapshot, user: str) -> None:
        """Have the user's index in memory, up to date."""
        with take_snapshot() as now:
            if now.state.last_seq:
                with self._cache.index(now, user, usable(now.generation, self.fingerprint)):
                    return

    def housekeep(
        self,
        database: Database,
        generation: Generation,
        *,
        patient: bool = False,  # noqa: ARG002 - no model is asked
    ) -> tuple[Counted, ...]:
        """Save the index, so that other processes begin with it."""
        database.saved.sweep(generation.user)
        if usable(generation, self.fingerprint):
            self._cache.save(database, generation)
        return ()

    def refresh(self, database: Database, user: str, generation: Generation | None) -> None:
        """Take what was forgotten out of memory, if anything of the user is there."""
        with database.read(user) as connection:
            self._cache.drop_forgotten(
                Snapshot(connection, generation, log.state(connection, user)),
                user,
                usable(generation, self.fingerprint),
            )
