"""The saved form of an index: arrays by name, numbers no wider than they are, texts packed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]
_WHOLE = (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32)  # the narrowest first


class PackedTexts:
    """Texts one behind the other, each read when it is asked for."""

    def __init__(self, data: npt.NDArray[np.uint8], ends: AnyArray) -> None:
        """`data` are the UTF-8 bytes of all, `ends` (n,) where each ends."""
        self.data, self.ends = data, ends
        self._view, self._end = data.data, ends.data  # read in a tenth of an array's time

    @classmethod
    def of(cls, texts: Sequence[str | None]) -> PackedTexts:
        """Pack texts; None is "" here."""
        encoded = [_encoded(text or "") for text in texts]
        return cls(
            np.frombuffer(b"".join(encoded), dtype=np.uint8),
            np.cumsum([len(some) for some in encoded], dtype=np.int64),
        )

    @classmethod
    def joined(cls, parts: Sequence[PackedTexts]) -> PackedTexts:
        """Put some behind others."""
        sizes = [np.diff(part.ends, prepend=0) for part in parts]
        return cls(np.concatenate([part.data for part in parts]), np.cumsum(np.concatenate(sizes)))

    def keep(self, mask: npt.NDArray[np.bool_]) -> PackedTexts:
        """Copy the texts where the mask (n,) is true."""
        sizes = np.diff(self.ends, prepend=0)
        return PackedTexts(self.data[np.repeat(mask, sizes)], np.cumsum(sizes[mask]))

    def __len__(self) -> int:
        """Number of texts."""
        return len(self.ends)

    def __getitem__(self, place: int) -> str:
        return _decoded(self._bytes(place))

    def __iter__(self) -> Iterator[str]:
        """Texts in order."""
        data, begin = self.data.tobytes(), 0
        for end in self.ends.tolist():
            yield _decoded(data[begin:end])
            begin = end

    def place_of(self, text: str) -> int | None:
        """Place of a text among texts sorted by their bytes; None where it is not among them."""
        wanted = _encoded(text)
        place = bisect_left(range(len(self)), wanted, key=self._bytes)
        return place if place < len(self) and self._bytes(place) == wanted else None

    def _bytes(self, place: int) -> bytes:
        return bytes(self._view[self._end[place - 1] if place else 0 : self._end[place]])


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

    def put_texts(self, name: str, texts: PackedTexts) -> None:
        """Texts under a name."""
        self[f"{name}.bytes"] = texts.data
        self.put_numbers(f"{name}.ends", texts.ends)

    def put_names(self, name: str, names: Sequence[str | None]) -> None:
        """Texts under a name, of which some may be None."""
        self.put_texts(name, PackedTexts.of(names))
        self[f"{name}.none"] = np.array([some is None for some in names], dtype=bool)

    def names(self, name: str) -> list[str | None]:
        """Read names that were put under a name."""
        none = self.arrays[f"{name}.none"].tolist()
        return [None if is_none else some for some, is_none in zip(self.texts(name), none, strict=True)]

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
