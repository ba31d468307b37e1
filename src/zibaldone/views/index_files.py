"""Saved indexes: segments of a user's index, so that a process begins with what another made.

Where they are says `storage/saved_indexes`. A segment goes on where another ends, and whoever saves writes
one behind those that are there, or in place of the last ones.

A segment is derived, and never trusted: it names the state of the log that it shows, the code that made it,
and a checksum of each array. What does not fit, and all behind it, is made anew from the rows. It holds words
of messages, and all go in the transaction that forgets one of these; nobody puts one there again but in a
transaction that sees that nothing was forgotten meanwhile.
"""

from __future__ import annotations

import json
import logging
import mmap
import zlib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from sqlalchemy import Connection

from zibaldone import log
from zibaldone.errors import StorageError
from zibaldone.log import UserState
from zibaldone.search import dense, lexical, saved, unit_index, unit_list, vocabulary
from zibaldone.search.saved import SavedIndex
from zibaldone.storage.bucket_blocks import must_be_current
from zibaldone.storage.columns import UNREADABLE
from zibaldone.storage.database import Database
from zibaldone.storage.saved_indexes import indexes_of
from zibaldone.text import words
from zibaldone.views.base import Generation

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
class Header:
    """A segment: the units of all messages after the seq `after`, up to `cursor`."""

    state: IndexState
    after: int
    cursor: int
    last_id: str  # of the message of that seq: a log that was put back from a copy has another there
    checksums: dict[str, int] = field(default_factory=dict)  # of its arrays


def state_of(view: str, generation: Generation, words_by: str, user: UserState) -> IndexState:
    """The header that a file must have to be opened now."""
    return IndexState(view, generation.number, generation.fingerprint, words_by, _code(), user.deletions)


def segments(connection: Connection, user: str, state: IndexState) -> dict[str, Header]:
    """The segments that go on from the first message, by key, in order, as far as they fit the log."""
    try:
        headers = indexes_of(connection).headers(connection, user, state.view)
    except UNREADABLE as error:  # where the rows cannot be opened either, reading them says so
        _logger.warning("a saved index of user %r is made from the rows instead: %s", user, error)
        return {}
    known = {key: _header(begin) for key, begin in headers.items()}
    by_begin = {header.after: key for key, header in known.items() if header and header.state == state}
    last_of = log.fetch(connection, user, sorted({header.cursor for header in known.values() if header}))
    chain: dict[str, Header] = {}
    end = 0
    while (key := by_begin.get(end)) is not None and (header := known[key]) is not None:
        last = last_of.get(header.cursor)
        if last is None or last.id != header.last_id or header.cursor <= end:
            break
        chain[key], end = header, header.cursor
    return chain


def opened(connection: Connection, user: str, chain: Mapping[str, Header]) -> dict[str, SavedIndex]:
    """Open segments, by key, up to the first that is not there or damaged."""
    files, there = indexes_of(connection), {}
    for place, (key, header) in enumerate(chain.items()):
        contents = files.contents(user, key)
        if contents is None:
            break
        arrays = _arrays(contents, header)
        if arrays is None:
            _logger.warning("a saved index of user %r is damaged and will be made anew", user)
            files.discard(user, list(chain)[place:])
            break
        there[key] = arrays
    return there


def save(
    database: Database,
    user: str,
    index: SavedIndex,
    header: Header,
    known: Collection[str],
    kept: Collection[str],
) -> bool:
    """Write a segment behind `kept` ones, unless something was forgotten meanwhile; whether it is there.

    Nor if other segments than those `known` are there by now. What cannot be written is left: the index is
    made from the rows.
    """
    state = header.state
    header = replace(header, checksums={name: _checksum(array) for name, array in index.arrays.items()})
    metadata = {"index": json.dumps(asdict(header))}
    try:
        with (
            database.saved.draft(user, state.view, index.arrays, metadata) as draft,
            database.write(user) as connection,
        ):
            must_be_current(database, connection)
            if log.state(connection, user).deletions != state.deletions:
                return False
            database.saved.publish(connection, user, state.view, draft, known, kept)
    except (OSError, SafetensorError, StorageError) as error:
        _logger.warning("the index of user %r could not be saved: %s", user, error)
        return False
    return True


def drop(connection: Connection, user: str) -> None:
    """Remove all segments of a user; called in the transaction that forgets."""
    indexes_of(connection).drop(connection, user)


def _header(begin: bytes) -> Header | None:
    try:
        given = json.loads(json.loads(begin[8:])["__metadata__"]["index"])
        state, checksums = IndexState(**given["state"]), dict(given["checksums"])
        return Header(state, given["after"], given["cursor"], given["last_id"], checksums)
    except (ValueError, KeyError, TypeError):
        return None


def _arrays(contents: bytearray | mmap.mmap, header: Header) -> SavedIndex | None:
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
    for module in (dense, lexical, saved, unit_index, unit_list, vocabulary, words):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()
