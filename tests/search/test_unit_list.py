"""Units of a saved index: read when they are asked for, and not all kept."""

from dataclasses import replace
from datetime import UTC, datetime

from zibaldone.search import unit_list
from zibaldone.search.saved import SavedIndex
from zibaldone.search.unit import Unit
from zibaldone.search.unit_list import UnitList

UNIT = Unit(
    sources=(1,),
    part=0,
    text="",
    kind="message",
    tokens=3,
    session="s",
    role="user",
    name=None,
    time=datetime(2024, 3, 1, tzinfo=UTC),
    days=(),
)


def test_a_bounded_number_of_saved_units_is_in_memory(monkeypatch):
    """However many were asked for, in whatever order; each is what was saved, and the newest stay."""
    monkeypatch.setattr(unit_list, "_MOST_UNPACKED", 4)
    units = [replace(UNIT, sources=(seq,), text=f"Tulip number {seq}.") for seq in range(20)]
    given = UnitList()
    given.extend(units)
    saved = SavedIndex()
    given.save(saved)
    read = UnitList([saved])
    read.extend([replace(UNIT, sources=(99,), text="Since.")])
    for row in (*range(20), 3, 19, 7, 3):
        assert read[row] == units[row]
        assert len(read._unpacked) <= 4
    assert read[20].text == "Since."
    assert list(read)[:20] == units
