"""Keys of the server, which grant access to a user's memory.

A token is `zbd_<id>_<secret>`. The secret has 256 random bits, so one SHA-256 of it is stored; slow hashes
protect guessable passwords only. The id finds the row and the digest is compared in constant time. Nothing is
cached: a key revoked by another process is refused at once.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import Row, select, update

from zibaldone.api import settings
from zibaldone.api.config import now_utc
from zibaldone.core.validation import flag, key, shown
from zibaldone.errors import InvalidInput
from zibaldone.log import from_us, to_us
from zibaldone.server.settings import MemoryMode, to_mode
from zibaldone.storage.opening import open_database
from zibaldone.storage.schema import server_keys

PREFIX = "zbd_"
_ID_BYTES, _SECRET_BYTES = 6, 32
_NO_DIGEST = "0" * 64


@dataclass(frozen=True, slots=True)
class ServerKey:
    """A stored key, without its secret."""

    id: str
    user: str | None  # None: an admin's key, for any user
    agent: str | None  # restricts the key to the messages of one agent; None: all
    read_only: bool
    created: datetime
    revoked: datetime | None  # None: valid
    memory_mode: MemoryMode | None  # None: the server's


@dataclass(frozen=True, slots=True)
class CreatedKey:
    """A new key and its token, which cannot be read again."""

    key: ServerKey
    token: str


class KeyStore:
    """The keys of one memory, in its database. Safe to share among threads."""

    def __init__(
        self, folder: Path, *, clock: Callable[[], datetime] = now_utc, busy_timeout_s: float = 30.0
    ) -> None:
        """Open the memory's database; creates it if it is missing. Raises what Memory raises."""
        self._database = open_database(
            folder,
            busy_timeout_s=busy_timeout_s,
            key=settings.key(),
            user_keys=settings.text("USER_KEYS"),
            wall_key=settings.key("WALL_KEY"),
        )
        self._clock = clock
        self._any: bool | None = None  # True if there are keys; None: not read yet

    def close(self) -> None:
        """Close; idempotent."""
        self._database.close()

    def create(
        self,
        *,
        user: str | None,
        agent: str | None = None,
        read_only: bool = False,
        memory_mode: str | None = None,
    ) -> CreatedKey:
        """Create a key for a user's memory, or for one agent in it; without a user an admin's."""
        if user is not None:
            key("user", user)
        if agent is not None:
            key("agent", agent)
            if user is None:
                raise InvalidInput("a key for an agent is a user's: name the user, too")
        flag("read_only", read_only)
        mode = None if memory_mode is None else to_mode(memory_mode)
        key_id, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
        now = self._clock()
        values = {
            "id": key_id,
            "digest": _digest(secret),
            "user": user,
            "agent": agent,
            "read_only": int(read_only),
            "created_us": to_us(now),
            "memory_mode": None if mode is None else mode.value,
        }
        with self._database.unlocked() as connection:
            connection.execute(server_keys.insert().values(values))
        created = ServerKey(key_id, user, agent, read_only, now, revoked=None, memory_mode=mode)
        return CreatedKey(created, f"{PREFIX}{key_id}_{secret}")

    def all_keys(self) -> list[ServerKey]:
        """List all keys, revoked ones too, in the order of their creation."""
        query = select(server_keys).order_by(server_keys.c.created_us, server_keys.c.id)
        with self._database.read() as connection:
            return [_of_row(row) for row in connection.execute(query)]

    def revoke(self, key_id: str) -> ServerKey:
        """Revoke a key; it stays in the list. Raises InvalidInput for an unknown id."""
        c = server_keys.c
        with self._database.unlocked() as connection:
            revoking = update(server_keys).where(c.id == key_id, c.revoked_us.is_(None))
            connection.execute(revoking.values(revoked_us=to_us(self._clock())))
            row = connection.execute(select(server_keys).where(c.id == key_id)).first()
        if row is None:
            raise InvalidInput(f"no key {shown(key_id)}: zibaldone keys list shows their ids")
        return _of_row(row)

    def exist(self) -> bool:
        """True if there is any key, revoked or not: then every request needs one."""
        if not self._any:
            with self._database.read() as connection:
                self._any = connection.execute(select(server_keys.c.id).limit(1)).first() is not None
        return bool(self._any)

    @property
    def were_none(self) -> bool:
        """True if there was no key at the last look."""
        return self._any is False

    def authenticate(self, token: str) -> ServerKey | None:
        """Return the key of a token; None if it is unknown or revoked."""
        if not token.isascii():
            return None
        key_id, _, secret = token.removeprefix(PREFIX).partition("_")
        with self._database.read() as connection:
            row = connection.execute(select(server_keys).where(server_keys.c.id == key_id)).first()
        same = hmac.compare_digest(row.digest if row else _NO_DIGEST, _digest(secret))
        if row is None or not same or row.revoked_us is not None:
            return None
        return _of_row(row)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _of_row(row: Row[tuple[object, ...]]) -> ServerKey:
    return ServerKey(
        id=row.id,
        user=row.user,
        agent=row.agent,
        read_only=bool(row.read_only),
        created=from_us(row.created_us),
        revoked=None if row.revoked_us is None else from_us(row.revoked_us),
        memory_mode=None if row.memory_mode is None else MemoryMode(row.memory_mode),
    )
