"""The base of views that keep nothing but units: rows counted, checked, forgotten by source, dropped.

A subclass says what it makes (`prepare`, `commit`) and what it finds (`retrieve`); what keeps something in
memory, in files or in tables of its own says so too.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from zibaldone.models.base import Embedder
from zibaldone.models.static import FAMILY
from zibaldone.views import index_files, units
from zibaldone.views.base import Content, Counted, Generation, RestingView, TakeSnapshot


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
        """Count what `forget` would remove."""
        return units.preview_forget(connection, self.name, user, seqs)

    def drop(self, connection: Connection, generation: Generation) -> None:
        """Remove one generation."""
        units.drop(connection, self.name, generation)

    def stats(self, connection: Connection, user: str) -> tuple[Counted, ...]:
        """Units and vectors, of all generations."""
        return units.count(connection, self.name, user)

    def faults(self, connection: Connection, generation: Generation) -> list[str]:
        """List faults of the table of units; vectors are as long as the generation's embedder makes them."""
        dimension = int(generation.fingerprint.rsplit("/", 1)[1])
        return units.faults(
            connection,
            self.name,
            generation,
            dimension,
            may_lack_vectors=f"/{FAMILY}" in generation.fingerprint,
        )

    def contents(self, take_snapshot: TakeSnapshot) -> list[Content]:
        """List what its units say."""
        return units.contents(take_snapshot, self.name)
