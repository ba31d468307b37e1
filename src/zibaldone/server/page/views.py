"""Topics, themes, the timeline and the profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

from starlette.responses import Response

from zibaldone.api.profile import HEADINGS, NEEDS_A_MODEL
from zibaldone.core import EDITOR
from zibaldone.errors import InvalidInput
from zibaldone.log.filters import Filter
from zibaldone.recall.timeline import TimelineLine
from zibaldone.server.page.page_auth import PageCall, action, field
from zibaldone.server.problems import Problem
from zibaldone.views.hierarchy.themes import Theme
from zibaldone.views.notes import KINDS, UserNote
from zibaldone.views.notes.note import kind_of
from zibaldone.views.topics.markdown.document import Document

_SHOWN_TOPICS = 100  # documents on a page
_READ_EDITS = 200  # searched for those of a document
_EDITS = "topics"


@action("/topics")
async def topics(call: PageCall) -> Response:
    """List the topic documents that a model has written."""
    usage = (await call.memory.admin.stats(user=call.user)).usage
    # An answer that was given up took two calls, one to repair it.
    is_made = any(line.view == "topics" and line.calls > 2 * line.degraded for line in usage)
    lines = await call.memory.user(call.user).topics.catalogue() if is_made else []
    return call.page("topics.html", **call.part(lines, _SHOWN_TOPICS))


@action("/topics/{id}")
async def topic(call: PageCall) -> Response:
    """Show a document with the messages of each entry."""
    document = await _document(call)
    return call.page("topic.html", document=document)


@action("/topics/{id}/edit")
async def topic_form(call: PageCall) -> Response:
    """Show the form with a document as Markdown."""
    call.principal.must_write()
    document = await _document(call)
    text = await call.memory.user(call.user).topics.text(document.id)
    return call.page("topic_edit.html", document=document, text=text, before=text, conflicts=[])


@action("/topics/{id}", posts=True)
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
            conflicts=[conflict.diff for conflict in edited.conflicts],
        )
    return call.see(f"/topics/{document.id}")


@action("/topics/{id}/history")
async def topic_history(call: PageCall) -> Response:
    """Show the edits of a document."""
    document = await _document(call)
    edits = await call.memory.messages(
        user=call.user, filter=Filter(session=_EDITS, roles=[EDITOR]), last=_READ_EDITS
    )
    own = [message for message in edits if message.metadata.get("document") == document.id]
    return call.page("topic_history.html", document=document, edits=own[::-1])


async def _document(call: PageCall) -> Document:
    return await call.memory.user(call.user).topics.document(call.request.path_params["id"])


_SHOWN_THEMES, _SHOWN_FACTS = 60, 60  # themes and facts on a page


@action("/themes")
async def themes(call: PageCall) -> Response:
    """List the themes of what a model has read, the largest first."""
    is_made = any(episode.made_by for episode in await call.memory.user(call.user).episodes())
    held = await call.memory.user(call.user).themes() if is_made else []
    held.sort(key=lambda theme: (-len(theme.semantics), theme.id))
    part = call.part(held, _SHOWN_THEMES)
    return call.page("themes.html", names=await _names(call, part["shown"]), **part)


@action("/themes/{id:int}")
async def theme(call: PageCall) -> Response:
    """Show a theme: its facts with their messages, and similar themes."""
    held = {theme.id: theme for theme in await call.memory.user(call.user).themes()}
    chosen = held.get(call.request.path_params["id"])
    if chosen is None:
        raise Problem(404, "no-theme", "there is no theme of this number")
    near = [held[other] for other in chosen.near if other in held]
    facts = sorted(chosen.semantics, key=lambda fact: (fact.time, fact.id), reverse=True)
    return call.page(
        "theme.html",
        theme=chosen,
        names=await _names(call, [chosen, *near]),
        near=near,
        **call.part(facts, _SHOWN_FACTS),
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


@action("/timeline")
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
_GROUPS = _HEADINGS | {"others": "About others", "past": "No longer holds", "deleted": "Deleted"}
_SHOWN_ENTRIES = 100


@action("/profile")
async def profile(call: PageCall) -> Response:
    """Show entries by kind, the pinned and the newest first; those that no longer hold last."""
    places = list(_GROUPS)

    def place(entry: UserNote) -> str:
        if entry.retired or not entry.holds:
            return "deleted" if entry.retired else "past"
        return entry.kind if entry.about.casefold() in ("user", call.user.casefold()) else "others"

    entries = await call.memory.user(call.user).profile.entries()
    entries.sort(key=lambda e: (places.index(place(e)), not e.pinned, -e.time.timestamp(), e.id))
    part = call.part(entries, _SHOWN_ENTRIES)
    return call.page(
        "profile.html",
        groups=[(kind, list(some)) for kind, some in groupby(part["shown"], place)],
        **part,
        texts={entry.id: entry.text for entry in entries},
        names=_GROUPS,
        headings=_HEADINGS,
        needs_a_model=not any("/" in entry.made_by for entry in entries) and NEEDS_A_MODEL,
    )


@action("/profile", posts=True)
async def add_entry(call: PageCall) -> Response:
    """Add an entry."""
    form = await call.form()
    kind = kind_of(field(form, "kind"))
    if kind is None:
        raise InvalidInput(f"no kind {field(form, 'kind')!r}: there is {', '.join(KINDS)}")
    entry = await call.memory.user(call.user).profile.add(kind, field(form, "text"))
    return call.see("/profile", at=f"e{entry.id}")


@action("/profile/{id}", posts=True)
async def change_entry(call: PageCall) -> Response:
    """Pin, unpin, edit or delete an entry."""
    opened, form = call.memory.user(call.user).profile, await call.form()
    entry_id, act = call.request.path_params["id"], field(form, "act")
    changes = {"pin": opened.pin, "unpin": opened.unpin, "delete": opened.retire}
    if act == "edit":
        entry = await opened.edit(entry_id, field(form, "text"))
    elif act in changes:
        entry = await changes[act](entry_id)
    else:
        raise InvalidInput("a note can be pinned, unpinned, edited and deleted")
    return call.see("/profile", at="" if act == "delete" else f"e{entry.id}")  # the deleted are folded away
