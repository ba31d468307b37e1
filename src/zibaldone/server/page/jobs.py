"""What takes longer than a page may: an import, making topics and themes. Each says how far it is."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from zibaldone.engine.ingest import Progress
from zibaldone.errors import ZibaldoneError
from zibaldone.server.problems import problem_of

_KEPT = 100  # that ended, so that their pages can still be looked at
_QUICK_S = 1.5
_logger = logging.getLogger(__name__)


class _Stopped(Exception):
    """The server ends: raised inside the work, by its progress."""


@dataclass(slots=True)
class Job:
    """One work in the background, for one user."""

    id: str
    user: str
    title: str
    path: str  # where to go on when it has ended
    done: int = 0
    total: int = 0  # 0: not known yet
    result: object = None
    error: str = ""
    is_running: bool = True
    ended: asyncio.Event = field(default_factory=asyncio.Event, repr=False)


class Jobs:
    """The works of one server. All but `progress` is called in the event loop."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_stopping = False

    def start(self, user: str, title: str, path: str, work: Callable[[Progress], Awaitable[object]]) -> Job:
        """Begin a work, which calls what it is given with how much is done of how much."""
        job = Job(secrets.token_urlsafe(12), user, title, path)
        self._jobs[job.id] = job
        self._let_go()

        def progress(done: int, total: int) -> None:
            if self._is_stopping:
                raise _Stopped
            job.done, job.total = done, total

        async def run() -> None:
            try:
                job.result = await work(progress)
            except ZibaldoneError as error:
                job.error = problem_of(error).detail
            except _Stopped:
                job.error = "the server was stopped"
            except Exception as error:  # noqa: BLE001 - a work's border: nobody waits for its task
                job.error = "the server failed: its log says where"
                _logger.error("%s in a work of the page", type(error).__name__)  # noqa: TRY400 - may quote
            finally:
                job.is_running = False
                job.ended.set()

        task = asyncio.create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return job

    async def a_moment(self, job: Job) -> None:
        """Wait for a work that ends soon, so that nobody has to look twice."""
        with suppress(TimeoutError):
            await asyncio.wait_for(job.ended.wait(), _QUICK_S)

    def of(self, user: str, job_id: str) -> Job | None:
        """A user's work."""
        job = self._jobs.get(job_id)
        return job if job and job.user == user else None

    def running(self, user: str, path: str) -> Job | None:
        """A work of a user that is under way and leads there."""
        return next(
            (j for j in self._jobs.values() if j.is_running and (j.user, j.path) == (user, path)), None
        )

    async def stop(self) -> None:
        """Let each work end at its next step."""
        self._is_stopping = True
        if self._tasks:
            await asyncio.wait(set(self._tasks))

    def _let_go(self) -> None:
        ended = [job.id for job in self._jobs.values() if not job.is_running]
        for job_id in ended[: max(0, len(ended) - _KEPT)]:
            del self._jobs[job_id]
