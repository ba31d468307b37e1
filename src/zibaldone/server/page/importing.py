"""Importing a file that was dropped on the page, and letting views read: both may take minutes."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath

from starlette.datastructures import UploadFile
from starlette.responses import Response

from zibaldone.api.aio import AsyncMemory
from zibaldone.core.threads import in_thread
from zibaldone.engine.ingest import Progress
from zibaldone.errors import InvalidImport, InvalidInput
from zibaldone.server.page.environment import count
from zibaldone.server.page.jobs import Job
from zibaldone.server.page.page_auth import PageAction, PageCall, field
from zibaldone.server.problems import Problem

_VIEWS = {"topics": "/topics", "hierarchy": "/themes", "all": "/usage"}
_HARMLESS = re.compile(r"\w[\w .,()-]{0,60}")  # a file's name
_TITLES = {
    "topics": "Writing topic documents",
    "hierarchy": "Drawing themes",
    "all": "Reading what is new",
}


async def ask(call: PageCall) -> Response:
    """Where a file is dropped."""
    call.principal.must_write()
    return call.page("import.html")


async def import_(call: PageCall) -> Response:
    """Take a file over, in the background where that takes long."""
    upload = (await call.form()).get("file")
    if not isinstance(upload, UploadFile) or not upload.filename:
        raise InvalidInput("choose a file to import")
    kept = _kept(upload)
    path = await kept.__aenter__()  # until the work has ended, which may be long after this answer

    async def work(progress: Progress) -> Sequence[str]:
        try:
            return await import_file(call.memory, path, call.user, progress)
        except InvalidImport as error:  # the name that it has here tells nobody anything
            raise InvalidImport(
                str(error).replace(str(path), PurePosixPath(upload.filename or "").name)
            ) from error
        finally:
            await kept.__aexit__(None, None, None)

    name = PurePosixPath(upload.filename).name
    return await _begun(call, call.jobs.start(call.user, f"Importing {name}", "/sessions", work))


async def import_file(memory: AsyncMemory, path: Path, user: str, progress: Progress) -> Sequence[str]:
    """Import one file; what was done, in lines for people."""
    done = await memory.user(user).import_(path, progress=progress)
    lines = [
        f"{done.format}: {count(done.read, 'message')} in {count(done.conversations, 'conversation')}.",
        f"{count(done.added, 'message')} added.",
    ]
    if done.read > done.added:
        lines.append(f"{count(done.read - done.added, 'message')} known already.")
    if done.changed:
        lines.append(f"{count(done.changed, 'message')} changed since: kept as first stored.")
    return lines


async def maintain(call: PageCall) -> Response:
    """Let a view read what it has not read yet."""
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

    return await _begun(call, job or call.jobs.start(call.user, _TITLES[chosen], path, work))


async def job(call: PageCall) -> Response:
    """How far a work is."""
    known = call.jobs.of(call.user, call.request.path_params["id"])
    if known is None:
        raise Problem(404, "no-job", "this work is not known, or has ended long ago")
    return call.page("job_state.html" if call.is_fragment else "job.html", job=known)


async def _begun(call: PageCall, begun: Job) -> Response:
    await call.jobs.a_moment(begun)
    return call.see(f"/jobs/{begun.id}")


@asynccontextmanager
async def _kept(upload: UploadFile) -> AsyncIterator[Path]:
    """What was uploaded, as a file in a folder of its own; named as it was, where that is harmless.

    A note's name is its title and its session; of any other name only its ending is kept.
    """
    folder = Path(await in_thread(tempfile.mkdtemp, prefix="zibaldone-import-"))
    try:
        given = PurePosixPath(upload.filename or "")
        ending = given.suffix if given.suffix[1:].isalnum() and len(given.suffix) < 12 else ""
        path = folder / (given.name if _HARMLESS.fullmatch(given.name) else f"upload{ending}")
        await in_thread(_copy, upload, path)
        yield path
    finally:
        await in_thread(shutil.rmtree, folder, ignore_errors=True)


def _copy(upload: UploadFile, path: Path) -> None:
    upload.file.seek(0)
    with path.open("wb") as file:
        shutil.copyfileobj(upload.file, file, 2**20)
    upload.file.close()


ACTIONS = (
    PageAction("/import", ask),
    PageAction("/import", import_, posts=True),
    PageAction("/maintain", maintain, posts=True),
    PageAction("/jobs/{id}", job),
)
