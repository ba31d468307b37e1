"""A PostgreSQL database, which any number of processes on any number of machines may open.

Durability: `synchronous_commit` is on at least, so a commit that returned survives a crash of the server.
Writers of one user's rows take turns by an advisory lock of the transaction; migrations keep out all others.
Row level security is the second wall between users: a transaction says whose rows it means, and the server
shows it no others (see walls.py). It holds for roles that are neither superusers nor exempt from it.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, NoReturn

import platformdirs
from sqlalchemy import URL, Connection, Engine, create_engine, func, inspect, make_url, select, text
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    PendingRollbackError,
    ResourceClosedError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout

from zibaldone.core.fork_safety import start_anew_in_children
from zibaldone.errors import (
    ClosedMemory,
    InvalidInput,
    MissingExtra,
    StorageBusy,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageUnreachable,
    StorageUnusable,
)
from zibaldone.storage.bucket_blocks import bucket_size_bytes
from zibaldone.storage.columns import without_values
from zibaldone.storage.database import Collided, Database, place_shown
from zibaldone.storage.migrations import FIRST, MIGRATIONS, migrate
from zibaldone.storage.objects import RowObjects
from zibaldone.storage.saved_indexes import INDEX_ROWS, SavedIndexes
from zibaldone.storage.schema import metadata, migrations
from zibaldone.storage.turns import Turns

try:
    import psycopg

    from zibaldone.storage import walls
except ImportError as error:
    raise MissingExtra(f"no module {error.name!r}: pip install 'zibaldone[postgres]'") from error

# Said here, since whoever says it loads SQLAlchemy's half for PostgreSQL, which a folder does not need.
for _table in metadata.tables.values():
    for _index in _table.indexes:
        _index.dialect_options["postgresql"]["where"] = _index.dialect_options["sqlite"]["where"]

_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_ALL = "everybody"  # the advisory lock that every writer shares, and who writes everybody's rows has alone
_KEPT, _MOST = 8, 32  # connections
_CONNECT_S = 10  # of one attempt
# A server's machine that went away without a word is noticed after a minute.
_KEEPALIVES = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
_KEEPALIVES |= {"tcp_user_timeout": 60_000}
# And a client's that holds a user's lock: an open write transaction that is silent for so long is ended.
_SILENT_MS = 300_000
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0
# SQLSTATEs that begin so: no connection; the server is stopping or starting; it was silent for too long.
_LOST = ("08", "57P", "25P03", "25P04")
_COLLIDED = {"40001", "40P01"}  # others changed the same; or each waited for the other
_AGAIN = {"53300", "55P03", "57014"}  # too many connections, waited
_TOO_LONG = "54000"
_FULL = {"53100", "53200"}
_REFUSED = {"25006", "28000", "28P01", "3D000", "3F000", "42501", "0A000"}
# A server that acknowledges before it has written is told to write first.
_DURABLY = (
    "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT set_config('synchronous_commit', 'on', true)"
    " WHERE current_setting('synchronous_commit') = 'off'"
)
_DAMAGED = {"XX001", "XX002", "58030"}
_logger = logging.getLogger(__name__)


class PostgresDatabase(Database):
    """The tables of one schema of a PostgreSQL database; nothing lies beside it."""

    encrypted = False  # by us
    shared = True
    # The server overwrites and recycles when it sees fit: a client can neither purge nor verify its files.
    remains = "no query finds it; the server's pages, log and backups have it until they overwrite it"

    def __init__(self, url: str, *, busy_timeout_s: float, wall_key: str | bytes | None = None) -> None:
        super().__init__(busy_timeout_s)
        self._url = _parse_url(url)
        self.wall_key = walls.check_key(wall_key)  # proves whose rows are meant, where a role asks for that
        self.name = place_shown(url)
        identity = f"{self._url.host}:{self._url.port}/{self._url.database}?{sorted(self._url.query.items())}"
        digest = blake2b(identity.encode(), digest_size=8).hexdigest()
        self.folder = Path(platformdirs.user_cache_dir("zibaldone")) / f"fleet-{digest}"
        self._turns = Turns()  # so that few connections wait in the server
        self._engine = self._new_engine(kept=_KEPT, most=_MOST)
        self._object_engine = self._new_engine(kept=1, most=8)
        self.blocks = RowObjects(self.object_transaction, "block")
        self.saved = SavedIndexes(self, RowObjects(self.object_transaction, INDEX_ROWS))
        start_anew_in_children(self)
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        """Make the tables, or bring them up to date."""
        with self._transaction(_SNAPSHOT, writes=False, patient=False):
            pass  # a wrong password is said at once
        if not self._is_current():
            migrate(self._migration)

    @contextmanager
    def read(self, user: str | None = None) -> Iterator[Connection]:
        """See Database."""
        with self._transaction(_SNAPSHOT, user, writes=False) as connection:
            yield connection

    @contextmanager
    def write(self, *users: str) -> Iterator[Connection]:
        """See Database. Commits of others become visible while it runs, but these users' rows are locked."""
        ordered = sorted(set(users))  # all lock in this order, so that nobody deadlocks
        with ExitStack() as turns:
            for user in ordered:
                if not turns.enter_context(self._turns.take(user, self._busy_timeout_s)):
                    raise self._busy_error()
            mine = ordered[0] if len(ordered) == 1 else None
            with self._transaction(self._begin_write_sql(), mine, locks=_lock_sql(ordered)) as connection:
                yield connection

    def _new_engine(self, *, kept: int, most: int) -> Engine:
        ours = {"connect_timeout": _CONNECT_S, "application_name": "zibaldone", **_KEEPALIVES}
        return create_engine(
            self._url,
            isolation_level="AUTOCOMMIT",  # transactions begin and end here, and not in the driver
            connect_args={name: value for name, value in ours.items() if name not in self._url.query},
            pool_size=kept,
            max_overflow=most - kept,
            pool_timeout=self._busy_timeout_s,
            hide_parameters=True,  # they are what users said, and an error is logged
        )

    def _is_current(self) -> bool:
        """True if there is nothing to migrate, so that no lock is needed."""
        with self.read() as connection:
            if (encoding := connection.execute(text("SHOW server_encoding")).scalar()) != "UTF8":
                raise StorageUnusable(
                    f"{self.name} keeps text in {encoding}: make one with ENCODING 'UTF8' TEMPLATE template0"
                )
            if is_exempt := _is_exempt(connection):
                _logger.warning(
                    "the role that opened %s is exempt from row level security: the second wall between users"
                    " does not stand; use one that is neither a superuser nor has BYPASSRLS",
                    self.name,
                )
            if not inspect(connection).has_table(migrations.name):
                return False
            number = connection.execute(select(func.max(migrations.c.number))).scalar()
            if number != FIRST + len(MIGRATIONS) or walls.walled(connection, are=False):
                return False
            if not is_exempt:
                walls.check_role(connection)
            return True

    @contextmanager
    def _migration(self) -> Iterator[Connection]:
        """Begin a write transaction of all users; new tables get row level security at its end."""
        with self.write() as connection:
            yield connection
            walls.secure_tables(connection)

    @contextmanager
    def unlocked(self) -> Iterator[Connection]:
        """See Database."""
        with self._transaction(self._begin_write_sql()) as connection:
            yield connection

    @contextmanager
    def object_transaction(self) -> Iterator[Connection]:
        """Begin a transaction for one object on a connection of its own, so that it waits for no other."""
        with self._transaction(self._begin_write_sql(), engine=self._object_engine) as connection:
            yield connection

    def now_us(self, connection: Connection) -> int:
        """See Database."""
        query = text("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
        return int(connection.execute(query).scalar_one())

    def _begin_write_sql(self) -> str:
        """SQL that begins a write transaction with timeouts for locks and for idle clients."""
        wait_ms = max(1, round(self._busy_timeout_s * 1000))
        silent = f"SET LOCAL idle_in_transaction_session_timeout = {_SILENT_MS}"
        return f"{_DURABLY}; SET LOCAL lock_timeout = {wait_ms}; {silent}"

    @contextmanager
    def _transaction(
        self,
        begin: str,
        user: str | None = None,
        *,
        locks: str = "",
        writes: bool = True,
        patient: bool = True,
        engine: Engine | None = None,
    ) -> Iterator[Connection]:
        if self._closed:
            raise ClosedMemory("this memory was closed: open it again with Memory(url)")
        try:
            begun = self._connect(engine or self._engine, begin, user, locks, patient=patient)
            with without_values(), begun as connection:
                self._begin_on(connection, user, writes=writes)
                try:
                    yield connection
                except BaseException:
                    if not connection.invalidated:
                        info = connection.info
                        _roll_back(connection)
                        if self.keyring is not None:
                            self.keyring.erase_new_keys(info)
                    raise
                try:
                    done = _driver(connection).execute("COMMIT", prepare=False).statusmessage
                except psycopg.Error as error:
                    # Closing a connection that is lost raises, too, and knows nothing of the commit.
                    connection.invalidate()
                    self._raise(error, committing=writes)
                if done != "COMMIT":  # a statement had failed, and somebody took no notice
                    raise StorageError(f"{self.name}: a statement failed, and nothing was stored: try again")
        except DBAPIError as error:
            self._raise(error.orig or error)
        except (PendingRollbackError, ResourceClosedError) as error:  # a statement after the one that failed
            raise StorageUnreachable(
                f"{self.name} cannot be reached (the connection was lost); nothing of this call was stored:"
                " try again"
            ) from error
        except PoolTimeout as error:
            raise self._busy_error() from error

    def _connect(
        self, engine: Engine, begin: str, user: str | None, locks: str, *, patient: bool
    ) -> Connection:
        """Return a connection with a begun transaction, retrying while the server is away.

        Nothing was sent before, so that trying again does nothing twice.
        """
        give_up = time.monotonic() + (self._busy_timeout_s if patient else 0)
        pause_s, stale = _FIRST_PAUSE_S, 0
        while True:
            connection: Connection | None = None
            try:
                connection = engine.connect()
                self._begin(_driver(connection), begin, user, locks)
            except (psycopg.Error, DBAPIError) as error:
                cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
                if connection is not None:
                    if _is_lost(cause):
                        connection.invalidate()
                    else:
                        _roll_back(connection)
                    connection.close()
                if connection is not None and _is_lost(cause) and stale < _KEPT:
                    stale += 1  # it was kept since before the server went away: the next may be a new one
                    continue
                if not _is_lost(cause) or _is_refusal(cause) or time.monotonic() >= give_up:
                    self._raise(cause)
            except BaseException:
                if connection is not None:
                    connection.invalidate()
                    connection.close()
                raise
            else:
                return connection
            time.sleep(pause_s * random.uniform(0.5, 1))  # noqa: S311 - spreads waiters, guards nothing
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _begin(self, driver: psycopg.Connection[Any], begin: str, user: str | None, locks: str) -> None:
        """Begin a transaction for this user's rows, or for all users', and wait for the locks."""
        turn = ""
        if self.wall_key is not None:
            cursor = driver.execute(f"{begin}; {walls.TURN}", prepare=False)
            while cursor.nextset():
                pass
            turn, is_tampered = cursor.fetchone() or ("", True)
            if is_tampered:  # whoever lost a connection takes another
                raise psycopg.OperationalError("a connection's prepared statements are not ours")
            begin = ""
        driver.execute(f"{begin}; {walls.set_user_sql(user, self.wall_key, turn)}; {locks}", prepare=False)

    def admit(self, role: str) -> None:
        """Admit a role that does not own the tables, and proves its user by our `wall_key`.

        Raises InvalidInput without a key or such a role, StorageUnusable for a role that could get round it.
        """
        if self.wall_key is None:
            raise InvalidInput("the wall needs a key: set ZIBALDONE_WALL_KEY or ZIBALDONE_WALL_KEY_COMMAND")
        with self.write() as connection:
            walls.admit(connection, role, self.wall_key)

    def faults(self) -> list[str]:
        """Name invalid indexes, and tables without row level security."""
        query = (
            "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
            " JOIN pg_class t ON t.oid = i.indrelid"
            " WHERE NOT i.indisvalid AND t.relnamespace = current_schema()::regnamespace"
        )
        with self.read() as connection:
            return [
                *(f"index {name} is not valid" for name in connection.execute(text(query)).scalars()),
                *(
                    f"table {name} has no row level security: open the memory again as its owner"
                    for name in walls.walled(connection, are=False)
                ),
            ]

    def bytes_on_disk(self) -> int:
        """Size of our tables with their indexes, and of our objects in a bucket, in bytes."""
        query = text(
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class"
            " WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace AND relname = ANY(:names)"
        )
        with self.read() as connection:
            rows = int(connection.execute(query, {"names": list(metadata.tables)}).scalar_one())
            return rows + bucket_size_bytes(self, connection)

    def start_anew(self) -> None:
        """Drop the parent's connections and locks in a forked child."""
        for engine in (self._engine, self._object_engine):
            _abandoned.append(engine.pool)
            engine.dispose(close=False)

    def close(self) -> None:
        """See Database."""
        self._closed = True
        self._engine.dispose()
        self._object_engine.dispose()

    def _raise(self, error: BaseException, *, committing: bool = False) -> NoReturn:
        raise self._to_error(error, committing=committing) from error

    def _to_error(self, error: BaseException, *, committing: bool) -> StorageError | InvalidInput:
        state = getattr(error, "sqlstate", None) or ""
        what = (str(error).splitlines() or [""])[0][:200]  # what follows may be anybody's text
        if _is_refusal(error):
            return StorageUnusable(f"{self.name} cannot be used ({what}): check its URL and role")
        if _is_lost(error):
            stored = (
                "whether this call was stored is not known: messages with ids of your own can be added again"
                if committing
                else "nothing of this call was stored"
            )
            return StorageUnreachable(f"{self.name} cannot be reached ({what}); {stored}: try again")
        if state == "55P03":
            return self._busy_error()
        if state == _TOO_LONG:
            return InvalidInput(
                f"a name is too long for an index of PostgreSQL ({what}), and nothing was stored:"
                " shorten user, session, id and path to 1,000 bytes each"
            )
        if state in _COLLIDED:
            return Collided(f"{self.name}: others were in the way ({what}), nothing was stored: try again")
        if state in _AGAIN:
            return StorageBusy(f"{self.name}: others were in the way ({what}), nothing was stored: try again")
        if state in _FULL:
            return StorageFull(f"no space left for {self.name}; nothing of this call was stored ({what})")
        if state in _DAMAGED:
            return StorageCorrupt(f"{self.name} is damaged ({what}): restore a backup")
        return StorageError(f"{self.name}: {what}")


def _parse_url(url: str) -> URL:
    try:
        given = make_url(url)
        if given.drivername not in ("postgres", "postgresql", "postgresql+psycopg"):
            raise InvalidInput(
                f"no driver {given.drivername!r} for {place_shown(url)}: write postgresql+psycopg://"
            )
        if not given.database:
            raise InvalidInput(f"{place_shown(url)} names no database: postgresql+psycopg://user@host/name")
        return given.set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{place_shown(url)} is no URL: postgresql+psycopg://user@host/name") from error


def _lock_sql(users: list[str]) -> str:
    """SQL that locks these users' rows, or those of all users, before the snapshot is taken."""
    keys = ", ".join(f"pg_advisory_xact_lock({_key('user ' + user)})" for user in users)
    everybody = "pg_advisory_xact_lock_shared" if users else "pg_advisory_xact_lock"
    return f"SELECT {everybody}({_key(_ALL)}){', ' + keys if keys else ''}"


def _key(name: str) -> int:
    """Hash a lock's name to 64 bits; names that collide only wait for each other."""
    digest = blake2b(f"zibaldone {name}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _is_exempt(connection: Connection) -> bool:
    query = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
    return bool(connection.execute(text(query)).scalar())


def _driver(connection: Connection) -> psycopg.Connection[Any]:
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    return driver


def _roll_back(connection: Connection) -> None:
    try:
        _driver(connection).execute("ROLLBACK", prepare=False)
    except psycopg.Error:
        connection.invalidate()


def _is_lost(error: BaseException) -> bool:
    """True if the server went away, or is not there."""
    state: str | None = getattr(error, "sqlstate", None)
    if state is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return state.startswith(_LOST)


def _is_refusal(error: BaseException) -> bool:
    """True if the server does not want us: waiting does not help."""
    state = getattr(error, "sqlstate", None)
    # psycopg names no SQLSTATE of a failed connection.
    signs = ("authentication failed", "does not exist", "no pg_hba")
    return state in _REFUSED or (state is None and any(sign in str(error) for sign in signs))


_abandoned: list[object] = []  # in a forked child: its parent's connections, which it must not even close
