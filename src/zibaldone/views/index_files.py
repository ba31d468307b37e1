"""Saved indexes: one file per user and view, so that a process begins with what another made.

Where it is says `storage/saved_indexes`.

A file is derived, and never trusted: it names the state of the log that it shows, the code that made it, and
a checksum of each array. What does not fit is made anew from the rows. It holds words of messages, and goes
in the transaction that forgets one of them; nobody puts it there again but in a transaction that sees that
nothing was forgotten meanwhile.
"""

from __future__ import annotations

import json
import logging
import mmap
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from safetensors import SafetensorError
from sqlalchemy import Connection

from zibaldone import log
from zibaldone.errors import StorageError
from zibaldone.log import UserState
from zibaldone.search import dense, lexical, saved, thesaurus, unit_index, unit_list, vocabulary
from zibaldone.search.saved import SavedIndex
from zibaldone.storage.bucket_blocks import must_be_current
from zibaldone.storage.columns import UNREADABLE
from zibaldone.storage.database import Database
from zibaldone.storage.saved_indexes import indexes_of
from zibaldone.text import words
from zibaldone.views.base import Generation

C = TypeVar("C")
_TYPES = {
    "I8": np.int8,
    "I16": np.int16,
    "U8": np.uint8,
    "U16": np.uint16,
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
    """The header that a file must have to be opened now."""
    return IndexState(view, generation.number, generation.fingerprint, words_by, _code(), user.deletions)


def saved_to(connection: Connection, user: str, state: IndexState) -> int:
    """The seq up to which the user's file holds units; 0 where there is none to be opened."""
    header = _header(_read(indexes_of(connection).header, connection, user, state.view))
    return header.cursor if header is not None and _fits(connection, user, header, state) else 0


def opened(connection: Connection, user: str, state: IndexState) -> tuple[SavedIndex, int] | None:
    """The index, and the seq up to which it holds units; None where there is none, or a damaged one."""
    files = indexes_of(connection)
    header = _header(_read(files.header, connection, user, state.view))
    if header is None or not _fits(connection, user, header, state):
        return None
    contents = _read(files.contents, connection, user, state.view)
    if contents is None:
        return None
    arrays = _arrays(contents, header)
    if arrays is None:
        _logger.warning("a saved index of user %r is damaged and will be made anew", user)
        files.discard(user, state.view)
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
    metadata = {"index": json.dumps(asdict(header))}
    try:
        with (
            database.saved.draft(user, state.view, index.arrays, metadata) as draft,
            database.write(user) as connection,
        ):
            must_be_current(database, connection)
            if log.state(connection, user).deletions != state.deletions:
                return False
            database.saved.publish(connection, user, state.view, draft)
    except (OSError, SafetensorError, StorageError) as error:
        _logger.warning("the index of user %r could not be saved: %s", user, error)
        return False
    return True


def drop(connection: Connection, user: str) -> None:
    """Remove all files of a user; called in the transaction that forgets."""
    indexes_of(connection).drop(connection, user)


def _read(
    read: Callable[[Connection, str, str], C], connection: Connection, user: str, name: str
) -> C | None:
    """None, too, for what cannot be opened: where the rows cannot be either, reading them says so."""
    try:
        return read(connection, user, name)
    except UNREADABLE as error:
        _logger.warning("a saved index of user %r is made from the rows instead: %s", user, error)
        return None


def _fits(connection: Connection, user: str, header: _Header, state: IndexState) -> bool:
    if header.state != state:
        return False
    last = log.fetch(connection, user, [header.cursor]).get(header.cursor)
    return last is not None and last.id == header.last_id


def _header(begin: bytes | None) -> _Header | None:
    if begin is None:
        return None
    try:
        given = json.loads(json.loads(begin[8:])["__metadata__"]["index"])
        return _Header(
            IndexState(**given["state"]), given["cursor"], given["last_id"], dict(given["checksums"])
        )
    except (ValueError, KeyError, TypeError):
        return None


def _arrays(contents: bytearray | mmap.mmap, header: _Header) -> SavedIndex | None:
    """The arrays, which lie in the contents; what is changed in them stays in this process."""
    try:
        begin = 8 + int.from_bytes(contents[:8], "little")
        placed = {
            name: _array(contents, begin, entry)
            for name, entry in json.loads(contents[8:begin]).items()
            if name != "__metadata__"
        }
    except (ValueError, KeyError, TypeError):
        return None
    if {name: _checksum(array) for name, array in placed.items()} != header.checksums:
        return None
    return SavedIndex(placed)


def _array(mapped: bytearray | mmap.mmap, begin: int, entry: Any) -> saved.AnyArray:
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
    for module in (dense, lexical, saved, thesaurus, unit_index, unit_list, vocabulary, words):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()
