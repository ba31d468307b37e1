"""Saved indexes: one file per user and view below `index/`, so that a process begins with what another made.

A file is derived, and never trusted: it names the state of the log that it shows, the code that made it, and
a checksum of each array. What does not fit is made anew from the rows. It holds words of messages, and goes
in the transaction that forgets one of them; nobody puts it there again but in a transaction that sees that
nothing was forgotten meanwhile.
"""

from __future__ import annotations

import json
import logging
import mmap
import os
import shutil
import tempfile
import zlib
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file
from sqlalchemy import Connection

from zibaldone import log
from zibaldone.log import UserState
from zibaldone.search import lexical, saved, thesaurus, unit_index, unit_list, vocabulary
from zibaldone.search.saved import SavedIndex
from zibaldone.storage.database import Database
from zibaldone.text import words
from zibaldone.views.base import Generation

_FOLDER = "index"
_SUFFIX = ".index"
_TYPES = {
    "U8": np.uint8,
    "BOOL": np.bool_,
    "U32": np.uint32,
    "I32": np.int32,
    "I64": np.int64,
    "F32": np.float32,
    "F64": np.float64,
}
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IndexState:
    """Which index a file is; it is opened where all of it is the same."""

    view: str
    generation: int
    fingerprint: str
    words: str  # the name of the embedder of single words
    code: str  # a digest of the code that makes indexes
    deletions: int  # of the user, when it was made


@dataclass(frozen=True, slots=True)
class _Header:
    state: IndexState
    cursor: int  # it holds the units of all messages up to this seq
    last_id: str  # of the message of that seq: a log that was put back from a copy has another there
    checksums: dict[str, int]


def state_of(view: str, generation: Generation, words_by: str, user: UserState) -> IndexState:
    """What a file must say to be opened now."""
    return IndexState(view, generation.number, generation.fingerprint, words_by, _code(), user.deletions)


def saved_to(connection: Connection, user: str, state: IndexState) -> int:
    """The seq up to which the user's file holds units; 0 where there is none to be opened."""
    header = _header(_path(connection, user, state.view))
    return header.cursor if header is not None and _fits(connection, user, header, state) else 0


def opened(connection: Connection, user: str, state: IndexState) -> tuple[SavedIndex, int] | None:
    """The index, and the seq up to which it holds units; None where there is none, or a damaged one."""
    path = _path(connection, user, state.view)
    header = _header(path)
    if header is None or not _fits(connection, user, header, state):
        return None
    arrays = _arrays(path, header)
    if arrays is None:
        _logger.warning("a saved index of user %r is damaged and will be made anew", user)
        path.unlink(missing_ok=True)
        return None
    return arrays, header.cursor


def save(
    database: Database, user: str, state: IndexState, index: SavedIndex, cursor: int, last_id: str
) -> bool:
    """Write the file, unless something was forgotten meanwhile; whether it is there.

    What cannot be written is left: the index is made from the rows.
    """
    checksums = {name: _checksum(array) for name, array in index.arrays.items()}
    header = _Header(state, cursor, last_id, checksums)
    target = _path_in(database.folder, user, state.view)
    part: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=target.parent, suffix=".part")
        os.close(descriptor)
        part = Path(name)
        save_file(index.arrays, part, metadata={"index": json.dumps(asdict(header))})
        with database.write() as connection:
            if log.state(connection, user).deletions != state.deletions:
                return False
            part.replace(target)
    except (OSError, SafetensorError) as error:
        _logger.warning("the index of user %r could not be saved: %s", user, error)
        return False
    finally:
        if part is not None:
            part.unlink(missing_ok=True)
    return True


def drop(connection: Connection, user: str) -> None:
    """Remove all files of a user; called in the transaction that forgets."""
    shutil.rmtree(_path(connection, user, "any").parent, ignore_errors=True)


def _fits(connection: Connection, user: str, header: _Header, state: IndexState) -> bool:
    if header.state != state:
        return False
    last = log.fetch(connection, user, [header.cursor]).get(header.cursor)
    return last is not None and last.id == header.last_id


def _path(connection: Connection, user: str, view: str) -> Path:
    database = connection.engine.url.database
    assert database is not None  # a memory is always in a folder
    return _path_in(Path(database).parent, user, view)


def _path_in(folder: Path, user: str, view: str) -> Path:
    digest = blake2b(user.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return folder / _FOLDER / digest / (view + _SUFFIX)


def _header(path: Path) -> _Header | None:
    try:
        with path.open("rb") as file:
            read = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        given = json.loads(read["__metadata__"]["index"])
        return _Header(
            IndexState(**given["state"]), given["cursor"], given["last_id"], dict(given["checksums"])
        )
    except (OSError, ValueError, KeyError, TypeError, OverflowError, MemoryError):
        return None


def _arrays(path: Path, header: _Header) -> SavedIndex | None:
    """The arrays, which lie in the file; what is changed in them stays in this process."""
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        begin = 8 + int.from_bytes(mapped[:8], "little")
        placed = {
            name: _array(mapped, begin, entry)
            for name, entry in json.loads(mapped[8:begin]).items()
            if name != "__metadata__"
        }
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if {name: _checksum(array) for name, array in placed.items()} != header.checksums:
        return None
    return SavedIndex(placed)


def _array(mapped: mmap.mmap, begin: int, entry: Any) -> saved.AnyArray:
    first, end = entry["data_offsets"]
    kind = np.dtype(_TYPES[entry["dtype"]])
    if first == end:
        return np.zeros(entry["shape"], dtype=kind)
    count = (end - first) // kind.itemsize
    return np.frombuffer(mapped, kind, count, begin + first).reshape(entry["shape"])


def _checksum(array: saved.AnyArray) -> int:
    return zlib.crc32(array.data.cast("B") if array.size else b"")


@cache
def _code() -> str:
    """A digest of the modules that say what an index holds."""
    digest = blake2b(digest_size=16)
    for module in (lexical, saved, thesaurus, unit_index, unit_list, vocabulary, words):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()
