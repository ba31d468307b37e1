"""The pages of SQLCipher's files as they are before encryption, free ones too: for looking through all.

SQLCipher 4: pages of 4096 bytes, each AES-256-CBC with an IV behind it, and an HMAC behind that; the first 16
bytes of page 1 are a salt. In a write-ahead log a page stands behind a header that has its number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

PAGE_BYTES = 4096
_RESERVED_BYTES, _IV_BYTES, _SALT_BYTES = 80, 16, 16
_LOG_HEADER_BYTES, _FRAME_HEADER_BYTES = 32, 24


def decrypted_pages(
    pieces: Iterable[tuple[int, bytes]], key: bytes, *, is_log: bool
) -> Iterator[tuple[int, bytes]]:
    """Yield (offset in the file, decrypted bytes) of every page; `pieces` are the raw file's.

    A page of another key gives noise.
    """
    header_bytes = _FRAME_HEADER_BYTES if is_log else 0
    frame_bytes = header_bytes + PAGE_BYTES
    place = _LOG_HEADER_BYTES if is_log else 0
    rest = b""
    for begin, fresh in _without_overlap(pieces):
        rest += fresh[max(0, place - begin) :] if not rest else fresh
        whole = len(rest) // frame_bytes * frame_bytes
        for start in range(0, whole, frame_bytes):
            frame = rest[start : start + frame_bytes]
            number = int.from_bytes(frame[:4], "big") if is_log else place // PAGE_BYTES + 1
            yield place + header_bytes, _decrypted(frame[header_bytes:], number, key)
            place += frame_bytes
        rest = rest[whole:]


def _decrypted(page: bytes, number: int, key: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import CBC

    end = PAGE_BYTES - _RESERVED_BYTES
    cipher = Cipher(AES(key), CBC(page[end : end + _IV_BYTES])).decryptor()
    return cipher.update(page[_SALT_BYTES if number == 1 else 0 : end])


def _without_overlap(pieces: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Yield the pieces without their overlaps."""
    reached = 0
    for begin, piece in pieces:
        yield reached, piece[reached - begin :]
        reached = begin + len(piece)
