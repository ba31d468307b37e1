"""Topics, themes, the timeline and the profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from starlette.responses import Response

from zibaldone.api.profile import HEADINGS, NEEDS_A_MODEL
from zibaldone.core import EDITOR
from zibaldone.errors import InvalidInput
from zibaldone.log.filters import Filter
from zibaldone.recall.timeline import TimelineLine
from zibaldone.server.page.page_auth import PageAction, PageCall, field
from zibaldone.server.problems import Problem
from zibaldone.views.hierarchy.themes import Theme
from zibaldone.views.notes import KINDS, UserNote
from zibaldone.views.notes.note import kind_of
from zibaldone.views.topics.markdown.document import Document

_SHOWN_TOPICS = 100  # documents on a page
_READ_EDITS = 200  # searched for those of a document
_EDITS = "topics"


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


async def topic_history(call: PageCall) -> Response:
    """Show the edits of a document."""
    document = await _document(call)
    edits = await call.memory.messages(
        user=call.user, filter=Filter(session=_EDITS, roles=[EDITOR]), last=_READ_EDITS
    )
    own = [message for message in edits if message.metadata.get("document") == document.id]
    return call.page("topic_history.html", document=document, edits=own[::-1])


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


_SHOWN_THEMES, _SHOWN_FACTS = 60, 60  # themes and facts on a page


async def themes(call: PageCall) -> Response:
    """List the themes of what a model has read, the largest first."""
    is_made = any(episode.made_by for episode in await call.memory.user(call.user).episodes())
    held = await call.memory.user(call.user).themes() if is_made else []
    held.sort(key=lambda theme: (-len(theme.semantics), theme.id))
    skip = call.number("skip", 0, most=10**9)
    shown = held[skip : skip + _SHOWN_THEMES]
    return call.page(
        "themes.html",
        themes=shown,
        names=await _names(call, shown),
        total=len(held),
        skip=skip,
        step=_SHOWN_THEMES,
        job=call.jobs.running(call.user, "/themes"),
    )


async def theme(call: PageCall) -> Response:
    """Show a theme: its facts with their messages, and similar themes."""
    held = {theme.id: theme for theme in await call.memory.user(call.user).themes()}
    chosen = held.get(call.request.path_params["id"])
    if chosen is None:
        raise Problem(404, "no-theme", "there is no theme of this number")
    skip = call.number("skip", 0, most=10**9)
    near = [held[other] for other in chosen.near if other in held]
    facts = sorted(chosen.semantics, key=lambda fact: (fact.time, fact.id), reverse=True)
    return call.page(
        "theme.html",
        theme=chosen,
        names=await _names(call, [chosen, *near]),
        facts=facts[skip : skip + _SHOWN_FACTS],
        skip=skip,
        step=_SHOWN_FACTS,
        near=near,
    )


async def _names(call: PageCall, themes: Sequence[Theme]) -> Mapping[int, str]:
    """Return names of themes: a model's, or else the title of the session that most of its facts are from."""
    episodes = {episode.id: episode.session for episode in await call.memory.user(call.user).episodes()}
    mostly = {
        theme.id: Counter(episodes[fact.episode] for fact in theme.semantics).most_common(1)[0][0]
        for theme in themes
        if not theme.is_named
    }
    titles = await call.titles(mostly.values())
    return {theme.id: titles.get(mostly.get(theme.id, ""), theme.name) for theme in themes}


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
    budget = call.number("budget", 400, most=8000)
    text = await call.memory.user(call.user).profile.text(budget)
    return call.page("profile_text.html", text=text, budget=budget)


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
    PageAction("/topics/{id}", topic),
    PageAction("/topics/{id}", edit_topic, posts=True),
    PageAction("/topics/{id}/edit", topic_form),
    PageAction("/topics/{id}/history", topic_history),
    PageAction("/themes", themes),
    PageAction("/themes/{id:int}", theme),
    PageAction("/timeline", timeline),
    PageAction("/profile", profile),
    PageAction("/profile", add_entry, posts=True),
    PageAction("/profile/text", profile_text),
    PageAction("/profile/{id}", change_entry, posts=True),
)
