"""What an index is saved as: arrays by name, and texts as bytes with their ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]


class PackedTexts(Sequence[str]):
    """Texts that are read one by one, when they are asked for."""

    def __init__(self, data: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> None:
        """`data` are the UTF-8 bytes of all, `ends` (n,) where each ends."""
        self._data, self._ends = data, ends

    def __len__(self) -> int:
        """How many."""
        return len(self._ends)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        if not 0 <= place < len(self):
            raise IndexError(place)
        return self._bytes(place).decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        """In order."""
        data, begin = self._data.tobytes(), 0
        for end in self._ends.tolist():
            yield data[begin:end].decode("utf-8", "surrogatepass")
            begin = end

    def place_of(self, text: str) -> int | None:
        """Where a text is, of texts in the order of their bytes; None where it is not."""
        wanted = text.encode("utf-8", "surrogatepass")
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


class SavedIndex:
    """Arrays by name; the parts of an index put theirs in, and take them out again."""

    def __init__(self, arrays: Mapping[str, AnyArray] | None = None) -> None:
        self.arrays: dict[str, AnyArray] = dict(arrays or {})

    def __getitem__(self, name: str) -> AnyArray:
        return self.arrays[name]

    def __setitem__(self, name: str, array: AnyArray) -> None:
        self.arrays[name] = np.ascontiguousarray(array)

    def put_texts(self, name: str, texts: Sequence[str]) -> None:
        """Texts under a name."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        self.arrays[f"{name}.bytes"] = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        self.arrays[f"{name}.ends"] = np.cumsum([len(some) for some in encoded], dtype=np.int64)

    def texts(self, name: str) -> PackedTexts:
        """Those that were put under it."""
        return PackedTexts(self.arrays[f"{name}.bytes"], self.arrays[f"{name}.ends"])


def in_byte_order(texts: Sequence[str]) -> list[str]:
    """As `place_of` wants them."""
    return sorted(texts, key=lambda text: text.encode("utf-8", "surrogatepass"))
