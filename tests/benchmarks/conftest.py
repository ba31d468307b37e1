"""Small made-up files in the shape of the data sets: tests/data/benchmarks."""

import shutil
from pathlib import Path

import pytest

from benchmarks import read

MADE_UP = Path(__file__).parent.parent / "data" / "benchmarks"


@pytest.fixture
def paths(tmp_path):
    """A path for each data set, with its data, in a copy of the test's own but for what is bundled."""
    data = shutil.copytree(MADE_UP, tmp_path / "data")
    return {
        "locomo": data / "locomo" / "talks.json",
        "longmemeval": data / "haystacks.json",
        "realmem": data / "realmem",
        "mab": data / "mab" / "sh.json",
        "beam": data / "beam",
        "bundled": Path(read.__file__).parent / "felt" / "read.jsonl",
    }
