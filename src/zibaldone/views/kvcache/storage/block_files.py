"""Files of the memory pool: blocks and their bounding boxes, at fixed slots (section 3.1 d).

The manifest knows which block is in which slot (manifest.py); these files know slots and bytes alone. A slot
is only written while no row names it, so that a crash leaves unnamed bytes and never a torn block that is
believed: *intent* names the slots that a commit was about to write, and the next writer or purge clears those
that no row took.

`blocks` is read and written block by block: a block has a fixed size with all its layers, so that it is one
read. Beside it each scoring layer has `boxes-N`, with a row for every block.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path

from zibaldone.errors import BlockMissing, StorageFull, StorageUnusable
from zibaldone.views.kvcache.config import Codec

ALIGNMENT = 4096  # bytes: of pages and of O_DIRECT
_SCALE_BYTES = 4  # float32


@dataclass(frozen=True, slots=True)
class LayerSize:
    """Sizes of one layer's keys and values."""

    kv_heads: int
    key_dim: int
    value_dim: int


@dataclass(frozen=True)
class BlockLayout:
    """[layer][keys | values][kv head][token][dim], padded to a multiple of 4 KiB.

    Quantised, a layer's scales stand before its numbers: one per channel for keys, one per token for values.
    """

    layers: tuple[LayerSize, ...]
    block_tokens: int
    dtype: str  # "float32", "bfloat16", "float16": what the model computes keys in
    item_bytes: int  # of that
    codec: Codec

    @cached_property
    def payload_bytes(self) -> int:
        return sum(self.layer_bytes(size) for size in self.layers)

    @cached_property
    def stride_bytes(self) -> int:
        """Distance from one block to the next."""
        return -(-self.payload_bytes // ALIGNMENT) * ALIGNMENT

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Start of each layer in a block."""
        return (0, *accumulate(self.layer_bytes(size) for size in self.layers))[:-1]

    def layer_bytes(self, size: LayerSize) -> int:
        """Bytes of one layer in a block."""
        return self.key_bytes(size) + self._bytes(size, size.value_dim, self.block_tokens)

    def key_bytes(self, size: LayerSize) -> int:
        """Bytes of one layer's keys with their scales."""
        return self._bytes(size, size.key_dim, size.key_dim)

    def head_bytes(self, size: LayerSize) -> tuple[int, ...]:
        """Bytes of one head in each run of heads of a layer: of keys, then of values."""
        dims = (size.key_dim, size.key_dim), (size.value_dim, self.block_tokens)
        if self.codec == "native":
            return tuple(self.block_tokens * dim * self.item_bytes for dim, _ in dims)
        return tuple(run for dim, scales in dims for run in (_SCALE_BYTES * scales, self.block_tokens * dim))

    def _bytes(self, size: LayerSize, dim: int, scales: int) -> int:
        numbers = size.kv_heads * self.block_tokens * dim
        if self.codec == "native":
            return numbers * self.item_bytes
        return numbers + _SCALE_BYTES * size.kv_heads * scales

    def box_bytes(self, layer: int) -> int:
        """Bytes of a block's bounding box in one layer: (kv_heads, 2, key_dim) in the model's dtype."""
        size = self.layers[layer]
        return 2 * size.kv_heads * size.key_dim * self.item_bytes


_BLOCKS, _INTENT = "blocks", "intent"
_ZEROS_AT_ONCE = 1 << 20


def folder_of(root: Path, user: str) -> Path:
    """Folder of a user's pools; no file is named after a user."""
    return root / blake2b(user.encode(), digest_size=8).hexdigest()


def pool_name(generation: int, fingerprint: str) -> str:
    return f"{generation}-{blake2b(fingerprint.encode(), digest_size=6).hexdigest()}"


def checksum(data: bytes | memoryview) -> int:
    """CRC-32 of the data."""
    return zlib.crc32(data)


class PoolFiles:
    """Files of one user's blocks of one generation."""

    def __init__(self, folder: Path, layout: BlockLayout, layers: Sequence[int]) -> None:
        """`layers` are those whose boxes are kept. Makes no file yet."""
        self.folder, self.layout, self.layers = folder, layout, tuple(layers)

    def read(self, slot: int) -> bytes:
        """A block's payload.

        Raises BlockMissing when the file is shorter than that: it is cut behind blocks that went, while who
        has an older snapshot may still read.
        """
        (data,) = self._read(_BLOCKS, [slot * self.layout.stride_bytes], self.layout.payload_bytes)
        if len(data) < self.layout.payload_bytes:
            raise BlockMissing(f"block file {self.folder.name!r} ends before slot {slot}")
        return data

    def read_into(self, slots: Sequence[int], buffer: memoryview) -> None:
        """Read whole blocks, `stride_bytes` each, neighbours in one read. Raises BlockMissing as `read` does.

        The system is told of all of them first, so that scattered blocks come as fast as adjacent ones.
        """
        stride, start = self.layout.stride_bytes, 0
        with _reading(self.folder), _opened(self.folder / _BLOCKS, os.O_RDONLY) as file:
            _will_need(file, [slot * stride for slot in slots], stride)
            while start < len(slots):
                end = start + 1
                while end < len(slots) and slots[end] == slots[end - 1] + 1:
                    end += 1
                part = buffer[start * stride : end * stride]
                if os.preadv(file, [part], slots[start] * stride) < len(part):
                    raise BlockMissing(f"block file {self.folder.name!r} ends before slot {slots[end - 1]}")
                start = end

    def write(
        self,
        blocks: Mapping[int, bytes],
        boxes: Mapping[int, Sequence[bytes]],
        unsettled: tuple[Sequence[int], Sequence[int]] = ((), ()),
    ) -> None:
        """Write payloads by slot, and boxes by row (one per kept layer); durable on return.

        `unsettled` are the (slots, rows) of earlier writes that were not committed: they stay noted. Raises
        StorageFull and StorageUnusable; then no row may name what was to be written.
        """
        with _writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._intend({*blocks, *unsettled[0]}, {*boxes, *unsettled[1]})
            with _opened(self.folder / _BLOCKS) as file:
                for slot, data in sorted(blocks.items()):
                    _write(file, data, slot * self.layout.stride_bytes)
                end = (max(blocks, default=-1) + 1) * self.layout.stride_bytes
                if blocks and os.fstat(file).st_size < end:
                    os.ftruncate(file, end)
                os.fsync(file)
            for place, layer in enumerate(self.layers):
                with _opened(self._box_path(layer)) as file:
                    for row, per_layer in sorted(boxes.items()):
                        _write(file, per_layer[place], row * self.layout.box_bytes(layer))
                    os.fsync(file)

    def read_boxes(self, layer: int, rows: Sequence[int]) -> list[bytes]:
        """One box per row; shorter behind the end of the file."""
        size = self.layout.box_bytes(layer)
        return self._read(self._box_path(layer).name, [row * size for row in rows], size)

    def erase(self, slots: Iterable[int], rows: Iterable[int]) -> None:
        """Overwrite blocks and boxes with zeros, durably; the ends of the files are not moved."""
        stride = self.layout.stride_bytes
        self._zero(_BLOCKS, [(slot * stride, stride) for slot in slots])
        wanted = list(rows)
        for layer in self.layers:
            size = self.layout.box_bytes(layer)
            self._zero(self._box_path(layer).name, [(row * size, size) for row in wanted])

    def filled(self) -> tuple[set[int], set[int]]:
        """(slots, rows) with anything but zeros."""
        slots = set(self._filled(_BLOCKS, self.layout.stride_bytes))
        rows: set[int] = set()
        for layer in self.layers:
            rows.update(self._filled(self._box_path(layer).name, self.layout.box_bytes(layer)))
        return slots, rows

    def intended(self) -> tuple[list[int], list[int]]:
        """(slots, rows) that the last write named before it began."""
        try:
            intent = json.loads((self.folder / _INTENT).read_text())
        except (ValueError, OSError):  # none; or torn: it names nothing yet, as it is synced before any block
            return [], []
        return list(intent["slots"]), list(intent["rows"])

    def settle(self) -> None:
        """Forget the intent: no write is in progress."""
        (self.folder / _INTENT).unlink(missing_ok=True)

    def cut(self, slots: int) -> None:
        """Truncate the block file to this number of slots."""
        path = self.folder / _BLOCKS
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_size > slots * self.layout.stride_bytes:
                os.truncate(path, slots * self.layout.stride_bytes)

    def _box_path(self, layer: int) -> Path:
        return self.folder / f"boxes-{layer}"

    def _intend(self, blocks: Iterable[int], rows: Iterable[int]) -> None:
        path = self.folder / _INTENT
        beside = path.with_suffix(".part")
        with beside.open("w") as file:
            json.dump({"slots": sorted(blocks), "rows": sorted(rows)}, file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _read(self, name: str, places: Sequence[int], size: int) -> list[bytes]:
        """`size` bytes from each offset; fewer at the end of the file."""
        missing = contextlib.suppress(FileNotFoundError)
        with _reading(self.folder), missing, _opened(self.folder / name, os.O_RDONLY) as file:
            _will_need(file, places if len(places) > 1 else (), size)
            return [os.pread(file, size, at) for at in places]
        return [b"" for _ in places]

    def _filled(self, name: str, stride: int) -> Iterator[int]:
        """Slots of a file, `stride` bytes apart, with anything but zeros."""
        try:
            size = (self.folder / name).stat().st_size
        except FileNotFoundError:
            return
        for place in range(-(-size // stride)):
            if any(self._read(name, [place * stride], stride)[0]):
                yield place

    def _zero(self, name: str, places: Sequence[tuple[int, int]]) -> None:
        path = self.folder / name
        if not places or not path.exists():
            return
        with _writing(self.folder), _opened(path, os.O_RDWR) as file:
            end = os.fstat(file).st_size
            for start, size in places:
                for at in range(start, min(start + size, end), _ZEROS_AT_ONCE):
                    _write(file, bytes(min(_ZEROS_AT_ONCE, start + size - at, end - at)), at)
            os.fsync(file)


def remove(folder: Path) -> None:
    """Remove the folder of a generation, or of a user."""
    with _writing(folder), contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)


def _write(file: int, data: bytes, at: int) -> None:
    """Write all bytes; the system may take a part at a time."""
    while data:
        written = os.pwrite(file, data, at)
        if written <= 0:
            raise OSError(errno.EIO, "nothing was written")
        data, at = data[written:], at + written


@contextmanager
def _opened(path: Path, flags: int = os.O_RDWR | os.O_CREAT) -> Iterator[int]:
    descriptor = os.open(path, flags, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _reading(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageUnusable(f"KV blocks cannot be read in {str(folder)!r}: {error.strerror}") from error


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull(
                f"no space left for KV blocks in {str(folder)!r}: take a larger disk"
            ) from error
        raise StorageUnusable(f"no KV block can be written in {str(folder)!r}: {error.strerror}") from error


def _will_need(file: int, places: Iterable[int], size: int) -> None:
    if hasattr(os, "posix_fadvise"):  # not on every system, and only ever a hint
        for place in places:
            os.posix_fadvise(file, place, size, os.POSIX_FADV_WILLNEED)
