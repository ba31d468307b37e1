"""The units of an index, in the order of its rows; those of a saved one are read when they are asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from itertools import chain, compress

import numpy as np
import numpy.typing as npt

from zibaldone.search.saved import AnyArray, PackedTexts, SavedIndex
from zibaldone.search.unit import Unit

Ints = npt.NDArray[np.int64]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Of a unit: itself, its time, its names, two tuples; of each source and each pair of days in these.
_UNIT_BYTES, _SOURCE_BYTES, _DAYS_BYTES = 480, 40, 130
_MOST_UNPACKED = 4096  # units of a saved index at a time: a recall reads a hundred
_NAMES = ("kind", "session", "role", "name")  # few different ones in many units
_NUMBERS = (*_NAMES, "seq", "part", "tokens", "start", "is_dated", "offset_s", "time_us")  # one of each unit


class UnitList:
    """Grows at its end."""

    def __init__(self, saved: Sequence[SavedIndex] = ()) -> None:
        self.packed = PackedUnits(_joined(saved)) if saved else None  # those that were saved, the first rows
        self._saved_rows = len(self.packed) if self.packed else 0
        self._unpacked: dict[int, Unit] = {}  # saved units that were asked for, by row
        self._units: list[Unit] = []  # those behind them
        self._nbytes = 0  # of these

    def __len__(self) -> int:
        """Number of units."""
        return self._saved_rows + len(self._units)

    def __getitem__(self, row: int) -> Unit:
        if self.packed is None or row >= self._saved_rows:
            return self._units[row - self._saved_rows]
        unit = self._unpacked.get(row)
        if unit is None:
            if len(self._unpacked) >= _MOST_UNPACKED:
                self._unpacked.clear()
            unit = self._unpacked[row] = self.packed.unit(row)
        return unit

    def __iter__(self) -> Iterator[Unit]:
        """Units in the order of rows."""
        return (self[row] for row in range(len(self)))

    @property
    def nbytes(self) -> int:
        """Bytes of memory, about; saved units that were not asked for are not counted."""
        return self._nbytes + sum(map(_bytes_of, self._unpacked.values()))

    def extend(self, units: Iterable[Unit]) -> None:
        """Append."""
        before = len(self._units)
        self._units.extend(units)
        self._nbytes += sum(map(_bytes_of, self._units[before:]))

    def keys(self) -> list[tuple[int, int]]:
        """(seq, part) of each, without reading any text."""
        saved = self.packed.keys() if self.packed else []
        return saved + [unit.key for unit in self._units]

    def keep(self, mask: npt.NDArray[np.bool_]) -> None:
        """Leave only the rows where the mask (n,) is true; nothing of the others' texts stays."""
        before = self._saved_rows
        self._units = list(compress(self._units, mask[before:].tolist()))
        self.packed = self.packed.keep(mask[:before]) if self.packed and mask[:before].any() else None
        self._saved_rows = len(self.packed) if self.packed else 0
        self._unpacked, self._nbytes = {}, sum(map(_bytes_of, self._units))

    def save(self, saved: SavedIndex, first: int = 0) -> None:
        """Put all that the units from row `first` on hold there."""
        new = saved_units(self._units)
        rows = np.arange(self._saved_rows) >= first
        joined = _joined([self.packed.keep(rows).saved, new]) if self.packed and rows.any() else new
        for name in (*(f"unit.{name}" for name in _NUMBERS), "unit.further", "unit.days"):
            saved.put_numbers(name, joined[name])
        for field in _NAMES:
            saved.put_names(f"unit.{field}s", joined.names(f"unit.{field}s"))
        saved.put_texts("unit.text", joined.texts("unit.text"))


def saved_units(units: Sequence[Unit]) -> SavedIndex:
    """All that units hold, as it is saved."""
    saved = SavedIndex()
    saved.put_texts("unit.text", PackedTexts.of([unit.text for unit in units]))
    for field in _NAMES:
        values = [getattr(unit, field) for unit in units]
        numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
        saved.put_names(f"unit.{field}s", list(numbers))
        saved[f"unit.{field}"] = np.array([numbers[value] for value in values], dtype=np.int64)
    for field in ("seq", "part", "tokens", "start", "is_dated"):
        saved[f"unit.{field}"] = np.array([getattr(unit, field) for unit in units], dtype=np.int64)
    offsets = [unit.time.utcoffset() or timedelta() for unit in units]
    saved["unit.offset_s"] = np.array([int(offset.total_seconds()) for offset in offsets], dtype=np.int64)
    times_us = [(unit.time - _EPOCH) // timedelta(microseconds=1) for unit in units]
    saved["unit.time_us"] = np.array(times_us, dtype=np.int64)
    further = [(row, seq) for row, unit in enumerate(units) for seq in unit.sources[1:]]
    saved["unit.further"] = np.array(further, dtype=np.int64).reshape(-1, 2)
    days = [(row, *day) for row, unit in enumerate(units) for day in unit.days]
    saved["unit.days"] = np.array(days, dtype=np.int64).reshape(-1, 3)
    return saved


def _joined(parts: Sequence[SavedIndex]) -> SavedIndex:
    """Units of one segment behind those of another."""
    if len(parts) == 1:
        return parts[0]
    joined, starts = SavedIndex(), np.cumsum([0, *(len(part["unit.seq"]) for part in parts)])
    for name in _NUMBERS:
        joined[f"unit.{name}"] = np.concatenate([part.numbers(f"unit.{name}") for part in parts])
    for name in ("further", "days"):
        by_row = [part.numbers(f"unit.{name}") for part in parts]
        for having, start in zip(by_row, starts[:-1], strict=True):
            having[:, 0] += start
        joined[f"unit.{name}"] = np.concatenate(by_row)
    for field in _NAMES:
        names = [part.names(f"unit.{field}s") for part in parts]
        numbers = {value: n for n, value in enumerate(dict.fromkeys(chain.from_iterable(names)))}
        joined.put_names(f"unit.{field}s", list(numbers))
        for of, start, end in zip(names, starts[:-1], starts[1:], strict=True):
            number_of = np.array([numbers[value] for value in of], dtype=np.int64)
            joined[f"unit.{field}"][start:end] = number_of[joined[f"unit.{field}"][start:end]]
    joined.put_texts("unit.text", PackedTexts.joined([part.texts("unit.text") for part in parts]))
    return joined


def by_first(numbers: AnyArray) -> tuple[list[int], Ints]:
    """The different ones of some numbers, in the order in which they come first; the place there of each."""
    used, first, place = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return used[order].tolist(), np.argsort(order)[place]


def _bytes_of(unit: Unit) -> int:
    return (
        _UNIT_BYTES
        + sys.getsizeof(unit.text)
        + _SOURCE_BYTES * len(unit.sources)
        + _DAYS_BYTES * len(unit.days)
    )


class PackedUnits:
    """The units of a saved index, and what is asked of all of them. Arrays are (n,)."""

    def __init__(self, saved: SavedIndex) -> None:
        self.saved = saved
        self.texts = saved.texts("unit.text")
        self._further, self._days = _ByRow(saved["unit.further"]), _ByRow(saved["unit.days"])
        self._named = {field: saved.names(f"unit.{field}s") for field in _NAMES}
        # Read in a tenth of an array's time.
        self._names = [(self._named[field], saved[f"unit.{field}"].data) for field in _NAMES]
        self._numbers = [saved[f"unit.{field}"].data for field in _NUMBERS[len(_NAMES) :]]

    def __len__(self) -> int:
        return len(self.texts)

    def keys(self) -> list[tuple[int, int]]:
        return list(zip(self.saved["unit.seq"].tolist(), self.saved["unit.part"].tolist(), strict=True))

    def keep(self, mask: npt.NDArray[np.bool_]) -> PackedUnits:
        """Copy the units where the mask is true."""
        left, moved = SavedIndex(), np.cumsum(mask) - 1
        for name in _NUMBERS:
            left[f"unit.{name}"] = self.saved[f"unit.{name}"][mask]
        for name in ("unit.further", "unit.days"):
            having = self.saved[name][mask[self.saved[name][:, 0].astype(np.int64)]].astype(np.int64)
            having[:, 0] = moved[having[:, 0]]
            left.put_numbers(name, having)
        for field in _NAMES:
            numbers, left[f"unit.{field}"] = by_first(left[f"unit.{field}"])
            left.put_names(f"unit.{field}s", [self._named[field][number] for number in numbers])
        left.put_texts("unit.text", self.texts.keep(mask))
        return PackedUnits(left)

    def names(self, field: str) -> tuple[list[str | None], Ints]:
        """The different values of a field of names, and the number of each unit's."""
        return self._named[field], self.saved.numbers(f"unit.{field}")

    def times(self) -> tuple[npt.NDArray[np.float64], Ints]:
        """Seconds since 1970, and ordinals of the days."""
        times_us = self.saved.numbers("unit.time_us")
        local_us = times_us + 1_000_000 * self.saved.numbers("unit.offset_s")
        return times_us / 1e6, local_us // (86_400 * 1_000_000) + _EPOCH.toordinal()

    def sources(self) -> tuple[Ints, Ints]:
        """Rows, rising, and a source of each."""
        further = self.saved.numbers("unit.further")
        rows = np.concatenate([np.arange(len(self)), further[:, 0]])
        order = np.argsort(rows, kind="stable")
        return rows[order], np.concatenate([self.saved.numbers("unit.seq"), further[:, 1]])[order]

    def speakers(self) -> dict[str, Ints]:
        """The rows of each name."""
        numbers = self.saved["unit.name"]
        order = np.argsort(numbers, kind="stable")
        ends = np.cumsum(np.bincount(numbers, minlength=len(self._named["name"])))
        rows = np.split(order, ends[:-1])
        return {name: of for name, of in zip(self._named["name"], rows, strict=False) if name}

    def unit(self, row: int) -> Unit:
        kind, session, role, name = (names[numbers[row]] for names, numbers in self._names)
        assert kind is not None  # only who has no name
        assert session is not None
        assert role is not None
        seq, part, tokens, start, is_dated, offset_s, us = (int(numbers[row]) for numbers in self._numbers)
        zone = timezone(timedelta(seconds=offset_s)) if offset_s else UTC
        return Unit(
            sources=(seq, *(seq for (seq,) in self._further.of(row))),
            part=part,
            text=self.texts[row],
            kind=kind,
            tokens=tokens,
            session=session,
            role=role,
            name=name,
            time=(_EPOCH + timedelta(microseconds=us)).astimezone(zone),
            days=tuple((first, last) for first, last in self._days.of(row)),
            start=start,
            is_dated=bool(is_dated),
        )


class _ByRow:
    """Numbers that few rows have: an array whose first column is the row, rising."""

    def __init__(self, having: AnyArray) -> None:
        self._having = having
        self._rows = having[:, 0].astype(np.int64)  # what is looked up has the same type: else all is copied

    def of(self, row: int) -> list[list[int]]:
        """Return the numbers of a row."""
        begin, end = self._rows.searchsorted(row), self._rows.searchsorted(row + 1)
        return [list(some) for some in self._having[begin:end, 1:].tolist()] if begin < end else []
