"""Asynchronous updates of the pool (Algorithm 1, lines 7-8): one thread and a bounded queue."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

from zibaldone.core.fork_safety import start_anew_in_children
from zibaldone.errors import ZibaldoneError

_MOST_WAITING = 16  # answers
_logger = logging.getLogger(__name__)


class Writer:
    """Runs jobs one by one. A failed job loses nothing: the log has the messages, the pool catches up."""

    def __init__(self) -> None:
        self.start_anew()
        start_anew_in_children(self)

    def start_anew(self) -> None:
        """Begin without jobs; in a forked child, too: queue and thread stayed with the parent."""
        self._queue: queue.Queue[Callable[[], None] | None] = queue.Queue(_MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def put(self, job: Callable[[], None]) -> None:
        """Enqueue a job; waits while the queue is full."""
        with self._starting:  # held while a full queue makes it wait: `close` comes after what was put before
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="zibaldone-kv-write", daemon=True)
                self._thread.start()
            self._queue.put(job)

    def wait(self) -> None:
        """Wait until all jobs are done; returns at once in the writer's own thread."""
        if threading.current_thread() is not self._thread:
            self._queue.join()

    def close(self) -> None:
        """Finish waiting jobs, and stop."""
        with self._starting:
            thread, self._thread = self._thread, None
            if thread is not None and thread.is_alive():
                self._queue.put(None)
                thread.join()

    def _work(self) -> None:
        while True:
            job = self._queue.get()
            try:
                if job is None:
                    return
                job()
            except ZibaldoneError as error:
                _logger.warning("an answer's keys were not written, they will be encoded: %s", error)
            except Exception:  # the border of a thread: the next job must not wait for ever
                _logger.exception("an answer's keys were not written, they will be encoded")
            finally:
                self._queue.task_done()
