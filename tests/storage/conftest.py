"""A place for records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from records_rig import NINE, RecordsRig

from zibaldone.views import unit_cache


@pytest.fixture
def early_indexes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Indexes are saved from three messages on."""
    monkeypatch.setattr(unit_cache, "_LEAST_SAVED", 3)


@pytest.fixture(params=["files", pytest.param("s3", marks=pytest.mark.wide)])
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RecordsRig]:
    """An empty folder and tiny blocks, in files and in a bucket."""
    bucket = request.getfixturevalue("bucket") if request.param == "s3" else None
    made = RecordsRig(tmp_path, bucket=bucket)
    yield made
    made.database.close()


@pytest.fixture
def nine(rig: RecordsRig) -> RecordsRig:
    """Nine records in three full blocks."""
    rig.stage(NINE)
    rig.flush()
    assert len(rig.stored()) == 3
    return rig
