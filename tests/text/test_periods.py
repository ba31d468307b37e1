"""The time that a question asks about, and to which side it is open."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from zibaldone.text.periods import asked_period

NOW = date(2024, 6, 12)  # a Wednesday
ROWS = (Path(__file__).parents[1] / "data" / "periods.tsv").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("row", ["\t-", *ROWS])
def test_a_time_that_is_asked_about(row: str) -> None:
    """Its first and its last day, "-" where it is open; "-" alone for a question about any time."""
    question, expected = row.split("\t")
    period = asked_period(question, NOW)
    assert (f"{period.first or '-'} {period.last or '-'}" if period else "-") == expected


@pytest.mark.parametrize("text", ["from 31 December 9999 on", "before 1 January 0001", "since March " * 500])
def test_odd_times_raise_nothing(text: str) -> None:
    """Not even at the ends of the calendar."""
    asked_period(text, NOW)
