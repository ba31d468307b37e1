"""Imports, maintenance, usage, the choice of a user, and the live view of the gateway."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from starlette.datastructures import UploadFile
from starlette.responses import Response

from zibaldone.core import Message
from zibaldone.core.threads import in_thread
from zibaldone.engine.ingest import Progress
from zibaldone.errors import InvalidImport, InvalidInput
from zibaldone.server.live import SHOWN
from zibaldone.server.page.jobs import Report
from zibaldone.server.page.page_auth import HEADERS, PageCall, action, field
from zibaldone.server.problems import Problem

_VIEWS = {"topics": "/topics", "hierarchy": "/themes", "all": "/usage"}  # and the paths to go on at
_UNSAFE = re.compile(r"[^\w .,()-]")  # in a file's name, of which notes take title and session


@action("/import")
async def import_form(call: PageCall) -> Response:
    """Show the form for a file."""
    call.principal.must_write()
    return call.page("import.html")


@action("/import", posts=True)
async def import_(call: PageCall) -> Response:
    """Import a file in a job."""
    form = await call.form()
    upload = form.get("file")
    me = [name.strip() for name in field(form, "me").split(";") if name.strip()] or None
    dates: Any = field(form, "dates") or None  # checked by the import
    again = bool(form.get("again"))
    if not isinstance(upload, UploadFile) or not upload.filename:
        raise InvalidInput("choose a file to import")
    name = PurePosixPath(upload.filename).name

    async def work(progress: Progress) -> Report:
        with TemporaryDirectory(prefix="zibaldone-import-") as folder:
            path = Path(folder) / (_UNSAFE.sub("_", name)[-60:].lstrip(". ") or "upload")
            await in_thread(_copy, upload, path)
            try:
                done = await call.memory.user(call.user).import_(
                    path, progress=progress, me=me, dates=dates, again=again
                )
            except InvalidImport as error:  # the temporary name means nothing to the user
                raise InvalidImport(str(error).replace(str(path), name)) from error
            refused = tuple(replace(one, where=one.where.replace(str(path), name)) for one in done.refused)
            done = replace(done, refused=refused)
            return Report("imported.html", done, asdict(done))

    return await call.to_job(f"Importing {name}", "/sessions", work)


@action("/maintain", posts=True)
async def maintain(call: PageCall) -> Response:
    """Maintain a view in a job."""
    chosen = field(await call.form(), "view")
    if chosen not in _VIEWS:
        raise InvalidInput("no such view")
    path = _VIEWS[chosen]

    async def work(progress: Progress) -> Report:
        views = None if chosen == "all" else [chosen]
        done = await call.memory.maintain(user=call.user, views=views, progress=progress)
        return Report("maintained.html", done)

    if job := call.jobs.running(call.user, path):
        return call.see(f"/jobs/{job.id}")
    return await call.to_job("Reading what is new", path, work)


@action("/jobs/{id}")
async def job(call: PageCall) -> Response:
    """Show how far a job is, or its report, which can be had as a JSON file."""
    deletions = await call.memory.user(call.user).deletions()
    known = call.jobs.of(call.user, call.request.path_params["id"], deletions)
    if known is None:
        raise Problem(404, "no-job", "this was kept until the server was started again, and is gone")
    if known.report and known.report.data and call.text("file"):
        kept = {**HEADERS, "Content-Disposition": 'attachment; filename="receipt.json"'}
        written = json.dumps(known.report.data, ensure_ascii=False, indent=1, default=str)
        return Response(written, media_type="application/json", headers=kept)
    return call.page("job_state.html" if call.is_fragment else "job.html", job=known)


def _copy(upload: UploadFile, path: Path) -> None:
    upload.file.seek(0)
    with path.open("wb") as file:
        shutil.copyfileobj(upload.file, file, 2**20)
    upload.file.close()


_SHOWN_USERS = 200


@action("/usage")
async def usage(call: PageCall) -> Response:
    """Show statistics, and the use of models."""
    stats = await call.memory.admin.stats(user=call.user)
    by_view: dict[str, Counter[str]] = {}
    for line in stats.usage:
        sums = by_view.setdefault(line.view, Counter())
        for name in ("calls", "degraded", "prompt_tokens", "completion_tokens", "ms"):
            sums[name] += getattr(line, name)
    return call.page(
        "usage.html",
        stats=stats,
        may_see_size=call.principal.user is None,  # the folder has other users' data
        by_view=sorted(by_view.items()),
        behind=max((view.lag for view in stats.views if view.view in ("messages", "notes")), default=0),
    )


@action("/users")
async def users(call: PageCall) -> Response:
    """List the users to choose from, for a key without a user."""
    call.principal.must_be_admin()
    known, words = await call.memory.users(), call.text("words").casefold()
    matching = [name for name in known if words in name.casefold()]
    return call.page("users.html", users=matching[:_SHOWN_USERS], total=len(matching), words=words)


@action("/live")
async def live(call: PageCall) -> Response:
    """Show the newest requests; to a part of the page that has seen them all, nothing."""
    watched = call.live
    mark = watched.mark(call.user) if watched else ""
    if call.is_fragment and call.text("mark") == mark:
        return Response(status_code=204, headers=HEADERS)
    requests = watched.of(call.user) if watched else []
    held: dict[int, Message | None] = {}
    for request in requests:
        for seq in (*request.recalled, *request.searched[:SHOWN], *request.stored[-SHOWN:]):
            if seq not in held:
                held[seq] = await call.memory.get(seq, user=call.user)
    template = "live_requests.html" if call.is_fragment else "live.html"
    return call.page(
        template, requests=requests, held=held, shown=SHOWN, mark=mark, is_on=watched is not None
    )
