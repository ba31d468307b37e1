"""The saved form of an index: arrays by name, numbers no wider than they are, texts packed."""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]
_WHOLE = (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32)  # the narrowest first
_TOGETHER = 16  # texts of a block: a third of their size, and 15 microseconds to read one


class PackedTexts:
    """Short texts, such as words, each read when it is asked for."""

    def __init__(self, data: npt.NDArray[np.uint8], ends: AnyArray) -> None:
        """`data` are the UTF-8 bytes of all, `ends` (n,) where each ends."""
        self._data, self._ends = data, ends
        self._view, self._end = data.data, ends.data  # read in a tenth of an array's time

    def __len__(self) -> int:
        """Number of texts."""
        return len(self._ends)

    def __getitem__(self, place: int) -> str:
        return _decoded(self._bytes(place))

    def __iter__(self) -> Iterator[str]:
        """Texts in order."""
        data, begin = self._data.tobytes(), 0
        for end in self._ends.tolist():
            yield _decoded(data[begin:end])
            begin = end

    def place_of(self, text: str) -> int | None:
        """Place of a text among texts sorted by their bytes; None where it is not among them."""
        wanted = _encoded(text)
        place = bisect_left(range(len(self)), wanted, key=self._bytes)
        return place if place < len(self) and self._bytes(place) == wanted else None

    def _bytes(self, place: int) -> bytes:
        return bytes(self._view[self._end[place - 1] if place else 0 : self._end[place]])


class CompressedTexts:
    """Long texts, so many of them in a block, each read when it is asked for."""

    def __init__(
        self, data: npt.NDArray[np.uint8], ends: AnyArray, counts: AnyArray, sizes: AnyArray
    ) -> None:
        """`data` are blocks, `ends` (b,) where each ends, `counts` (b,) its texts, `sizes` (n,) in bytes."""
        self.data, self.ends, self.counts, self.sizes = data, ends.astype(np.int64), counts, sizes
        self._behind = np.cumsum(counts, dtype=np.int64)  # per block, the texts up to its end
        self._last = -1, b""  # block that was read last, and what is in it

    @classmethod
    def of(cls, texts: Sequence[str]) -> CompressedTexts:
        """Pack texts."""
        encoded = list(map(_encoded, texts))
        parts = [encoded[first : first + _TOGETHER] for first in range(0, len(encoded), _TOGETHER)]
        return cls._made([zlib.compress(b"".join(part)) for part in parts], parts)

    @classmethod
    def joined(cls, parts: Sequence[CompressedTexts]) -> CompressedTexts:
        """Put some behind others; their blocks stay as they are."""
        before = np.cumsum([0, *(len(part.data) for part in parts)])
        return cls(
            np.concatenate([part.data for part in parts]),
            np.concatenate([part.ends + start for part, start in zip(parts, before[:-1], strict=True)]),
            np.concatenate([part.counts for part in parts]),
            np.concatenate([part.sizes for part in parts]),
        )

    @classmethod
    def _made(cls, blocks: list[bytes], parts: list[list[bytes]]) -> CompressedTexts:
        return cls(
            np.frombuffer(b"".join(blocks), np.uint8),
            np.cumsum([len(block) for block in blocks], dtype=np.int64),
            np.array([len(part) for part in parts], dtype=np.uint8),
            np.array([len(text) for part in parts for text in part], dtype=np.int64),
        )

    def __len__(self) -> int:
        """Number of texts."""
        return len(self.sizes)

    def __getitem__(self, place: int) -> str:
        return _decoded(self._bytes(place))

    def keep(self, mask: npt.NDArray[np.bool_]) -> CompressedTexts:
        """Copy the texts where the mask (n,) is true; nothing of the others is in the copy's blocks."""
        blocks, parts = [], []
        for number, end in enumerate(self._behind.tolist()):
            places = range(end - int(self.counts[number]), end)
            stays = mask[places.start : places.stop]
            if stays.any():
                part = [self._bytes(place) for place in places if mask[place]]
                parts.append(part)
                blocks.append(self._block(number) if stays.all() else zlib.compress(b"".join(part)))
        return self._made(blocks, parts)

    def _block(self, number: int) -> bytes:
        begin = int(self.ends[number - 1]) if number else 0
        return self.data[begin : int(self.ends[number])].tobytes()

    def _bytes(self, place: int) -> bytes:
        number = int(np.searchsorted(self._behind, place, side="right"))
        block, data = self._last
        if block != number:
            data = zlib.decompress(self._block(number))
            self._last = number, data
        first = int(self._behind[number]) - int(self.counts[number])
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

    def put_names(self, name: str, names: Sequence[str | None]) -> None:
        """Texts under a name, of which some may be None."""
        self.put_texts(name, ["" if some is None else some for some in names])
        self[f"{name}.none"] = np.array([some is None for some in names], dtype=bool)

    def names(self, name: str) -> list[str | None]:
        """Read names that were put under a name."""
        none = self.arrays[f"{name}.none"].tolist()
        return [None if is_none else some for some, is_none in zip(self.texts(name), none, strict=True)]

    def put_long_texts(self, name: str, texts: CompressedTexts) -> None:
        """Long texts under a name."""
        self[f"{name}.blocks"] = texts.data
        for part in ("ends", "counts", "sizes"):
            self.put_numbers(f"{name}.{part}", getattr(texts, part))

    def long_texts(self, name: str) -> CompressedTexts:
        """Texts that were put under a name."""
        return CompressedTexts(
            *(self.arrays[f"{name}.{part}"] for part in ("blocks", "ends", "counts", "sizes"))
        )

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
