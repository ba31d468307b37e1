"""The processes of a fleet: servers and workers, started again when they are killed, and who kills them."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from zibaldone.bench.own_process import processor_seconds, stop
from zibaldone.testing.bucket import BucketMisbehaviour, FakeBucketServer
from zibaldone.testing.postgres import PostgresServer

_STARTS_S, _STOPS_S = 120.0, 30.0
_OUTAGE_S = 8.0  # of the bucket
_LOOKS_S = 1.0  # from one look for who has ended to the next
_DOWN_S = 1.0  # between the kill of PostgreSQL and its next start


class FleetProcess:
    """One process of the fleet. What killed processes used counts too."""

    def __init__(self, name: str, command: Sequence[str], folder: Path, port: int | None = None) -> None:
        """`port` is where a server answers; None: a worker."""
        self.name, self.port = name, port
        self._command, self._log = command, folder / f"{name}.log"
        self._used_s = 0.0  # processor seconds of processes that have ended
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as out:
            self._process = subprocess.Popen(  # noqa: S603 - our own modules
                [sys.executable, *self._command], stdout=out, stderr=subprocess.STDOUT
            )

    def wait_until_ready(self) -> None:
        """Until a server answers. Raises RuntimeError with the end of what it wrote where it does not."""
        deadline = time.monotonic() + _STARTS_S
        while time.monotonic() < deadline and self.is_alive():
            if self.port is None:
                return
            try:
                with urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=5):
                    return
            except (URLError, OSError):
                time.sleep(0.1)
        written = self._log.read_text(encoding="utf-8", errors="replace")[-2000:]
        raise RuntimeError(f"{self.name} does not come up; it wrote: {written}")

    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def cpu_s(self) -> float:
        """Seconds of the processor, of all its processes so far; 0 where nobody tells."""
        if self._process is None:
            return self._used_s
        return self._used_s + processor_seconds(self._process)

    def kill(self) -> None:
        """With -9: it ends nothing in order."""
        if self._process is not None:
            self._used_s = self.cpu_s()
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """As an operator does."""
        if self._process is not None:
            self._used_s = self.cpu_s()
            stop(self._process, _STOPS_S)
            self._process = None

    def crashes(self) -> list[str]:
        """The exceptions of its log that nobody expected: the last line of each traceback, boxed ones too."""
        written = self._log.read_text(encoding="utf-8", errors="replace") if self._log.exists() else ""
        return [
            next((line for line in after.splitlines()[1:] if line and line[0] not in " │╭╰"), "cut off")
            for after in written.split("Traceback (most recent call last)")[1:]
        ]


class Chaos:
    """Kills members by chance, restarts PostgreSQL, takes the bucket away; until it is stopped."""

    def __init__(
        self,
        members: Sequence[FleetProcess],
        databases: Sequence[PostgresServer],
        bucket: FakeBucketServer | None,
        *,
        kill_s: float,
        restart_s: float,
        seed: int,
    ) -> None:
        """A member dies every `kill_s` seconds, a database every `restart_s`; 0: never."""
        self._members, self._databases, self._bucket = members, databases, bucket
        self._chance = random.Random(seed)
        self._over = threading.Event()
        self.done: Counter[str] = Counter()  # what happened, how often
        self.failure: BaseException | None = None
        self._starting = threading.Lock()
        plans: list[tuple[float, Callable[[], None]]] = [
            (kill_s, self._kill_a_member),
            (_LOOKS_S, self._supervise),
        ]
        plans += [(restart_s, partial(self._restart, database)) for database in databases]
        plans += [(restart_s * 0.7, self._take_bucket_away)] if bucket else []
        self._threads = [
            threading.Thread(target=self._repeat, args=plan, daemon=True) for plan in plans if plan[0]
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Everything is there again afterwards. Raises what a thread failed with."""
        self._over.set()
        for thread in self._threads:
            thread.join()
        self._supervise()
        if self._bucket is not None:
            self._bucket.always, self._bucket.error_share = None, 0.0
        if self.failure is not None:
            raise self.failure

    def _repeat(self, every_s: float, act: Callable[[], None]) -> None:
        while not self._over.wait(every_s * self._chance.uniform(0.7, 1.3)):
            try:
                act()
            except BaseException as error:  # noqa: BLE001 - told to whoever stops it
                self.failure = error
                return

    def _kill_a_member(self) -> None:
        member = self._chance.choice(self._members)
        with self._starting:
            member.kill()
            self.done["server killed" if member.port else "worker killed"] += 1
            member.start()

    def _supervise(self) -> None:
        """Start who has ended: whoever opens the memory while PostgreSQL is down, ends."""
        with self._starting:
            for member in self._members:
                if not member.is_alive():
                    self.done["started again"] += 1
                    member.start()

    def _restart(self, database: PostgresServer) -> None:
        database.kill()
        self.done["PostgreSQL killed" if database is self._databases[0] else "standby killed"] += 1
        self._over.wait(_DOWN_S)
        database.start()

    def _take_bucket_away(self) -> None:
        assert self._bucket is not None
        self._bucket.always = BucketMisbehaviour.SLOW_DOWN
        self.done["bucket outage"] += 1
        self._over.wait(_OUTAGE_S)
        self._bucket.always = None
