"""A pool's rows for who works with the model: each look is a short transaction of its own.

A model may be slow or hang, so none of its passes runs inside a transaction: others' writing and forgetting
would wait for it. What changed between two looks is gone from the later one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from zibaldone.errors import BlockMissing
from zibaldone.views.base import Generation
from zibaldone.views.kvcache.storage.manifest import Pool

P = ParamSpec("P")
R = TypeVar("R")
Read = Callable[[], AbstractContextManager[Connection]]  # opens a read transaction

_READS = 3  # of what may just have moved


def read_again(read: Callable[[], R]) -> R:
    """Do `read`, which looks at rows anew, again when a block moved after it had. Raises BlockMissing."""
    for _ in range(_READS - 1):
        try:
            return read()
        except BlockMissing:
            continue
    return read()


@dataclass(frozen=True, slots=True)
class PoolReader:
    """A pool, and how to look at its rows as they are now."""

    pool: Pool
    read: Read

    def look(
        self, query: Callable[Concatenate[Connection, Generation, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """The answer of one of the manifest's queries for this pool."""
        with self.read() as connection:
            return query(connection, self.pool.generation, *args, **kwargs)
