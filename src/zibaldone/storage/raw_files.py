"""Raw bytes of files on disk, read a piece at a time."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from zibaldone.core.child_process import started

PIECE_BYTES = 1 << 18
OVERLAP_BYTES = 512  # of two pieces, so that what is on their border is whole in one of them
_COPY = "import shutil, sys; shutil.copyfileobj(open(sys.argv[1], 'rb'), sys.stdout.buffer)"


def pieces(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, bytes) of each piece; nothing if the file does not exist. Raises OSError."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        yield from _pieces(file)


def pieces_read_apart(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the same pieces, read by another process.

    When a process closes a file of a database that it has open, the system takes all locks away that SQLite
    holds on the file in this process. Raises OSError where the other process cannot read it.
    """
    if not path.exists():
        return
    command = ["-I", "-S", "-c", _COPY, str(path)]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        yield from _pieces(process.stdout)  # type: ignore[arg-type] # it reads
    if process.returncode and path.exists():
        raise OSError(f"{str(path)!r} could not be read")


def _pieces(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    begin, kept = 0, b""
    while read := file.read(PIECE_BYTES):
        yield begin - len(kept), kept + read
        begin += len(read)
        kept = read[-OVERLAP_BYTES:]
