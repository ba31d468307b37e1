"""Work that may take longer than a page: imports, upkeep, forgetting; its progress and its report."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from zibaldone.engine.ingest import Progress
from zibaldone.errors import ZibaldoneError
from zibaldone.server.problems import problem_of

_KEPT = 50  # ended jobs of a user, whose reports can still be seen
_QUICK_S = 1.5
_logger = logging.getLogger(__name__)


class _Stopped(Exception):
    """Raised by the progress callback of a job when the server ends."""


@dataclass(frozen=True, slots=True)
class Report:
    """Result of a job, the template that says it in words, and its data to download."""

    template: str
    done: object
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Job:
    """A job in the background for one user."""

    id: str
    user: str
    title: str
    path: str  # to continue at when it has ended
    deletions: int  # of the user, when it began
    done: int = 0
    total: int = 0  # 0: unknown
    report: Report | None = None
    error: str = ""
    task: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        """True until it has a report or an error."""
        return self.task is not None and not self.task.done()


class Jobs:
    """The jobs of one server. Its methods are called in the event loop."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._is_stopping = False

    async def start(
        self, user: str, title: str, path: str, work: Callable[[Progress], Awaitable[Report]], deletions: int
    ) -> Job:
        """Start a job, and wait a moment; `work` gets a function to call with its progress."""
        job = Job(secrets.token_urlsafe(12), user, title, path, deletions)
        self._jobs[job.id] = job
        ended = [job.id for job in self._jobs.values() if job.user == user and not job.is_running]
        for job_id in ended[: max(0, len(ended) - _KEPT)]:
            del self._jobs[job_id]

        def progress(done: int, total: int) -> None:
            if self._is_stopping:
                raise _Stopped
            job.done, job.total = done, total

        async def run() -> None:
            try:
                job.report = await work(progress)
            except ZibaldoneError as error:
                job.error = problem_of(error).detail
            except _Stopped:
                job.error = "the server was stopped"
            except Exception as error:  # noqa: BLE001 - the border of a job: nobody awaits its task
                job.error = "the server failed: its log says where"
                _logger.error("%s in a job of the page", type(error).__name__)  # noqa: TRY400 - may quote

        job.task = asyncio.create_task(run())
        await asyncio.wait([job.task], timeout=_QUICK_S)
        return job

    def of(self, user: str, job_id: str, deletions: int) -> Job | None:
        """Return a user's job; first drop reports of imports that may quote what was forgotten since."""
        for job in [job for job in self._jobs.values() if (job.user, job.path) == (user, "/sessions")]:
            if job.deletions != deletions and not job.is_running:
                del self._jobs[job.id]
        known = self._jobs.get(job_id)
        return known if known and known.user == user else None

    def running(self, user: str, path: str) -> Job | None:
        """Return a user's running job that continues at a path."""
        return next(
            (j for j in self._jobs.values() if j.is_running and (j.user, j.path) == (user, path)), None
        )

    async def stop(self) -> None:
        """Stop each job at its next step."""
        self._is_stopping = True
        if tasks := [job.task for job in self._jobs.values() if job.task is not None]:
            await asyncio.wait(tasks)
