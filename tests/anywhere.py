"""Tests of what holds wherever a memory is: in a folder, or in a PostgreSQL database.

`make test` runs them over a folder, and over PostgreSQL those marked EVERYWHERE; `make test-all` the rest.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from traces import serials, serials_in
from zibaldone.storage.database import url_in
from zibaldone.storage.opening import open_database

PLACES = ["folder", pytest.param("postgres", marks=pytest.mark.exhaustive)]
EVERYWHERE = pytest.mark.parametrize("place", ["folder", "postgres"], indirect=True)


def serials_at(where: Path | str) -> set[str]:
    """The serials of all texts of which some file, or some row, has a slice: see `traces`."""
    if url_in(where) is None:
        return serials(Path(where))
    database = open_database(where, busy_timeout_s=30)
    try:
        with database.read() as connection:
            return serials_in(connection)
    finally:
        database.close()
