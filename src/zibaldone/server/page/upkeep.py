"""Imports, maintenance, usage, and the choice of a user."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath

from starlette.datastructures import UploadFile
from starlette.responses import Response

from zibaldone.api.aio import AsyncMemory
from zibaldone.core.threads import in_thread
from zibaldone.engine.ingest import Progress
from zibaldone.errors import InvalidImport, InvalidInput
from zibaldone.models.meter import Prices
from zibaldone.server.page.environment import count
from zibaldone.server.page.jobs import Job
from zibaldone.server.page.messages import VIEWS, in_words
from zibaldone.server.page.page_auth import PageAction, PageCall, field
from zibaldone.server.problems import Problem

_VIEWS = {"topics": "/topics", "hierarchy": "/themes", "all": "/usage"}
_SAFE_NAME = re.compile(r"\w[\w .,()-]{0,60}")  # of a file
_SHOWN_REFUSED = 10  # of what an import could not read
_TITLES = {
    "topics": "Writing topic documents",
    "hierarchy": "Drawing themes",
    "all": "Reading what is new",
}


async def import_form(call: PageCall) -> Response:
    """Show the form for a file."""
    call.principal.must_write()
    return call.page("import.html")


async def import_(call: PageCall) -> Response:
    """Import a file in a job."""
    upload = (await call.form()).get("file")
    if not isinstance(upload, UploadFile) or not upload.filename:
        raise InvalidInput("choose a file to import")
    kept = _saved(upload)
    path = await kept.__aenter__()  # until the job has ended, which may be long after this answer

    async def work(progress: Progress) -> Sequence[str]:
        try:
            return await import_file(call.memory, path, call.user, progress)
        except InvalidImport as error:  # the temporary name means nothing to the user
            raise InvalidImport(
                str(error).replace(str(path), PurePosixPath(upload.filename or "").name)
            ) from error
        finally:
            await kept.__aexit__(None, None, None)

    name = PurePosixPath(upload.filename).name
    return await _to_job(call, call.jobs.start(call.user, f"Importing {name}", "/sessions", work))


async def import_file(memory: AsyncMemory, path: Path, user: str, progress: Progress) -> Sequence[str]:
    """Import one file; returns a report in lines of text."""
    done = await memory.user(user).import_(path, progress=progress)
    lines = [
        f"{done.format}: {count(done.read, 'message')} in {count(done.conversations, 'conversation')}.",
        f"{count(done.added, 'message')} added.",
    ]
    if done.read > done.added:
        lines.append(f"{count(done.read - done.added, 'message')} known already.")
    if done.changed:
        lines.append(f"{count(done.changed, 'message')} changed since: kept as first stored.")
    lines += done.notes
    if done.refusals:
        lines.append(f"{done.refusals} could not be read:")
        lines += (
            ": ".join(filter(None, (refused.conversation, refused.where, refused.why)))
            for refused in done.refused[:_SHOWN_REFUSED]
        )
    return lines


async def maintain(call: PageCall) -> Response:
    """Maintain a view in a job."""
    chosen = field(await call.form(), "view")
    if chosen not in _VIEWS:
        raise InvalidInput("no such view")
    path = _VIEWS[chosen]
    job = call.jobs.running(call.user, path)

    async def work(progress: Progress) -> Sequence[str]:
        views = None if chosen == "all" else [chosen]
        done = await call.memory.maintain(user=call.user, views=views, progress=progress)
        behind = [f"{lagging.view}: {lagging.reason}" for lagging in done.behind]
        return [f"{count(done.messages, 'message')} read.", *behind]

    return await _to_job(call, job or call.jobs.start(call.user, _TITLES[chosen], path, work))


async def job(call: PageCall) -> Response:
    """Show the state of a job."""
    known = call.jobs.of(call.user, call.request.path_params["id"])
    if known is None:
        raise Problem(404, "no-job", "this job is not known, or has ended long ago")
    return call.page("job_state.html" if call.is_fragment else "job.html", job=known)


async def _to_job(call: PageCall, started: Job) -> Response:
    await call.jobs.wait_briefly(started)
    return call.see(f"/jobs/{started.id}")


@asynccontextmanager
async def _saved(upload: UploadFile) -> AsyncIterator[Path]:
    """Save an upload in a temporary folder, under its own name if that is safe.

    The importer of notes takes title and session from the name; of an unsafe name only the suffix is kept.
    """
    folder = Path(await in_thread(tempfile.mkdtemp, prefix="zibaldone-import-"))
    try:
        given = PurePosixPath(upload.filename or "")
        ending = given.suffix if given.suffix[1:].isalnum() and len(given.suffix) < 12 else ""
        path = folder / (given.name if _SAFE_NAME.fullmatch(given.name) else f"upload{ending}")
        await in_thread(_copy, upload, path)
        yield path
    finally:
        await in_thread(shutil.rmtree, folder, ignore_errors=True)


def _copy(upload: UploadFile, path: Path) -> None:
    upload.file.seek(0)
    with path.open("wb") as file:
        shutil.copyfileobj(upload.file, file, 2**20)
    upload.file.close()


_SHOWN_USERS = 200
_DAYS = 60  # shown


async def usage(call: PageCall) -> Response:
    """Show statistics, and the use of models with its cost."""
    stats = await call.memory.admin.stats(user=call.user)
    prices = Prices(_price(call.text("prompt_price")), _price(call.text("completion_price")))
    by_view: dict[str, Counter[str]] = {}
    for line in stats.usage:
        sums = by_view.setdefault(VIEWS.get(line.view, "Answers"), Counter())
        for name in ("calls", "degraded", "prompt_tokens", "completion_tokens", "ms"):
            sums[name] += getattr(line, name)
    days: dict[str, float] = {}
    for line in stats.usage:
        days[line.day.isoformat()] = days.get(line.day.isoformat(), 0.0) + prices.of(line)
    return call.page(
        "usage.html",
        stats=stats,
        may_see_size=call.principal.user is None,  # the folder has other users' data
        made=in_words(stats.views),
        by_view=sorted(by_view.items()),
        prices=prices,
        cost=sum(prices.of(line) for line in stats.usage),
        days=sorted(days.items(), reverse=True)[:_DAYS] if prices != Prices(0, 0) else [],
        behind=max((view.lag for view in stats.views if view.view in _MAINTAINED), default=0),
        job=call.jobs.running(call.user, "/usage"),
    )


async def users(call: PageCall) -> Response:
    """List the users to choose from, for a key without a user."""
    call.principal.must_be_admin()
    known, words = await call.memory.users(), call.text("words").casefold()
    matching = [name for name in known if words in name.casefold()]
    return call.page("users.html", users=matching[:_SHOWN_USERS], total=len(matching), words=words)


def _price(given: str) -> float:
    try:
        price = float(given or 0)
    except ValueError:
        return 0.0
    return price if 0 <= price < 1e6 else 0.0


_MAINTAINED = frozenset({"messages", "notes"})


ACTIONS = (
    PageAction("/import", import_form),
    PageAction("/import", import_, posts=True),
    PageAction("/maintain", maintain, posts=True),
    PageAction("/jobs/{id}", job),
    PageAction("/usage", usage),
    PageAction("/users", users),
)
