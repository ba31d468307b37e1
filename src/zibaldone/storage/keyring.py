"""Per-user keys that seal users' words; destroying a key makes its words unreadable in every copy.

A random key per user, wrapped by one that the place of keys (`key_places`) keeps in a header, encrypted by
the one that is given when the memory is opened. The database says which key a user has: a transaction that
seals reads that first, under the user's lock, so nothing is acknowledged that a destroyed key sealed.

What is sealed begins with a kind and the number of its key. Where it is looked up by being equal it is sealed
by AES-SIV (RFC 5297), which gives the same each time, and else by AES-GCM with a random nonce.
"""

from __future__ import annotations

import json
import logging
import secrets
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, Row, delete, event, select, update

from zibaldone.errors import (
    InvalidInput,
    KeyDestroyed,
    KeyMissing,
    StorageCorrupt,
    StorageError,
    StorageUnusable,
    WrongKey,
)
from zibaldone.storage.columns import SEALS
from zibaldone.storage.encryption import (
    KEY_BYTES,
    FileCipher,
    FolderKeys,
    aead,
    check_key,
    new_header,
    unwrap_keys,
    wrap_keys,
)
from zibaldone.storage.folder_layout import HEADER
from zibaldone.storage.key_places import KeyPlace, key_place
from zibaldone.storage.objects import owner_of
from zibaldone.storage.schema import user_keys

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

_logger = logging.getLogger(__name__)
Read = Callable[[str | None], AbstractContextManager[Connection]]
_SCOPE, _NEW = "seals for", "new keys"  # in a connection's info
_RANDOM, _FINDABLE = b"\x01", b"\x02"
_NUMBER_BYTES, _TAG_BYTES = 8, 16
_BEGIN = 1 + _NUMBER_BYTES
_MOST = 4096  # keys that are in memory at once
_LIVE, _DESTROYING = 0, 1  # a key's state


@dataclass(frozen=True, slots=True)
class UserKey:
    """The keys that seal one user's words."""

    user: str
    number: bytes
    _random: FileCipher
    _findable: AESSIV

    def seal(self, data: bytes, place: str = "") -> bytes:
        """Encrypt with a random nonce, bound to `place`."""
        return _RANDOM + self.number + self._random.encrypt(data, place)

    def seal_findable(self, data: bytes) -> bytes:
        return _FINDABLE + self.number + self._findable.encrypt(data, None)

    def open(self, sealed: bytes, place: str = "") -> bytes:
        """Decrypt. Raises ValueError for data that was changed, or is of another place or key."""
        from cryptography.exceptions import InvalidTag

        if sealed[:1] == _RANDOM:
            return self._random.decrypt(sealed[_BEGIN:], place)
        try:
            return self._findable.decrypt(sealed[_BEGIN:], None)
        except InvalidTag as error:
            raise ValueError("changed, or of another key") from error


@dataclass(slots=True)
class _Scope:
    """The user whose rows a transaction reads and writes."""

    user: str | None
    locked: bool  # nobody else writes them
    key: UserKey | None = None
    looked: bool = False


class Keyring:
    """The keys of one memory's users: seal and open their words. Safe to share among threads."""

    overhead_bytes = _BEGIN + FileCipher.overhead_bytes  # added to a value that is not findable

    def __init__(self, place: KeyPlace, keys: FolderKeys) -> None:
        self.place = place
        self.id = keys.derive("id").hex()[:32]
        self._wrapping = FileCipher(aead(keys.derive("user keys")))
        self._held: dict[bytes, UserKey] = {}
        self._now = threading.local()
        self._owners: dict[str, str] = {}  # users by the digest with which names of their objects begin
        self._read: Read | None = None

    def attach(self, engine: Engine, read: Read) -> None:
        """Seal and open what goes through this engine; `read` begins a snapshot of a user or of all."""
        self._read = read
        setattr(engine.dialect, SEALS, self)
        engine.clear_compiled_cache()
        event.listen(engine, "before_execute", self._note)

    def _note(self, connection: Connection, *_: Any) -> None:
        self._now.connection = connection

    def begin(self, connection: Connection, user: str | None, *, locked: bool) -> None:
        """Note the user of the transaction that was begun on this connection; None: all users."""
        connection.info[_SCOPE], connection.info[_NEW] = _Scope(user, locked), []

    def means(self, connection: Connection, user: str) -> None:
        """Set the user whose rows the transaction writes from now on."""
        connection.info[_SCOPE] = _Scope(user, connection.info[_SCOPE].locked)

    def erase_new_keys(self, info: dict[Any, Any]) -> None:
        """Erase the new keys of a transaction that was rolled back; `info` is its connection's."""
        for number in info.pop(_NEW, ()):
            self._held.pop(number, None)
            try:
                self.place.erase(number.hex())
            except StorageError as error:  # what made the transaction fail is what the caller is told
                _logger.warning("key %s, which seals nothing, stays where it is: %s", number.hex(), error)

    def seal(self, data: bytes, *, findable: bool) -> bytes:
        """Encrypt words of the transaction's user; `findable`: the same data gives the same. StorageError."""
        key = self._transaction_key()
        if key is None:  # nothing is stored of this user, so nothing is found
            return _FINDABLE + bytes(_NUMBER_BYTES)
        return key.seal_findable(data) if findable else key.seal(data)

    def open(self, sealed: bytes) -> bytes:
        """Decrypt a value of any user whose key exists. Raises StorageError, and ValueError if not sealed."""
        return self._sealing_key(sealed).open(sealed)

    def encrypt(self, data: bytes, place: str) -> bytes:
        """Seal an object for its name, by the key of the user whose owner it begins with."""
        return self.of_owner(place.partition("/")[0]).seal(data, place)

    def decrypt(self, data: bytes, place: str) -> bytes:
        """Open what was sealed for a place. Raises ValueError, and KeyDestroyed."""
        return self._sealing_key(data).open(data, place)

    def _sealing_key(self, sealed: bytes) -> UserKey:
        if len(sealed) < _BEGIN + _TAG_BYTES or sealed[:1] not in (_RANDOM, _FINDABLE):
            raise ValueError("it was not sealed")
        number = bytes(sealed[1:_BEGIN])
        return self._held.get(number) or self._fetch_key(number)

    def of_user(self, user: str) -> UserKey:
        """Return the user's key, outside of a transaction. Raises KeyMissing if there is none."""
        assert self._read is not None
        with self._read(user) as connection:
            row = _row(connection, user)
        if row is None:
            raise KeyMissing(f"user {user!r} has no key, and so nothing that is sealed by one")
        return self._live(row)

    def of_owner(self, owner: str) -> UserKey:
        """Return the key of the user with this `owner_of` digest. Raises KeyMissing."""
        if owner not in self._owners:  # who writes objects has read rows, but who moves them
            assert self._read is not None
            with self._read(None) as connection:
                names = connection.execute(select(user_keys.c.user)).scalars().all()
            self._owners |= {owner_of(name): name for name in names}
        return self.of_user(self._owners.get(owner, owner))

    def _transaction_key(self) -> UserKey | None:
        connection: Connection = self._now.connection
        scope: _Scope = connection.info[_SCOPE]
        if not scope.looked:
            if scope.user is None:
                raise StorageUnusable("a transaction that means everybody's rows can seal nobody's words")
            row = _row(connection, scope.user)
            if row is not None:
                scope.key = self._live(row)
            elif scope.locked:
                scope.key = self._create_key(connection, scope.user)
            scope.looked = True
        return scope.key

    def _live(self, row: Any) -> UserKey:
        if row.state != _LIVE:
            raise _destroyed(row.user, "is being destroyed")
        number = bytes.fromhex(row.number)
        return self._held.get(number) or self._fetch_key(number)

    def _create_key(self, connection: Connection, user: str) -> UserKey:
        """Create the user's key, durable before its row is."""
        number, data = secrets.token_bytes(_NUMBER_BYTES), secrets.token_bytes(KEY_BYTES)
        wrapped = self._wrapping.encrypt(data + user.encode("utf-8", "surrogatepass"), number.hex())
        connection.info[_NEW].append(number)
        self.place.create(number.hex(), wrapped)
        connection.execute(user_keys.insert().values(user=user, number=number.hex(), state=_LIVE))
        return self._hold(user, number, data)

    def _fetch_key(self, number: bytes) -> UserKey:
        """Raises KeyDestroyed, KeyMissing and StorageCorrupt."""
        name = number.hex()
        if (mark := self.place.mark(name)) is not None:
            raise self._destroyed_error(name, mark)
        wrapped = self.place.get(name)
        if wrapped is None:
            raise KeyMissing(f"key {name} of a user is not in {self.place.name!r}: restore a copy of that")
        try:
            data = self._wrapping.decrypt(wrapped, name)
        except ValueError as error:
            raise StorageCorrupt(
                f"key {name} in {self.place.name!r} is damaged: restore a copy of it"
            ) from error
        return self._hold(data[KEY_BYTES:].decode("utf-8", "surrogatepass"), number, data[:KEY_BYTES])

    def _destroyed_error(self, number: str, mark: bytes) -> KeyDestroyed:
        try:
            about = json.loads(self._wrapping.decrypt(mark, f"destroyed {number}"))
            return _destroyed(about["user"], f"was destroyed on {about['time']}")
        except ValueError:
            return _destroyed(f"of number {number}", "was destroyed")

    def _hold(self, user: str, number: bytes, data: bytes) -> UserKey:
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV

        keys = FolderKeys(data)
        findable = AESSIV(keys.derive("findable") + keys.derive("findable, too"))
        made = UserKey(user, number, FileCipher(aead(keys.derive("random"))), findable)
        while len(self._held) >= _MOST:
            with suppress(RuntimeError):  # another thread adds one just now
                self._held.pop(next(iter(self._held)), None)
        self._held[number] = made
        self._owners[owner_of(user)] = user
        return made

    def condemn(self, connection: Connection, user: str) -> str | None:
        """Mark the user's key as being destroyed, so that nothing more is sealed with it.

        Call in a transaction of the user. Returns the key's number; None if there is no key.
        """
        mine = update(user_keys).where(user_keys.c.user == user)
        connection.execute(mine.values(state=_DESTROYING))
        return self.condemned_key(connection, user)

    def condemned_key(self, connection: Connection, user: str) -> str | None:
        """The number of the user's key that is being destroyed, or was, while its rows may still be there."""
        row = _row(connection, user)
        return None if row is None or row.state != _DESTROYING else str(row.number)

    def destroy(self, number: str, user: str) -> None:
        """Destroy a key: nothing that it sealed, in any copy, can be opened again. Idempotent."""
        about = {"user": user, "time": datetime.now(UTC).isoformat(timespec="seconds")}
        self.place.put_mark(number, self._wrapping.encrypt(json.dumps(about).encode(), f"destroyed {number}"))
        self.place.erase(number)
        self._held.pop(bytes.fromhex(number), None)

    def let_go(self) -> None:
        """Forget the keys held in memory; they are fetched again when needed."""
        self._held.clear()

    def release(self, connection: Connection, user: str) -> None:
        """Delete the user's key row, after the key was destroyed; the next write creates a new key."""
        connection.execute(delete(user_keys).where(user_keys.c.user == user))
        connection.info[_SCOPE] = _Scope(user, locked=True)

    def condemned(self, connection: Connection) -> list[str]:
        """Users whose key is being destroyed."""
        query = select(user_keys.c.user).where(user_keys.c.state == _DESTROYING)
        return list(connection.execute(query.order_by(user_keys.c.user)).scalars())

    def is_gone(self, number: str) -> bool:
        """True if the key with this number is nowhere in the place of keys, and marked as destroyed."""
        return self.place.get(number) is None and self.place.mark(number) is not None


def _destroyed(user: str, what: str) -> KeyDestroyed:
    return KeyDestroyed(
        f"the key of user {user!r} {what}, and nobody can read what it sealed:"
        f" forget(user={user!r}, everything=True, shred=True) removes what is left of it"
    )


def _row(connection: Connection, user: str) -> Row[Any] | None:
    return connection.execute(select(user_keys).where(user_keys.c.user == user)).first()


def change_master_key(given: str | Path, key: str | bytes, new_key: str | bytes) -> None:
    """Change the key that opens users' keys; what they sealed stays as it is.

    A no-op if the new key opens them already, so that an interrupted change can be repeated.

    Raises InvalidInput, KeyMissing, WrongKey.
    """
    if not key or not new_key:
        raise KeyMissing("give the key and the new one: ZIBALDONE_KEY and ZIBALDONE_NEW_KEY, or ..._COMMAND")
    check_key(new_key)
    place = key_place(given, None)
    try:
        keys = keys_at(place, key, may_begin=False)
    except WrongKey:
        keys_at(place, new_key, may_begin=False)
        return
    place.put_header(wrap_keys(keys, new_key), over=True)


def keys_at(place: KeyPlace, key: str | bytes, *, may_begin: bool) -> FolderKeys:
    """Return the keys that wrap users' keys; a new store gets some if `may_begin`.

    Raises KeyMissing and WrongKey.
    """
    check_key(key)
    header = place.header()
    if header is None:
        if not may_begin:
            raise KeyMissing(f"no keys of users are in {place.name!r}: give the place that has them")
        keys, text = new_header(key)
        if place.put_header(text):
            return keys
        header = place.header()
    if header is None:
        raise InvalidInput(f"no keys of users can be kept in {place.name!r}: give another place")
    return unwrap_keys(header, key, f"{place.name}/{HEADER}", place.name)
