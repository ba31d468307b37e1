"""The saved form of an index: arrays by name, numbers no wider than they are, texts packed."""

from __future__ import annotations

import zlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]
_WHOLE = (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32)  # the narrowest first
_TOGETHER = 16  # texts of a block: a third of their size, and 15 microseconds to read one


class SavedTexts(Sequence[str]):
    """Texts that are read one by one, when they are asked for."""

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        if not 0 <= place < len(self):
            raise IndexError(place)
        return _decoded(self._bytes(place))

    @abstractmethod
    def _bytes(self, place: int) -> bytes: ...


class PackedTexts(SavedTexts):
    """Short ones, such as words."""

    def __init__(self, data: npt.NDArray[np.uint8], ends: AnyArray) -> None:
        """`data` are the UTF-8 bytes of all, `ends` (n,) where each ends."""
        self._data, self._ends = data, ends

    def __len__(self) -> int:
        """Number of texts."""
        return len(self._ends)

    def __iter__(self) -> Iterator[str]:
        """Texts in order."""
        data, begin = self._data.tobytes(), 0
        for end in self._ends.tolist():
            yield _decoded(data[begin:end])
            begin = end

    def place_of(self, text: str) -> int | None:
        """Place of a text among texts sorted by their bytes; None where it is not among them."""
        wanted = _encoded(text)
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self._bytes(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self) and self._bytes(low) == wanted else None

    def _bytes(self, place: int) -> bytes:
        begin = int(self._ends[place - 1]) if place else 0
        return self._data[begin : int(self._ends[place])].tobytes()


class CompressedTexts(SavedTexts):
    """Long ones, so many of them in a block."""

    def __init__(
        self,
        data: npt.NDArray[np.uint8],
        ends: AnyArray,
        sizes: AnyArray,
        places: AnyArray | None = None,
    ) -> None:
        """`data` are the blocks, `ends` where each ends, `sizes` (n,) the bytes of each text.

        Where some were taken out, `places` has in which places those lie that are left.
        """
        self._data, self._ends, self.sizes = data, ends, sizes
        self.places = places
        self._last = -1, b""  # block that was read last, and what is in it

    def __len__(self) -> int:
        """Number of texts."""
        return len(self.sizes) if self.places is None else len(self.places)

    def keep(self, mask: npt.NDArray[np.bool_]) -> CompressedTexts:
        """Copy the texts where the mask (n,) is true; nothing of the others is in the copy's blocks."""
        places = np.arange(len(self.sizes)) if self.places is None else self.places
        sizes, gone = np.array(self.sizes), places[~mask]
        sizes[gone] = 0
        changed = set((gone // _TOGETHER).tolist())
        blocks, begin = [], 0
        for number, end in enumerate(self._ends.tolist()):
            block = self._data[begin:end].tobytes()
            if number in changed:
                first = number * _TOGETHER
                held = self.sizes[first : first + _TOGETHER].tolist()
                starts = np.cumsum([0, *held])
                left = sizes[first : first + _TOGETHER].tolist()
                data = zlib.decompress(block)
                parts = (data[start : start + size] for start, size in zip(starts, left, strict=False))
                block = zlib.compress(b"".join(parts))
            blocks.append(block)
            begin = end
        ends = np.cumsum([len(block) for block in blocks], dtype=np.int64)
        return CompressedTexts(np.frombuffer(b"".join(blocks), np.uint8), ends, sizes, places[mask])

    def __iter__(self) -> Iterator[str]:
        """Texts in order."""
        return (self[place] for place in range(len(self)))

    def whole_blocks(self) -> tuple[npt.NDArray[np.uint8], AnyArray]:
        """Return the blocks that are full, and where each ends."""
        ends = self._ends[: len(self) // _TOGETHER]
        return self._data[: int(ends[-1]) if len(ends) else 0], ends

    def _bytes(self, place: int) -> bytes:
        if self.places is not None:
            place = int(self.places[place])
        block, within = divmod(place, _TOGETHER)
        number, data = self._last
        if number != block:
            begin = int(self._ends[block - 1]) if block else 0
            data = zlib.decompress(self._data[begin : int(self._ends[block])].data)
            self._last = block, data
        first = place - within
        start = int(self.sizes[first:place].sum())
        return data[start : start + int(self.sizes[place])]


class SavedIndex:
    """Arrays by name; the parts of an index put theirs in, and take them out again."""

    def __init__(self, arrays: Mapping[str, AnyArray] | None = None) -> None:
        self.arrays: dict[str, AnyArray] = dict(arrays or {})

    def __getitem__(self, name: str) -> AnyArray:
        return self.arrays[name]

    def __setitem__(self, name: str, array: AnyArray) -> None:
        self.arrays[name] = np.ascontiguousarray(array)

    def put_numbers(self, name: str, numbers: AnyArray) -> None:
        """Whole numbers under a name, as narrow as they may be."""
        low, high = (int(numbers.min()), int(numbers.max())) if numbers.size else (0, 0)
        for kind in _WHOLE:
            if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
                self[name] = numbers.astype(kind)
                return
        self[name] = numbers.astype(np.int64)

    def numbers(self, name: str) -> npt.NDArray[np.int64]:
        """Copy the numbers under a name."""
        return self.arrays[name].astype(np.int64)

    def put_texts(self, name: str, texts: Sequence[str]) -> None:
        """Short texts under a name."""
        encoded = list(map(_encoded, texts))
        self.arrays[f"{name}.bytes"] = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        self.put_numbers(f"{name}.ends", np.cumsum([len(some) for some in encoded], dtype=np.int64))

    def put_long_texts(self, name: str, texts: Sequence[str], behind: CompressedTexts | None) -> None:
        """Long texts under a name, behind others, whose blocks stay as they are."""
        done, ends = behind.whole_blocks() if behind else (b"", np.zeros(0, dtype=np.int64))
        left = [] if behind is None else behind[len(ends) * _TOGETHER :]
        encoded = list(map(_encoded, [*left, *texts]))
        blocks = [
            zlib.compress(b"".join(encoded[first : first + _TOGETHER]))
            for first in range(0, len(encoded), _TOGETHER)
        ]
        more = np.cumsum([len(done), *map(len, blocks)])[1:]
        self.arrays[f"{name}.blocks"] = np.frombuffer(b"".join([bytes(done), *blocks]), dtype=np.uint8)
        self.put_numbers(f"{name}.block_ends", np.concatenate([ends.astype(np.int64), more]))
        sizes = np.array([len(some) for some in encoded], dtype=np.int64)
        if behind is not None:
            sizes = np.concatenate([behind.sizes[: len(ends) * _TOGETHER], sizes])
        self.put_numbers(f"{name}.sizes", sizes)

    def long_texts(self, name: str) -> CompressedTexts:
        """Texts that were put under a name."""
        return CompressedTexts(*(self.arrays[f"{name}.{part}"] for part in ("blocks", "block_ends", "sizes")))

    def texts(self, name: str) -> PackedTexts:
        """Texts that were put under a name."""
        return PackedTexts(self.arrays[f"{name}.bytes"], self.arrays[f"{name}.ends"])


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def in_byte_order(texts: Sequence[str]) -> list[str]:
    """Sort texts by their bytes, as `place_of` needs them."""
    return sorted(texts, key=_encoded)
