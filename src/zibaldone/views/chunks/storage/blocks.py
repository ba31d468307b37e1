"""Blocks: immutable objects of bounded size that hold records. `storage/objects` keeps them.

magic "CPB1" | number of records | per record: id, offset, length, crc32 | crc32 of all this | data
"""

from __future__ import annotations

import struct
import uuid
import zlib
from collections.abc import Sequence
from hashlib import blake2b

from zibaldone.errors import StorageCorrupt

_MAGIC = b"CPB1"
_COUNT = struct.Struct("<4sI")
_ENTRY = struct.Struct("<qIII")  # id, offset, length, crc32
_SUM = struct.Struct("<I")
FIX = "make the view anew from the log: memory.builds.rebuild(user=..., view='chunks')"


def new_key(user: str) -> str:
    """A key that nobody has: blocks of one user stand together, and a user's name is in no file's name."""
    return f"{prefix_of(user)}{uuid.uuid4().hex}"


def prefix_of(user: str) -> str:
    """With what the keys of a user's blocks begin."""
    return f"{blake2b(user.encode(), digest_size=8).hexdigest()}/"


def encode(records: Sequence[tuple[int, bytes]]) -> bytes:
    """A block of (id, data)."""
    head = bytearray(_COUNT.pack(_MAGIC, len(records)))
    offset = _COUNT.size + _ENTRY.size * len(records) + _SUM.size
    for number, data in records:
        head += _ENTRY.pack(number, offset, len(data), zlib.crc32(data))
        offset += len(data)
    head += _SUM.pack(zlib.crc32(head))
    return bytes(head) + b"".join(data for _, data in records)


def overhead(records: int) -> int:
    """Bytes of a block beside its records' data."""
    return _COUNT.size + _ENTRY.size * records + _SUM.size


def decode(block: bytes, key: str) -> list[tuple[int, bytes]]:
    """(id, data) by slot. Raises StorageCorrupt, which names the block, what of it is torn, and the fix."""
    if len(block) < _COUNT.size:
        raise _torn(key, "it ends in its header")
    magic, count = _COUNT.unpack_from(block)
    end = _COUNT.size + _ENTRY.size * count
    if magic != _MAGIC or len(block) < end + _SUM.size:
        raise _torn(key, "its header is not whole")
    if _SUM.unpack_from(block, end)[0] != zlib.crc32(block[:end]):
        raise _torn(key, "the checksum of its header is wrong")
    records = []
    for slot in range(count):
        number, offset, length, crc = _ENTRY.unpack_from(block, _COUNT.size + slot * _ENTRY.size)
        data = block[offset : offset + length]
        if len(data) < length or zlib.crc32(data) != crc:
            raise _torn(key, f"the checksum of slot {slot} is wrong")
        records.append((number, data))
    return records


def _torn(key: str, how: str) -> StorageCorrupt:
    return StorageCorrupt(f"block {key} is torn: {how}; {FIX}")
