"""Topics, the timeline and the profile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from starlette.responses import Response

from zibaldone.api.profile import HEADINGS, NEEDS_A_MODEL
from zibaldone.engine.ingest import Progress
from zibaldone.errors import InvalidInput
from zibaldone.recall.timeline import TimelineLine
from zibaldone.server.page.environment import count
from zibaldone.server.page.jobs import Report
from zibaldone.server.page.page_auth import PageAction, PageCall, field
from zibaldone.server.problems import Problem
from zibaldone.views.notes import KINDS, UserNote
from zibaldone.views.notes.note import kind_of
from zibaldone.views.topics.markdown.document import Document

_SHOWN_TOPICS = 100  # documents on a page


async def topics(call: PageCall) -> Response:
    """List the topic documents that a model has written."""
    skip = call.number("skip", 0, most=10**9)
    usage = (await call.memory.admin.stats(user=call.user)).usage
    # An answer that was given up took two calls, one to repair it.
    is_made = any(line.view == "topics" and line.calls > 2 * line.degraded for line in usage)
    lines = await call.memory.user(call.user).topics.catalogue() if is_made else []
    return call.page(
        "topics.html",
        lines=lines[skip : skip + _SHOWN_TOPICS],
        total=len(lines),
        skip=skip,
        step=_SHOWN_TOPICS,
        job=call.jobs.running(call.user, "/topics"),
    )


async def write_topics(call: PageCall) -> Response:
    """Write topic documents of what is new, in a job."""

    async def work(progress: Progress) -> Report:
        done = await call.memory.maintain(user=call.user, views=["topics"], progress=progress)
        return Report(f"{count(done.messages, 'message')} read", [lagging.reason for lagging in done.behind])

    if job := call.jobs.running(call.user, "/topics"):
        return call.see(f"/jobs/{job.id}")
    return await call.to_job("Writing topic documents", "/topics", work)


async def topic(call: PageCall) -> Response:
    """Show a document with the messages of each entry."""
    document = await _document(call)
    return call.page("topic.html", document=document)


async def topic_form(call: PageCall) -> Response:
    """Show the form with a document as Markdown."""
    call.principal.must_write()
    document = await _document(call)
    text = await call.memory.user(call.user).topics.text(document.id)
    return call.page("topic_edit.html", document=document, text=text, before=text, conflicts=[])


async def edit_topic(call: PageCall) -> Response:
    """Save an edited document; if memory has changed it meanwhile, show the conflicts and save nothing."""
    form = await call.form()
    document = await _document(call)
    opened = call.memory.user(call.user).topics
    text, before = field(form, "text"), field(form, "before")
    edited = await opened.edit(document.id, text, before=before or None)
    if edited.conflicts:
        return call.page(
            "topic_edit.html",
            status=409,
            document=document,
            text=text,
            before=await opened.text(document.id),
            conflicts=[list(_diff_lines(conflict.diff)) for conflict in edited.conflicts],
        )
    return call.see(f"/topics/{document.id}")


async def _document(call: PageCall) -> Document:
    try:
        return await call.memory.user(call.user).topics.document(call.request.path_params["id"])
    except InvalidInput as error:
        raise Problem(404, "no-topic", "there is no topic document of this id") from error


def _diff_lines(diff: str) -> Iterator[tuple[str, str]]:
    """Yield kind and text of each line."""
    kinds = {"+++": "file", "---": "file", "@@ ": "place"}
    for line in diff.splitlines():
        kind = kinds.get(line[:3]) or {"+": "added", "-": "removed"}.get(line[:1], "same")
        yield kind, line


_SHOWN_LINES, _MOST_LINES = 100, 2000


async def timeline(call: PageCall) -> Response:
    """Show dated lines by month."""
    subject, limit = call.text("q"), call.number("lines", _SHOWN_LINES, most=_MOST_LINES)
    lines = await call.memory.user(call.user).timeline(
        subject,
        since=call.day("since"),
        until=call.day("until", end=True),
        limit=limit,
    )
    return call.page(
        "timeline.html",
        subject=subject,
        since=call.text("since"),
        until=call.text("until"),
        months=[(month, list(some)) for month, some in groupby(lines, _month)],
        more=limit * 3 if len(lines) == limit < _MOST_LINES else None,
    )


def _month(line: TimelineLine) -> str:
    return f"{line.time:%B %Y}" if line.is_dated else "No date"


_HEADINGS = {str(kind): heading for kind, heading in HEADINGS.items()} | {
    "constraint": "Limits, such as allergies",
    "fact": "About you",
}
_OTHER_GROUPS = {"others": "About others", "past": "No longer holds", "deleted": "Deleted"}
_SHOWN_ENTRIES, _ALL_ENTRIES = 12, 100  # entries of a kind beside others, and alone


@dataclass(frozen=True, slots=True)
class EntryGroup:
    """The shown entries of a kind."""

    kind: str
    heading: str
    entries: list[UserNote]
    total: int


async def profile(call: PageCall) -> Response:
    """Show entries by kind, the pinned and the newest first; those that no longer hold last."""
    only, skip = call.text("kind"), call.number("skip", 0, most=10**9)
    entries = await call.memory.user(call.user).profile.entries()
    entries.sort(key=lambda entry: (not entry.pinned, -entry.time.timestamp(), entry.id))
    step = _ALL_ENTRIES if only else _SHOWN_ENTRIES
    groups = []
    for kind, heading in (_HEADINGS | _OTHER_GROUPS).items():
        of_kind = [entry for entry in entries if _place(entry, call.user) == kind]
        if of_kind and only in ("", kind):
            groups.append(EntryGroup(kind, heading, of_kind[skip : skip + step], len(of_kind)))
    return call.page(
        "profile.html",
        groups=groups,
        only=only,
        skip=skip,
        step=step,
        texts={entry.id: entry.text for entry in entries},
        holding=sum(entry.holds for entry in entries),
        headings=_HEADINGS,
        needs_a_model=not any("/" in entry.made_by for entry in entries) and NEEDS_A_MODEL,
    )


def _place(entry: UserNote, user: str) -> str:
    if entry.retired or not entry.holds:
        return "deleted" if entry.retired else "past"
    return entry.kind if entry.about.casefold() in ("user", user.casefold()) else "others"


async def profile_text(call: PageCall) -> Response:
    """Show the profile as text for a prompt."""
    return call.page("profile_text.html", text=await call.memory.user(call.user).profile.text())


async def add_entry(call: PageCall) -> Response:
    """Add an entry."""
    form = await call.form()
    kind = kind_of(field(form, "kind"))
    if kind is None:
        raise InvalidInput(f"no kind {field(form, 'kind')!r}: there is {', '.join(KINDS)}")
    entry = await call.memory.user(call.user).profile.add(kind, field(form, "text"))
    return call.see("/profile", at=f"e{entry.id}")


async def change_entry(call: PageCall) -> Response:
    """Pin, unpin, edit or delete an entry."""
    opened, form = call.memory.user(call.user).profile, await call.form()
    entry_id, act = call.request.path_params["id"], field(form, "act")
    try:
        if act == "edit":
            entry = await opened.edit(entry_id, field(form, "text"))
        elif act in (changes := {"pin": opened.pin, "unpin": opened.unpin, "delete": opened.retire}):
            entry = await changes[act](entry_id)
        else:
            raise InvalidInput("a note can be pinned, unpinned, edited and deleted")
    except InvalidInput as error:
        if "has no profile entry" not in str(error):
            raise
        raise Problem(404, "no-entry", "there is no such note any more") from error
    at = "" if act == "delete" else f"e{entry.id}"  # what is deleted is folded away
    return call.see("/profile", at=at, kind=field(form, "kind"))


ACTIONS = (
    PageAction("/topics", topics),
    PageAction("/topics", write_topics, posts=True),
    PageAction("/topics/{id}", topic),
    PageAction("/topics/{id}", edit_topic, posts=True),
    PageAction("/topics/{id}/edit", topic_form),
    PageAction("/timeline", timeline),
    PageAction("/profile", profile),
    PageAction("/profile", add_entry, posts=True),
    PageAction("/profile/text", profile_text),
    PageAction("/profile/{id}", change_entry, posts=True),
)
