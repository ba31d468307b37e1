"""Child processes that a test can talk to, wait for, and kill."""

from __future__ import annotations

import json
import os
import select
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

LIMIT_S = 60.0  # longer than any child of a test should live


class Child:
    """A forked copy of this process that runs one function, and ends with it.

    The function gets `tell`, which hands a JSON value to the parent, and `hear`, which waits for a word of
    the parent (False once the parent has hung up). An exception in it is raised again by `wait`.
    """

    def __init__(self, run: Callable[[Callable[[Any], None], Callable[[], bool]], None]) -> None:
        self._read, their_write = os.pipe()
        their_read, self._write = os.pipe()
        self._buffer = b""
        self._values: list[Any] = []
        self.status: int | None = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the threads are the tokenizer's, and idle
            self.pid = os.fork()
        if self.pid:
            os.close(their_write)
            os.close(their_read)
            return
        status = 1
        try:
            os.close(self._read)
            os.close(self._write)
            signal.alarm(int(LIMIT_S))

            def tell(value: Any) -> None:
                os.write(their_write, json.dumps(value).encode() + b"\n")

            try:
                run(tell, lambda: bool(os.read(their_read, 1)))
                status = 0
            except BaseException:  # noqa: BLE001 - told to the parent, since this process ends here
                tell({"raised": traceback.format_exc()})
        finally:
            os._exit(status)

    def told(self, within_s: float = LIMIT_S) -> Iterator[Any]:
        """What the child tells, as it comes, until it ends or the time is over."""
        until = time.monotonic() + within_s
        while True:
            while b"\n" in self._buffer:
                line, _, self._buffer = self._buffer.partition(b"\n")
                yield json.loads(line)
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                return
            data = os.read(self._read, 1 << 16)
            if not data:
                return
            self._buffer += data

    def next(self) -> Any:
        """The next thing it tells."""
        for value in self.told():
            return self._checked(value)
        raise AssertionError("the child ended without a word")

    def say(self) -> None:
        """One word to the child, which waits for it."""
        os.write(self._write, b"x")

    def kill(self) -> None:
        """End it with SIGKILL."""
        os.kill(self.pid, signal.SIGKILL)
        self._reap()

    def until_killed(self, after_s: float, *, words: int = 1) -> list[Any]:
        """All that it tells, killed so long after so many words: so far it comes on a busy machine too."""
        values = list(islice(self.told(), words))
        values += self.told(within_s=after_s)
        self.kill()
        return [self._checked(value) for value in (*values, *self.told(within_s=0))]

    def wait(self) -> list[Any]:
        """All that it still tells; raises what it raised."""
        values = [self._checked(value) for value in self.told()]
        self._reap()
        assert self.status == 0, f"the child ended with status {self.status}"
        return values

    def _reap(self) -> None:
        if self.status is None:
            self.status = os.waitpid(self.pid, 0)[1]
            while data := os.read(self._read, 1 << 16):  # its last words
                self._buffer += data
            os.close(self._read)
            os.close(self._write)

    @staticmethod
    def _checked(value: Any) -> Any:
        if isinstance(value, dict) and "raised" in value:
            raise AssertionError(value["raised"])
        return value
