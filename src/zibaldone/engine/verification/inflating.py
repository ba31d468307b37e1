"""What is compressed among other bytes: texts in saved indexes are, wherever a piece of one may lie."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

_HEADER = b"\x78\x9c"  # of zlib, at its usual level
_MOST = 1 << 16  # bytes of a stream: ours have some thousand


class Inflating:
    """Bytes come in order, in pieces; streams may go from one to the next."""

    def __init__(self) -> None:
        self._rest = b""  # from where a stream began that was not whole

    def feed(self, data: bytes, *, last: bool = False) -> bytes:
        """What streams say that are whole by now, and begun ones as far as they go; `last`: no more comes."""
        data, self._rest = self._rest + data, b""
        texts, at = [], 0
        while (at := data.find(_HEADER, at)) >= 0:
            piece = data[at : at + _MOST]
            stream = zlib.decompressobj()
            try:
                texts.append(stream.decompress(piece))
            except zlib.error:  # two bytes that look like a beginning
                at += 1
                continue
            if not stream.eof and len(piece) < _MOST and not last:
                self._rest = data[at:]
                break
            at += len(piece) - len(stream.unused_data) if stream.eof else 1
        if not self._rest and data.endswith(_HEADER[:1]):
            self._rest = _HEADER[:1]
        return b"\n".join(texts)


def inflated(read: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """(where it begins, what was compressed in it) of pieces that follow, and may overlap, each other."""
    reading, end = Inflating(), 0
    for begin, piece in read:
        if not 0 <= end - begin < len(piece):  # another file, or this one again in another form
            yield begin, reading.feed(b"", last=True)
            reading, end = Inflating(), begin
        yield begin, reading.feed(piece[end - begin :])
        end = begin + len(piece)
    yield end, reading.feed(b"", last=True)
