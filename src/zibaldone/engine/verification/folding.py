"""Text and bytes as verification compares them: words in lower case, one space between them, as UTF-8.

Case, spaces, punctuation, Unicode's forms and the escapes of JSON make no difference. Bytes of any file can
be folded: what is no text in them is a space.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from zibaldone.text.words import words

_SPACE = 32
_PLAIN = bytes(
    byte if byte >= 0x80 else (ord(chr(byte).lower()) if chr(byte).isalnum() else _SPACE)
    for byte in range(256)
)
_PRINTED = np.array([32 <= byte < 127 or byte in b"\t\n\r" for byte in range(256)])
_SHORTEST_RUN = 10  # bytes of text: random bytes have shorter ones, too
_ODD = re.compile(rb"[\x80-\xff\\]")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|[bfnrt\"\\/])")
_DEEPEST = 3  # JSON in JSON in JSON


def folded(text: str) -> bytes:
    """A text's words, with a space between two."""
    return " ".join(words(text)).encode("utf-8", "surrogatepass")


def foldings(data: bytes) -> Iterator[bytes]:
    """Bytes as words: read as ASCII; and what of them is Unicode or JSON, read as that."""
    yield _collapsed(data.translate(_PLAIN))
    odd = [run for run in _runs(data) if _ODD.search(run)] if _ODD.search(data) else []
    if not odd:
        return
    text = b"\n".join(odd).decode("utf-8", "replace")
    for _ in range(_DEEPEST):
        yield folded(text)
        if (plainer := _ESCAPE.sub(_meant, text)) == text:
            return
        text = plainer


def _collapsed(data: bytes) -> bytes:
    """With one space where several are."""
    letters = np.frombuffer(data, dtype=np.uint8)
    kept = letters != _SPACE
    kept[1:] |= letters[:-1] != _SPACE
    return bytes(letters[kept])


def _runs(data: bytes) -> Iterator[bytes]:
    """What can be printed text in UTF-8."""
    values = np.frombuffer(data, dtype=np.uint8)
    follows = (values & 0xC0) == 0x80
    leads = values >= 0xC2
    leads[:-1] &= follows[1:]
    leads[-1:] = False
    text = _PRINTED[values] | leads
    text[1:] |= follows[1:] & (leads | follows)[:-1]
    borders = np.flatnonzero(np.diff(text, prepend=False, append=False))
    begins, ends = borders[::2], borders[1::2]
    long = ends - begins >= _SHORTEST_RUN
    for begin, end in zip(begins[long].tolist(), ends[long].tolist(), strict=True):
        yield data[begin:end]


def _meant(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else escape[0][1] if escape[0][1] in '"\\/' else " "
