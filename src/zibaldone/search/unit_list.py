"""The units of an index, in the order of its rows; those of a saved one are read when they are asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import overload

import numpy as np
import numpy.typing as npt

from zibaldone.search.saved import AnyArray, PackedTexts, SavedIndex
from zibaldone.search.unit import Unit

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Of a unit: itself, its time, its names, two tuples; of each source and each pair of days in these.
_UNIT_BYTES, _SOURCE_BYTES, _DAYS_BYTES = 480, 40, 130
_MOST_UNPACKED = 4096  # units of a saved index at a time: a recall reads a hundred
_ENDS = {
    "unit.text.ends": "unit.text.bytes",
    "unit.sources_end": "unit.sources",
    "unit.days_end": "unit.days",
}
_NAMES = ("kind", "session", "role", "name")  # few different ones in many units


class UnitList(Sequence[Unit]):
    """Grows at its end."""

    def __init__(self, saved: SavedIndex | None = None) -> None:
        self._packed = _PackedUnits(saved) if saved else None
        self._units: list[Unit | None] = [None] * (len(self._packed) if self._packed else 0)
        self._unpacked: list[int] = []  # rows of saved units that were asked for, and are kept in mind
        self._nbytes = 8 * len(self._units)

    def __len__(self) -> int:
        """How many."""
        return len(self._units)

    @overload
    def __getitem__(self, row: int) -> Unit: ...
    @overload
    def __getitem__(self, row: slice) -> list[Unit]: ...
    def __getitem__(self, row: int | slice) -> Unit | list[Unit]:
        if isinstance(row, slice):
            return [self[at] for at in range(*row.indices(len(self)))]
        unit = self._units[row]
        if unit is None:
            unit = self._unpack(range(len(self))[row])
        return unit

    def _unpack(self, row: int) -> Unit:
        """A saved unit. So many are kept in mind: in time all would be, and none of them is needed again."""
        assert self._packed is not None  # what has no unit yet is in it
        if len(self._unpacked) >= _MOST_UNPACKED:
            for other in self._unpacked:
                gone, self._units[other] = self._units[other], None
                self._nbytes -= _bytes_of(gone) if gone else 0
            self._unpacked.clear()
        unit = self._units[row] = self._packed.unit(row)
        self._unpacked.append(row)
        self._nbytes += _bytes_of(unit)
        return unit

    def __iter__(self) -> Iterator[Unit]:
        """In the order of rows."""
        return (self[row] for row in range(len(self)))

    @property
    def nbytes(self) -> int:
        """Of memory, about, without what was saved and not asked for."""
        return self._nbytes

    def extend(self, units: Iterable[Unit]) -> None:
        """Append."""
        before = len(self._units)
        self._units.extend(units)
        self._nbytes += sum(8 + _bytes_of(unit) for unit in self._units[before:] if unit)

    def speakers(self) -> dict[str, list[int]]:
        """The rows of each name, of units that were saved."""
        return self._packed.speakers() if self._packed else {}

    def named_days(self) -> list[tuple[int, int, int]]:
        """(row, first, last) of the days that units name, of units that were saved."""
        return self._packed.named_days() if self._packed else []

    def save(self, saved: SavedIndex) -> None:
        """Put all that the units hold there; what was saved before is copied as it is."""
        before = len(self._packed) if self._packed else 0
        units = [unit for unit in self._units[before:] if unit is not None]
        arrays = SavedIndex()
        arrays.put_texts("unit.text", [unit.text for unit in units])
        for field in _NAMES:
            values = [getattr(unit, field) for unit in units]
            known = self._packed.names(field) if self._packed else []
            numbers = {value: number for number, value in enumerate(dict.fromkeys([*known, *values]))}
            saved.put_texts(f"unit.{field}s", ["" if value is None else value for value in numbers])
            saved[f"unit.no_{field}"] = np.array([value is None for value in numbers], dtype=bool)
            arrays[f"unit.{field}"] = np.array([numbers[value] for value in values], dtype=np.int32)
        for field in ("part", "tokens", "start"):
            arrays[f"unit.{field}"] = np.array([getattr(unit, field) for unit in units], dtype=np.int64)
        arrays["unit.is_dated"] = np.array([unit.is_dated for unit in units], dtype=bool)
        arrays["unit.time_us"] = np.array(
            [(unit.time - _EPOCH) // timedelta(microseconds=1) for unit in units], dtype=np.int64
        )
        offsets = [unit.time.utcoffset() or timedelta() for unit in units]
        arrays["unit.offset_s"] = np.array(
            [int(offset.total_seconds()) for offset in offsets], dtype=np.int32
        )
        arrays["unit.sources"] = np.array([seq for unit in units for seq in unit.sources], dtype=np.int64)
        arrays["unit.sources_end"] = np.cumsum([len(unit.sources) for unit in units], dtype=np.int64)
        days = [day for unit in units for day in unit.days]
        arrays["unit.days"] = np.array(days, dtype=np.int64).reshape(-1, 2)
        arrays["unit.days_end"] = np.cumsum([len(unit.days) for unit in units], dtype=np.int64)
        for name, new in arrays.arrays.items():
            saved[name] = self._packed.followed_by(name, new) if self._packed else new


def _bytes_of(unit: Unit) -> int:
    return (
        _UNIT_BYTES
        + sys.getsizeof(unit.text)
        + _SOURCE_BYTES * len(unit.sources)
        + _DAYS_BYTES * len(unit.days)
    )


class _PackedUnits:
    def __init__(self, saved: SavedIndex) -> None:
        self._saved = saved
        self._texts = saved.texts("unit.text")
        self._named = {
            field: _named(saved.texts(f"unit.{field}s"), saved[f"unit.no_{field}"]) for field in _NAMES
        }

    def __len__(self) -> int:
        return len(self._texts)

    def names(self, field: str) -> list[str | None]:
        """Those of a field, in the order of their numbers."""
        return self._named[field]

    def followed_by(self, name: str, new: AnyArray) -> AnyArray:
        """An array of these units and of more."""
        here = self._saved[name]
        if name in _ENDS:
            new = new + len(self._saved[_ENDS[name]])
        return np.concatenate([here, new])

    def speakers(self) -> dict[str, list[int]]:
        numbers = self._saved["unit.name"]
        order = np.argsort(numbers, kind="stable")
        ends = np.cumsum(np.bincount(numbers, minlength=len(self._named["name"])))
        rows = np.split(order, ends[:-1])
        return {name: of.tolist() for name, of in zip(self._named["name"], rows, strict=False) if name}

    def named_days(self) -> list[tuple[int, int, int]]:
        rows = np.repeat(np.arange(len(self)), np.diff(self._saved["unit.days_end"], prepend=0))
        return [tuple(row) for row in np.column_stack([rows, self._saved["unit.days"]]).tolist()]

    def unit(self, row: int) -> Unit:
        saved = self._saved
        kind, session, role, name = (self._named[field][int(saved[f"unit.{field}"][row])] for field in _NAMES)
        assert kind is not None  # only who has no name
        assert session is not None
        assert role is not None
        offset_s = int(saved["unit.offset_s"][row])
        zone = timezone(timedelta(seconds=offset_s)) if offset_s else UTC
        return Unit(
            sources=tuple(_part(saved["unit.sources"], saved["unit.sources_end"], row).tolist()),
            part=int(saved["unit.part"][row]),
            text=self._texts[row],
            kind=kind,
            tokens=int(saved["unit.tokens"][row]),
            session=session,
            role=role,
            name=name,
            time=(_EPOCH + timedelta(microseconds=int(saved["unit.time_us"][row]))).astimezone(zone),
            days=tuple(
                (first, last)
                for first, last in _part(saved["unit.days"], saved["unit.days_end"], row).tolist()
            ),
            start=int(saved["unit.start"][row]),
            is_dated=bool(saved["unit.is_dated"][row]),
        )


def _named(texts: PackedTexts, is_none: npt.NDArray[np.bool_]) -> list[str | None]:
    return [None if none else text for text, none in zip(texts, is_none.tolist(), strict=True)]


def _part(values: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], row: int) -> npt.NDArray[np.int64]:
    return values[int(ends[row - 1]) if row else 0 : int(ends[row])]
