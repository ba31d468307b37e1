"""The places that a verification reads whole: tables, files, objects of a bucket, and exports.

Texts in saved indexes are compressed with zlib wherever a piece of an index may lie, so every stream among
the bytes is inflated, too.
"""

from __future__ import annotations

import binascii
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from glob import escape
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, inspect, select

from zibaldone.core.validation import shown
from zibaldone.engine.verification.needles import Occurrence, TextNeedles
from zibaldone.engine.verification.receipts import Leftover, LookedAt
from zibaldone.errors import StorageError
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.columns import PLAIN_BEGINNING, seals_of
from zibaldone.storage.database import Database
from zibaldone.storage.keyring import Keyring
from zibaldone.storage.objects import owner_of
from zibaldone.storage.raw_files import OVERLAP_BYTES, pieces, pieces_read_apart
from zibaldone.storage.schema import SERVING_ROLES, metadata, stored_objects

_HEADER = b"\x78\x9c"  # of zlib, at its usual level
_MOST = 1 << 16  # bytes of a stream: ours have some thousand


class Inflating:
    """Inflate the zlib streams in bytes that come in order, in pieces; a stream may span two pieces."""

    def __init__(self) -> None:
        self._rest = b""  # from where a stream began that was not whole

    def feed(self, data: bytes, *, last: bool = False) -> bytes:
        """Return the text of streams completed by this piece; with `last` also of incomplete ones."""
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
    """Yield (offset, inflated text) for pieces that follow each other and may overlap."""
    reading, end = Inflating(), 0
    for begin, piece in read:
        if not 0 <= end - begin < len(piece):  # another file, or this one again in another form
            yield begin, reading.feed(b"", last=True)
            reading, end = Inflating(), begin
        yield begin, reading.feed(piece[end - begin :])
        end = begin + len(piece)
    yield end, reading.feed(b"", last=True)


_PAGE_BYTES = 4096  # of a database; a leftover's place is told as finely as this
Hit = tuple[str, Occurrence]  # where, what was found


@dataclass(frozen=True, slots=True)
class Wanted:
    """The needles: `of_user` in what is the user's own, and `of_all`, which excuse more, in all else."""

    user: str
    of_user: TextNeedles
    of_all: TextNeedles

    @property
    def folders(self) -> set[str]:
        """Names of the user's own folders: of blocks and KV pools, and of indexes."""
        name = self.user.encode("utf-8", "surrogatepass")
        return {blake2b(name, digest_size=size).hexdigest() for size in (8, 16)}

    def below(self, folders: Iterable[str]) -> TextNeedles:
        """The needles for what lies in these folders."""
        return self.of_all if self.folders.isdisjoint(folders) else self.of_user

    def of(self, owner: object) -> TextNeedles:
        """The needles for rows of an owner: a user's name, or its digest."""
        return self.of_user if owner in (self.user, owner_of(self.user)) else self.of_all


def look_through_folder(database: Database, wanted: Wanted) -> Iterator[tuple[LookedAt, list[Hit]]]:
    """Search every file of the memory's folder: the database, its logs, blocks, indexes, crash remains."""
    for path in sorted(database.folder.rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        inside = path.relative_to(database.folder)
        needles = wanted.below(inside.parts[:-1])
        yield _look_at(_forms_of(database, path), "file", inside.as_posix(), needles)


def look_through_bucket(database: Database, wanted: Wanted) -> Iterator[tuple[LookedAt, list[Hit]]]:
    """Search every object of the memory's bucket. Raises StorageError."""
    if database.bucket is None:
        return
    for key, _ in database.bucket.list():
        try:
            data = database.bucket.get(key)
        except KeyError:  # deleted meanwhile
            continue
        data = _decrypted(database.keyring, data, key.partition("/")[2])
        yield _look_at([(0, data)], "object", key, wanted.below(key.split("/")[:-1]))


def look_through_exports(paths: Iterable[Path], needles: TextNeedles) -> Iterator[tuple[LookedAt, list[Hit]]]:
    """Search exported files and folders, with the temporary files that a crash left beside them."""
    for path in paths:
        beside = path.parent.glob(f".{escape(path.name)}.*") if path.parent.is_dir() else ()
        inside = path.rglob("*") if path.is_dir() else [path]
        for file in sorted({*inside, *beside}):
            if file.is_file():
                yield _look_at(pieces(file), "export", str(file), needles)


def _stored_pieces(database: Database, path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, bytes) of a file; the open database is read without disturbing its locks."""
    is_open = path.name.startswith(Path(database.name).name)
    yield from pieces_read_apart(path) if is_open else pieces(path)


def _forms_of(database: Database, path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield a file's pieces as stored, and decrypted where that is possible."""
    yield from _stored_pieces(database, path)
    with suppress(ValueError, FileNotFoundError, KeyError, StorageError):
        yield from database.decrypted(path) or ()


def _look_at(
    read: Iterable[tuple[int, bytes]],
    kind: Literal["file", "object", "export"],
    name: str,
    needles: TextNeedles,
) -> tuple[LookedAt, list[Hit]]:
    size, where = 0, f"object {name}" if kind == "object" else name
    hits: list[Hit] = []

    def pieces_seen() -> Iterator[tuple[int, bytes]]:
        nonlocal size
        for begin, piece in read:
            size = max(size, begin + len(piece))
            if needles.first_in(piece) is not None:
                hits.extend(_pages_with_hits(where, begin, piece, needles))
            yield begin, piece

    for begin, texts in inflated(pieces_seen()):
        if hit := needles.first_in(texts):
            hits.append((f"{where}, compressed about byte {begin}", hit))
    return LookedAt(kind, name, 0, size), hits


def _pages_with_hits(name: str, begin: int, piece: bytes, needles: TextNeedles) -> Iterator[Hit]:
    """Yield the pages of a piece that have an occurrence, or the piece if only all of it has one."""
    any_page = False
    for start in range(0, len(piece), _PAGE_BYTES):
        page = piece[max(0, start - OVERLAP_BYTES) : start + _PAGE_BYTES]
        if hit := needles.first_in(page):
            any_page = True
            end = min(start + _PAGE_BYTES, len(piece))
            yield f"{name}, bytes {begin + start} to {begin + end}", hit
    if not any_page and (hit := needles.first_in(piece)):
        yield f"{name}, bytes {begin} to {begin + len(piece)}", hit


_ROWS = 500
_REFERRING = ("seq", "source", "clause_seq", "ended_by")  # columns that name a message
_PER_STATEMENT = 500


def look_through_tables(database: Database, wanted: Wanted) -> Iterator[tuple[LookedAt, list[Hit]]]:
    """Search every table."""
    with database.read() as connection:
        names = inspect(connection).get_table_names()
    for name in names:
        if name == SERVING_ROLES:  # nobody's words, and not for us to read
            continue
        with database.read() as connection:
            looked, hits = _look_at_table(connection, name, wanted)
            if name == stored_objects.name:
                hits += _in_objects(connection, database.keyring, wanted)
            yield looked, hits


def _look_at_table(connection: Connection, table: str, wanted: Wanted) -> tuple[LookedAt, list[Hit]]:
    key = inspect(connection).get_pk_constraint(table)["constrained_columns"]
    quoted = connection.dialect.identifier_preparer.quote(table)
    rows = size = 0
    hits: list[Hit] = []
    opened = _opener(connection)
    query = f"SELECT * FROM {quoted}"  # noqa: S608 - a table's own name
    result = connection.exec_driver_sql(query).mappings()
    while batch := result.fetchmany(_ROWS):
        rows += len(batch)
        for needles in (wanted.of_user, wanted.of_all):
            theirs = [row for row in batch if wanted.of(row.get("user", row.get("owner"))) is needles]
            # Without the user's own name, or "ann-1234" would be seen where a digest stands behind it.
            contents = [_bytes((v for v in row.values() if v != wanted.user), opened) for row in theirs]
            size += sum(map(len, contents))
            if needles.first_in(b"\n".join(contents)) is None:
                continue
            for row, content in zip(theirs, contents, strict=True):
                if hit := needles.first_in(content):
                    known_by = [f"{name} {shown(row[name])}" for name in key]
                    hits.append((f"table {table}, {', '.join(known_by)}".rstrip(", "), hit))
    return LookedAt("table", table, rows, size), hits


def _in_objects(connection: Connection, keyring: Keyring | None, wanted: Wanted) -> Iterator[Hit]:
    """Search objects stored in rows, opened and inflated."""
    c = stored_objects.c
    for owner, kind, name in connection.execute(select(c.owner, c.kind, c.name).where(c.part == 0)).all():
        mine = select(c.data).where(c.owner == owner, c.kind == kind, c.name == name).order_by(c.part)
        data = _decrypted(keyring, b"".join(connection.execute(mine).scalars()), name)
        for texts in (data, Inflating().feed(data, last=True)):
            if hit := wanted.of(owner).first_in(texts):
                yield f"table {stored_objects.name}, {kind} {name}", hit


def _decrypted(keyring: Keyring | None, data: bytes, place: str) -> bytes:
    """Return an object's data, decrypted where that is possible."""
    if keyring is not None:
        with suppress(ValueError, StorageError):
            return keyring.decrypt(data, place)
    return data


def references(database: Database, user: str, seqs: Sequence[int]) -> list[Leftover]:
    """Find the user's rows, of any table, that refer to one of these messages."""
    left = []
    with database.read(user) as connection:
        for table in metadata.sorted_tables:
            for column in (table.c[name] for name in _REFERRING if name in table.c and "user" in table.c):
                for some in in_chunks(seqs, _PER_STATEMENT):
                    query = select(column).where(table.c.user == user, column.in_(some)).distinct()
                    left += [
                        Leftover("reference", f"table {table.name}", f"{column.name} {seq}")
                        for seq in connection.execute(query).scalars()
                    ]
    return left


def _bytes(row: Iterable[Any], opened: Callable[[bytes], bytes]) -> bytes:
    """Return a row's columns as bytes, with a line break between two."""
    parts = (
        value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
        for value in row
        if value is not None
    )
    return b"\n".join(map(opened, parts))


def _opener(connection: Connection) -> Callable[[bytes], bytes]:
    """Return a function that opens sealed values whose key is available, and passes on all others."""
    seals = seals_of(connection)
    if seals is None:
        return lambda value: value

    def opened(value: bytes) -> bytes:
        bare = value.removeprefix(PLAIN_BEGINNING.encode())
        for form in (value, bare):
            try:
                return seals.open(form if form[:1] in b"\1\2" else binascii.a2b_base64(form))
            except (ValueError, StorageError):
                continue
        return value

    return opened
