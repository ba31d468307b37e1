"""Archives that nobody should unpack: what refusing each costs, in a process of its own, and what is said."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from zibaldone.bench.own_process import ProcessUsage, in_own_process
from zibaldone.bench.table import Column

_BLANKS = 1 << 30  # bytes of white space in the list that packs 1,000 to 1
_ENTRIES = 1_000_000
_LAYERS = 6  # of archives in archives
_LOCAL, _CENTRAL = struct.Struct("<4s5H3L2H"), struct.Struct("<4s6H3L5H2L")
_VERSION, _DATE, _DEFLATED = 20, 0x21, 8


@dataclass(frozen=True, slots=True)
class Refusal:
    """One archive, and what came of it."""

    name: str
    archive_megabytes: float
    would_be_megabytes: float  # by what it says of itself, all layers unpacked
    refused: bool
    why: str  # the error's sentence; of an archive that was imported what was added
    usage: ProcessUsage


def write_bombs(folder: Path) -> Iterator[tuple[str, Path, float]]:
    """Name, file, and the megabytes that it would unpack to; each is removed when the next is asked for."""
    for name, write in _BOMBS.items():
        path = folder / f"{name.replace(' ', '-')}.zip"
        yield name, path, write(path) / 1e6
        path.unlink()


def refuse(name: str, path: Path, would_be: float, memory: Path) -> Refusal:
    """Try to import it."""
    answer, usage = in_own_process("zibaldone.bench.imports", str(path), str(memory), "bomb")
    return Refusal(
        name, path.stat().st_size / 1e6, would_be, bool(answer["refused"]), str(answer["said"]), usage
    )


def _ratio(path: Path) -> int:
    """One file of an export that is all white space: deflate packs it a thousand to one."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed,
        packed.open("conversations.json", "w", force_zip64=True) as stream,
    ):
        stream.write(b'[{"mapping": {},')
        for _ in range(_BLANKS >> 20):
            stream.write(b" " * 2**20)
        stream.write(b'"title": "x"}]')
    return _BLANKS


def _nested(path: Path) -> int:
    """An archive of sixteen archives of sixteen archives ..., at the bottom white space."""
    data, size = b" " * 2**22, 2**22
    inner = path.with_suffix(".inner")
    for layer in range(_LAYERS):
        with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as packed:
            for number in range(16):
                packed.writestr(f"layer-{layer}-{number}.{'zip' if layer else 'json'}", data)
        data, size = inner.read_bytes(), size * 16
    inner.replace(path)
    return size


def _entries(path: Path) -> int:
    """A million files of nothing."""
    _write_raw(path, ((f"{number:x}", b"", 0) for number in range(_ENTRIES)))
    return 0


def _overlapping(path: Path) -> int:
    """Files that say they lie at the same place: as many times what it holds as its list has lines."""
    kernel = zlib.compress(b" " * 2**24, 9)[2:-4]
    _write_raw(path, ((f"{number}.json", kernel, 2**24) for number in range(10_000)), overlap=True)
    return 2**24 * 10_000


def _leaving(path: Path) -> int:
    """A name that would lie outside of the folder that somebody unpacks it into."""
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("../../.ssh/authorized_keys", "x")
        packed.writestr("conversations.json", "[]")
    return 0


def _write_raw(path: Path, files: Iterator[tuple[str, bytes, int]], *, overlap: bool = False) -> None:
    """An archive by hand: name, packed bytes, size unpacked. `overlap`: all at the place of the first."""
    listed: list[bytes] = []
    at = 0
    with path.open("wb") as out:
        for name, packed, size in files:
            head = (_VERSION, 0, _DEFLATED if packed else 0, 0, _DATE, 0, len(packed), size, len(name))
            if not (overlap and listed):
                here = at
                at += out.write(_LOCAL.pack(b"PK\3\4", *head, 0) + name.encode() + packed)
            listed.append(_CENTRAL.pack(b"PK\1\2", _VERSION, *head, 0, 0, 0, 0, 0, here) + name.encode())
        size = sum(out.write(line) for line in listed)
        count = min(len(listed), 0xFFFF)
        out.write(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, size, at, 0))


_BOMBS: dict[str, Callable[[Path], int]] = {
    "1000 to 1": _ratio,
    "archives in archives": _nested,
    "a million entries": _entries,
    "one place ten thousand times": _overlapping,
    "a name that leaves": _leaving,
}

COLUMNS = (
    Column("archive", lambda row: row.name, left=True),
    Column("MB", lambda row: row.archive_megabytes, ".1f"),
    Column("would be\nMB", lambda row: row.would_be_megabytes, ",.0f"),
    Column("refused", lambda row: "yes" if row.refused else "NO"),
    Column("processor\ns", lambda row: row.usage.processor_seconds, ".1f"),
    Column("peak\nMB", lambda row: row.usage.peak_megabytes, ".0f"),
)
