"""The benchmark of the command line: what it runs, and what it notices."""

import os
import sys

import pytest

from zibaldone.bench import commands
from zibaldone.bench.outcome import Run
from zibaldone.bench.registry import CommandsOptions


@pytest.mark.wide
def test_each_way_to_run_a_recall_is_measured(tmp_path):
    """Held, and by itself, beside a Python that does nothing; nobody holds the memory afterwards."""
    rows = commands.run(CommandsOptions(sizes=(40,), runs=1), Run("", tmp_path)).figures["commands"]
    assert [row.what for row in rows] == ["Python alone", "recall, held", "recall, by itself"]
    assert all(0 < row.p50_ms <= row.p95_ms and row.runs == 1 for row in rows)


def test_a_command_that_fails_ends_it():
    """No figure is made of an error; a recall that finds nothing is none."""
    commands._run([sys.executable, "-c", "raise SystemExit(1)"], os.environ)
    with pytest.raises(RuntimeError, match="ended with 2"):
        commands._run([sys.executable, "-c", "raise SystemExit(2)"], os.environ)
