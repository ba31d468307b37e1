"""Units of a saved index: read when they are asked for, and not all kept."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

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
    sizes = []
    for row in (*range(20), 3, -2, 7, 3):
        assert read[row] == units[row if row >= 0 else row + 21]
        sizes.append(read.nbytes)
    assert max(sizes) < read.nbytes + 4 * 1000
    assert sum(unit is not None for unit in read._units) <= 4 + 1
    assert read[20].text == "Since."
    assert list(read)[:20] == units


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=40), st.integers(0, 40), st.data())
def test_what_is_taken_out_was_never_there(sessions, saved_first, data):
    """Of units that were saved, and of those since: what is left reads and is saved as if it was all."""
    units = [
        replace(
            UNIT,
            sources=(seq, *range(1, seq % 3)),
            text=f"Tulip {seq} of {session}.",
            session=session,
            name=None if seq % 2 else session,
            days=((seq, seq),) * (seq % 2),
        )
        for seq, session in enumerate(sessions, 3)
    ]
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(units), max_size=len(units))))
    begun, saved = UnitList(), SavedIndex()
    begun.extend(units[:saved_first])
    begun.save(saved)
    read = UnitList([saved])
    read.extend(units[saved_first:])
    read.keep(mask)
    left = [unit for unit, stays in zip(units, mask, strict=True) if stays]
    assert list(read) == left
    assert read.keys() == [unit.key for unit in left]
    at_once, again, one = UnitList(), SavedIndex(), SavedIndex()
    at_once.extend(left)
    at_once.save(one)
    read.save(again)
    assert again.arrays.keys() == one.arrays.keys()
    for name, array in one.arrays.items():
        if name.startswith("unit.text."):  # other blocks have the same texts
            continue
        np.testing.assert_array_equal(again[name], array, err_msg=name)
